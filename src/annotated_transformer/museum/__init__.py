"""The museum of silent bugs (chapter 16): code that runs, a loss that falls, and nonsense.

recipe       every step from sentences to a score, as it should be
wrong_steps  what stands in the place of one of them
bugs         each recipe with a wrong step, and the controls that have none
exhibit      one of them trained, asked, examined and recorded
system       what is diagnosed: a model, the code around it, the log of its training
checks       what to ask of it, so that a bug betrays itself
of_run       a run directory of this package as such a system
caught_by    for each bug the few lines of a test
seen         where somebody had it
symptoms     from what one sees, by questions, to the bug
"""
