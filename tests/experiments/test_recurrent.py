"""The recurrent translators of chapter 1: against torch.nn, against sums, on a copy task."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from annotated_transformer.attention import scaled_dot_product_attention
from annotated_transformer.experiments.recurrent import (
    KINDS,
    AdditiveScore,
    Kind,
    MultiplicativeScore,
    RecurrentTranslator,
)
from sampling import one_in

WITH_ATTENTION = [kind for kind in KINDS if kind != "none"]
ORDERS = [
    ("none", None),
    *((kind, asks) for kind in WITH_ATTENTION for asks in ("before", "after")),
]
SRC = torch.tensor([[5, 6, 7, 8, 2], [8, 9, 2, 0, 0]])
TGT = torch.tensor([[1, 4, 9, 7], [1, 3, 2, 0]])


def small(attention: Kind, asks=None, **changes) -> RecurrentTranslator:
    torch.manual_seed(0)
    return RecurrentTranslator(
        **{"vocab_size": 11, "width": 6, **changes}, attention=attention, asks=asks
    ).double()


@pytest.mark.parametrize(("attention", "asks"), ORDERS)
def test_shapes_and_gradients_of_every_parameter(attention, asks):
    model = small(attention, asks)
    logits, weights = model.run(SRC, TGT)
    assert logits.shape == (2, 4, 11)
    assert weights is None if attention == "none" else weights.shape == (2, 4, 5)
    logits.square().sum().backward()
    assert all((parameter.grad != 0).any() for parameter in model.parameters())


@pytest.mark.parametrize(("attention", "asks"), ORDERS)
def test_padding_changes_nothing(attention, asks):
    model = small(attention, asks)
    alone = model(SRC[1:, :3], TGT[1:, :3])
    assert torch.allclose(model(SRC, TGT)[1:, :3], alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("attention", "asks"), ORDERS)
def test_no_output_depends_on_a_later_token(attention, asks):
    model = small(attention, asks)
    other = TGT.clone()
    other[:, 2] = 10
    assert torch.equal(model(SRC, TGT)[:, :2], model(SRC, other)[:, :2])
    assert not torch.allclose(model(SRC, TGT)[:, 2], model(SRC, other)[:, 2])


@pytest.mark.parametrize(("attention", "asks"), ORDERS[1:])
def test_weights_sum_to_one_over_real_words(attention, asks):
    _, weights = small(attention, asks).run(SRC, TGT)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 4).double())
    assert (weights[1, :, 3:] == 0).all()
    assert (weights[1, :, :3] > 0).all()


@pytest.mark.parametrize("attention", WITH_ATTENTION)
def test_which_state_asks(attention):
    """The weights know the token just read if the state after the step asks, and else do not."""
    for asks in ("before", "after"):
        model = small(attention, asks)
        other = TGT.clone()
        other[:, 2] = 10
        same = torch.equal(model.run(SRC, TGT)[1][:, 2], model.run(SRC, other)[1][:, 2])
        assert same == (asks == "before")
    assert small("additive").asks == "before"
    assert small("multiplicative").asks == "after"


def test_additive_score_is_the_sum_written_out():
    torch.manual_seed(1)
    score = AdditiveScore(4).double()
    state, memory = torch.randn(2, 3, 4).double(), torch.randn(2, 5, 4).double()
    w, u, bias = (
        score.query_projection.weight,
        score.key_projection.weight,
        score.key_projection.bias,
    )
    hidden = (
        torch.einsum("ij,bqj->bqi", w, state)[:, :, None]
        + (torch.einsum("ij,bkj->bki", u, memory) + bias)[:, None]
    ).tanh()
    expected = torch.einsum("i,bqki->bqk", score.vector, hidden)
    assert torch.allclose(score(state, score.keys(memory)), expected, rtol=0, atol=1e-12)


def test_multiplicative_score_with_the_identity_and_the_scale_is_equation_1():
    score = MultiplicativeScore(4).double()
    with torch.no_grad():
        score.key_projection.weight.copy_(torch.eye(4) * 4**-0.5)
    state, memory = torch.randn(2, 3, 4).double(), torch.randn(2, 5, 4).double()
    _, expected = scaled_dot_product_attention(state, memory, memory)
    assert torch.allclose(score(state, score.keys(memory)).softmax(-1), expected)


def test_encoder_is_two_grus_of_torch():
    model = small("none")
    memory, summary = model.encode(SRC[:1])
    words = model.embedding(SRC[:1])
    for direction, suffix in enumerate(("", "_reverse")):
        one = nn.GRU(6, 3, batch_first=True).double()
        one.load_state_dict(
            {f"{name}_l0": getattr(model.encoder, f"{name}_l0{suffix}").data for name in
             ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
        )  # fmt: skip
        states, last = one(words.flip(1) if direction else words)
        states = states.flip(1) if direction else states
        half = slice(3 * direction, 3 * direction + 3)
        assert torch.allclose(memory[..., half], states)
        assert torch.allclose(summary[:, half], last[0])


@pytest.mark.parametrize(("attention", "asks"), ORDERS)
def test_translation_agrees_with_teacher_forcing(attention, asks):
    """Fed its own output, the model would write the same again; nothing follows the end sign."""
    model = small(attention, asks)
    output = model.translate(SRC, max_extra=3)
    assert output.size(1) <= 1 + 5 + 3
    assert (output[:, 0] == 1).all()
    again = model(SRC, output[:, :-1]).argmax(-1)
    for row, predicted in zip(output[:, 1:].tolist(), again.tolist(), strict=True):
        length = row.index(2) + 1 if 2 in row else len(row)
        assert row[:length] == predicted[:length]
        assert not any(row[length:])


@pytest.mark.parametrize(("attention", "asks"), one_in(len(ORDERS), ORDERS[1:]))
def test_a_copy_task_is_learned_with_attention(attention, asks):
    torch.manual_seed(0)
    model = RecurrentTranslator(12, 32, attention, asks)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(250):
        body = torch.randint(3, 12, (32, 6))
        src = torch.cat([body, torch.full((32, 1), 2)], dim=1)
        tgt = torch.cat([torch.full((32, 1), 1), src], dim=1)
        loss = cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert (model.translate(src)[:, 1:8] == src).float().mean() > 0.9


def test_refusals():
    with pytest.raises(ValueError, match="'dot' is not one of none, additive, multiplicative"):
        RecurrentTranslator(11, attention="dot")
    with pytest.raises(ValueError, match="width = 7 is odd"):
        RecurrentTranslator(11, width=7)
