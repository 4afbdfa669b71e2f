"""What `ablations.seed_noise` and its bank share: the scores, and the rarer faults as options."""

import math
import statistics
from collections.abc import Callable

from annotated_transformer.exercises.content.faults import Fault

Scores = list[float]
Number = Callable[[Scores, Scores], float]

SCORES: dict[str, tuple[Scores, Scores]] = {  # the inputs, by which the mistakes are told apart too
    "two runs each": ([25.0, 26.0], [24.0, 24.4]),
    "5 and 3 runs": ([25.3, 25.9, 25.1, 25.6, 25.7], [25.2, 25.4, 24.7]),
    "3 and 6 runs, b ahead": ([24.1, 24.5, 24.2], [25.6, 25.1, 25.8, 25.2, 25.5, 25.0]),
    "4 and 3 runs, much noise": ([20.0, 27.0, 24.0, 25.4], [21.2, 23.9, 25.2]),
    "a little less than two errors": ([25.0, 25.6, 25.2, 25.8], [24.67, 25.17, 24.97]),
    "a little more than two errors": ([27.1, 26.2, 26.9], [26.26, 26.36, 25.56, 25.76]),
    "b ahead by less than an error": ([25.1, 25.7], [25.6, 25.3, 26.0, 25.2]),
    "more than three errors": ([25.9, 25.7, 25.8, 25.9], [25.1, 25.6, 25.3]),
    "a little less than three errors": (
        [25.6, 25.5, 25.7, 26.1, 26.3, 26.0],
        [25.4, 24.6, 24.7, 25.8, 25.1],
    ),
    "a little more than four errors": ([26.0, 25.8, 26.3, 26.1], [25.2, 25.7, 25.3, 25.6, 25.0]),
    "a ahead by less than an error": ([25.4, 26.0, 25.3], [25.1, 25.7, 25.0]),
    "equal means": ([25.5, 26.5], [25.25, 26.0, 26.75]),
    "small differences between many runs": (
        [25.82, 25.80, 25.83, 25.81, 25.84],
        [25.74, 25.73, 25.76, 25.75],
    ),
    "9 runs that stray and 5 that do not": (
        [25.0, 25.6, 25.3, 25.1, 25.5, 25.2, 25.4, 25.7, 24.9],
        [24.87, 24.97, 24.92, 24.82, 25.02],
    ),
    "scores of a perfect toy task": ([99.0, 98.4, 98.9], [98.8, 99.0, 98.5, 98.3, 99.1]),
}


def difference_of_means(a: Scores, b: Scores) -> float:
    """mean(a) - mean(b)."""
    return statistics.fmean(a) - statistics.fmean(b)


def standard_error(a: Scores, b: Scores) -> float:
    """Of the difference of the means, each with its own sample variance."""
    return math.sqrt(statistics.variance(a) / len(a) + statistics.variance(b) / len(b))


def paired_error(a: Scores, b: Scores) -> float:
    """Of the mean difference of run and run, the longer list cut off."""
    differences = [x - y for x, y in zip(a, b, strict=False)]
    return statistics.stdev(differences) / math.sqrt(len(differences))


def _less_one_twice(a: Scores, b: Scores) -> float:
    return math.sqrt(statistics.variance(a) / (len(a) - 1) + statistics.variance(b) / (len(b) - 1))


def _over(n: int, a: Scores, b: Scores) -> float:
    return math.sqrt((statistics.variance(a) + statistics.variance(b)) / n)


def _deviation(scores: Scores) -> float:
    return statistics.fmean(abs(score - statistics.fmean(scores)) for score in scores)


