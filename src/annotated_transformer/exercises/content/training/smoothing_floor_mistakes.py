"""Named mistakes of `training.smoothing_floor`."""

import math
from typing import Any

from annotated_transformer.exercises.exercise import Mistake


def _entropy(size: int, eps: float) -> float:
    return -(1 - eps) * math.log(1 - eps) - eps * math.log(eps / (size - 2))


def _floor(size: float, eps: float, target: float | None = None, count: float = 0) -> float:
    """Entropy of `size` tokens that share eps beside one with 1 - eps (or `target`)."""
    kept = 1 - eps if target is None else target
    share = eps / size
    return -kept * math.log(kept) - (count or size) * share * math.log(share)


def _szegedy(size: int, eps: float) -> float:
    return _floor(size, eps, 1 - eps + eps / size, size - 1)


_SHARE = (
    "The eps is shared by {} tokens. In this loss {}: V-2 tokens get eps/(V-2) each, all but the "
    "target and pad."
)
_BASE = "The logarithm is to base {}. The loss is in nats: the natural logarithm, `math.log`."
_BOTH = (
    "Two terms are needed: -(1-eps) ln(1-eps) for the target and -eps ln(eps/(V-2)) for the rest."
)
_ROUNDED_OFF = "The value is rounded. Return it as it is, with all its digits."


def _rounded(digits: int) -> Any:
    return lambda size, eps: round(_entropy(size, eps), digits)


