"""Greedy decoding in steps that can be replaced one at a time, and the models of its cases."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.decoding.language_models import as_prefixes
from annotated_transformer.exercises.exercise import Call, Candidate, Case, call


def scripted(
    name: str,
    scripts: Sequence[Sequence[int]],
    *arguments: int,
    vocab_size: int = 9,
    bos: int = 1,
    isolates: str | None = None,
    level: float = 0.0,
    dtype: torch.dtype | None = None,
) -> Case:
    """A model that says its script, row by row, as long as it is shown what it said before.

    Behind the script, and for any other prefix, it babbles: tokens from 3 on that depend on the
    prefix. arguments: those after `batch_size`. level: of the logits.
    """

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        def next_logits(tokens: Tensor) -> Tensor:
            prefixes = as_prefixes(tokens, "next_logits")
            if len(prefixes) != len(scripts):
                raise ValueError(
                    f"next_logits decodes {len(scripts)} sentences at once: it takes a row for "
                    f"each, and got {len(prefixes)}"
                )
            rows = [logits(row, prefix) for row, prefix in enumerate(prefixes)]
            return torch.tensor(rows, dtype=dtype)

        def logits(row: int, prefix: tuple[int, ...]) -> list[float]:
            said = list(scripts[row])
            steps = len(prefix)
            known = steps <= len(said) and prefix == (bos, *said[: steps - 1])
            mark = sum((place + 2) * token for place, token in enumerate(prefix)) + 5 * row
            token = said[steps - 1] if known else 3 + mark % (vocab_size - 3)
            noise = [-((5 * v + 3 * row + 2 * steps) % vocab_size) / 2 for v in range(vocab_size)]
            noise[token] = 3.0 + (2 * row + steps) % 5 / 4
            return [level + number for number in noise]

        rows = "; ".join(f"row {row}: {list(said)}" for row, said in enumerate(scripts))
        next_logits.__name__ = f"whose largest logits are, step after step, {rows}"
        return call(next_logits, len(scripts), *arguments)

    return Case(name, make, isolates=isolates, dtype=dtype)


@dataclass(frozen=True)
class Setting:
    """The arguments of one call."""

    batch_size: int
    max_len: int
    bos: int
    eos: int
    pad: int


def first_column(s: Setting) -> Tensor:
    return torch.full((s.batch_size, 1), s.bos)


def whole_prefix(tokens: Tensor, s: Setting) -> Tensor:
    return tokens


def highest(logits: Tensor) -> Tensor:
    return logits.argmax(dim=-1)


def pads_for_the_done(token: Tensor, done: Tensor, tokens: Tensor, s: Setting) -> Tensor:
    return torch.where(done, s.pad, token)


def eos_seen(done: Tensor, token: Tensor, s: Setting) -> Tensor:
    return done | (token == s.eos)


def all_done(done: Tensor, token: Tensor, s: Setting) -> Any:
    return done.all()


def as_it_is(tokens: Tensor, s: Setting) -> Any:
    return tokens


@dataclass(frozen=True)
class Steps:
    """Greedy decoding; the defaults are the right one.

    given: the arguments. start: the first column. show: what the model is shown. choose: the next
    tokens. freeze: what the done rows get. mark: which rows are done. stop: whether to end.
    present: what is returned.
    """

    given: Callable[[Setting], Setting] = lambda s: s
    start: Callable[[Setting], Tensor] = first_column
    show: Callable[[Tensor, Setting], Tensor] = whole_prefix
    choose: Callable[[Tensor], Tensor] = highest
    freeze: Callable[[Tensor, Tensor, Tensor, Setting], Tensor] = pads_for_the_done
    mark: Callable[[Tensor, Tensor, Setting], Tensor] = eos_seen
    stop: Callable[[Tensor, Tensor, Setting], Any] = all_done
    present: Callable[[Tensor, Setting], Any] = as_it_is
    stop_before_writing: bool = False


def decoder_of(**steps: Any) -> Candidate:
    """The decoder with some steps replaced, with the signature of the exercise."""
    return _decoder(Steps(**steps))


def _decoder(steps: Steps) -> Candidate:
    def implementation(
        next_logits: Candidate,
        batch_size: int,
        max_len: int,
        bos: int = 1,
        eos: int = 2,
        pad: int = 0,
    ) -> Any:
        s = steps.given(Setting(batch_size, max_len, bos, eos, pad))
        tokens = steps.start(s)
        done = torch.zeros(s.batch_size, dtype=torch.bool)
        for _ in range(s.max_len):
            chosen = steps.choose(next_logits(steps.show(tokens, s)))
            token = steps.freeze(chosen, done, tokens, s)
            done = steps.mark(done, token, s)
            if steps.stop_before_writing and steps.stop(done, token, s):
                break
            tokens = torch.cat([tokens, token[:, None]], dim=1)
            if steps.stop(done, token, s):
                break
        return steps.present(tokens, s)

    return implementation