MORE_DIFFERENCES = (
    Fault(
        "worst-runs",
        {"difference": lambda a, b: min(a) - min(b)},
        "The worst runs are compared. Compare the means.",
    ),
    Fault(
        "best-against-worst",
        {"difference": lambda a, b: max(a) - min(b)},
        "The best run of a is compared with the worst of b. Compare the means.",
    ),
    Fault(
        "sums",
        {"difference": lambda a, b: sum(a) - sum(b)},
        "Sums are compared, so the variant with more runs wins. Divide each by its number of runs.",
    ),
    Fault(
        "first-runs",
        {"difference": lambda a, b: a[0] - b[0]},
        "The first runs alone are compared. That is the comparison of two seeds: use the means.",
    ),
    Fault(
        "last-runs",
        {"difference": lambda a, b: a[-1] - b[-1]},
        "The last runs alone are compared. Use the means.",
    ),
    Fault(
        "paired-difference",
        {"difference": lambda a, b: statistics.fmean(x - y for x, y in zip(a, b, strict=False))},
        "Run is subtracted from run (`zip`), and the longer list loses its last runs. The runs do "
        "not belong together in pairs: compare the means of all.",
    ),
    Fault(
        "relative",
        {"difference": lambda a, b: difference_of_means(a, b) / statistics.fmean(b)},
        "The difference is divided by the mean of b. Asked for is the difference itself, in BLEU.",
    ),
    Fault(
        "per-cent",
        {"difference": lambda a, b: 100 * difference_of_means(a, b) / statistics.fmean(b)},
        "The difference is given in per cent of b. Asked for is the difference itself, in BLEU.",
    ),
    Fault(
        "divided-by-length-of-a",
        {"difference": lambda a, b: (sum(a) - sum(b)) / len(a)},
        "Both sums are divided by the number of runs of a. Each mean has its own number of runs.",
    ),
    Fault(
        "divided-by-length-of-b",
        {"difference": lambda a, b: (sum(a) - sum(b)) / len(b)},
        "Both sums are divided by the number of runs of b. Each mean has its own number of runs.",
    ),
    Fault(
        "sum-of-means",
        {"difference": lambda a, b: statistics.fmean(a) + statistics.fmean(b)},
        "The means are added. Subtract the second from the first.",
    ),
    Fault(
        "means-over-less-one",
        {"difference": lambda a, b: sum(a) / (len(a) - 1) - sum(b) / (len(b) - 1)},
        "The means are divided by n - 1. That is for the variance; a mean is divided by n.",
    ),
    Fault(
        "in-errors",
        {"difference": lambda a, b: difference_of_means(a, b) / standard_error(a, b)},
        "The first number is the difference divided by its standard error. Return the difference "
        "itself first.",
    ),
)
MORE_ERRORS = (
    Fault(
        "numbers-of-runs-exchanged",
        {
            "error": lambda a, b: math.sqrt(
                statistics.variance(a) / len(b) + statistics.variance(b) / len(a)
            )
        },
        "Each variance is divided by the other's number of runs. Each goes with its own: s_a²/n_a "
        "+ s_b²/n_b.",
    ),
    Fault(
        "divided-by-fewer-runs",
        {"error": lambda a, b: _over(min(len(a), len(b)), a, b)},
        "Both variances are divided by the smaller number of runs (`min`). Each mean has its own.",
    ),
    Fault(
        "divided-by-more-runs",
        {"error": lambda a, b: _over(max(len(a), len(b)), a, b)},
        "Both variances are divided by the larger number of runs (`max`). Each mean has its own.",
    ),
    Fault(
        "mean-deviations",
        {"error": lambda a, b: math.hypot(*(_deviation(x) / math.sqrt(len(x)) for x in (a, b)))},
        "The mean *absolute* deviation is used. The variance takes the squares: summed, and "
        "divided by n - 1.",
    ),
    Fault(
        "variances-subtracted",
        {
            "error": lambda a, b: math.sqrt(
                abs(statistics.variance(a) / len(a) - statistics.variance(b) / len(b))
            )
        },
        "The variances are subtracted. Noise adds up also when the means are subtracted.",
    ),
    Fault(
        "of-a-alone",
        {"error": lambda a, b: statistics.stdev(a) / math.sqrt(len(a))},
        "Only the noise of a is counted. Both means stray: add s_b²/n_b.",
    ),
    Fault(
        "of-b-alone",
        {"error": lambda a, b: statistics.stdev(b) / math.sqrt(len(b))},
        "Only the noise of b is counted. Both means stray: add s_a²/n_a.",
    ),
    Fault(
        "averaged-variances",
        {"error": lambda a, b: math.sqrt((statistics.variance(a) + statistics.variance(b)) / 2)},
        "The two variances are averaged, and not divided by the numbers of runs. The mean of n "
        "runs has variance s²/n, and the two add up.",
    ),
    Fault(
        "averaged-errors",
        {"error": lambda a, b: standard_error(a, b) / math.sqrt(2)},
        "The two variances are averaged. They add up: both means stray.",
    ),
    Fault(
        "mean-of-errors",
        {
            "error": lambda a, b: (
                (statistics.stdev(a) / math.sqrt(len(a)) + statistics.stdev(b) / math.sqrt(len(b)))
                / 2
            )
        },
        "The two standard errors are averaged. Their squares add up, and the root is taken of the "
        "sum.",
    ),
    Fault(
        "larger-error",
        {
            "error": lambda a, b: max(
                statistics.stdev(a) / math.sqrt(len(a)), statistics.stdev(b) / math.sqrt(len(b))
            )
        },
        "The larger of the two standard errors is taken. Both means stray: their squares add up.",
    ),
    Fault(
        "deviations-added",
        {"error": lambda a, b: statistics.stdev(a) + statistics.stdev(b)},
        "The standard deviations of single runs are added. The variance of a mean is s²/n; the "
        "two add up, and the root is taken last.",
    ),
    Fault(
        "deviation-over-runs",
        {
            "error": lambda a, b: math.sqrt(
                (statistics.stdev(a) / len(a)) ** 2 + (statistics.stdev(b) / len(b)) ** 2
            )
        },
        "The deviations are divided by n. A mean strays by s / sqrt(n): the variance is divided "
        "by n, not by n².",
    ),
    Fault(
        "deviations-for-variances",
        {
            "error": lambda a, b: math.sqrt(
                statistics.stdev(a) / len(a) + statistics.stdev(b) / len(b)
            )
        },
        "Standard deviations stand in place of variances. Under the root are s²/n.",
    ),
    Fault(
        "divided-by-all-runs",
        {
            "error": lambda a, b: math.sqrt(
                (statistics.variance(a) + statistics.variance(b)) / (len(a) + len(b))
            )
        },
        "The variances are divided by the number of all runs. Each mean has its own: "
        "s_a²/n_a + s_b²/n_b.",
    ),
    Fault(
        "divided-by-runs-of-a",
        {
            "error": lambda a, b: math.sqrt(
                (statistics.variance(a) + statistics.variance(b)) / len(a)
            )
        },
        "Both variances are divided by the number of runs of a. Each mean has its own number.",
    ),
    Fault(
        "divided-by-runs-of-b",
        {
            "error": lambda a, b: math.sqrt(
                (statistics.variance(a) + statistics.variance(b)) / len(b)
            )
        },
        "Both variances are divided by the number of runs of b. Each mean has its own number.",
    ),
    Fault(
        "less-one-twice",
        {"error": _less_one_twice},
        "n - 1 is used twice. The sum of squares is divided by n - 1, the variance of the mean "
        "then by n.",
    ),
    Fault(
        "population-not-divided",
        {"error": lambda a, b: math.sqrt(statistics.pvariance(a) + statistics.pvariance(b))},
        "The sums of squares are divided by n instead of n - 1, and the variances not by the "
        "number of runs.",
    ),
    Fault(
        "paired-error",
        {"error": paired_error},
        "Run is subtracted from run (`zip`). The runs do not belong together in pairs: each "
        "variant has its own variance.",
    ),
    Fault(
        "two-errors",
        {"error": lambda a, b: 2 * standard_error(a, b), "decide": lambda d, se: abs(d) > se},
        "Two standard errors are returned. The second result is one; the factor 2 belongs to the "
        "comparison.",
    ),
    Fault(
        "margin-of-95-per-cent",
        {"error": lambda a, b: 1.96 * standard_error(a, b)},
        "The error is multiplied by 1.96, half of a 95 per cent interval. Return one standard "
        "error.",
    ),
    Fault(
        "deviations-over-runs-added",
        {"error": lambda a, b: statistics.stdev(a) / len(a) + statistics.stdev(b) / len(b)},
        "The deviations are divided by n and added. A mean strays by s / sqrt(n), and of two such "
        "errors the squares add up.",
    ),
    Fault(
        "spread-of-two-means",
        {"error": lambda a, b: statistics.stdev([statistics.fmean(a), statistics.fmean(b)])},
        "The deviation of the two means is taken: that is the difference itself, in disguise. The "
        "noise is in the runs.",
    ),
    Fault(
        "ranges",
        {"error": lambda a, b: math.hypot(max(a) - min(a), max(b) - min(b))},
        "The ranges, largest less smallest, are used. Asked for are sample variances.",
    ),
)
