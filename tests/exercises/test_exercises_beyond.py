"""The exercises on what came after the paper, against torch, transformers and brute force."""

import math
import re
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from transformers import LlamaConfig
from transformers.masking_utils import sliding_window_causal_mask_function
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb
from transformers.models.llama.modeling_llama import LlamaMLP, repeat_kv

from annotated_transformer.exercises.content import beyond, parsing
from annotated_transformer.exercises.content.beyond.alibi_bias import alibi_bias
from annotated_transformer.exercises.content.beyond.grouped_query_attention import (
    GROUPED_QUERY_ATTENTION,
    grouped_query_attention,
)
from annotated_transformer.exercises.content.beyond.linear_attention import (
    LINEAR_ATTENTION,
    linear_attention,
)
from annotated_transformer.exercises.content.beyond.linearise_tree import (
    DOG,
    LINEARISE_TREE,
    linearise_tree,
    words_of,
)
from annotated_transformer.exercises.content.beyond.rms_norm import RMS_NORM, rms_norm
from annotated_transformer.exercises.content.beyond.rope import ROPE, apply_rope
from annotated_transformer.exercises.content.beyond.sliding_window_mask import sliding_window_mask
from annotated_transformer.exercises.content.beyond.swiglu import swiglu
from annotated_transformer.exercises.content.beyond.tiled_attention import (
    TILED_ATTENTION,
    tiled_attention,
)
from annotated_transformer.exercises.exercise import Case, Exercise
from annotated_transformer.exercises.grader.grading import grade_exercise

sizes = st.integers(1, 6)
labels = st.sampled_from(["S", "NP", "VP", "PP", "WHNP-1", "ADJP"])
tagged = st.tuples(st.sampled_from(["NN", "DT", "-LRB-", ".", "''"]), st.text(min_size=1))
trees = st.recursive(
    st.tuples(labels, tagged),
    lambda inner: st.tuples(labels, st.lists(st.one_of(tagged, inner), min_size=1, max_size=4)).map(
        lambda node: (node[0], *node[1])
    ),
    max_leaves=12,
)


def _inputs(case: Case) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(5)
    return case.make(generator, case.dtype or torch.float64).args


def _drawn(seed: int, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize(
    "exercise", [*beyond.EXERCISES, *parsing.EXERCISES], ids=lambda exercise: exercise.id
)
def test_banks_and_alternatives_are_rich(exercise: Exercise) -> None:
    assert len(exercise.mistakes) >= 35
    assert len(exercise.alternatives) >= 3
    for mistake in exercise.mistakes:
        assert mistake.sentence[-1] in ".?)", mistake.name
        assert len(mistake.sentence.split()) <= 100, mistake.name


@given(n=sizes, pairs=sizes, start=st.integers(0, 20), base=st.sampled_from([10000.0, 50.0]))
def test_rope_equals_the_rotation_of_gpt_j(n: int, pairs: int, start: int, base: float) -> None:
    x = _drawn(n, 2, n, 3, 2 * pairs)  # (batch, n, heads, d), as GPT-J has it
    positions = torch.arange(start, start + n)
    rates = base ** -(np.arange(0, 2 * pairs, 2) / (2 * pairs))
    angles = torch.as_tensor(np.outer(positions.numpy(), rates))[None]
    expected = apply_rotary_pos_emb(x, angles.sin(), angles.cos()).transpose(1, 2)
    torch.testing.assert_close(apply_rope(x.transpose(1, 2), positions, base), expected)


def test_rope_makes_scores_of_distances_only() -> None:
    q, k = _drawn(1, 8).expand(6, 8), _drawn(2, 8).expand(6, 8)
    at = torch.arange(6)
    scores = apply_rope(q, at + 3) @ apply_rope(k, at + 3).T
    for back in range(-5, 6):
        diagonal = scores.diagonal(back)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal))
    torch.testing.assert_close(apply_rope(q, at).norm(dim=-1), q.norm(dim=-1))


