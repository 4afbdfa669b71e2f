"""Rows without padding give what the padded batch gives: the values and every gradient."""

import copy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import Batch, collate
from annotated_transformer.evaluation.likelihood import teacher_forced
from annotated_transformer.fast.attach import use_fast_paths
from annotated_transformer.fast.packing import (
    MULTIPLE,
    PackedMask,
    PackedRows,
    packed_attention,
    packed_teacher_forced,
)
from annotated_transformer.masks import padding_mask, target_mask
from annotated_transformer.training import step
from annotated_transformer.training.step import Part, add_gradients, count_tokens
from annotated_transformer.transformer import Transformer
from toy_run import build_trainer, letters_corpus

SMALL = TransformerConfig(
    vocab_size=20, d_model=16, d_ff=24, num_heads=2, num_layers=2, dropout=0.0
)
KINDS = {
    "the paper's": {},
    "norm first": {"norm": "pre"},
    "three heads of other widths": {"num_heads": 3, "d_k": 5, "d_v": 5},
    "biases": {"attention_bias": True},
    "learned positions": {"positions": "learned"},
    "no residual connections": {"residual": False},
    "no norms": {"norm": "none"},
}
OTHER_ATTENTIONS = [
    {"num_heads": 3, "d_k": 4, "d_v": 5},
    {"attention": "additive"},
    {"attention": "dot-product"},
    {"attention_dropout": 0.1},
]
sentences = st.lists(st.integers(1, 9), min_size=1, max_size=6)
longer = st.lists(st.integers(1, 25), min_size=1, max_size=18)


def random_batch(source: list[int], target: list[int]) -> Batch:
    """Sentences of these lengths, end signs counted; the decoder reads one token fewer."""
    torch.manual_seed(sum(source))
    pairs = list(zip(source, target, strict=False))
    src = [torch.randint(4, 20, (n,)).tolist() for n, _ in pairs]
    tgt = [[2, *torch.randint(4, 20, (n,)).tolist()] for _, n in pairs]
    return Batch(collate(src), collate(tgt), list(range(len(pairs))))


def fast(config: TransformerConfig) -> Transformer:
    """A model that takes packed rows."""
    model = Transformer(config)
    use_fast_paths(model)
    return model


def assert_both_agree(model: Transformer, batch: Batch) -> None:
    """In the decoder's output, in what is to be predicted, in the gradient of every parameter."""
    results = []
    for read in (teacher_forced, packed_teacher_forced):
        hidden, answers = read(model, batch)
        weights = torch.arange(hidden.numel(), dtype=hidden.dtype).view_as(hidden).cos()
        gradients = torch.autograd.grad((hidden * weights).sum(), list(model.parameters()))
        results.append((hidden, answers, gradients))
    torch.testing.assert_close(*results)


@settings(max_examples=60, deadline=None)
@given(sentences, sentences, st.sampled_from(sorted(KINDS)))
def test_packed_and_padded_agree_in_values_and_gradients(source, target, kind):
    torch.manual_seed(1)
    model = fast(replace(SMALL, **KINDS[kind])).double()
    assert_both_agree(model, random_batch(source, target))


@settings(max_examples=25, deadline=None)
@given(longer, longer)
def test_sides_of_other_widths_agree_too(source, target):
    assert_both_agree(fast(SMALL).double(), random_batch(source, target))


