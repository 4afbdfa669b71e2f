"""`training.smoothing_floor` (section 5.4): a smoothed loss cannot reach zero."""

import math
from typing import Any

import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def smoothing_floor(V: int, eps: float) -> float:  # noqa: N803
    share = eps / (V - 2)  # of each of the V-2 tokens that are neither the target nor pad
    target = -(1 - eps) * math.log(1 - eps)
    others = -eps * math.log(share)  # the V-2 of them have eps together
    return target + others


def _by_entropy(V: int, eps: float) -> Any:  # noqa: N803
    q = torch.full((V - 1,), eps / (V - 2), dtype=torch.float64)  # all but pad
    q[0] = 1 - eps
    return torch.special.entr(q).sum()


def _by_sum(V: int, eps: float) -> float:  # noqa: N803
    q = [1 - eps] + [eps / (V - 2)] * (V - 2)
    return sum(p * math.log(1 / p) for p in q)


def _by_parts(V: int, eps: float) -> float:  # noqa: N803
    coin = -eps * math.log(eps) - (1 - eps) * math.log1p(-eps)
    return coin + eps * math.log(V - 2)


def _by_cross_entropy(V: int, eps: float) -> Any:  # noqa: N803
    q = torch.full((V - 1,), eps / (V - 2), dtype=torch.float64)
    q[-1] = 1 - eps
    return torch.nn.functional.cross_entropy(q.log()[None], q[None])


def _case(V: int, eps: float, isolates: str | None = None) -> Case:  # noqa: N803
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(V, eps)

    return Case(f"V = {V}, eps = {eps}", make, isolates=isolates)


CASES = (
    _case(3, 0.5, "the entropy of a fair coin: one other token, which gets half"),
    _case(4, 0.5, "the sharing: two other tokens get a quarter each"),
    _case(10, 0.1),
    _case(37_000, 0.1),
    _case(8_000, 0.3),
    _case(6, 0.25),
    _case(1_000, 0.01),
    _case(5, 0.6),
)

SMOOTHING_FLOOR = Exercise(
    id="training.smoothing_floor",
    title="The lowest smoothed loss",
    kind="number",
    difficulty=3,
    minutes=10,
    signature="smoothing_floor(V: int, eps: float) -> float, in nats",
    statement=(
        "How low can the loss of the exercise training.label_smoothing_loss get, in which V-2 "
        "tokens share eps? Return its lowest possible value for a vocabulary of V >= 3 tokens, pad "
        "included, and 0 < eps < 1, in nats: the model may give any probabilities it likes, and q "
        "is 1-eps on the target, eps/(V-2) on every other token except pad, 0 on pad."
    ),
    objective="Read a smoothed loss: know its floor before calling a model bad.",
    prerequisite="training.label_smoothing_loss",
    hints=(
        "The loss is -(q * log p).sum(), and p may be chosen freely. Would a model that is certain "
        "of the target pay nothing?",
        "Among all p, which one makes the cross-entropy -(q * log p).sum() smallest? Put it in.",
        "-sum q ln q has two kinds of terms: one token with 1-eps, and V-2 tokens with eps/(V-2) "
        "each, whose weights add up to eps.",
    ),
    reference=smoothing_floor,
    explanation=(
        "Cross-entropy is the entropy of q plus a divergence that is never negative and is 0 where "
        "p = q. So the floor is the entropy of q: for the paper's 37,000 tokens and eps 0.1 it is "
        '1.377 nats, and exp of that is 3.96. A "perplexity" made from the smoothed loss cannot '
        'be lower, however good the model is. That is why smoothing "hurts perplexity": compute '
        "perplexity from the plain log-likelihood, and do not look for a bug in a loss that stops "
        "at 1.4."
    ),
    cases=CASES,
    mistakes=page(__file__, smoothing_floor),
    alternatives=(_by_entropy, _by_sum, _by_parts, _by_cross_entropy),
    starter=(
        "def smoothing_floor(V, eps):\n"
        '    """Vocabulary size (with pad) and epsilon -> the lowest smoothed loss, in nats."""\n'
        "    ...  # your code"
    ),
)