@pytest.mark.parametrize("n_heads", [1, 2, 4, 8, 16])
def test_alibi_equals_bloom_after_the_softmax(n_heads: int) -> None:
    """Bloom adds slope · j: each query's row is shifted, which the softmax does not see."""
    n = 7
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    scores = _drawn(n_heads, n_heads, n, n).masked_fill(future, float("-inf"))
    theirs = build_alibi_tensor(torch.ones(1, n), n_heads, torch.float64)
    ours = alibi_bias(n_heads, n, n).double()
    torch.testing.assert_close((scores + ours).softmax(-1), (scores + theirs).softmax(-1))
    assert (ours.diagonal(dim1=1, dim2=2) == 0).all()


@given(n_heads=st.integers(1, 13), n_q=sizes, n_k=sizes)
def test_alibi_equals_its_formula(n_heads: int, n_q: int, n_k: int) -> None:
    bias = alibi_bias(n_heads, n_q, n_k)
    assert bias.shape == (n_heads, n_q, n_k)
    for head in range(n_heads):
        for i in range(n_q):
            for j in range(min(n_k, i + 1)):
                expected = -(2 ** (-8 * (head + 1) / n_heads)) * (i - j)
                assert float(bias[head, i, j]) == pytest.approx(expected, rel=1e-6)


def test_grouped_query_attention_equals_torch_on_every_case() -> None:
    for case in GROUPED_QUERY_ATTENTION.cases:
        q, k, v, *mask = _inputs(case)
        shared_by = q.size(1) // k.size(1)
        k, v = repeat_kv(k, shared_by), repeat_kv(v, shared_by)
        expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[0] if mask else None)
        torch.testing.assert_close(grouped_query_attention(*_inputs(case)), expected)


def test_rms_norm_equals_torch_on_every_case() -> None:
    for case in RMS_NORM.cases:
        x, gain, eps = _inputs(case)
        torch.testing.assert_close(rms_norm(x, gain, eps), F.rms_norm(x, gain.shape, gain, eps))


@given(d=st.sampled_from([2, 4, 6]), d_ff=sizes, n=sizes)
def test_swiglu_equals_the_layer_of_llama(d: int, d_ff: int, n: int) -> None:
    config = LlamaConfig(
        hidden_size=d, intermediate_size=d_ff, num_attention_heads=1, hidden_act="silu"
    )
    layer = LlamaMLP(config).double()
    x = _drawn(d, 2, n, d)
    weights = [layer.gate_proj.weight.T, layer.up_proj.weight.T, layer.down_proj.weight.T]
    torch.testing.assert_close(swiglu(x, *weights), layer(x))


@given(n=st.integers(1, 12), window=st.integers(1, 15))
def test_sliding_window_equals_the_mask_of_transformers(n: int, window: int) -> None:
    allowed = sliding_window_causal_mask_function(window)
    index = torch.arange(n)
    zero = torch.zeros((), dtype=torch.long)
    expected = [[bool(allowed(zero, zero, i, j)) for j in index] for i in index]
    assert sliding_window_mask(n, window).tolist() == expected
    assert sliding_window_mask(n, window).sum(-1).tolist() == [min(i + 1, window) for i in range(n)]


def test_tiled_attention_equals_torch_on_every_case() -> None:
    for case in TILED_ATTENTION.cases:
        q, k, v, block_size = _inputs(case)
        expected = F.scaled_dot_product_attention(q, k, v)
        torch.testing.assert_close(tiled_attention(q, k, v, block_size), expected)


@given(n_q=sizes, n_k=st.integers(1, 13), block_size=st.integers(1, 15))
def test_tiled_attention_does_not_depend_on_the_blocks(n_q: int, n_k: int, block_size: int) -> None:
    q, k, v = _drawn(1, n_q, 3), _drawn(2, n_k, 3), _drawn(3, n_k, 2)
    expected = F.scaled_dot_product_attention(q[None], k[None], v[None])[0]
    torch.testing.assert_close(tiled_attention(q, k, v, block_size), expected)


def _right_values_at_once(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v)


