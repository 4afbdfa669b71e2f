"""The inputs of `decoding.beam_search`."""

from collections.abc import Sequence
from typing import Any

import torch

from annotated_transformer.exercises.content.decoding.language_models import Known, log_prob_table
from annotated_transformer.exercises.exercise import Call, Case, Stage, call


def searched(
    name: str,
    *arguments: Any,
    seed: int,
    vocab_size: int = 6,
    known: Known | None = None,
    eos_bias: float = 0.0,
    eos: int = 2,
    rare: Sequence[int] = (0, 1),
    isolates: str | None = None,
    dtype: torch.dtype | None = None,
) -> Case:
    """arguments: those after `next_log_probs`."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        table = log_prob_table(
            seed, vocab_size, dtype, eos=eos, rare=rare, eos_bias=eos_bias, known=known
        )
        return call(table, *arguments)

    stage: Stage = "main" if dtype is None else "other"
    return Case(name, make, isolates=isolates, stage=stage, dtype=dtype)


def drawn(
    seed: int,
    vocab_size: int,
    eos_bias: float,
    eos: int,
    *arguments: Any,
    dtype: torch.dtype | None = None,
) -> Case:
    """A model of random probabilities. arguments: beam_size, max_len, and what is not default."""
    names = ("beam_size", "max_len", "alpha", "bos", "eos")
    given = ", ".join(f"{n} {v}" for n, v in zip(names, arguments, strict=False))
    bos = arguments[3] if len(arguments) > 3 else 1
    return searched(
        f"a random model of {vocab_size} tokens (seed {seed}), {given}",
        *arguments,
        seed=seed,
        vocab_size=vocab_size,
        eos_bias=eos_bias,
        eos=eos,
        rare=tuple(token for token in sorted({0, 1, bos}) if token != eos),
        dtype=dtype,
    )


_OVERTAKEN: Known = {
    (1,): {3: 0.6, 2: 0.4},
    (1, 3): {4: 0.9, 5: 0.1},
    (1, 3, 4): {5: 0.9, 3: 0.1},
    (1, 3, 4, 5): {2: 0.8, 4: 0.2},
}
_TRAP: Known = {
    (1,): {3: 0.55, 4: 0.45},
    (1, 3): {5: 0.4, 3: 0.35, 2: 0.25},
    (1, 4): {2: 0.9, 5: 0.1},
    (1, 3, 5): {2: 0.6, 4: 0.4},
    (1, 3, 5, 4): {2: 0.9, 3: 0.1},
}
_ENDLESS: Known = {
    (1,): {3: 0.6, 4: 0.4},
    (1, 3): {4: 0.55, 5: 0.45},
    (1, 4): {5: 0.95, 3: 0.05},
}
_CUT: Known = {
    (1,): {3: 0.5, 4: 0.3, 2: 0.2},
    (1, 3): {4: 0.7, 2: 0.3},
    (1, 4): {3: 0.6, 5: 0.4},
    (1, 3, 4): {5: 0.8, 2: 0.2},
    (1, 4, 3): {5: 0.6, 2: 0.4},
}
_COUNTED: Known = {(1,): {3: 0.6, 2: 0.4}, (1, 3): {2: 0.491, 4: 0.3, 5: 0.209}}

CASES = (
    searched(
        "beam_size 2, max_len 3: the probable beginning leads nowhere",
        2,
        3,
        seed=1,
        known=_TRAP,
        isolates="two live hypotheses, of which the second best leads to the best sentence",
    ),
    searched(
        "beam_size 2, max_len 2: nothing ends in time",
        2,
        2,
        seed=2,
        known=_ENDLESS,
        isolates="the growth of the beam: nothing ends in eos",
    ),
    searched(
        "beam_size 2, max_len 5: a longer sentence overtakes a short one",
        2,
        5,
        seed=3,
        known=_OVERTAKEN,
        isolates="the length penalty: a short sentence ends first, a longer one scores higher",
    ),
    searched(
        "beam_size 2, max_len 5, alpha 0: no penalty, the short sentence wins",
        2,
        5,
        0.0,
        seed=3,
        known=_OVERTAKEN,
        isolates="the plain totals: alpha = 0 makes the penalty 1",
    ),
    searched(
        "beam_size 3, max_len 3: one that was cut off is better than those that ended",
        3,
        3,
        seed=4,
        known=_CUT,
        isolates="the end at max_len: the live hypotheses join the pool",
    ),
    searched(
        "beam_size 2, max_len 2, alpha 2: one token more in L decides",
        2,
        2,
        2.0,
        seed=7,
        known=_COUNTED,
        isolates="the length L: bos does not count",
    ),
    searched("beam_size 1, max_len 4: greedy search", 1, 4, seed=5, known=_TRAP),
    searched("beam_size 2, max_len 1: a single step", 2, 1, seed=6, known=_OVERTAKEN),
    drawn(94706, 7, 0.5, 2, 3, 4),
    drawn(142, 6, -1.0, 2, 4, 6),
    drawn(35277, 7, -1.0, 2, 3, 5),
    drawn(70655, 6, -1.0, 2, 2, 7),
    drawn(2684, 6, 1.0, 2, 3, 5),
    drawn(24881, 6, 1.0, 3, 3, 7, 2.0, 0, 3),
    drawn(65450, 6, 0.0, 3, 4, 7, 2.0, 0, 3),
    drawn(19806, 6, 1.0, 3, 2, 7, 2.0, 0, 3),
    drawn(24924, 7, -1.0, 5, 2, 5, 1.0, 4, 5),
    drawn(28659, 7, -1.0, 5, 2, 4, 2.0, 4, 5),
    drawn(61514, 7, 1.5, 2, 4, 7, 2.0),
    drawn(92021, 6, -1.0, 3, 3, 7, 0.3, 0, 3),
    drawn(32924, 7, 2.0, 5, 3, 5, 2.0, 4, 5),
    drawn(72770, 7, 2.0, 2, 4, 4, 2.0),
    drawn(39154, 7, 0.0, 2, 2, 7, 1.0),
    drawn(4440, 7, 0.0, 5, 3, 6, 2.0, 4, 5),
    drawn(74733, 7, -1.0, 3, 3, 3, 0.3, 0, 3),
    drawn(18128, 6, 1.0, 2, 3, 5, 1.5),
    drawn(45944, 6, 1.5, 2, 2, 5, 1.0),
    drawn(7204, 6, 0.5, 2, 3, 6, 2.0),
    drawn(13723, 6, 0.0, 2, 2, 6, 0.3, dtype=torch.float32),
)
