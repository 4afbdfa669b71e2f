"""`inside.without_heads`: what multi-head attention says when some heads are silent."""

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def without_heads(heads: Tensor, w_o: Tensor, removed: list[int]) -> Tensor:
    batch, h, n, d_v = heads.shape
    speaks = torch.ones(h, dtype=heads.dtype)
    for head in removed:
        speaks[head] = 0.0
    left = heads * speaks.view(1, h, 1, 1)  # (batch, h, n, d_v)
    merged = left.transpose(1, 2).reshape(batch, n, h * d_v)
    return merged @ w_o


def _by_messages(heads: Tensor, w_o: Tensor, removed: list[int]) -> Tensor:
    d_v = heads.size(-1)
    out = heads.new_zeros(heads.size(0), heads.size(2), w_o.size(1))
    for head in range(heads.size(1)):
        if head not in removed:
            out = out + heads[:, head] @ w_o[head * d_v : (head + 1) * d_v]
    return out


def _by_rows_of_w_o(heads: Tensor, w_o: Tensor, removed: list[int]) -> Tensor:
    d_v = heads.shape[-1]
    rows = w_o.clone()
    for head in removed:
        rows[head * d_v : (head + 1) * d_v] = 0
    return heads.permute(0, 2, 1, 3).flatten(2) @ rows


def _by_taking_away(heads: Tensor, w_o: Tensor, removed: list[int]) -> Tensor:
    blocks = w_o.reshape(heads.shape[1], heads.shape[-1], -1)
    messages = torch.einsum("bhnd,hdm->bhnm", heads, blocks)
    return messages.sum(1) - sum(
        (messages[:, head] for head in removed), torch.zeros_like(messages[:, 0])
    )


def _by_choosing(heads: Tensor, w_o: Tensor, removed: list[int]) -> Tensor:
    batch, h, n, d_v = heads.shape
    kept = [head for head in range(h) if head not in removed]
    if not kept:
        return heads.new_zeros(batch, n, w_o.size(1))
    side_by_side = torch.cat([heads[:, head] for head in kept], dim=-1)
    rows = torch.cat([w_o[head * d_v : (head + 1) * d_v] for head in kept])
    return side_by_side @ rows


def _case(
    name: str, shape: tuple[int, int, int, int], d_model: int, removed: list[int], **more: object
) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        _, h, _, d_v = shape
        heads = torch.randn(shape, generator=generator, dtype=dtype)
        w_o = torch.randn(h * d_v, d_model, generator=generator, dtype=dtype)
        return call(heads, w_o, list(removed))

    return Case(name, make, **more)  # type: ignore[arg-type]


WITHOUT_HEADS = Exercise(
    id="inside.without_heads",
    title="Attention without some heads",
    kind="code",
    difficulty=2,
    minutes=10,
    signature=(
        "without_heads(heads: (B, h, n, d_v), w_o: (h*d_v, d_model), removed: list of int) "
        "-> (B, n, d_model)"
    ),
    statement=(
        "`heads` holds what each head of multi-head attention found, before they are concatenated. "
        "Return Concat(head_0, ..., head_h-1) W^O with the heads named in `removed`, counted from "
        "0, saying nothing: each gives a vector of zeros, all others what they gave before. W^O is "
        "used as `x @ w_o`, head 0 at the left. `removed` may be empty and may name all heads. The "
        "result has the dtype of `heads`."
    ),
    objective="Take a head out of a trained model, and nothing else.",
    prerequisite="multihead.merge_heads",
    hints=(
        "The output is a sum of messages, one a head. Which term of the sum goes? Which rows of "
        "W^O does a head's vector meet?",
        "Zero the removed heads along axis 1 before you concatenate; then merge and multiply as "
        "always.",
        "Multiply `heads` by a vector of ones and zeros of shape (1, h, 1, 1), then "
        "`.transpose(1, 2).reshape(B, n, h * d_v) @ w_o`.",
    ),
    reference=without_heads,
    explanation=(
        "Head i meets the rows i*d_v to (i+1)*d_v - 1 of W^O and no others, so zeroing its vector "
        "and zeroing those rows are the same. Nothing is divided again: the messages are a sum, "
        "not a mean, and the other heads have not changed. What does change is everything behind: "
        "the model was trained to hear all of them. That is why people also replace a head by its "
        "mean over many sentences: then it says nothing about this one."
    ),
    cases=(
        _case(
            "one sentence, 2 heads of width 1, head 0 removed",
            (1, 2, 1, 1),
            2,
            [0],
            isolates="which head is silent: there is one position and each head is one number",
        ),
        _case("2 heads of width 2, none removed", (1, 2, 2, 2), 3, []),
        _case("batch 2, 4 heads of width 3, head 1 removed", (2, 4, 5, 3), 6, [1]),
        _case("batch 3, 3 heads of width 3, heads 2 and 0 removed", (3, 3, 3, 3), 9, [2, 0]),
        _case("batch 2, 4 heads of width 2, heads 1, 2 and 3 removed", (2, 4, 4, 2), 8, [1, 2, 3]),
        _case("2 heads, both removed", (2, 2, 3, 4), 5, [0, 1]),
        _case("batch 4, 5 heads of width 2, heads 3 and 4 removed", (4, 5, 6, 2), 7, [3, 4]),
        _case("float32", (2, 3, 4, 2), 6, [1], stage="other", dtype=torch.float32),
    ),
    mistakes=page(__file__, without_heads),
    alternatives=(_by_messages, _by_rows_of_w_o, _by_taking_away, _by_choosing),
    starter=(
        "def without_heads(heads, w_o, removed):\n"
        '    """(B, h, n, d_v), (h*d_v, d_model), list of heads -> (B, n, d_model)."""\n'
        "    ...  # your code"
    ),
)
