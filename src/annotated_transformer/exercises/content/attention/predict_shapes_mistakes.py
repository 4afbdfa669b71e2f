"""The wrong shapes that `attention.predict_shapes` knows, for any sizes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations, permutations, product

from annotated_transformer.exercises.exercise import Candidate, Mistake

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Sizes:
    """The sizes of one learner's exercise; the defaults are those printed in the book."""

    batch: int = 2
    heads: int = 8
    n_q: int = 5
    n_k: int = 7
    d_k: int = 16
    d_v: int = 32

    @property
    def q(self) -> Shape:
        return (self.batch, self.heads, self.n_q, self.d_k)

    @property
    def k(self) -> Shape:
        return (self.batch, self.heads, self.n_k, self.d_k)

    @property
    def v(self) -> Shape:
        return (self.batch, self.heads, self.n_k, self.d_v)


def right_shapes(sizes: Sizes) -> dict[str, Shape]:
    b, h, n_q, n_k, d_v = sizes.batch, sizes.heads, sizes.n_q, sizes.n_k, sizes.d_v
    return {
        "scores": (b, h, n_q, n_k),
        "weights": (b, h, n_q, n_k),
        "output": (b, h, n_q, d_v),
        "key_padding_mask": (b, 1, 1, n_k),
    }


