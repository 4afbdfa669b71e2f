"""One optimizer step out of several batches (gradient accumulation), and clipping."""

import sys
from pathlib import Path

import pytest
import torch

from annotated_transformer.data import (
    EncodedSplit,
    ParallelCorpus,
    Split,
    Vocabulary,
    encode_split,
    make_batch,
)
from annotated_transformer.evaluation.likelihood import teacher_forced
from annotated_transformer.training import TrainingConfig, label_smoothing_loss, load_run
from annotated_transformer.training.checkpoints import load_checkpoint, stop_path
from annotated_transformer.training.step import (
    Part,
    add_gradients,
    count_tokens,
    parts_of_step,
    start_gradients,
    steps_of_epoch,
    update,
)
from toy_run import build_trainer, letters_corpus


@pytest.fixture
def corpus() -> ParallelCorpus:
    return letters_corpus()


# --- how many batches a step has


@pytest.mark.parametrize(
    ("batch_tokens", "max_tokens", "accumulate"),
    [
        (None, 4096, 1),
        (4096, 4096, 1),
        (25_000, 4096, 6),  # the paper's step on a laptop: 24,576
        (25_000, 2048, 12),
        (25_000, 25_000, 1),
        (25_000, 10_000, 3),  # half a batch counts as one
    ],
)
def test_the_papers_step_in_this_machines_batches(batch_tokens, max_tokens, accumulate):
    settings = TrainingConfig(steps=1, batch_tokens=batch_tokens, max_tokens=max_tokens)
    assert settings.accumulate == accumulate


def test_a_step_is_no_smaller_than_a_batch():
    with pytest.raises(ValueError, match="batch_tokens = 100 a step is less than the max_tokens"):
        TrainingConfig(steps=1, batch_tokens=100, max_tokens=4096)


def test_the_last_step_of_an_epoch_takes_what_is_left():
    batches = [[n] for n in range(7)]
    steps = [parts_of_step(batches, 2, first, 3) for first in range(0, 7, 3)]
    assert [[part.indices for part in parts] for parts in steps] == [
        [[0], [1], [2]],
        [[3], [4], [5]],
        [[6]],
    ]
    assert steps[1][2] == Part([5], epoch=2, place=5)
    assert steps_of_epoch(7, 3) == 3
    assert steps_of_epoch(6, 3) == 2


# --- the gradient


def unequal_parts(split: EncodedSplit) -> list[Part]:
    """Three batches with very different numbers of target tokens."""
    by_length = sorted(range(len(split)), key=lambda index: len(split.target[index]))
    return [
        Part(indices, 0, place)
        for place, indices in enumerate([by_length[:2], by_length[-9:], by_length[40:43]])
    ]


def gradients_of(trainer) -> dict[str, torch.Tensor]:
    return {name: parameter.grad for name, parameter in trainer.model.named_parameters()}


@pytest.mark.parametrize(("epsilon", "r_drop"), [(0.0, 0.0), (0.1, 0.0), (0.1, 5.0)])
def test_a_step_of_three_batches_equals_one_on_all_their_pairs(tmp_path, corpus, epsilon, r_drop):
    """Gradient, loss, and the weights after Adam: the mean over tokens, not of three means.

    Without dropout the two passes of R-Drop agree, and nothing changes.
    """
    settings = {"p": 0.0, "label_smoothing": epsilon, "batch_tokens": 192, "r_drop": r_drop}
    parts_trainer = build_trainer(tmp_path / "parts", corpus, **settings)
    whole_trainer = build_trainer(tmp_path / "whole", corpus, **settings)
    parts = unequal_parts(parts_trainer.train_split)
    joined = [index for part in parts for index in part.indices]
    for trainer in (parts_trainer, whole_trainer):
        trainer.model.double()
    target_tokens, tokens = count_tokens(parts_trainer.train_split, parts)
    batch = make_batch(whole_trainer.train_split, joined)
    assert target_tokens == int((batch.tgt[:, 1:] != 0).sum())
    assert tokens == target_tokens + int((batch.src != 0).sum())

    total = add_gradients(
        parts_trainer.model,
        parts_trainer.settings,
        parts_trainer.train_split,
        parts,
        target_tokens,
    )
    logits = whole_trainer.model(batch.src, batch.tgt[:, :-1])  # by the plain loss
    mean = label_smoothing_loss(logits, batch.tgt[:, 1:], epsilon)
    mean.backward()
    assert total / target_tokens == pytest.approx(float(mean.detach()), abs=1e-12)
    theirs = gradients_of(whole_trainer)
    for name, gradient in gradients_of(parts_trainer).items():
        torch.testing.assert_close(gradient, theirs[name], rtol=0, atol=1e-12)

    for trainer in (parts_trainer, whole_trainer):
        trainer.optimizer.zero_grad()
    parts_trainer._step(parts, 0.0)
    whole_trainer._step([Part(joined, 0, 0)], 0.0)
    theirs = dict(whole_trainer.model.named_parameters())
    for name, parameter in parts_trainer.model.named_parameters():
        torch.testing.assert_close(parameter, theirs[name], rtol=0, atol=1e-9)
    assert parts_trainer.state.loss == pytest.approx(whole_trainer.state.loss, abs=1e-10)
    assert parts_trainer.state.batch == 3


