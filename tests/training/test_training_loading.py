"""Batches made ahead are those made when asked."""

import threading

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from annotated_transformer.data import (
    EncodedSplit,
    Vocabulary,
    batching,
    encode_split,
    make_batch,
    token_batches,
)
from annotated_transformer.evaluation.likelihood import teacher_forced
from annotated_transformer.training import load_run, loading
from annotated_transformer.training.loading import Loader
from annotated_transformer.training.step import Part
from annotated_transformer.transformer import Transformer
from toy_run import build_trainer, letters_corpus

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def split() -> EncodedSplit:
    train = letters_corpus()["train"]
    return encode_split(train, Vocabulary.train(train.source, 40))


@pytest.mark.parametrize("ahead", [False, True])
def test_a_loader_gives_the_batches_that_are_asked_for(split: EncodedSplit, ahead: bool) -> None:
    batches = token_batches(split.lengths, 64, seed=0, epoch=0)
    parts = [Part(indices, 0, place) for place, indices in enumerate(batches)]
    loader = Loader(0, CPU, ahead)
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        if following is not None:
            loader.announce(split, [following])
        got, expected = loader.batch(split, part), make_batch(split, part.indices)
        assert torch.equal(got.src, expected.src)
        assert torch.equal(got.tgt, expected.tgt)
        assert got.indices == part.indices
    loader.close()
    assert torch.equal(loader.batch(split, parts[0]).src, make_batch(split, batches[0]).src)


def test_announced_batches_are_made_by_another_thread(
    split: EncodedSplit, monkeypatch: pytest.MonkeyPatch
) -> None:
    makers: list[str] = []

    def watched(*given):
        makers.append(threading.current_thread().name)
        return make_batch(*given)

    monkeypatch.setattr(loading, "make_batch", watched)
    part, other = Part([0, 1], 0, 0), Part([2], 0, 1)
    for ahead in (False, True):
        loader = Loader(0, CPU, ahead)
        loader.announce(split, [part])
        loader.batch(split, part)
        loader.batch(split, other)  # never announced
        loader.close()
    here = threading.current_thread().name
    assert [name == here for name in makers] == [True, True, False, True]


def test_a_run_with_batches_made_ahead_ends_with_the_same_bits(tmp_path) -> None:
    for name, ahead in (("asked", False), ("ahead", True)):
        trainer = build_trainer(tmp_path / name, letters_corpus(), steps=20, batch_tokens=128)
        trainer.gradients.loader = Loader(trainer.model.config.pad_id, CPU, ahead)
        assert trainer.run()
        assert threading.active_count() == 1 or "batches" not in str(threading.enumerate())
    asked, ahead = (load_run(tmp_path / name)[0].state_dict() for name in ("asked", "ahead"))
    assert all(torch.equal(asked[name], ahead[name]) for name in asked)


def gradients(model: Transformer, batch, eps: float = 0.1) -> tuple[torch.Tensor, dict]:
    model.zero_grad()
    hidden, answers = teacher_forced(model, batch)
    log_p = model.project(hidden).log_softmax(-1)
    loss = -((1 - eps) * log_p.gather(1, answers[:, None])[:, 0] + eps * log_p.mean(1)).sum()
    loss.backward()
    return loss.detach(), {name: p.grad.clone() for name, p in model.named_parameters()}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(1, 9), max_size=6), max_size=6), st.integers(0, 3))
def test_collate_pads_at_the_end(rows, pad_id) -> None:
    padded = batching.collate(rows, pad_id)
    longest = max(map(len, rows), default=0)
    assert padded.tolist() == [row + [pad_id] * (longest - len(row)) for row in rows]
    assert padded.dtype == torch.long
    assert padded.shape == (len(rows), longest)