# The key asked for, a name, the wrong shape, what to say. "scores" stands for the weights too.
_WRONG: tuple[tuple[str, str, Callable[[Sizes], Shape], str], ...] = (
    (
        "scores",
        "square-queries",
        lambda s: (s.batch, s.heads, s.n_q, s.n_q),
        "`{key}` is not square: (n_q, n_q) would compare the queries with themselves. Every query "
        "meets every key, so the last two axes are (n_q, n_k).",
    ),
    (
        "scores",
        "square-keys",
        lambda s: (s.batch, s.heads, s.n_k, s.n_k),
        "`{key}` is not square: (n_k, n_k) would compare the keys with themselves. Every query "
        "meets every key, so the last two axes are (n_q, n_k).",
    ),
    (
        "scores",
        "transposed",
        lambda s: (s.batch, s.heads, s.n_k, s.n_q),
        "`{key}` is transposed: rows are queries and columns are keys, (n_q, n_k), because "
        "the product is q k^T.",
    ),
    (
        "scores",
        "width-kept",
        lambda s: (s.batch, s.heads, s.n_q, s.d_k),
        "`{key}` still has the width d_k. The dot product sums over d_k, so that axis is gone: "
        "one number for each query and key, (n_q, n_k).",
    ),
    (
        "scores",
        "widths",
        lambda s: (s.batch, s.heads, s.d_k, s.d_k),
        "`{key}` has (d_k, d_k), which is k^T q, a product over positions. q k^T sums over the "
        "width and leaves positions: (n_q, n_k).",
    ),
    (
        "scores",
        "no-heads",
        lambda s: (s.batch, s.n_q, s.n_k),
        "`{key}` has lost the axis of the heads. Leading axes go along untouched: each head has "
        "its own (n_q, n_k).",
    ),
    (
        "scores",
        "matrix",
        lambda s: (s.n_q, s.n_k),
        "`{key}` has lost the leading axes. Batch and heads go along untouched: each sentence and "
        "head has its own (n_q, n_k).",
    ),
    (
        "scores",
        "value-width",
        lambda s: (s.batch, s.heads, s.n_q, s.d_v),
        "`{key}` has the width of the values. The values come in only at the end; queries against "
        "keys is (n_q, n_k).",
    ),
    (
        "scores",
        "no-batch",
        lambda s: (s.heads, s.n_q, s.n_k),
        "`{key}` has lost the axis of the batch. Leading axes go along untouched: each sentence "
        "and head has its own (n_q, n_k).",
    ),
    (
        "scores",
        "batch-and-heads-joined",
        lambda s: (s.batch * s.heads, s.n_q, s.n_k),
        "`{key}` has batch and heads joined into one axis. They go along untouched, as two axes.",
    ),
    (
        "scores",
        "all-five",
        lambda s: (s.batch, s.heads, s.n_q, s.n_k, s.d_k),
        "`{key}` still has the axis of the width. A dot product sums over it: (n_q, n_k).",
    ),
    (
        "scores",
        "one-a-key",
        lambda s: (s.batch, s.heads, s.n_k),
        "`{key}` has one number for each key, and the axis of the queries is gone. Every query has "
        "a row of its own: (n_q, n_k).",
    ),
    (
        "weights",
        "one-a-query",
        lambda s: (s.batch, s.heads, s.n_q),
        "`weights` has one number a query. The softmax does not sum an axis away, it divides by "
        "the sum: the shape of the scores stays, (n_q, n_k).",
    ),
    (
        "weights",
        "one-a-query-kept",
        lambda s: (s.batch, s.heads, s.n_q, 1),
        "`weights` has one number a query. That is the softmax's denominator; the weights "
        "themselves keep the shape of the scores, (n_q, n_k).",
    ),
    (
        "output",
        "key-width",
        lambda s: (s.batch, s.heads, s.n_q, s.d_k),
        "`output` has the width d_k of queries and keys. What is averaged are the values, so it "
        "is d_v wide.",
    ),
    (
        "output",
        "one-a-key",
        lambda s: (s.batch, s.heads, s.n_k, s.d_v),
        "`output` has one row a key, the shape of v. There is one result for each query: "
        "(n_q, n_k) times (n_k, d_v) is (n_q, d_v).",
    ),
    (
        "output",
        "one-a-key-key-width",
        lambda s: (s.batch, s.heads, s.n_k, s.d_k),
        "`output` has the shape of k. There is one result for each query, n_q, and it is as wide "
        "as a value, d_v.",
    ),
    (
        "output",
        "scores",
        lambda s: (s.batch, s.heads, s.n_q, s.n_k),
        "`output` has the shape of the weights. They are multiplied with the values, which sums "
        "over the keys: (n_q, n_k) times (n_k, d_v) is (n_q, d_v).",
    ),
    (
        "output",
        "heads-merged",
        lambda s: (s.batch, s.n_q, s.heads * s.d_v),
        "`output` has its heads merged already. That happens after attention, in multi-head "
        "attention; here each head has its own (n_q, d_v).",
    ),
    (
        "output",
        "heads-merged-key-width",
        lambda s: (s.batch, s.n_q, s.heads * s.d_k),
        "`output` has its heads merged already, and each of them d_k wide. What is averaged are "
        "the values: each head has its own (n_q, d_v), and merging comes later.",
    ),
    (
        "output",
        "no-heads",
        lambda s: (s.batch, s.n_q, s.d_v),
        "`output` has lost the axis of the heads. Leading axes go along untouched: each head has "
        "its own (n_q, d_v).",
    ),
    (
        "output",
        "transposed",
        lambda s: (s.batch, s.heads, s.d_v, s.n_q),
        "`output` is transposed: rows are queries, columns the coordinates of a value, (n_q, d_v).",
    ),
    (
        "output",
        "positions-before-heads",
        lambda s: (s.batch, s.n_q, s.heads, s.d_v),
        "`output` has positions before heads. That transpose comes later, when heads are merged; "
        "here the leading axes stay, (batch, heads, n_q, d_v).",
    ),
    (
        "output",
        "one-number-a-query",
        lambda s: (s.batch, s.heads, s.n_q),
        "`output` has one number for each query. Each query gets a weighted average of vectors, "
        "which is d_v wide.",
    ),
    (
        "key_padding_mask",
        "tokens",
        lambda s: (s.batch, s.n_k),
        "`key_padding_mask` has two axes. Against four-dimensional scores they would line up with "
        "(n_q, n_k), the batch with the queries: two axes of length 1 belong between them.",
    ),
    (
        "key_padding_mask",
        "three-axes",
        lambda s: (s.batch, 1, s.n_k),
        "`key_padding_mask` has three axes: its batch would line up with the heads. Four are "
        "needed, with length 1 for heads and queries.",
    ),
    (
        "key_padding_mask",
        "full",
        lambda s: (s.batch, s.heads, s.n_q, s.n_k),
        "`key_padding_mask` is written out in full. Whether a key is padding depends neither on "
        "the head nor on the query, so these two axes can be 1.",
    ),
    (
        "key_padding_mask",
        "a-row-a-query",
        lambda s: (s.batch, 1, s.n_q, s.n_k),
        "`key_padding_mask` has a row for each query. A padded key is hidden from all of them, so "
        "the query axis can be 1.",
    ),
    (
        "key_padding_mask",
        "a-row-a-head",
        lambda s: (s.batch, s.heads, 1, s.n_k),
        "`key_padding_mask` has a row for each head. A padded key is hidden from all of them, so "
        "the head axis can be 1.",
    ),
    (
        "key_padding_mask",
        "query-axis",
        lambda s: (s.batch, 1, s.n_q, 1),
        "`key_padding_mask` speaks of queries: its tokens lie on axis -2. What is hidden are "
        "padded keys, and keys are the last axis.",
    ),
    (
        "key_padding_mask",
        "keys-on-query-axis",
        lambda s: (s.batch, 1, s.n_k, 1),
        "`key_padding_mask` has its keys on the query axis. Scores are (..., n_q, n_k): keys are "
        "the last axis.",
    ),
    (
        "key_padding_mask",
        "query-length",
        lambda s: (s.batch, 1, 1, s.n_q),
        "`key_padding_mask` has the length of the queries. It hides keys, of which there are n_k.",
    ),
    (
        "key_padding_mask",
        "one-sentence",
        lambda s: (1, 1, 1, s.n_k),
        "`key_padding_mask` has one row for the whole batch. Sentences differ in length, so each "
        "needs its own row: the batch axis stays.",
    ),
    (
        "key_padding_mask",
        "keys-on-head-axis",
        lambda s: (s.batch, s.n_k, 1, 1),
        "`key_padding_mask` has its keys on the axis of the heads. Scores are (batch, heads, n_q, "
        "n_k): keys are the last axis.",
    ),
    (
        "key_padding_mask",
        "batch-on-query-axis",
        lambda s: (1, 1, s.batch, s.n_k),
        "`key_padding_mask` has the batch on the query axis. The batch is the first axis; heads "
        "and queries are 1.",
    ),
    (
        "key_padding_mask",
        "one-for-all-sentences",
        lambda s: (1, 1, s.n_q, s.n_k),
        "`key_padding_mask` has a row for each query and none for each sentence. Padding depends "
        "on the sentence, not on the query.",
    ),
    (
        "key_padding_mask",
        "width",
        lambda s: (s.batch, 1, 1, s.d_k),
        "`key_padding_mask` has the width of a key. It hides positions, of which there are n_k.",
    ),
    (
        "key_padding_mask",
        "value-width",
        lambda s: (s.batch, 1, 1, s.d_v),
        "`key_padding_mask` has the width of a value. It hides positions, of which there are n_k.",
    ),
    (
        "key_padding_mask",
        "square",
        lambda s: (s.batch, 1, s.n_k, s.n_k),
        "`key_padding_mask` is square. A padded key is hidden from every query, so the query axis "
        "can be 1.",
    ),
)


