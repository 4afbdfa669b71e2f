"""`training.shift_targets` (section 3.1): the decoder's input and what it is to predict."""

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call

Tensors = tuple[Tensor, Tensor]


def shift_targets(tgt: Tensor) -> Tensors:
    decoder_input = tgt[:, :-1]  # (B, n-1): all but the last token
    labels = tgt[:, 1:]  # (B, n-1): all but the first
    return decoder_input, labels


def _by_narrow(tgt: Tensor) -> Tensors:
    n = tgt.size(1)
    return tgt.narrow(1, 0, n - 1).clone(), tgt.narrow(1, 1, n - 1).clone()


def _by_lists(tgt: Tensor) -> Tensors:
    rows = tgt.tolist()
    return torch.tensor([row[:-1] for row in rows]), torch.tensor([row[1:] for row in rows])


def _by_unbinding(tgt: Tensor) -> Tensors:
    columns = tgt.unbind(1)
    return torch.stack(columns[:-1], dim=1), torch.stack(columns[1:], dim=1)


def _by_windows(tgt: Tensor) -> Tensors:
    pairs = tgt.unfold(1, 2, 1)  # (B, n-1, 2): each token with the next
    return pairs[..., 0], pairs[..., 1]


def _by_loops(tgt: Tensor) -> Tensors:
    batch, n = tgt.shape
    given, wanted = tgt.new_zeros(batch, n - 1), tgt.new_zeros(batch, n - 1)
    for t in range(n - 1):
        given[:, t] = tgt[:, t]
        wanted[:, t] = tgt[:, t + 1]
    return given, wanted


def _case(name: str, rows: list[list[int]], isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(torch.tensor(rows))

    return Case(name, make, isolates=isolates)


CASES = (
    _case("one sentence, [1, 5, 6, 7, 2]", [[1, 5, 6, 7, 2]], "the shift within one row"),
    _case("two sentences, one padded", [[1, 8, 9, 4, 3, 2], [1, 7, 2, 0, 0, 0]]),
    _case("tgt of shape (1, 2)", [[1, 2]], "the shortest target: one token predicts the other"),
    _case(
        "three sentences of 4 tokens",
        [[1, 11, 12, 2], [1, 13, 2, 0], [1, 2, 0, 0]],
    ),
    _case("sentences without begin and end", [[9, 8, 7, 6, 5], [14, 13, 12, 0, 0]]),
)

SHIFT_TARGETS = Exercise(
    id="training.shift_targets",
    title="Shift the target",
    kind="code",
    difficulty=1,
    minutes=5,
    signature="shift_targets(tgt: LongTensor (B, n)) -> (decoder_input (B, n-1), labels (B, n-1))",
    statement=(
        "Teacher forcing: make the decoder's input and its labels from the target sentences. "
        "Position t of the input predicts position t+1 of tgt. tgt begins with the begin of "
        "sentence and may end with padding; the tokens themselves stay as they are, padding too, "
        "and tgt is not changed."
    ),
    objective="Train on every position of a sentence at once without giving the answer away.",
    prerequisite="masks.target",
    hints=(
        "tgt is [1, 5, 6, 2] (begin, two words, end). When the decoder has seen 1, what should it "
        "say? And when it has seen 1, 5?",
        "There are n - 1 such questions for n tokens. Which token is never a question, and which "
        "is never an answer?",
        "The input is all but the last column, the labels are all but the first: slices on the "
        "second axis.",
    ),
    reference=shift_targets,
    explanation=(
        "The decoder is given the right prefix at every position (teacher forcing), and the causal "
        "mask hides what comes later, so all n - 1 predictions are made in one pass. The shift by "
        'one is the "output embeddings offset by one position" of section 3.1. Without it the '
        "label would stand in the input at the same place, and the model would learn to copy."
    ),
    cases=CASES,
    mistakes=page(__file__, shift_targets),
    alternatives=(_by_narrow, _by_lists, _by_unbinding, _by_windows, _by_loops),
    starter=(
        "def shift_targets(tgt):\n"
        '    """(B, n) -> decoder input (B, n-1), labels (B, n-1)."""\n'
        "    ...  # your code"
    ),
    returns=("decoder_input", "labels"),
)
