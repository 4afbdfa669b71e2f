"""The rarer faults of `ablations.seed_noise` in the decision and in what is returned."""

from annotated_transformer.exercises.content.faults import Fault

MORE_DECISIONS = (
    Fault(
        "root-of-two-errors",
        {"decide": lambda d, se: d * d > 2 * se * se},
        "The squares are compared with a factor 2: that is 1.4 standard errors. Two of them "
        "squared are 4: `d * d > 4 * se * se`.",
    ),
    Fault(
        "lead-of-b-alone",
        {"decide": lambda d, se: d < -2 * se},
        "Only a lead of b is decided: the sign has to be dropped for the comparison. "
        "`abs(difference) > 2 * standard_error`.",
    ),
    Fault(
        "1.96",
        {"decide": lambda d, se: abs(d) > 1.96 * se},
        "1.96 standard errors are taken as enough. Asked for is 2.",
    ),
    Fault(
        "three-errors",
        {"decide": lambda d, se: abs(d) > 3 * se},
        "Three standard errors are asked for, or nearly so. The statement says two.",
    ),
    Fault(
        "four-errors",
        {"decide": lambda d, se: abs(d) > 4 * se},
        "Four standard errors are asked for: the factor 2 is used twice. The statement says two.",
    ),
    Fault(
        "a-ahead",
        {"decide": lambda d, se: d > 0},
        "It is decided by who is ahead. A lead may be noise: it has to be larger than two standard "
        "errors.",
    ),
    Fault(
        "one-error-of-a-ahead",
        {"decide": lambda d, se: d > se},
        "One standard error is taken as enough, and only a lead of a. "
        "`abs(difference) > 2 * standard_error`.",
    ),
    Fault(
        "a-tenth-of-a-point",
        {"decide": lambda d, se: abs(d) > 0.1},
        "0.1 BLEU is taken as enough. What is enough depends on the noise: two standard errors.",
    ),
    Fault(
        "half-a-point",
        {"decide": lambda d, se: abs(d) > 0.5},
        "0.5 BLEU is taken as enough. What is enough depends on the noise: two standard errors.",
    ),
    Fault(
        "one-point",
        {"decide": lambda d, se: abs(d) > 1.0},
        "1 BLEU is taken as enough. What is enough depends on the noise: two standard errors.",
    ),
    Fault(
        "always",
        {"decide": lambda d, se: True},
        "It is always decided. A difference has to be larger than two standard errors.",
    ),
    Fault(
        "never",
        {"decide": lambda d, se: False},
        "It is never decided. A difference larger than two standard errors is.",
    ),
    Fault(
        "sides-exchanged",
        {"decide": lambda d, se: 2 * abs(d) > se},
        "The factor 2 stands on the wrong side: the difference is doubled, not the error.",
    ),
    Fault(
        "ratio",
        {"decide": lambda d, se: abs(d) / se},
        "The third result is how many errors the difference is. Asked for is True or False.",
    ),
    Fault(
        "as-a-word",
        {"decide": lambda d, se: "yes" if abs(d) > 2 * se else "no"},
        "The third result is a word. Asked for is True or False: the comparison itself.",
    ),
    Fault(
        "as-another-word",
        {"decide": lambda d, se: "decided" if abs(d) > 2 * se else "undecided"},
        "The third result is a word. Asked for is True or False: the comparison itself.",
    ),
    Fault(
        "as-quoted-truth",
        {"decide": lambda d, se: str(abs(d) > 2 * se)},
        "The third result is a word. Asked for is True or False, without quotes.",
    ),
    Fault(
        "rounded-to-tenths",
        {"result": lambda d, se, decided: (round(d, 1), round(se, 1), decided)},
        "The numbers are rounded to tenths. Return them as they are; rounding is for printing.",
    ),
    Fault(
        "rounded-to-hundredths",
        {"result": lambda d, se, decided: (round(d, 2), round(se, 2), decided)},
        "The numbers are rounded to hundredths. Return them as they are; rounding is for printing.",
    ),
    Fault(
        "as-a-number",
        {"decide": lambda d, se: int(abs(d) > 2 * se)},
        "The third result is 1 or 0. Asked for is True or False: the comparison itself.",
    ),
    Fault(
        "decision-missing",
        {"result": lambda d, se, decided: (d, se)},
        "The decision is missing. Return three things: difference, standard error, decided.",
    ),
    Fault(
        "decision-alone",
        {"result": lambda d, se, decided: decided},
        "Only the decision is returned. Return three things: difference, standard error, decided.",
    ),
    Fault(
        "difference-and-error-exchanged",
        {"result": lambda d, se, decided: (se, d, decided)},
        "Difference and standard error are exchanged: the difference comes first.",
    ),
    Fault(
        "dictionary",
        {"result": lambda d, se, decided: {"difference": d, "error": se, "decided": decided}},
        "A dictionary is returned. Return the three things as a tuple.",
    ),
)