def test_one_batch_a_step_draws_its_dropout_as_it_always_did(tmp_path, corpus):
    """A recorded run is repeated to the bit only if the random stream of a run runs on.

    In float32. In bfloat16 on a CPU padding has since been left out, and draws nothing any more.
    """
    trainer = build_trainer(tmp_path, corpus, p=0.3)
    twin = build_trainer(tmp_path, corpus, p=0.3)
    torch.manual_seed(5)
    trainer._step(parts_of_step(trainer.batches(0), 0, 0, 1), 0.0)
    torch.manual_seed(5)
    hidden, answers = teacher_forced(twin.model, make_batch(twin.train_split, twin.batches(0)[0]))
    logits = twin.model.project(hidden)
    loss = label_smoothing_loss(logits[None], answers[None]) * len(answers)
    assert trainer.state.loss == pytest.approx(float(loss), rel=1e-5)


def test_padding_written_in_a_sentence_is_text(corpus):
    """A text may hold the very letters "<pad>": pieces like any others, never the padding."""
    split = Split(["a b", "<pad> a"], ["b a <pad>", "a"])
    vocabulary = Vocabulary.train(corpus["train"].source, 40)
    encoded = encode_split(split, vocabulary)
    batch = make_batch(encoded, [0, 1])
    target, both = count_tokens(encoded, [Part([0], 0, 0), Part([1], 0, 1)])
    assert not any(0 in row for row in (*encoded.source, *encoded.target))
    assert target == sum(len(row) - 1 for row in encoded.target)
    assert target == int((batch.tgt[:, 1:] != 0).sum())
    assert both == target + int((batch.src != 0).sum())


# --- the run


def stop_at(trainer, step: int) -> None:
    plain = trainer._step

    def stopping_step(parts, done):
        plain(parts, done)
        if trainer.state.step == step:
            trainer.stop_asked = "SIGINT"

    trainer._step = stopping_step


@pytest.mark.parametrize("r_drop", [0.0, 2.0])
def test_every_pair_is_seen_once_an_epoch_and_a_stop_changes_no_bit(tmp_path, corpus, r_drop):
    settings = {"steps": None, "epochs": 3, "batch_tokens": 5 * 64, "p": 0.2, "average": 1}
    settings |= {"r_drop": r_drop}
    whole = build_trainer(tmp_path / "whole", corpus, **settings)
    an_epoch = steps_of_epoch(len(whole.batches(0)), 5)
    assert len(whole.batches(0)) % 5 != 0
    seen: list[int] = []
    plain = whole._step

    def watched_step(parts, done):
        seen.extend(index for part in parts for index in part.indices)
        plain(parts, done)

    whole._step = watched_step
    assert whole.run()
    assert whole.state.step == 3 * an_epoch == whole.planned_steps()
    assert sorted(seen) == sorted(3 * list(range(len(whole.train_split))))

    for step in (an_epoch + 1, None):  # in the middle of the second epoch
        trainer = build_trainer(tmp_path / "stopped", corpus, **settings)
        trainer.resume()
        stop_at(trainer, step)
        assert trainer.run() == (step is None)
    assert (tmp_path / "stopped" / "model.safetensors").read_bytes() == (
        tmp_path / "whole" / "model.safetensors"
    ).read_bytes()


