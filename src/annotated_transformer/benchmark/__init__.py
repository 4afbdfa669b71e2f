"""How fast this package is beside others, on this machine: `annotated-transformer benchmark`.

Everybody gets the same batches of the same sizes, in turn, within one process, round after round.
Each round gives a ratio, and the median of the ratios is reported: other work on the machine slows
one round, not one contestant. Ratios carry over to other machines better than figures do.
"""
