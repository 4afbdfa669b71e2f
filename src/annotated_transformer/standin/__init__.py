"""A small imitation of PyTorch, for where there is none: a web page.

The book's exercises can be solved in a page, where Python and NumPy run but PyTorch does not. The
package `torch` in this folder takes its place there: the folder is put on Python's path, and
`import torch` finds it. Here, beside the real one, it is `annotated_transformer.standin.torch`.

It holds what the exercises, their named mistakes and the grader use, and what a learner plausibly
writes. Where it has something, it does what PyTorch does: numbers, dtypes, shared memory, random
numbers, gradients, and the sentences of errors. Where it lacks something it raises `NotInThisPage`,
so that nobody is told "wrong" for what is missing here.
"""
