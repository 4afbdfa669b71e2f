"""The wrong judgements for `ablations.seed_noise`: of the difference, its error, the decision."""

import math
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

from annotated_transformer.evidence.ablation.intervals import t_975, welch_freedom
from annotated_transformer.exercises.content.ablations.seed_noise_decisions import MORE_DECISIONS
from annotated_transformer.exercises.content.ablations.seed_noise_parts import (
    MORE_DIFFERENCES,
    MORE_ERRORS,
    SCORES,
    Number,
    Scores,
    difference_of_means,
    paired_error,
    standard_error,
)
from annotated_transformer.exercises.content.faults import Fault, single, together, told_apart
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _noise(
    scores_a: Scores,
    scores_b: Scores,
    *,
    difference: Number = difference_of_means,
    error: Number = standard_error,
    decide: Callable[[float, float], Any] = lambda d, se: abs(d) > 2 * se,
    result: Callable[[float, float, Any], Any] = lambda d, se, decided: (d, se, decided),
) -> Any:
    d, se = difference(scores_a, scores_b), error(scores_a, scores_b)
    return result(d, se, decide(d, se))


def _equal_variances(a: Scores, b: Scores) -> float:
    squares = statistics.variance(a) * (len(a) - 1) + statistics.variance(b) * (len(b) - 1)
    return math.sqrt(squares / (len(a) + len(b) - 2) * (1 / len(a) + 1 / len(b)))


def _population(a: Scores, b: Scores) -> float:
    return math.sqrt(statistics.pvariance(a) / len(a) + statistics.pvariance(b) / len(b))


_DIFFERENCES = (
    Fault(
        "b-minus-a",
        {"difference": lambda a, b: -difference_of_means(a, b)},
        "The difference has the wrong sign: it is mean(a) - mean(b), positive when a is ahead.",
    ),
    Fault(
        "sign-lost",
        {"difference": lambda a, b: abs(difference_of_means(a, b))},
        "The sign of the difference is lost. Return mean(a) - mean(b) as it is, negative when b is "
        "ahead; the absolute value belongs to the comparison only.",
    ),
    Fault(
        "best-runs",
        {"difference": lambda a, b: max(a) - max(b)},
        "The best runs are compared. The best of many seeds is a lucky one, and luckier the more "
        "there are: compare the means.",
    ),
    Fault(
        "medians",
        {"difference": lambda a, b: statistics.median(a) - statistics.median(b)},
        "Medians are compared. The standard error asked for is that of means.",
    ),
)
_ERRORS = (
    Fault(
        "population-variance",
        {"error": _population},
        "The variances are divided by n (`pvariance`, `np.std` without ddof=1). The mean was taken "
        "from the same runs, so the sum of squares is divided by n - 1; with two runs that "
        "doubles it.",
    ),
    Fault(
        "not-divided-by-runs",
        {"error": lambda a, b: math.sqrt(statistics.variance(a) + statistics.variance(b))},
        "The variances are not divided by the number of runs. That is how far two single runs "
        "differ; the mean of n runs has variance s² / n.",
    ),
    Fault(
        "errors-added",
        {
            "error": lambda a, b: (
                statistics.stdev(a) / math.sqrt(len(a)) + statistics.stdev(b) / math.sqrt(len(b))
            )
        },
        "The two standard errors are added. Independent noise adds up in *variances*: the root of "
        "s_a²/n_a + s_b²/n_b.",
    ),
    Fault(
        "no-root",
        {"error": lambda a, b: standard_error(a, b) ** 2},
        "The root is missing: this is the variance of the difference. Its standard error is the "
        "square root.",
    ),
    Fault(
        "equal-variances",
        {"error": _equal_variances},
        "The two variances are pooled, as a t-test for equal variances does. Asked for is each "
        "with its own: s_a²/n_a + s_b²/n_b.",
    ),
    Fault(
        "all-runs-together",
        {"error": lambda a, b: statistics.stdev(a + b) / math.sqrt(len(a + b))},
        "The deviation is taken of all runs together. The difference between the variants is "
        "counted as noise then: each has its own mean and variance.",
    ),
)
_DECISIONS = (
    Fault(
        "one-error",
        {"decide": lambda d, se: abs(d) > se},
        "One standard error is taken as enough. A third of all differences without a cause are "
        "larger: ask for two.",
    ),
    Fault(
        "wrong-sign-undecided",
        {"decide": lambda d, se: d > 2 * se},
        "Only a lead of a is decided: the sign has to be dropped for the comparison. "
        "`abs(difference) > 2 * standard_error`.",
    ),
    Fault(
        "any-difference",
        {"decide": lambda d, se: d != 0},
        "Every difference is taken as decided. Two seeds of one model differ too: it has to be "
        "larger than two standard errors.",
    ),
    Fault(
        "inverted",
        {"decide": lambda d, se: abs(d) <= 2 * se},
        "The decision is the wrong way round: True means that the difference is larger than two "
        "standard errors.",
    ),
)


