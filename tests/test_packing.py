"""Rows without padding give what the padded batch gives: the values and every gradient."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from annotated_transformer.attention import merge_heads, split_heads
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import Batch, collate
from annotated_transformer.likelihood import packed_teacher_forced, teacher_forced
from annotated_transformer.packing import MULTIPLE, PackedRows
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
    "three heads of unequal widths": {"num_heads": 3, "d_k": 4, "d_v": 5},
    "additive": {"attention": "additive"},
    "biases": {"attention_bias": True},
    "learned positions": {"positions": "learned"},
    "no residual connections": {"residual": False},
    "unscaled": {"attention": "dot-product"},
    "no norms": {"norm": "none"},
}
sentences = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def random_batch(source: list[int], target: list[int]) -> Batch:
    """Sentences of these lengths, end signs counted; the decoder reads one token fewer."""
    torch.manual_seed(sum(source))
    pairs = list(zip(source, target, strict=False))
    src = [torch.randint(4, 20, (n,)).tolist() for n, _ in pairs]
    tgt = [[2, *torch.randint(4, 20, (n,)).tolist()] for _, n in pairs]
    return Batch(collate(src), collate(tgt), list(range(len(pairs))))


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
    model = Transformer(replace(SMALL, **KINDS[kind])).double()
    assert_both_agree(model, random_batch(source, target))


def test_more_rows_than_one_multiple_agree_too():
    batch = random_batch(list(range(1, 40)), list(range(39, 0, -1)))
    assert (batch.src != 0).sum() > 2 * MULTIPLE
    assert_both_agree(Transformer(SMALL).double(), batch)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_rows_are_the_real_tokens_wherever_the_padding_stands(data):
    batch, n = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 7))
    cells = st.lists(st.booleans(), min_size=batch * n, max_size=batch * n).filter(any)
    real = torch.tensor(data.draw(cells)).view(batch, n)
    rows = PackedRows(real, num_heads=2)
    x = torch.randn(batch, n, 6, dtype=torch.float64, requires_grad=True)
    packed = rows.take(x)
    assert rows.count == real.sum()
    assert rows.rows % MULTIPLE == 0
    assert len(packed) == rows.rows
    torch.testing.assert_close(packed[: rows.count], x[real])
    heads = rows.to_heads(packed)
    by_place = heads.transpose(1, 2)[real]  # (count, h, d_head)
    torch.testing.assert_close(by_place, split_heads(x, 2).transpose(1, 2)[real])
    again = rows.from_heads(split_heads(x, 2))
    torch.testing.assert_close(again[: rows.count], x[real])
    torch.testing.assert_close(merge_heads(heads)[real], x[real])


def test_no_gradient_comes_from_padding_or_spare_rows():
    """Whatever arrives there: a mask or a slice may leave numbers behind."""
    real = torch.tensor([[True, True, False], [True, False, False]])
    rows = PackedRows(real, num_heads=2)
    x = torch.randn(2, 3, 4, requires_grad=True)
    packed = rows.take(x)
    (of_x,) = torch.autograd.grad(packed.sum(), x)
    torch.testing.assert_close(of_x, real[..., None].expand(-1, -1, 4).float())
    packed = torch.randn(rows.rows, 4, requires_grad=True)
    (of_packed,) = torch.autograd.grad(rows.to_heads(packed).sum(), packed)
    assert of_packed[: rows.count].eq(1).all()
    assert of_packed[rows.count :].eq(0).all()
    heads = torch.randn(2, 2, 3, 2, requires_grad=True)
    (of_heads,) = torch.autograd.grad(rows.from_heads(heads).sum(), heads)
    torch.testing.assert_close(of_heads, real[:, None, :, None].expand(-1, 2, -1, 2).float())


@pytest.mark.parametrize(("precision", "packed"), [("bf16", True), ("fp32", False)])
def test_training_packs_in_bfloat16_on_a_cpu(tmp_path, monkeypatch, precision, packed):
    trainer = build_trainer(tmp_path, letters_corpus(), p=0.0, precision=precision)
    part = Part(trainer.batches(0)[0], 0, 0)
    tokens, _ = count_tokens(trainer.train_split, [part])
    widths: list[int] = []
    model = trainer.model.train()
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