MISTAKES = (
    Mistake(
        "zero",
        lambda size, eps: 0.0,
        "0 is the floor of the plain cross-entropy. With smoothing the model is asked for a "
        "distribution that is not certain, and even a perfect model pays its entropy.",
    ),
    Mistake(
        "target-only",
        lambda size, eps: -(1 - eps) * math.log(1 - eps),
        "Only the target's term is there. " + _BOTH,
    ),
    Mistake(
        "others-only",
        lambda size, eps: -eps * math.log(eps / (size - 2)),
        "Only the other tokens' term is there. " + _BOTH,
    ),
    Mistake(
        "one-of-the-others",
        lambda size, eps: (
            -(1 - eps) * math.log(1 - eps) - eps / (size - 2) * math.log(eps / (size - 2))
        ),
        "Only one of the other tokens is counted. There are V-2 of them, each with eps/(V-2), "
        "together eps.",
    ),
    Mistake(
        "coin",
        lambda size, eps: -(1 - eps) * math.log(1 - eps) - eps * math.log(eps),
        "This is the entropy of a coin, with eps on one single token. eps is shared by V-2 tokens: "
        "-eps ln(eps/(V-2)).",
    ),
    Mistake(
        "surprise-of-the-target",
        lambda size, eps: -math.log(1 - eps),
        "-ln(1-eps) is what the target alone costs when the model gives it 1-eps. The smoothed "
        "loss weighs every token with q: -sum of q ln q.",
    ),
    Mistake(
        "surprise-of-the-target-szegedy",
        lambda size, eps: -math.log(1 - eps + eps / size),
        "-ln(1 - eps + eps/V) is the *plain* loss of the best model where all V tokens share eps. "
        "Asked for is the smoothed loss where V-2 share it: every token weighed with q, the sum of "
        "-q ln q.",
    ),
    Mistake(
        "uniform",
        lambda size, eps: math.log(size),
        "ln V is the loss of a model that knows nothing. The lowest loss is reached where the "
        "model gives exactly q: the entropy of q.",
    ),
    Mistake(
        "uniform-over-the-others",
        lambda size, eps: math.log(size - 2),
        "ln(V-2) is the entropy of the V-2 other tokens alone. They have only eps of the weight: "
        "take the entropy of the whole q.",
    ),
    Mistake(
        "share-of-the-logarithm",
        lambda size, eps: eps * math.log(size - 2),
        "eps ln(V-2) is what sharing eps among V-2 tokens adds. The entropy of eps and 1-eps "
        "themselves is missing: -eps ln eps - (1-eps) ln(1-eps).",
    ),
    Mistake(
        "share-of-ln-v",
        lambda size, eps: eps * math.log(size),
        "eps ln V leaves out the entropy of eps and 1-eps themselves, and counts all V tokens. "
        "-(1-eps) ln(1-eps) - eps ln(eps/(V-2)).",
    ),
    Mistake("szegedy", _szegedy, _SHARE.format("all V", "neither the target nor pad takes part")),
    Mistake(
        "shared-by-v",
        lambda size, eps: _floor(size, eps),
        _SHARE.format("V", "neither the target nor pad takes part"),
    ),
    Mistake(
        "shared-by-v-minus-1",
        lambda size, eps: _floor(size - 1, eps),
        _SHARE.format("V-1", "pad has no share, either"),
    ),
    Mistake(
        "shared-by-v-minus-3",
        lambda size, eps: _floor(max(size - 3, 0.5), eps),
        _SHARE.format("V-3", "only the target and pad are left out"),
    ),
    Mistake(
        "shared-with-target",
        lambda size, eps: _floor(size - 1, eps, 1 - eps + eps / (size - 1), size - 2),
        _SHARE.format("V-1", "the target has no share besides its 1-eps"),
    ),
    Mistake(
        "base-2",
        lambda size, eps: _entropy(size, eps) / math.log(2),
        _BASE.format("2"),
    ),
    Mistake(
        "base-10",
        lambda size, eps: _entropy(size, eps) / math.log(10),
        _BASE.format("10"),
    ),
    Mistake(
        "negative",
        lambda size, eps: -_entropy(size, eps),
        "The sign is wrong. Logarithms of probabilities are negative, and the loss is minus their "
        "mean: it is positive.",
    ),
    Mistake(
        "sign-of-the-target",
        lambda size, eps: (1 - eps) * math.log(1 - eps) - eps * math.log(eps / (size - 2)),
        "The minus sign of the target's term is missing. " + _BOTH,
    ),
    Mistake(
        "sign-of-the-others",
        lambda size, eps: eps * math.log(eps / (size - 2)) - (1 - eps) * math.log(1 - eps),
        "The minus sign of the other tokens' term is missing. " + _BOTH,
    ),
    Mistake(
        "perplexity",
        lambda size, eps: math.exp(_entropy(size, eps)),
        "This is exp of the floor, a perplexity. Return the loss itself.",
    ),
    Mistake(
        "weights-exchanged",
        lambda size, eps: _entropy(size, 1 - eps),
        "eps and 1-eps are exchanged: the target has 1-eps and the V-2 others share eps.",
    ),
    Mistake(
        "sure-model",
        lambda size, eps: math.inf,
        "Infinite is the loss of a model that is *certain* of the target: the others have weight "
        "eps and probability 0. The lowest loss is reached where the model gives exactly q.",
    ),
    Mistake(
        "divided-by-v",
        lambda size, eps: _entropy(size, eps) / size,
        "The sum over the vocabulary is divided by V. The cross-entropy is a sum over tokens, not "
        "a mean.",
    ),
    Mistake(
        "logarithm-of-the-target-unweighted",
        lambda size, eps: -math.log(1 - eps) - eps * math.log(eps / (size - 2)),
        "The target's logarithm is not weighted with 1-eps. " + _BOTH,
    ),
    Mistake(
        "others-unweighted",
        lambda size, eps: -(1 - eps) * math.log(1 - eps) - math.log(eps / (size - 2)),
        "The other tokens' logarithm is not weighted with eps. " + _BOTH,
    ),
    Mistake(
        "both-unweighted",
        lambda size, eps: -math.log(1 - eps) - math.log(eps / (size - 2)),
        "The logarithms are added without their weights 1-eps and eps. " + _BOTH,
    ),
    Mistake(
        "sharing-unweighted",
        lambda size, eps: _floor(1, eps) + math.log(size - 2),
        "ln(V-2) is added without its weight eps: only eps is shared among the V-2 tokens. "
        + _BOTH,
    ),
    Mistake(
        "sharing-unweighted-subtracted",
        lambda size, eps: _floor(1, eps) - math.log(size - 2),
        "ln(V-2) is subtracted. Sharing eps among more tokens *raises* the entropy, by eps "
        "ln(V-2). " + _BOTH,
    ),
    Mistake(
        "sharing-subtracted",
        lambda size, eps: _floor(1, eps) - eps * math.log(size - 2),
        "eps ln(V-2) is subtracted. Sharing eps among more tokens *raises* the entropy: "
        "-ln(eps/(V-2)) = ln(V-2) - ln(eps). " + _BOTH,
    ),
    Mistake(
        "others-counted-twice",
        lambda size, eps: (
            -(1 - eps) * math.log(1 - eps) - eps * (size - 2) * math.log(eps / (size - 2))
        ),
        "The other tokens count V-2 times too much: together they have weight eps, V-2 times "
        "eps/(V-2).",
    ),
    Mistake(
        "share-of-the-logarithm-and-target",
        lambda size, eps: eps * math.log(size - 2) - math.log(1 - eps),
        "eps ln(V-2) - ln(1-eps) weighs the target with 1 instead of 1-eps, and forgets that each "
        "of the others has eps/(V-2), not 1/(V-2). " + _BOTH,
    ),
    Mistake(
        "eps-always-0.1",
        lambda size, eps: _entropy(size, 0.1),
        "eps is fixed at 0.1 in the code. Use the argument.",
    ),
    Mistake(
        "v-always-37000",
        lambda size, eps: _entropy(37_000, eps),
        "V is fixed at 37,000, the paper's. Use the argument.",
    ),
    Mistake(
        "the-papers-floor",
        lambda size, eps: 1.377,
        "1.377 is the floor for V = 37,000 and eps 0.1, the paper's values. Use the arguments.",
    ),
    Mistake(
        "eps-itself",
        lambda size, eps: eps,
        "eps itself is returned, the weight of the other tokens. The lowest loss is reached where "
        "the model gives exactly q, and is then the entropy of q. " + _BOTH,
    ),
    Mistake(
        "pad-has-a-share",
        lambda size, eps: (
            -(1 - eps) * math.log(1 - eps)
            - (size - 1) * eps / (size - 2) * math.log(eps / (size - 2))
        ),
        "V-1 tokens are counted with eps/(V-2) each, which is more than eps in all. Pad has 0: "
        "V-2 tokens get eps/(V-2), all but the target and pad.",
    ),
    *(
        Mistake(f"rounded-to-{digits}", _rounded(digits), _ROUNDED_OFF)
        for digits in (0, 1, 2, 3, 4)
    ),
    Mistake(
        "distribution-returned",
        lambda size, eps: [1 - eps, eps / (size - 2)],
        "The distribution is returned. Asked for is the lowest loss, one number: its entropy.",
    ),
    Mistake(
        "divided-by-ln-v",
        lambda size, eps: _entropy(size, eps) / math.log(size),
        "The entropy is divided by ln V, as a share of the largest possible. The loss is the "
        "entropy itself, in nats.",
    ),
    Mistake(
        "divergence-from-uniform",
        lambda size, eps: math.log(size) - _entropy(size, eps),
        "ln V less the entropy of q is how far q is from uniform. The lowest loss is the entropy "
        "of q itself.",
    ),
    Mistake(
        "plus-eps-in-the-logarithm",
        lambda size, eps: -(1 - eps) * math.log1p(eps) - eps * math.log(eps / (size - 2)),
        "The target's logarithm is that of 1+eps: `log1p(eps)` is ln(1+eps). Its probability is "
        "1-eps: `math.log(1 - eps)` or `math.log1p(-eps)`.",
    ),
    Mistake(
        "others-only-of-v",
        lambda size, eps: -eps * math.log(eps / size),
        "Only the other tokens' term is there, and eps is shared by V of them instead of V-2. "
        + _BOTH,
    ),
)
