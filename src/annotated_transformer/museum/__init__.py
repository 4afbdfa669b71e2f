"""The museum of silent bugs (chapter 16): code that runs, a loss that falls, and nonsense.

recipe      every step from sentences to a score, as it should be
bugs        the same with one step wrong, thirty-one times
checks      what to ask of a model and its code, so that a bug betrays itself
exhibit     a bug trained, asked, examined and recorded
"""