def _blocks_of_queries(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    rows = [q[..., at : at + block_size, :] for at in range(0, q.size(-2), block_size)]
    return torch.cat([(r @ k.mT / r.size(-1) ** 0.5).softmax(-1) @ v for r in rows], dim=-2)


def _all_scores_at_once(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    """The exponentials block by block, but of a matrix that is there in full."""
    scores = q @ k.mT / math.sqrt(q.size(-1))
    largest = scores.amax(-1, keepdim=True)
    total: Any = 0.0
    output: Any = 0.0
    for at in range(0, k.size(-2), block_size):
        shares = (scores[..., at : at + block_size] - largest).exp()
        total = total + shares.sum(-1, keepdim=True)
        output = output + shares @ v[..., at : at + block_size, :]
    return output / total


def _padded_scores(q: Tensor, k: Tensor, block_size: int) -> Tensor:
    """All scores with an axis of blocks, (blocks, ..., n_q, block_size)."""
    missing = -k.size(-2) % block_size
    keys = torch.stack(F.pad(k, (0, 0, 0, missing)).split(block_size, -2))
    scores = torch.einsum("...qd,b...kd->b...qk", q, keys) / q.size(-1) ** 0.5
    if missing:
        scores[-1, ..., -missing:] = -math.inf
    return scores


def _all_padded_scores_walked_over(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    """The exponentials block by block, but of scores that are all there, no axis as long as k's."""
    scores = _padded_scores(q, k, block_size)
    largest = scores.amax((0, -1))[..., None]
    total: Any = 0.0
    output: Any = 0.0
    for part, values in zip(scores, v.split(block_size, -2), strict=True):  # type: ignore[no-untyped-call]
        shares = (part - largest)[..., : values.size(-2)].exp()
        total = total + shares.sum(-1, keepdim=True)
        output = output + shares @ values
    return output / total


def _all_padded_blocks_by_powers_of_e(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    scores = _padded_scores(q, k, block_size)
    shares = math.e ** (scores - scores.amax((0, -1))[..., None])
    values = torch.stack(F.pad(v, (0, 0, 0, -k.size(-2) % block_size)).split(block_size, -2))
    return (shares @ values).sum(0) / shares.sum((0, -1))[..., None]


def _two_blocks_at_a_time(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    return tiled_attention(q, k, v, 2 * block_size)


def _blocks_of_eight(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    return tiled_attention(q, k, v, 8)


@pytest.mark.parametrize(
    ("candidate", "name"),
    [
        (_right_values_at_once, "whole-rows"),
        (_blocks_of_queries, "whole-rows"),
        (_all_scores_at_once, "whole-rows"),
        (_all_padded_scores_walked_over, "all-blocks-at-once"),
        (_all_padded_blocks_by_powers_of_e, "all-blocks-at-once"),
        (_two_blocks_at_a_time, "blocks-of-another-size"),
        (_blocks_of_eight, "blocks-of-another-size"),
    ],
)
def test_attention_that_is_not_tiled_is_named(candidate: Any, name: str) -> None:
    report = grade_exercise(TILED_ATTENTION, candidate)
    assert report.mistakes == (name,)
    assert "one tensor held the scores or the exponentials of more keys" in report.finding
    assert "result[" not in report.message
    assert report.expected is None


def _one_query_after_the_other(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    out = torch.empty(*q.shape[:-1], v.size(-1), dtype=v.dtype)
    for i in range(q.size(-2)):
        largest = torch.tensor(-math.inf, dtype=q.dtype)
        total: Any = 0.0
        row: Any = 0.0
        for at in range(0, k.size(-2), block_size):
            score = (q[..., i : i + 1, :] * k[..., at : at + block_size, :]).sum(-1)
            score = score / q.size(-1) ** 0.5
            grown = torch.maximum(largest, score.amax(-1))
            share = torch.exp(score - grown[..., None])
            total = total * torch.exp(largest - grown) + share.sum(-1)
            row = row * torch.exp(largest - grown)[..., None] + (
                share[..., None] * v[..., at : at + block_size, :]
            ).sum(-2)
            largest = grown
        out[..., i, :] = row / total[..., None]
    return out


def _transposed_beforehand(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    keys, scale = k.transpose(-2, -1), q.size(-1) ** -0.5
    largest = q.new_full((*q.shape[:-1], 1), -torch.inf)
    sums = q.new_zeros(*q.shape[:-1], v.size(-1) + 1)
    wide = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    blocks = torch.split(keys, block_size, -1), torch.split(wide, block_size, -2)  # type: ignore[no-untyped-call]
    for key, value in zip(*blocks, strict=True):
        scores = (q * scale) @ key
        grown = torch.cat([largest, scores], dim=-1).amax(-1, keepdim=True)
        sums = sums * (largest - grown).exp() + (scores - grown).exp() @ value
        largest = grown
    return sums[..., :-1] / sums[..., -1:]


def _in_two_walks(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    """The largest score first, then everything relative to it; no scores are kept."""

    def scores(at: int) -> Tensor:
        return q @ k[..., at : at + block_size, :].mT / math.sqrt(q.size(-1))

    starts = range(0, k.size(-2), block_size)
    largest = scores(0).amax(-1, keepdim=True)
    for at in starts:
        largest = largest.maximum(scores(at).amax(-1, keepdim=True))
    sums = torch.zeros(*q.shape[:-1], v.size(-1) + 1, dtype=q.dtype)
    for at in starts:
        values = F.pad(v[..., at : at + block_size, :], (0, 1), value=1.0)
        shares = (scores(at) - largest).exp_()
        sums += (shares.unsqueeze(-1) * values.unsqueeze(-3)).sum(-2)  # all products in one tensor
    return sums[..., :-1] / sums[..., -1:]


def _old_maximum_beside_the_scores(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    """One exponential a step, of the old maximum and the new scores together."""
    largest = torch.full_like(q[..., :1], -math.inf)
    total = torch.zeros_like(largest)
    output = q.new_zeros(*q.shape[:-1], v.size(-1))
    for at in range(0, k.size(-2), block_size):
        scores = q @ k[..., at : at + block_size, :].mT / math.sqrt(q.size(-1))
        both = torch.cat([largest, scores], -1)
        largest = both.amax(-1, keepdim=True)
        factors = (both - largest).exp()
        total = total * factors[..., :1] + factors[..., 1:].sum(-1, keepdim=True)
        output = output * factors[..., :1] + factors[..., 1:] @ v[..., at : at + block_size, :]
    return output / total


def _by_numpy(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    queries, keys, values = q.numpy(), k.numpy(), v.numpy()
    largest = np.full((*q.shape[:-1], 1), -np.inf, queries.dtype)
    total, output = np.zeros_like(largest), np.zeros((*q.shape[:-1], v.shape[-1]), queries.dtype)
    for at in range(0, k.shape[-2], block_size):
        scores = queries @ keys[..., at : at + block_size, :].swapaxes(-1, -2)
        scores = scores / np.sqrt(q.shape[-1]).astype(queries.dtype)
        grown = np.maximum(largest, scores.max(-1, keepdims=True))
        shares, rescale = np.exp(scores - grown), np.exp(largest - grown)
        total = total * rescale + shares.sum(-1, keepdims=True)
        output = output * rescale + shares @ values[..., at : at + block_size, :]
        largest = grown
    return torch.from_numpy(output / total)


def _number_by_number(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    output = torch.empty(*q.shape[:-1], v.size(-1), dtype=q.dtype)
    for place in np.ndindex(*q.shape[:-1]):
        query, keys, values = (x.tolist() for x in (q[place], k[place[:-1]], v[place[:-1]]))
        largest, total, row = -math.inf, 0.0, [0.0] * v.size(-1)
        for at in range(0, len(keys), block_size):
            block = slice(at, at + block_size)
            scores = [np.dot(query, key) / math.sqrt(len(query)) for key in keys[block]]
            grown = max(largest, *scores)
            rescale = math.exp(largest - grown)
            total, row, largest = total * rescale, [old * rescale for old in row], grown
            for score, value in zip(scores, values[block], strict=True):
                share = math.exp(score - grown)
                total += share
                row = [old + share * new for old, new in zip(row, value, strict=True)]
        output[place] = torch.tensor(row) / total
    return output


def _tiles_of_queries_merged(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    """Tiles of queries; for each the outputs of all blocks, and their shares in one softmax."""
    rows = []
    for part in q.split(block_size, -2):  # type: ignore[no-untyped-call]
        outputs, sizes = [], []
        for at in range(0, k.size(-2), block_size):
            scores = part @ k[..., at : at + block_size, :].mT / math.sqrt(q.size(-1))
            outputs.append(scores.softmax(-1) @ v[..., at : at + block_size, :])
            sizes.append(scores.logsumexp(-1))
        shares = torch.stack(sizes, -1).softmax(-1)
        rows.append(torch.einsum("...qb,...qbd->...qd", shares, torch.stack(outputs, -2)))
    return torch.cat(rows, -2)


@pytest.mark.parametrize(
    "candidate",
    [
        _one_query_after_the_other,
        _transposed_beforehand,
        _in_two_walks,
        _old_maximum_beside_the_scores,
        _by_numpy,
        _number_by_number,
        _tiles_of_queries_merged,
    ],
)
def test_attention_in_other_styles_of_tiling_passes(candidate: Any) -> None:
    assert grade_exercise(TILED_ATTENTION, candidate).passed


def test_linear_attention_equals_the_masked_matrix_on_every_case() -> None:
    for case in LINEAR_ATTENTION.cases:
        phi_q, phi_k, v = _inputs(case)
        weights = torch.einsum("bir,bjr->bij", phi_q, phi_k).tril()
        expected = weights @ v / weights.sum(-1, keepdim=True)
        torch.testing.assert_close(linear_attention(phi_q, phi_k, v), expected)


def _by_einsum_and_mask(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
    past = torch.ones(v.size(1), v.size(1), dtype=v.dtype).tril()
    weights = torch.einsum("bir,bjr,ij->bij", phi_q, phi_k, past)
    return weights @ v / weights.sum(-1, keepdim=True)


def _tiny_number_added(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
    states = torch.einsum("bnr,bnd->bnrd", phi_k, v).cumsum(1)
    totals = torch.einsum("bnr,bnr->bn", phi_q, phi_k.cumsum(1))
    return torch.einsum("bnr,bnrd->bnd", phi_q, states) / (totals[..., None] + 1e-6)


def test_an_n_by_n_matrix_is_named_and_a_guarded_division_passes() -> None:
    assert grade_exercise(LINEAR_ATTENTION, _by_einsum_and_mask).mistakes == ("matrix",)
    assert grade_exercise(LINEAR_ATTENTION, _tiny_number_added).passed


def _penn(tree: Any) -> str:
    """The bracket notation of the treebank, with numbers for words that could be brackets."""
    counter = iter(range(10**6))

    def write(node: Any) -> str:
        if isinstance(node[1], str):
            return f"(#{next(counter)} w)"
        return f"({node[0]} " + " ".join(map(write, node[1:])) + ")"

    return write(tree)


def _tokens_by_text(tree: Any) -> list[str]:
    """Innermost brackets first, by substitution in the treebank's notation."""
    text = re.sub(r"\(#\d+ w\)", "XX", _penn(tree))
    while "(" in text:
        text = re.sub(r"\(([^\s()]+) ([^()]*)\)", r"<\1 \2 >\1", text)
    return text.replace("<", "(").replace(">", ")").split()


def _with_tags_replaced(tree: Any) -> Any:
    if isinstance(tree[1], str):
        return "XX", tree[1]
    return tree[0], *map(_with_tags_replaced, tree[1:])


@settings(deadline=None)
@given(tree=trees)
def test_trees_become_tokens_and_come_back_without_their_tags(tree: Any) -> None:
    tokens = linearise_tree(tree)
    assert tokens == _tokens_by_text(tree)
    assert linearise_tree(tokens, words_of(tree)) == _with_tags_replaced(tree)
    for alternative in LINEARISE_TREE.alternatives:
        assert alternative(tree) == tokens
        assert alternative(tokens, words_of(tree)) == _with_tags_replaced(tree)


def test_the_example_of_grammar_as_a_foreign_language() -> None:
    expected = "(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S"
    assert linearise_tree(DOG) == expected.split()


def test_rope_takes_angles_computed_in_float32() -> None:
    def rounded(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        rates = 1.0 / (base ** (torch.arange(0, x.shape[-1], 2).float() / x.shape[-1]))
        angles = positions.float()[:, None] * rates[None, :]
        pairs = torch.view_as_complex(x.double().reshape(*x.shape[:-1], -1, 2))
        turned = pairs * torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(turned).flatten(-2).type_as(x)

    report = grade_exercise(ROPE, rounded)
    assert report.passed, report.message
