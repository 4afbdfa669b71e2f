"""`attention.score_variance`: why the scores are divided by sqrt(d_k) (section 3.2.1, note 4)."""

from annotated_transformer.exercises.exercise import Candidate, Exercise, Mistake


def answer() -> dict[str, float]:
    d_k = 64
    variance = d_k * 1.0  # 64 independent products, each of variance 1
    std = variance**0.5
    return {"variance": variance, "std": std, "std_after_scaling": std / d_k**0.5}


def _as_plain_numbers() -> dict[str, float]:
    return {"variance": 64, "std": 8, "std_after_scaling": 1}


def _by_sampling() -> dict[str, float]:
    import torch

    generator = torch.Generator().manual_seed(1)
    q, k = torch.randn(2, 400_000, 64, generator=generator)
    scores = (q * k).sum(-1)
    return {
        "variance": float(scores.var()),
        "std": float(scores.std()),
        "std_after_scaling": float((scores / 8).std()),
    }


def _says(key: str, value: float) -> Candidate:
    return lambda: {key: value}


# The key, a name, the wrong number, what to say.
_WRONG: tuple[tuple[str, str, float, str], ...] = (
    (
        "variance",
        "is-std",
        8.0,
        "`variance`: 8 is the standard deviation. The variance of a sum of 64 independent terms "
        "of variance 1 is 64.",
    ),
    (
        "variance",
        "of-one-term",
        1.0,
        "`variance`: 1 is the variance of a single product q_i k_i. The dot product adds 64 of "
        "them, and variances of independent terms add up.",
    ),
    (
        "variance",
        "squared",
        4096.0,
        "`variance`: 4096 is 64 squared. For *independent* terms variances add up, 64 times 1; "
        "64 squared would be right for 64 copies of one and the same term.",
    ),
    (
        "variance",
        "doubled",
        128.0,
        "`variance`: 128 adds the variances of q_i and k_i. They are multiplied, not added: for "
        "independent numbers of mean 0 the product has variance 1 times 1.",
    ),
    (
        "variance",
        "zero",
        0.0,
        "`variance`: 0 is the mean of the dot product. Its terms cancel on average, but not in "
        "each draw: their variances add up to 64.",
    ),
    (
        "variance",
        "averaged",
        1 / 64,
        "`variance`: 1/64 is the variance of the mean of 64 terms. A dot product is their sum.",
    ),
    (
        "variance",
        "d_model",
        512.0,
        "`variance`: 512 is d_model, the width of all heads together. A query and a key of one "
        "head have d_k = 64 components, and their products are added.",
    ),
    (
        "variance",
        "heads",
        16.0,
        "`variance`: 16 is not a sum of 64 variances. Each product q_i k_i has variance 1 times 1, "
        "and variances of independent terms add up: 64 of them.",
    ),
    (
        "variance",
        "half",
        32.0,
        "`variance`: 32 is half of 64. Each of the 64 products has variance 1 times 1, not 1/2, "
        "and variances of independent terms add up.",
    ),
    (
        "variance",
        "one-less",
        63.0,
        "`variance`: 63 is one too few. One is subtracted where a variance is estimated from a "
        "sample; here 64 known variances are added.",
    ),
    (
        "std",
        "of-half-the-variance",
        32**0.5,
        "`std`: 5.66 is the root of 32. The variance of 64 independent terms of variance 1 is 64: "
        "take the root of that.",
    ),
    (
        "std",
        "of-doubled-variance",
        128**0.5,
        "`std`: 11.3 is the root of 128, which adds the variances of q_i and k_i. They are "
        "multiplied, not added: the variance of q·k is 64, and its root is the deviation.",
    ),
    (
        "std",
        "of-d_model",
        512**0.5,
        "`std`: 22.6 is the root of d_model = 512. A head's dot product adds d_k = 64 terms: take "
        "the root of 64.",
    ),
    (
        "std",
        "zero",
        0.0,
        "`std`: 0 would mean that every draw gives the same score. The mean of q·k is 0, but its "
        "draws vary around it: take the root of the variance, 64.",
    ),
    (
        "std",
        "too-small",
        4.0,
        "`std`: 4 squared is 16, and the variance of 64 independent terms of variance 1 is 64. "
        "The deviation is the root of that.",
    ),
    (
        "std",
        "is-variance",
        64.0,
        "`std`: 64 is the variance of the sum of 64 terms, and no deviation. The standard "
        "deviation is the square root of that variance, 8: scores of about 8 either way are "
        "common, and a few per cent lie beyond 16.",
    ),
    (
        "std",
        "of-one-term",
        1.0,
        "`std`: 1 is the deviation of a single product. Here 64 are added.",
    ),
    (
        "std",
        "two-sigma",
        16.0,
        "`std`: 16 is two standard deviations. It is not a bound either: about 5 per cent of the "
        "scores lie beyond it.",
    ),
    (
        "std",
        "root-twice",
        64**0.25,
        "`std`: the root was taken twice. The variance is 64; its square root is 8.",
    ),
    (
        "std",
        "inverse",
        0.125,
        "`std`: 1/8 is the factor by which the scores are scaled. Their own deviation is 8.",
    ),
    (
        "std",
        "half",
        32.0,
        "`std`: 32 is half of the variance. The standard deviation is its square *root*.",
    ),
    (
        "std_after_scaling",
        "divided-by-d_k",
        0.125,
        "`std_after_scaling`: 1/8 comes from dividing by d_k = 64, or from a deviation of 1 before "
        "scaling. The paper divides by the root of d_k, so that the deviation becomes 8 / 8.",
    ),
    (
        "std_after_scaling",
        "unchanged",
        8.0,
        "`std_after_scaling`: 8 is the deviation before scaling, or the variance divided by 8. "
        "Dividing every score by 8 divides their deviation of 8 by 8 too.",
    ),
    (
        "std_after_scaling",
        "root-of-std",
        8.0**0.5,
        "`std_after_scaling`: 2.83 is the square root of 8 (or that of d_model = 512, divided by "
        "8). Scaling divides the scores by sqrt(64) = 8, so the deviation is 8 / 8.",
    ),
    *(
        (
            "std_after_scaling",
            f"from-{name}",
            before / 8,
            f"`std_after_scaling`: {shown} is {said} divided by 8. Dividing by sqrt(64) = 8 is "
            "right; the deviation before scaling is the root of the variance, 64.",
        )
        for name, before, shown, said in (
            ("doubled-variance", 128**0.5, "1.41", "a deviation of 11.3, the root of 128,"),
            (
                "root-twice",
                64**0.25,
                "0.354, 1 / sqrt(8),",
                "a deviation of 2.83, the root taken twice,",
            ),
            ("half-the-variance", 32**0.5, "0.707", "a deviation of 5.66, the root of 32,"),
            ("too-small", 4.0, "0.5", "a deviation of 4"),
            ("two-sigma", 16.0, "2", "a deviation of 16, twice too much,"),
            ("half", 32.0, "4", "a deviation of 32, half of the variance,"),
        )
    ),
    (
        "std_after_scaling",
        "zero",
        0.0,
        "`std_after_scaling`: 0 would mean that all scores are equal. They still vary, with a "
        "standard deviation of 8 / 8.",
    ),
    (
        "std_after_scaling",
        "multiplied",
        64.0,
        "`std_after_scaling`: 64 comes from multiplying by sqrt(d_k). The scores are divided by "
        "it.",
    ),
    (
        "std_after_scaling",
        "scaled-twice",
        1 / 64,
        "`std_after_scaling`: 1/64 divides by d_k and by its root once more. One division by "
        "sqrt(64) = 8 turns a deviation of 8 into 8 / 8.",
    ),
)

