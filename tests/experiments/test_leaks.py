"""Shift and mask, trained with and without: the language, its floor, and who can write."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.experiments import leaks
from annotated_transformer.transformer import Transformer
from sampling import one_in


def test_every_word_has_two_translations_and_the_coin_is_fair() -> None:
    src, target = leaks.synonym_pairs(4000, torch.Generator().manual_seed(0))
    assert src.shape == (4000, 6)
    assert target.shape == (4000, 7)
    assert (target[:, -1] == leaks.EOS).all()
    assert leaks.translates(target[:, :-1], src).all()
    for word in range(3, 13):
        said, times = target[:, :-1][src == word].unique(return_counts=True)  # type: ignore[no-untyped-call]
        assert len(said) == 2
        assert (times / times.sum() - 0.5).abs().max() < 0.05
    assert int(target.max()) == leaks.VOCAB_SIZE - 1


def test_translates_knows_the_wrong_word() -> None:
    src = torch.tensor([[3, 4]])  # words 0 and 1; they are said by 13 or 14, and by 15 or 16
    assert leaks.translates(torch.tensor([[14, 15]]), src).tolist() == [[True, True]]
    assert leaks.translates(torch.tensor([[15, 14]]), src).tolist() == [[False, False]]
    assert leaks.translates(torch.tensor([[3, 2]]), src).tolist() == [[False, False]]


def test_floor_is_the_entropy_of_a_target_token() -> None:
    """Counted: six fair coins and one certain end in seven tokens."""
    coin = -sum(p * math.log(p) for p in (0.5, 0.5))
    assert pytest.approx(6 * coin / 7) == leaks.FLOOR


def test_decoder_input_and_allowed() -> None:
    target = torch.tensor([[13, 15, 2]])
    assert leaks.decoder_input(target, shift=True).tolist() == [[1, 13, 15]]
    assert leaks.decoder_input(target, shift=False).tolist() == [[13, 15, 2]]
    assert leaks.allowed(3, mask=True).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert leaks.allowed(3, mask=False).all()


@pytest.mark.parametrize("mask", [True, False])
def test_writes_under_the_wiring_that_it_was_trained_with(
    mask: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two layers: with one, the last position, which alone writes, sees the same either way."""
    torch.manual_seed(0)
    config = TransformerConfig(leaks.VOCAB_SIZE, 32, 64, 2, 2, dropout=0.0)
    model = Transformer(config).double().eval()
    src, _ = leaks.synonym_pairs(50, torch.Generator().manual_seed(0))
    handed: list[Tensor] = []
    decode = model.decode

    def watched(memory: Tensor, tgt: Tensor, src_mask: Any, tgt_mask: Tensor) -> Tensor:
        handed.append(tgt_mask)
        return decode(memory, tgt, src_mask, tgt_mask)

    monkeypatch.setattr(model, "decode", watched)
    written = leaks.write(model, src, mask)
    assert [len(given) for given in handed] == [1, 2, 3, 4, 5, 6, 7]
    above = torch.stack([given.triu(1).sum() for given in handed])
    assert above.tolist() == ([0] * 7 if mask else [n * (n - 1) // 2 for n in range(1, 8)])
    assert all(given.diagonal().all() for given in handed)
    other = leaks.write(model, src, not mask)
    assert (written != other).any()


@pytest.mark.parametrize(("shift", "mask"), one_in(3, [(True, True), (True, False), (False, True)]))
def test_only_the_honest_decoder_stays_above_the_floor_and_writes(shift: bool, mask: bool) -> None:
    before = torch.random.get_rng_state()
    outcome = leaks.train(shift, mask, seed=5)
    assert torch.equal(before, torch.random.get_rng_state())
    assert len(outcome.losses) == 300
    if shift and mask:
        assert outcome.loss > leaks.FLOOR - 0.01
        assert outcome.sentences > 0.6
    else:
        assert outcome.loss < leaks.FLOOR / 4
        assert outcome.sentences < 0.3
