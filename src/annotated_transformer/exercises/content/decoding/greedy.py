"""`decoding.greedy`: always the most probable next token, for a batch (section 6.1)."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.decoding.language_models import as_prefixes
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call

NextLogits = Callable[[Tensor], Tensor]


def greedy_decode(
    next_logits: NextLogits,
    batch_size: int,
    max_len: int,
    bos: int = 1,
    eos: int = 2,
    pad: int = 0,
) -> Tensor:
    tokens = torch.full((batch_size, 1), bos)  # (B, 1), one column more each step
    done = torch.zeros(batch_size, dtype=torch.bool)  # (B,) rows that have emitted eos
    for _ in range(max_len):
        logits = next_logits(tokens)  # (B, V)
        best = logits.argmax(dim=-1)  # (B,)
        token = torch.where(done, pad, best)  # the model's opinion on a done row is ignored
        tokens = torch.cat([tokens, token[:, None]], dim=1)
        done = done | (token == eos)
        if done.all():
            break
    return tokens


def _into_a_buffer(
    next_logits: NextLogits,
    batch_size: int,
    max_len: int,
    bos: int = 1,
    eos: int = 2,
    pad: int = 0,
) -> Tensor:
    out = torch.full((batch_size, max_len + 1), pad, dtype=torch.long)
    out[:, 0] = bos
    live = torch.ones(batch_size, dtype=torch.bool)
    for t in range(1, max_len + 1):
        best = next_logits(out[:, :t]).max(dim=1).indices
        out[live, t] = best[live]
        live &= best != eos
        if not live.any():
            return out[:, : t + 1]
    return out


def _cut_afterwards(
    next_logits: NextLogits,
    batch_size: int,
    max_len: int,
    bos: int = 1,
    eos: int = 2,
    pad: int = 0,
) -> Tensor:
    """All steps without freezing; what stands behind an eos is replaced at the end."""
    tokens = torch.ones(batch_size, 1, dtype=torch.long) * bos
    for _ in range(max_len):
        scores = torch.log_softmax(next_logits(tokens), dim=-1)
        tokens = torch.hstack([tokens, scores.topk(1).indices])
    is_eos = (tokens == eos).long()
    behind = is_eos.cumsum(dim=1) - is_eos > 0
    tokens[behind] = pad
    length = int((~behind).sum(dim=1).max())
    return tokens[:, :length]


def _row_by_row(
    next_logits: NextLogits,
    batch_size: int,
    max_len: int,
    bos: int = 1,
    eos: int = 2,
    pad: int = 0,
) -> Tensor:
    rows = [[bos] for _ in range(batch_size)]
    while len(rows[0]) <= max_len and not all(eos in row[1:] for row in rows):
        logits = next_logits(torch.tensor(rows)).tolist()
        for row, numbers in zip(rows, logits, strict=True):
            row.append(pad if eos in row[1:] else numbers.index(max(numbers)))
    return torch.tensor(rows, dtype=torch.long)


def _by_multiplying(
    next_logits: NextLogits,
    batch_size: int,
    max_len: int,
    bos: int = 1,
    eos: int = 2,
    pad: int = 0,
) -> Tensor:
    columns = [torch.tensor([bos] * batch_size)]
    going = torch.ones(batch_size, dtype=torch.long)
    while len(columns) <= max_len and going.sum() > 0:
        token = next_logits(torch.stack(columns, 1)).argmax(1) * going + pad * (1 - going)
        columns.append(token)
        going = going * (token != eos)
    return torch.stack(columns, dim=1)


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


GREEDY = Exercise(
    id="decoding.greedy",
    title="Greedy decoding of a batch",
    kind="code",
    difficulty=2,
    minutes=12,
    signature=(
        "greedy_decode(next_logits: callable LongTensor (B, t) -> (B, V), batch_size: int, "
        "max_len: int, bos=1, eos=2, pad=0) -> LongTensor (B, L)"
    ),
    statement=(
        "Decode batch_size = B sentences together, always taking the most probable next token. "
        "`next_logits` takes the tokens so far of all B rows, bos included, and returns the "
        "logits of each row's next token. Column 0 is bos, then at most max_len new tokens "
        "follow; a row that has emitted eos gets only pad afterwards; stop as soon as every row "
        "has emitted eos."
    ),
    objective="Decode a batch whose sentences end at different times.",
    prerequisite="masks.padding",
    hints=(
        "Two sentences: the first emits eos at once, the second as its third token. Write the "
        "(2, 4) result down by hand.",
        "Keep a boolean `done` (B,) beside the tokens. When is it updated, before or after pad is "
        "written, and which of `any` and `all` ends the loop?",
        "In each step: `token = next_logits(tokens).argmax(-1)`, `token = torch.where(done, pad, "
        "token)`, append it as a column, `done |= token == eos`, and leave if `done.all()`.",
    ),
    reference=greedy_decode,
    explanation=(
        "A batch is a rectangle and sentences are not equally long, so rows that have ended must "
        "be carried along. The model still proposes a token for them; overruling it with pad keeps "
        "the rectangle clean. The order matters: first pad or token by `done`, then `done` "
        "updated by the new token, otherwise eos itself is overwritten or one token slips in "
        "behind it. The last column always holds an eos unless max_len ended the loop."
    ),
    cases=(
        scripted(
            "one sentence that ends after two words",
            [[5, 7, 2, 6, 2]],
            6,
            isolates="one row: it ends with eos, and the loop with it",
        ),
        scripted(
            "two sentences, of 1 and 3 words",
            [[5, 2, 6, 8, 3, 2], [6, 4, 7, 2, 8, 3]],
            6,
            level=20.0,
            isolates="rows that end at different times",
        ),
        scripted(
            "two sentences that do not end within max_len = 3",
            [[5, 7, 6, 8, 2], [8, 4, 3, 2, 5]],
            3,
            isolates="the limit: bos and 3 new tokens",
        ),
        scripted(
            "three sentences of 3, 1 and 0 words",
            [[5, 4, 3, 2, 7, 8], [6, 2, 7, 7, 2, 3], [2, 8, 4, 6, 5, 2]],
            7,
        ),
        scripted(
            "three sentences of 1, 4 and 2 words", [[3, 2, 2, 4], [7, 6, 8, 4, 2], [4, 5, 2]], 5
        ),
        scripted("two sentences that end together", [[4, 6, 2, 5], [8, 3, 2, 7]], 5),
        scripted("two sentences that end in the last step", [[4, 6, 2], [8, 3, 2]], 3),
        scripted(
            "four sentences, of which one does not end",
            [[6, 8, 2, 5, 5], [3, 2, 4, 4, 2], [8, 5, 6, 3, 7, 4], [5, 3, 4, 2, 6]],
            5,
            level=-20.0,
        ),
        scripted("a single step", [[4, 5], [7, 2], [2, 6]], 1),
        scripted(
            "two sentences with bos = 3, eos = 0, pad = 1",
            [[5, 2, 7, 0, 1, 6], [8, 0, 4, 1, 5, 0]],
            6,
            3,
            0,
            1,
            bos=3,
        ),
        scripted(
            "two sentences with bos = 4, eos = 5, pad = 6 that do not end",
            [[7, 2, 1, 8, 3], [8, 5, 3, 4, 7]],
            4,
            4,
            5,
            6,
            bos=4,
        ),
        scripted(
            "six sentences, six tokens",
            [[4, 3, 2], [5, 2], [3, 5, 4, 2], [2, 4], [4, 5, 3, 2], [3, 2]],
            6,
            vocab_size=6,
        ),
        scripted(
            "float32 logits, three sentences", [[8, 2], [5, 3, 2], [4, 2]], 6, dtype=torch.float32
        ),
    ),
    mistakes=page(__file__, greedy_decode),
    alternatives=(_into_a_buffer, _cut_afterwards, _row_by_row, _by_multiplying),
    starter=(
        "def greedy_decode(next_logits, batch_size, max_len, bos=1, eos=2, pad=0):\n"
        '    """next_logits: (B, t) tokens -> (B, V) logits. Returns (B, L): bos, tokens, eos, '
        'pad."""\n'
        "    ...  # your code"
    ),
)
