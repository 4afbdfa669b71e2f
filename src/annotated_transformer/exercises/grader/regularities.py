"""How wrong numbers differ from the right ones, where the difference follows a rule."""

from collections.abc import Sequence

import numpy as np

from annotated_transformer.exercises.grader.compare import Pair, same, structure_problem
from annotated_transformer.exercises.grader.ladder import Finding, Trial
from annotated_transformer.exercises.grader.values import Array


def regularity_everywhere(finding: Finding, trials: Sequence[Trial]) -> str | None:
    """How the numbers differ, if they do so on every input that is wrong and not by coincidence.

    Two equal numbers differ from any two others by one factor or by one amount, so one input at
    least must hold several different ones.
    """
    shown = _regularity(finding.expected, finding.got)
    wrong = [pair for trial in trials if (pair := _first_wrong_array(trial))]
    kinds = {found and found[0] for found in (_regularity(p.expected, p.got) for p in wrong)}
    telling = any(len(np.unique(pair.expected.array)) > 2 for pair in wrong)
    if shown is None or kinds != {shown[0]} or not (telling or shown[0] == "opposite"):
        return None
    return shown[1]


def _first_wrong_array(trial: Trial) -> Pair | None:
    """The first wrong result of a main case, where it has more than one number."""
    expected, got = trial.expected, trial.got
    if trial.case.stage != "main" or got.failure or structure_problem(expected.value, got.value):
        return None
    for pair in trial.pairs:
        if isinstance(pair.expected, Array) and isinstance(pair.got, Array):
            several = pair.expected.array is not None and pair.expected.array.size > 1
            if several and not same(pair.expected, pair.got, trial.tolerance, any_float=True):
                return pair
    return None


def _regularity(expected: object, got: object) -> tuple[str, str] | None:
    """A regularity of the difference between two tensors: its kind, and a hint where to look."""
    if not isinstance(expected, Array) or not isinstance(got, Array):
        return None
    a, b = expected.array, got.array
    if a is None or b is None or a.shape != b.shape or a.size < 2:
        return None
    if a.dtype == bool and b.dtype == bool:
        opposite = "opposite", "Every entry is the opposite of what it should be."
        return opposite if (a != b).all() else None
    if a.dtype.kind not in "fiu" or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return None
    if np.allclose(a, b):
        return None
    if a.ndim >= 2 and a.shape[-1] == a.shape[-2] and np.allclose(a.swapaxes(-1, -2), b):
        return "exchanged", "The last two axes are exchanged."
    if np.allclose(np.sort(a, axis=None), np.sort(b, axis=None), rtol=1e-4):
        return "places", "The numbers are the right ones, but in other places."
    where = np.abs(a) > 1e-12
    ratios = b[where] / a[where]
    constant = ratios.size > 1 and np.allclose(ratios, ratios[0], rtol=1e-4)
    if constant and ratios[0] != 0 and not np.isclose(ratios[0], 1.0, rtol=1e-3):
        return "factor", f"Every number is {ratios[0]:.4g} times what it should be."
    if np.allclose(b - a, (b - a).flat[0], rtol=1e-4):
        return "amount", f"Every number is off by the same {(b - a).flat[0]:.4g}."
    return None