# Of the t factor that decides. On the inputs of the exercise Welch's without rounding, and that of
# the smaller number of runs less 1, decide as "welch"; that of the larger less 1, and a fixed
# factor from 2.42 to 2.9, as "t-of-all-runs".
_FREEDOMS: dict[str, Callable[[Scores, Scores], int]] = {
    "welch": welch_freedom,
    "t-of-all-runs": lambda a, b: len(a) + len(b) - 2,
    "t-of-three-runs": lambda a, b: 2,
    "t-of-five-runs-each": lambda a, b: 8,
}


def _paired(a: Scores, b: Scores) -> Any:
    differences = [x - y for x, y in zip(a, b, strict=False)]
    d, se = statistics.fmean(differences), paired_error(a, b)
    return d, se, abs(d) > 2 * se


def _by_t_factor(a: Scores, b: Scores, freedom: Callable[[Scores, Scores], int]) -> Any:
    d, se, _ = _noise(a, b)
    return d, se, abs(d) > t_975(freedom(a, b)) * se


def _against_single_runs(a: Scores, b: Scores, of_b: bool) -> Any:
    d, se, _ = _noise(a, b)
    return d, se, abs(d) > 2 * statistics.stdev(b if of_b else a)


def _decided_on_best_runs(a: Scores, b: Scores) -> Any:
    d, se, _ = _noise(a, b)
    return d, se, max(a) - max(b) > 2 * se


def _no_overlap_of_runs(a: Scores, b: Scores) -> Any:
    d, se, _ = _noise(a, b)
    return d, se, min(a) > max(b) or min(b) > max(a)


def _no_overlap_of_intervals(a: Scores, b: Scores) -> Any:
    d, se, _ = _noise(a, b)
    errors = (statistics.stdev(scores) / math.sqrt(len(scores)) for scores in (a, b))
    return d, se, abs(d) > 2 * sum(errors)


def _sorted_in_place(a: Scores, b: Scores) -> Any:
    a.sort()
    return _noise(a, b)


def mistakes_against(reference: Candidate) -> tuple[Mistake, ...]:
    """The t factors first, which others come near; then each fault, and the common ones in twos."""
    common = (*_DIFFERENCES, *_ERRORS, *_DECISIONS)
    mistakes = [
        *(
            Mistake(
                name,
                partial(_by_t_factor, freedom=freedom),
                "Welch's interval, or another t factor, decides here. It is the stricter and the "
                "better rule for few runs, but asked for is the rough one: larger than two "
                "standard errors.",
            )
            for name, freedom in _FREEDOMS.items()
        ),
        *single(_noise, (*common, *MORE_DIFFERENCES, *MORE_ERRORS, *MORE_DECISIONS)),
        *together(_noise, common, 2),
    ]
    others = (
        Mistake(
            "paired",
            _paired,
            "Run is subtracted from run (`zip`), and the longer list loses its last runs. The runs "
            "do not belong together in pairs: take the means and variances of each variant.",
        ),
        Mistake(
            "runs-do-not-overlap",
            _no_overlap_of_runs,
            "It is decided by whether the runs of one are all above those of the other. That asks "
            "about single runs, and the more there are the harder it is: compare the difference "
            "of the means with two standard errors.",
        ),
        Mistake(
            "decided-on-best-runs",
            _decided_on_best_runs,
            "It is decided on the best runs, `max`. The best of many seeds is a lucky one: compare "
            "the difference of the means with two standard errors.",
        ),
        *(
            Mistake(
                f"against-runs-of-{name}",
                partial(_against_single_runs, of_b=name == "b"),
                f"The difference is compared with twice the deviation of single runs of {name}. A "
                "mean of n runs strays less: compare with two standard errors.",
            )
            for name in "ab"
        ),
        Mistake(
            "intervals-do-not-overlap",
            _no_overlap_of_intervals,
            "It is decided by whether the two intervals of two errors each do not overlap. That "
            "adds the two errors, and asks for too much: the error of a difference is the root of "
            "the sum of squares.",
        ),
    )
    in_place = Mistake(
        "sorted-in-place",
        _sorted_in_place,
        "The values are right, but the caller's list is changed (`sort()`). Work on a copy: "
        "`sorted(scores)`.",
    )
    return (*told_apart([*mistakes, *others], reference, tuple(SCORES.values())), in_place)