def test_more_rows_than_one_multiple_agree_too():
    batch = random_batch(list(range(1, 40)), list(range(39, 0, -1)))
    assert (batch.src != 0).sum() > 2 * MULTIPLE
    assert_both_agree(fast(SMALL).double(), batch)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_rows_are_the_real_tokens_wherever_the_padding_stands(data):
    batch, n = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 20))
    cells = st.lists(st.booleans(), min_size=batch * n, max_size=batch * n).filter(any)
    real = torch.tensor(data.draw(cells)).view(batch, n)
    rows = PackedRows(real, num_heads=2)
    tokens = torch.arange(batch * n).view(batch, n)
    packed = rows.take(tokens)
    count = rows.count
    assert count == real.sum() < rows.rows == len(packed)
    assert rows.rows % MULTIPLE == 0
    assert packed[:count].equal(tokens[real])
    assert rows.positions[:count].equal(tokens[real] % n)
    x = torch.randn(rows.rows, 3 * 2 * 5)  # three times, of two heads
    heads = rows.to_heads(x, 3)
    by_sentence = heads.view(3, rows.batch, 2, rows.width, 5)
    for row, token in enumerate(packed[:count].tolist()):
        of_row = x[row].view(3, 2, 5)
        assert by_sentence[:, token // n, :, token % n].equal(of_row)
    at_padding = torch.ones(rows.batch, rows.width, dtype=torch.bool)
    at_padding[:batch, :n] = ~real
    spare = by_sentence.permute(1, 3, 0, 2, 4)[at_padding]
    assert spare.equal(x[-1].view(1, 3, 2, 5).expand_as(spare))
    assert rows.from_heads(heads)[:count].equal(x[:count])


@pytest.mark.parametrize("lengths", [([3, 1, 2], [1, 2, 4]), ([2, 3], [20, 18])])
@pytest.mark.parametrize("of_one_side", [True, False])
def test_the_gradients_of_packed_attention_are_those_that_differences_show(lengths, of_one_side):
    """Of real rows, whatever stands in spare ones."""
    torch.manual_seed(0)
    of_queries, of_keys = (
        torch.arange(max(given)) < torch.tensor(given)[:, None] for given in lengths
    )
    assert of_queries.sum() != of_keys.sum()
    queries, keys = (PackedRows(real, num_heads=2) for real in (of_queries, of_keys))
    if of_one_side:
        mask = PackedMask(queries, queries, target_mask(of_queries.long(), pad_id=0))
        given = [torch.randn(queries.count, 3 * 2 * 2, dtype=torch.float64)]
    else:
        mask = PackedMask(queries, keys, padding_mask(of_keys.long(), pad_id=0))
        given = [
            torch.randn(rows.count, k * 2 * 2).double() for rows, k in ((queries, 1), (keys, 2))
        ]

    def attend(*real: Tensor) -> Tensor:
        filled = [torch.cat([x, torch.randn(spare_rows(x), x.size(1)).double()]) for x in real]
        return packed_attention(filled[0], None if of_one_side else filled[1], mask)[
            : queries.count
        ]

    def spare_rows(x: Tensor) -> int:
        return (queries if len(x) == queries.count else keys).rows - len(x)

    assert torch.autograd.gradcheck(attend, [x.requires_grad_() for x in given])


def test_no_gradient_comes_from_spare_rows_and_none_goes_there():
    real = torch.tensor([[True, True, False], [True, False, False]])
    rows = PackedRows(real, num_heads=2)
    mask = PackedMask(rows, rows, target_mask(real.long(), pad_id=0))
    own = torch.randn(rows.rows, 3 * 2 * 4, requires_grad=True)
    heads = packed_attention(own, None, mask)
    wanted = torch.randn_like(heads)
    (expected,) = torch.autograd.grad(heads[: rows.count], own, wanted[: rows.count], True)
    (got,) = torch.autograd.grad(heads, own, wanted)
    assert got.equal(expected)
    assert got[: rows.count, -8:].abs().min() > 0  # of the values
    assert got[rows.count :].eq(0).all()


@pytest.mark.parametrize("kind", OTHER_ATTENTIONS)
def test_another_attention_than_the_papers_keeps_its_padding(kind):
    model = Transformer(replace(SMALL, **kind))
    settings = step.TrainingConfig(steps=1, precision="bf16")
    assert not step.leaves_padding_out(settings, model)
    with pytest.raises(ValueError, match="packed rows are for scaled dot-product attention"):
        packed_teacher_forced(model, random_batch([3], [2]))


def test_what_has_no_token_cannot_be_packed():
    model = fast(SMALL)
    with pytest.raises(ValueError, match="a source without a token cannot be attended to"):
        packed_teacher_forced(model, random_batch([3, 0], [2, 2]))
    with pytest.raises(ValueError, match="no real token among the rows"):
        packed_teacher_forced(model, random_batch([3, 1], [0, 0]))


def test_packed_attention_has_one_derivative():
    """Its way back is written by hand: a second one would fail obscurely, so it is refused."""
    rows = PackedRows(torch.ones(1, 2, dtype=torch.bool), num_heads=2)
    mask = PackedMask(rows, rows, torch.ones(1, 1, 1, 2, dtype=torch.bool))
    own = torch.randn(rows.rows, 3 * 2 * 2, requires_grad=True)
    heads = packed_attention(own, None, mask)
    (gradient,) = torch.autograd.grad(heads.square().sum(), own, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_packed_keys_and_values_are_of_the_same_rows():
    rows = PackedRows(torch.ones(1, 2, dtype=torch.bool), num_heads=2)
    mask = PackedMask(rows, rows, torch.ones(1, 1, 1, 2, dtype=torch.bool))
    x = torch.zeros(rows.rows, 16)
    attention = fast(SMALL).encoder.layers[0].self_attention
    with pytest.raises(ValueError, match="made from the same rows"):
        attention(x, x, x.clone(), mask)


def test_a_model_without_the_fast_paths_says_so():
    with pytest.raises(ValueError, match=r"call use_fast_paths\(model\) first"):
        packed_teacher_forced(Transformer(SMALL), random_batch([3], [2]))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_fast_paths_change_no_number_of_padded_rows(kind):
    torch.manual_seed(1)
    plain = Transformer(replace(SMALL, **KINDS[kind])).double().eval()
    given = copy.deepcopy(plain)
    use_fast_paths(given)
    use_fast_paths(given)  # twice is once
    twin = copy.deepcopy(given)  # and a copy has weights of its own
    batch = random_batch([3, 5], [4, 2])
    expected = plain(batch.src, batch.tgt)
    assert torch.equal(given(batch.src, batch.tgt), expected)
    with torch.no_grad():
        given.encoder.layers[0].self_attention.query_projection.weight.zero_()
    assert torch.equal(twin(batch.src, batch.tgt), expected)


@pytest.mark.parametrize(("precision", "packed"), [("bf16", True), ("fp32", False)])
def test_training_packs_in_bfloat16_on_a_cpu(tmp_path, monkeypatch, precision, packed):
    trainer = build_trainer(tmp_path, letters_corpus(), p=0.0, precision=precision)
    part = Part(trainer.batches(0)[0], 0, 0)
    tokens, _ = count_tokens(trainer.train_split, [part])
    widths: list[int] = []
    model = trainer.model.train()
    use_fast_paths(model)
    model.encoder.register_forward_pre_hook(lambda _, given: widths.append(given[0].dim()))
    losses, gradients = [], []
    for leaves_out in (step.leaves_padding_out, lambda *_: not packed):
        monkeypatch.setattr(step, "leaves_padding_out", leaves_out)
        model.zero_grad()
        losses.append(add_gradients(model, trainer.settings, trainer.train_split, [part], tokens))
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    assert widths == ([2, 3] if packed else [3, 2])  # (rows, d_model), (batch, n, d_model)
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    cosine = torch.cosine_similarity(*gradients, dim=0)
    assert cosine > 0.999


def test_what_is_compiled_keeps_its_padding():
    """Every batch has another number of real tokens, and each would be compiled anew."""
    model = Transformer(SMALL)
    settings = step.TrainingConfig(steps=1, precision="bf16")
    assert step.leaves_padding_out(settings, model)
    assert not step.leaves_padding_out(replace(settings, compile=True), model)


def test_another_device_keeps_its_padding():
    """On a GPU nobody has measured it."""
    settings = step.TrainingConfig(steps=1, precision="bf16")
    assert not step.leaves_padding_out(settings, Transformer(SMALL).to("meta"))


@pytest.mark.parametrize("packed", [True, False])
def test_a_caller_may_decide(tmp_path, packed):
    trainer = build_trainer(tmp_path, letters_corpus(), precision="bf16")
    part = Part(trainer.batches(0)[0], 0, 0)
    widths: list[int] = []
    trainer.model.encoder.register_forward_pre_hook(lambda _, given: widths.append(given[0].dim()))
    split = trainer.train_split
    add_gradients(trainer.model, trainer.settings, split, [part], 1, packed=packed)
    assert widths == [2 if packed else 3]
