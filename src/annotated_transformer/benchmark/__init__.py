"""How fast this package is beside others, on this machine: `annotated-transformer benchmark`.

Everybody gets the same sizes and pairs, in turn, round after round; to train each has a process of
its own, to translate all share one. Each round gives a ratio, and the median of the ratios is
reported: other work on the machine slows one round, not one contestant. Ratios carry over to other
machines better than figures do.
"""
