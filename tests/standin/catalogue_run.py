"""Runs the real grader on the real catalogue, with whichever `torch` Python finds, and writes JSON.

Called as a script, in a process of its own: `python catalogue_run.py WHAT OUT [--standin FOLDER]`.
WHAT is JSON: {"exercises": [...] or null, "mistakes": how many of each or null, "inputs": bool}.
With --standin, FOLDER goes to the front of Python's path, so that `import torch` finds the
stand-in. The candidates run in this process: the page has no other.
"""

import argparse
import json
import sys
import time
import warnings
from dataclasses import asdict
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", type=json.loads)
    parser.add_argument("out")
    parser.add_argument("--standin")
    arguments = parser.parse_args()
    if arguments.standin:
        sys.path.insert(0, arguments.standin)
    warnings.simplefilter("ignore")
    with open(arguments.out, "w") as file:
        json.dump(run(**arguments.what), file)


def run(
    exercises: list[str] | None = None, mistakes: int | None = None, inputs: bool = False
) -> dict[str, Any]:
    """Per exercise: the inputs of its cases, and a report for every candidate."""
    import torch

    from annotated_transformer.exercises.catalogue import find, ids

    torch.set_num_threads(1)
    found = {}
    for name in exercises or ids():
        if exercise := find(name):
            candidates = {"reference": exercise.reference}
            candidates |= {f"right form {k}": f for k, f in enumerate(exercise.alternatives)}
            named = exercise.mistakes
            step = 1 if mistakes is None else max(1, len(named) // max(mistakes, 1))
            some = named[::step][:mistakes]
            candidates |= {f"mistake {one.name}": one.implementation for one in some}
            found[name] = {
                "inputs": _inputs(exercise) if inputs else None,
                "verdicts": {key: _verdict(exercise, f) for key, f in candidates.items()},
            }
    return found


def _inputs(exercise: Any) -> list[Any]:
    """A text for each case that is the same where its inputs are."""
    import torch

    from annotated_transformer.exercises.grader.outcomes import cases_of, make_call
    from annotated_transformer.exercises.grader.pristine import pristine

    with pristine():
        return [
            _written([list(made.args), dict(made.kwargs)])
            for index in range(len(cases_of(exercise)))
            for made in [make_call(exercise, index, torch.float64)]
        ]


def _written(tree: Any) -> Any:
    import torch

    if isinstance(tree, torch.Tensor):
        numbers = tree.detach().to(torch.float64) if tree.is_floating_point() else tree
        return [str(tree.dtype), list(tree.shape), tree.is_contiguous(), numbers.tolist()]
    if isinstance(tree, dict):
        return {str(key): _written(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_written(one) for one in tree]
    return (
        repr(tree) if isinstance(tree, (int, float, str, bool, type(None))) else type(tree).__name__
    )


def _verdict(exercise: Any, candidate: Any) -> dict[str, Any]:
    from annotated_transformer.exercises.in_page import run_here, verdict_on

    begun = time.perf_counter()
    verdict = verdict_on(exercise, run_here(exercise, candidate))
    return {**asdict(verdict), "seconds": time.perf_counter() - begun}


if __name__ == "__main__":
    main()