MISTAKES = tuple(
    Mistake(f"{key}-{name}", _says(key, number), sentence) for key, name, number, sentence in _WRONG
)

SCORE_VARIANCE = Exercise(
    id="attention.score_variance",
    title="How large is a score?",
    kind="number",
    difficulty=2,
    minutes=6,
    signature="answer() -> dict of three numbers",
    statement=(
        "The components of q and k are independent, with mean 0 and variance 1, and d_k = 64. "
        "Return a dictionary with the 'variance' of the dot product q·k, its standard deviation "
        "'std', and the standard deviation 'std_after_scaling' of q·k / sqrt(d_k)."
    ),
    objective="Derive the scale of attention instead of remembering it.",
    prerequisite="attention.predict_shapes",
    hints=(
        "q·k is a sum of 64 products q_i k_i. What are the mean and the variance of one of them? "
        "(Of independent numbers the mean of the product is the product of the means; their "
        "squares are independent too.)",
        "Variances of independent terms add up. A standard deviation is the root of a variance.",
        "Variance 64 · 1. Its square root is the deviation, and dividing every score by "
        "sqrt(64) divides the deviation by the same number.",
    ),
    reference=answer,
    explanation=(
        "One product of independent numbers with mean 0 and variance 1 has mean 0 and variance "
        "1 · 1 = 1. The 64 products are independent, so their variances add up to 64; the "
        "standard deviation is 8. Divided by sqrt(d_k) = 8 it is 1, for every d_k: that is the "
        "whole reason for the scale. Dividing by d_k would make it 1/8 and all weights nearly "
        "equal."
    ),
    mistakes=MISTAKES,
    alternatives=(_as_plain_numbers, _by_sampling),
    starter=('def answer():\n    return {"variance": ..., "std": ..., "std_after_scaling": ...}'),
)