def test_dropout_of_a_batch_is_its_own_whatever_was_drawn_before(tmp_path, corpus):
    """Who takes which batch cannot matter if its dropout follows from its place alone."""
    trainer = build_trainer(tmp_path, corpus, batch_tokens=128, p=0.4)
    parts = parts_of_step(trainer.batches(0), 0, 0, 2)
    split, settings = trainer.train_split, trainer.settings
    together = add_gradients(trainer.model, settings, split, parts, 100)
    torch.rand(7)
    apart = sum(
        add_gradients(trainer.model, settings, split, [part], 100) for part in reversed(parts)
    )
    assert together == pytest.approx(apart, abs=1e-9)
    other_epoch = [Part(part.indices, 1, part.place) for part in parts]
    assert add_gradients(trainer.model, settings, split, other_epoch, 100) != together


# --- clipping


def test_a_long_gradient_is_shortened_and_its_norm_is_in_the_metrics(tmp_path, corpus):
    clipped = build_trainer(tmp_path / "clipped", corpus, steps=50, clip_norm=1e-3, p=0.0)
    free = build_trainer(tmp_path / "free", corpus, steps=50, p=0.0)
    lengths = []
    for trainer in (clipped, free):
        parts = parts_of_step(trainer.batches(0), 0, 0, 1)
        taken = {}

        def spy(trainer=trainer, taken=taken):
            gradients = [parameter.grad for parameter in trainer.model.parameters()]
            taken["norm"] = float(torch.cat([g.flatten() for g in gradients]).norm())

        step = trainer.optimizer.step
        trainer.optimizer.step = lambda spy=spy, step=step: (spy(), step())
        trainer._step(parts, 0.0)
        lengths.append(taken["norm"])
    assert lengths[0] == pytest.approx(1e-3, rel=1e-3)
    assert lengths[1] > 0.1
    assert clipped.state.gradient_norm == pytest.approx(lengths[1], rel=1e-5)
    assert clipped.state.clipped == 1
    for trainer in (clipped, free):
        trainer.run()
    [line] = [line for line in clipped.directory.read_metrics() if line["event"] == "train"]
    assert line["clipped"] == 1.0
    assert 0.1 < line["gradient_norm"] < 100
    [plain] = [line for line in free.directory.read_metrics() if line["event"] == "train"]
    assert not {"clipped", "gradient_norm"} & plain.keys()


def test_a_bound_that_is_never_reached_changes_no_bit(tmp_path, corpus):
    build_trainer(tmp_path / "bound", corpus, clip_norm=1e6).run()
    build_trainer(tmp_path / "free", corpus).run()
    for (_, bound), (_, free) in zip(
        *(load_run(tmp_path / name)[0].named_parameters() for name in ("bound", "free")),
        strict=True,
    ):
        assert torch.equal(bound, free)


def test_the_sum_of_norms_survives_a_stop(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=20, clip_norm=1e-3)
    stop_at(trainer, 10)
    assert not trainer.run()
    state = load_checkpoint(stop_path(trainer.directory.checkpoints)).state
    assert state["clipped"] == 10
    assert state["gradient_norm"] == trainer.state.gradient_norm > 0


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_a_bound_is_positive(value):
    with pytest.raises(ValueError, match="clip_norm"):
        TrainingConfig(steps=1, clip_norm=value)


# --- to be read


def test_a_plain_step_can_be_stepped_through_in_twelve_files(tmp_path, corpus):
    """From a batch to new weights, with the default settings: section 3, the loss, the step."""
    trainer = build_trainer(tmp_path, corpus)
    split, parts = trainer.train_split, [Part(trainer.batches(0)[0], 0, 0)]
    tokens, _ = count_tokens(split, parts)
    batches = [make_batch(split, part.indices) for part in parts]
    model, parameters = trainer.model.train(), list(trainer.model.parameters())
    package = Path(sys.modules["annotated_transformer"].__file__).parent
    called: set[str] = set()

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and package in path.parents:
            called.add(path.relative_to(package).as_posix())

    before = [parameter.detach().clone() for parameter in parameters]
    sys.setprofile(note)
    try:
        start_gradients(model, trainer.settings, split, parts, tokens, batches)
        update(trainer.optimizer, parameters, 1e-3, trainer.settings.clip_norm)
    finally:
        sys.setprofile(None)
    assert all((new != old).any() for new, old in zip(parameters, before, strict=True))
    assert len(called) <= 12, sorted(called)
    assert [name for name in called if name.startswith("fast/")] == ["fast/projected_loss.py"]