def _other_endings(sizes: Sizes) -> Iterator[tuple[str, str, Shape, str]]:
    """The remaining pairs of lengths that `scores`, `weights` and `output` could end in."""
    lengths = {"n_q": sizes.n_q, "n_k": sizes.n_k, "d_k": sizes.d_k, "d_v": sizes.d_v}
    for (row, n_rows), (column, n_columns) in product(lengths.items(), repeat=2):
        shape = (sizes.batch, sizes.heads, n_rows, n_columns)
        for key, right in (
            ("scores", "(n_q, n_k): a row for each query, a number for each key"),
            ("weights", "(n_q, n_k), the shape of the scores, which a softmax keeps"),
            ("output", "(n_q, d_v): a row for each query, as wide as a value"),
        ):
            sentence = f"`{key}` ends in ({row}, {column}) here. It has to end in {right}."
            yield key, f"ends-in-{row}-{column}", shape, sentence


_AXES = {
    "scores": "batch, heads, n_q, n_k",
    "weights": "batch, heads, n_q, n_k, as the scores",
    "output": "batch, heads, n_q, d_v",
    "key_padding_mask": "batch, 1, 1, n_k",
}


def _other_orders(sizes: Sizes) -> Iterator[tuple[str, str, Shape, str]]:
    """The right lengths in another order behind the batch, and all of them but one."""
    for key, right in right_shapes(sizes).items():
        for number, shape in enumerate(right[:1] + rest for rest in permutations(right[1:])):
            sentence = (
                f"`{key}` has the right lengths in another order. The axes are {_AXES[key]}: no "
                "step moves one past another."
            )
            yield key, f"another-order-{number}", shape, sentence
        for number, shape in enumerate(combinations(right, 3)):
            sentence = f"`{key}` has three axes. There are four: {_AXES[key]}."
            yield key, f"three-axes-{number}", shape, sentence


def mistakes_for(sizes: Sizes) -> tuple[Mistake, ...]:
    right = right_shapes(sizes)
    mistakes: list[Mistake] = []
    seen = {(key, shape) for key, shape in right.items()}

    def add(key: str, name: str, shape: Shape, sentence: str) -> None:
        if (key, shape) not in seen:
            seen.add((key, shape))
            mistakes.append(Mistake(f"{key}-{name}", returns({key: shape}), sentence))

    for key, name, shape, sentence in _WRONG:
        for asked in ("scores", "weights") if key == "scores" else (key,):
            add(asked, name, shape(sizes), sentence.format(key=asked))
    for key, name, shape_given, sentence in chain(_other_endings(sizes), _other_orders(sizes)):
        add(key, name, shape_given, sentence)
    return tuple(mistakes)


def returns(shapes: dict[str, Shape]) -> Candidate:
    return lambda: dict(shapes)
