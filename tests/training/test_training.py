"""Section 5: the schedule, the loss, dropout, and what the loop does to the weights."""

import json
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from annotated_transformer.benchmark.dispatch import TorchDispatchMode, tensors_in
from annotated_transformer.cli import main
from annotated_transformer.data import (
    ParallelCorpus,
    Split,
    Vocabulary,
    encode_split,
    make_batch,
    token_batches,
)
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.evaluation.likelihood import corpus_likelihood
from annotated_transformer.fast.byte_dropout import ByteDropout
from annotated_transformer.training import (
    LearningRateSchedule,
    Trainer,
    TrainingConfig,
    label_smoothing_loss,
    load_run,
    noam_rate,
)
from annotated_transformer.training.checkpoints import (
    list_checkpoints,
    load_checkpoint,
    stop_path,
)
from annotated_transformer.training.run_directory import average_checkpoints
from annotated_transformer.training.step import Part, add_gradients, count_tokens, parts_of_step
from toy_run import build_trainer, letters_corpus


@pytest.fixture
def corpus() -> ParallelCorpus:
    return letters_corpus()


# --- the schedule, against the values computed from the paper's constants


@pytest.mark.parametrize(
    ("step", "rate"),
    [
        (1, 1.74693e-07),
        (4_000, 6.98771e-04),
        (10_000, 4.41942e-04),
        (50_000, 1.97642e-04),
        (100_000, 1.39754e-04),
    ],
)
def test_rate_of_the_base_model(step, rate):
    assert noam_rate(step, 512, 4000) == pytest.approx(rate, rel=1e-5)


def test_step_zero_is_taken_as_step_one():
    assert noam_rate(0, 512, 4000) == noam_rate(1, 512, 4000)


@given(st.integers(1, 2000), st.integers(1, 20_000))
def test_the_peak_is_at_the_end_of_the_warm_up(warmup, step):
    schedule = LearningRateSchedule(128, warmup, peak=0.003)
    assert schedule.rate(step) <= schedule.rate(warmup) * (1 + 1e-12)
    assert schedule.rate(warmup) == pytest.approx(0.003)


def test_decay_ends_at_zero_and_leaves_the_first_part_alone():
    plain = LearningRateSchedule(128, 10)
    falling = LearningRateSchedule(128, 10, decay=0.6)
    assert falling.rate(100, 0.3) == plain.rate(100)
    assert falling.rate(100, 0.7) == pytest.approx(plain.rate(100) / 2)
    assert falling.rate(100, 1.0) == 0


# --- the loss, against PyTorch's own label smoothing


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(3, 30),
    st.floats(0, 0.9),
    st.integers(0, 10_000),
)
def test_label_smoothing_equals_torch(batch, n, vocab_size, eps, seed):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(batch, n, vocab_size, generator=generator, dtype=torch.float64) * 4
    target = torch.randint(0, vocab_size, (batch, n), generator=generator)
    target[0, 0] = 1  # at least one real token
    expected = functional.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=0, label_smoothing=eps
    )
    torch.testing.assert_close(label_smoothing_loss(logits, target, eps), expected)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_without_dropout_both_passes_agree_and_r_drop_changes_nothing(tmp_path, corpus, precision):
    """Else the two passes of a position would not be paired with each other."""
    plain = build_trainer(tmp_path / "plain", corpus, p=0.0, precision=precision)
    two = build_trainer(tmp_path / "two", corpus, p=0.0, r_drop=5.0, precision=precision)
    part = Part(plain.batches(0)[0], 0, 0)
    losses, gradients = [], []
    for trainer in (plain, two):
        tokens, _ = count_tokens(trainer.train_split, [part])
        split, model = trainer.train_split, trainer.model.train()
        losses.append(add_gradients(model, trainer.settings, split, [part], tokens))
        gradients.append([parameter.grad for parameter in model.parameters()])
    rounded = precision == "bf16"  # so are the probabilities, but not those of R-Drop
    assert losses[0] == pytest.approx(losses[1], rel=1e-3 if rounded else 1e-6)
    if not rounded:
        torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-6)
    for one, other in zip(*gradients, strict=True):  # as a whole: bf16 rounds every summand
        assert (one - other).norm() <= 0.1 * other.norm() + 1e-6


def test_with_dropout_the_two_passes_differ(tmp_path, corpus):
    """The same start and the same draws: what alpha adds to the loss is the disagreement."""
    losses = []
    for alpha in (1e-9, 1.0, 2.0):
        trainer = build_trainer(tmp_path / str(alpha), corpus, p=0.5, r_drop=alpha)
        part = Part(trainer.batches(0)[0], 0, 0)
        tokens, _ = count_tokens(trainer.train_split, [part])
        torch.manual_seed(0)
        model = trainer.model.train()
        losses.append(
            add_gradients(model, trainer.settings, trainer.train_split, [part], tokens) / tokens
        )
    assert losses[1] - losses[0] > 0.01
    assert losses[2] - losses[0] == pytest.approx(2 * (losses[1] - losses[0]), rel=1e-3)


def test_the_lowest_smoothed_loss_of_the_paper():
    """The smoothed loss cannot fall below the entropy of its target: 1.3769 nats at V = 37,000."""
    vocab_size, eps = 37_000, 0.1
    uniform = eps / vocab_size
    logits = torch.full((1, 1, vocab_size), math.log(uniform), dtype=torch.float64)
    logits[0, 0, 5] = math.log(1 - eps + uniform)
    loss = label_smoothing_loss(logits, torch.tensor([[5]]), eps)
    assert float(loss) == pytest.approx(1.3769, abs=1e-4)


# --- dropout by bytes


@pytest.mark.parametrize("p", [0.1, 0.2, 0.5])
def test_byte_dropout_keeps_the_mean_and_drops_its_share(p):
    torch.manual_seed(0)
    dropout = ByteDropout(p)
    x = torch.ones(1_000_003)
    y = dropout(x)
    assert (y == 0).float().mean() == pytest.approx(dropout.p, abs=0.002)
    assert dropout.p == pytest.approx(p, abs=1 / 512)
    assert y.mean() == pytest.approx(1, abs=0.005)
    assert set(y.unique().tolist()) == {0.0, torch.tensor(1 / (1 - dropout.p)).item()}
    # every one of the eight bytes of a draw must be uniform
    bits = (y[: 8 * 100_000] == 0).view(-1, 8).float().mean(0)
    assert (bits - dropout.p).abs().max() < 0.006


def test_byte_dropout_is_still_in_evaluation():
    dropout = ByteDropout(0.5).eval()
    x = torch.randn(10)
    assert dropout(x) is x


# --- starting values


def test_the_initial_gain_shrinks_the_four_matrices_of_the_branches_alone(tmp_path, corpus):
    plain = build_trainer(tmp_path / "plain", corpus).model
    shrunk = dict(
        build_trainer(tmp_path / "shrunk", corpus, init_gain=0.5).model.named_parameters()
    )
    inside = ("value_projection.weight", "output_projection.weight", "inner.weight", "outer.weight")
    changed = 0
    for name, parameter in plain.named_parameters():
        is_inside = name.endswith(inside)
        changed += is_inside
        assert torch.equal(shrunk[name], parameter * (0.5 if is_inside else 1)), name
    assert changed == 2 + 2 + 2 * 2 + 2  # the encoder's layer, and the decoder's


def test_a_branch_has_two_such_matrices_and_so_begins_at_the_gain_squared(tmp_path, corpus):
    plain = build_trainer(tmp_path / "plain", corpus).model.eval()
    shrunk = build_trainer(tmp_path / "shrunk", corpus, init_gain=0.5).model.eval()
    x = torch.randn(2, 5, plain.config.d_model)
    for branch in (
        lambda model: model.encoder.layers[0].self_attention(x, x, x),
        lambda model: model.encoder.layers[0].feed_forward(x),
    ):
        torch.testing.assert_close(branch(shrunk), branch(plain) / 4)


# --- the loop


def test_the_defaults_are_the_papers():
    defaults = TrainingConfig(steps=1)
    assert defaults.betas == (0.9, 0.98)
    assert defaults.adam_eps == 1e-9
    assert defaults.warmup == 4000
    assert defaults.label_smoothing == 0.1
    assert defaults.learning_rate is None
    assert defaults.decay == 0
    assert not defaults.byte_dropout


@pytest.mark.parametrize("epsilon", [0.1, 0.0, 0.35])
def test_a_step_is_adam_on_the_mean_loss_over_real_tokens(tmp_path, corpus, epsilon):
    """Two steps of the loop against PyTorch's Adam on the plain loss, with padding in the batch."""
    trainer = build_trainer(tmp_path, corpus, steps=2, p=0.0, label_smoothing=epsilon)
    batches = trainer.batches(0)[:2]
    twin = build_trainer(tmp_path, corpus, steps=2, p=0.0)
    assert all(
        torch.equal(a, b)
        for a, b in zip(trainer.model.parameters(), twin.model.parameters(), strict=True)
    )
    optimizer = torch.optim.Adam(twin.model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step, indices in enumerate(batches, start=1):
        trainer._step([Part(indices, 0, step - 1)], 0.0)
        batch = make_batch(twin.train_split, indices)
        for group in optimizer.param_groups:
            group["lr"] = noam_rate(step, 32, 4)
        logits = twin.model(batch.src, batch.tgt[:, :-1])
        functional.cross_entropy(
            logits.flatten(0, 1),
            batch.tgt[:, 1:].flatten(),
            ignore_index=0,
            label_smoothing=epsilon,
        ).backward()
        optimizer.step()
        optimizer.zero_grad()
    for a, b in zip(trainer.model.parameters(), twin.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_every_epoch_takes_its_own_batches_in_its_own_order(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=None, epochs=3, seed=5)
    step, taken = trainer._step, []

    def watched_step(parts, done):
        taken.extend(part.indices for part in parts)
        step(parts, done)

    trainer._step = watched_step
    assert trainer.run()
    expected = [
        token_batches(trainer.train_split.lengths, 64, seed=5, epoch=epoch) for epoch in range(3)
    ]
    assert taken == [batch for batches in expected for batch in batches]
    assert len({str(batches) for batches in expected}) == 3


@pytest.mark.parametrize("wanted", [True, False])
def test_byte_dropout_replaces_every_dropout_of_the_model(tmp_path, corpus, wanted):
    trainer = build_trainer(tmp_path, corpus, byte_dropout=wanted, p=0.25)
    found = [m for m in trainer.model.modules() if isinstance(m, (torch.nn.Dropout, ByteDropout))]
    assert {type(module) for module in found} == {ByteDropout if wanted else torch.nn.Dropout}
    assert 0.25 in {module.p for module in found}


def test_training_learns_and_leaves_a_model_that_loads(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=None, epochs=6, learning_rate=0.01)
    assert trainer.run()
    valid = [line for line in trainer.directory.read_metrics() if line["event"] == "valid"]
    assert len(valid) == 6
    assert valid[-1]["loss"] < valid[0]["loss"] - 0.5
    assert valid[-1]["perplexity"] == pytest.approx(math.exp(valid[-1]["loss"]), rel=1e-3)
    model, vocabulary, config = load_run(tmp_path)
    assert not model.training
    assert len(vocabulary) == config.model.vocab_size
    for name, mean in model.named_parameters():
        checkpoints = [
            load_checkpoint(path).tensors[f"model/{name}"]
            for _, path in list_checkpoints(trainer.directory.checkpoints)
        ]
        assert len(checkpoints) == 5
        torch.testing.assert_close(mean, torch.stack(checkpoints).mean(0))


def test_a_diverging_run_says_so(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=200, learning_rate=1e30, warmup=1)
    with pytest.raises(WorkError, match="diverged"):
        trainer.run()


def test_a_run_that_diverges_late_leaves_its_good_checkpoints(tmp_path, corpus):
    """Weights that stop being numbers are never saved, however soon the next checkpoint is."""
    trainer = build_trainer(tmp_path, corpus, steps=20, checkpoint_every=1)
    step = trainer._step

    def spoiled_step(parts, done):
        step(parts, done)
        if trainer.state.step == 9:
            with torch.no_grad():
                next(trainer.model.parameters()).fill_(math.nan)

    trainer._step = spoiled_step
    with pytest.raises(WorkError, match="diverged"):
        trainer.run()
    found = list_checkpoints(trainer.directory.checkpoints)
    assert [at for at, _ in found] == [4, 5, 6, 7, 8]
    for _, path in found:
        assert all(value.isfinite().all() for value in load_checkpoint(path).tensors.values())


def run_with_stops(path, corpus, stops, **settings) -> Trainer:
    """Run to the end; at each step of `stops` the run is asked to stop, and then resumed."""
    for stop in (*stops, None):
        trainer = build_trainer(path, corpus, **settings)
        trainer.resume()
        step = trainer._step

        def stopping_step(parts, done, trainer=trainer, step=step, stop=stop):
            step(parts, done)
            if trainer.state.step == stop:
                trainer.stop_asked = "SIGINT"

        trainer._step = stopping_step
        assert trainer.run() == (stop is None)
    return trainer


def outcome(trainer: Trainer) -> tuple:
    """What must not depend on when somebody stopped: averaged weights, kept steps, the curve."""
    kept = [step for step, _ in list_checkpoints(trainer.directory.checkpoints)]
    times = ("wall_seconds", "cpu_seconds", "tokens_per_second")
    curve = [
        {key: value for key, value in line.items() if key not in times}
        for line in trainer.directory.read_metrics()
    ]
    return trainer.directory.model_file.read_bytes(), kept, curve


@pytest.mark.parametrize("every", [6, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("length", ["epochs", "steps"])
def test_stopping_changes_neither_the_average_nor_what_is_kept_nor_the_curve(
    tmp_path, corpus, every, length
):
    """Stopped within an epoch, at its end, at the last step, just after a checkpoint, twice."""
    an_epoch = len(build_trainer(tmp_path / "count", corpus).batches(0))
    assert an_epoch > 6
    planned = {"steps": None, "epochs": 4} if length == "epochs" else {"steps": 4 * an_epoch}
    settings = {**planned, "checkpoint_every": every, "keep": 3, "average": 3}
    whole = outcome(run_with_stops(tmp_path / "whole", corpus, [], **settings))
    end = 4 * an_epoch
    assert len(whole[1]) == 3
    assert [line["step"] for line in whole[2] if line["event"] == "valid"] == [
        an_epoch * epoch for epoch in range(1, 5)
    ]
    for stops in ([end - 3], [an_epoch], [end], [12], [end - an_epoch, end - 2, end - 1], [1]):
        path = tmp_path / "-".join(map(str, stops))
        assert outcome(run_with_stops(path, corpus, stops, **settings)) == whole, stops
        assert not stop_path(path / "checkpoints").exists()


def test_a_run_that_cannot_be_validated_keeps_its_epoch(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=None, epochs=2)
    an_epoch = len(trainer.batches(0))

    def fail(passes):
        raise RuntimeError("no memory")

    trainer._validate = fail
    with pytest.raises(RuntimeError, match="no memory"):
        trainer.run()
    assert [step for step, _ in list_checkpoints(trainer.directory.checkpoints)] == [an_epoch]
    resumed = build_trainer(tmp_path, corpus, steps=None, epochs=2)
    assert resumed.resume() == an_epoch
    assert resumed.run()
    whole = run_with_stops(tmp_path / "whole", corpus, [], steps=None, epochs=2)
    assert outcome(resumed) == outcome(whole)


def test_a_run_killed_just_after_a_validation_does_not_validate_twice(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=None, epochs=2)
    an_epoch, step = len(trainer.batches(0)), trainer._step

    def dying_step(parts, done):
        if trainer.state.step == an_epoch:
            raise RuntimeError("killed")
        step(parts, done)

    trainer._step = dying_step
    with pytest.raises(RuntimeError, match="killed"):
        trainer.run()
    resumed = build_trainer(tmp_path, corpus, steps=None, epochs=2)
    assert resumed.resume() == an_epoch
    assert resumed.run()
    whole = run_with_stops(tmp_path / "whole", corpus, [], steps=None, epochs=2)
    assert outcome(resumed) == outcome(whole)


def test_the_checkpoint_of_a_stop_is_not_averaged(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=None, epochs=2)
    trainer.stop_asked = "SIGTERM"
    assert not trainer.run()
    with pytest.raises(CallError, match=r"stopped\.safetensors is for resuming only"):
        average_checkpoints(trainer.directory, 1)


def test_the_checkpoint_of_another_model_is_not_averaged(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=2)
    assert trainer.run()
    before = trainer.directory.model_file.read_bytes()
    config = json.loads(trainer.directory.config_file.read_text())
    config["model"]["d_ff"] += 1
    trainer.directory.config_file.write_text(json.dumps(config))
    with pytest.raises(WorkError, match="holds the weights of another model than config"):
        average_checkpoints(trainer.directory, 1)
    assert trainer.directory.model_file.read_bytes() == before


def test_the_decay_reaches_the_steps(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=100, decay=0.6, learning_rate=1e-3, warmup=10)
    trainer.run()
    logged = {
        line["step"]: line["learning_rate"]
        for line in trainer.directory.read_metrics()
        if line["event"] == "train"
    }
    assert logged[50] == pytest.approx(noam_rate(50, 32, 10) / noam_rate(10, 32, 10) * 1e-3 * 0.85)
    assert logged[100] == pytest.approx(
        noam_rate(100, 32, 10) / noam_rate(10, 32, 10) * 1e-3 * 0.01 / 0.6
    )


def test_validation_is_the_unsmoothed_likelihood_without_dropout(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=8, p=0.5)
    vocabulary = trainer.directory.read_vocabulary(trainer.config)
    others = Split(["h g f", "a", "b b"], ["a b", "h h h", "c"])  # not the training pairs
    trainer.valid_split = encode_split(others, vocabulary)
    trainer._validate(1)
    (line,) = trainer.directory.read_metrics()
    batches = [make_batch(trainer.valid_split, list(range(len(trainer.valid_split))))]
    expected = corpus_likelihood(trainer.model, batches)
    assert line["loss"] == pytest.approx(expected.loss, abs=2e-6)
    assert trainer.model.training


@pytest.mark.parametrize("name", ["learning_rate", "minutes", "decay", "label_smoothing", "r_drop"])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_settings_are_finite_numbers(name, value):
    with pytest.raises(ValueError, match=name):
        TrainingConfig(**({} if name == "minutes" else {"steps": 1}), **{name: value})


class NoFloat64(TorchDispatchMode):
    """A device like Apple's, which has no float64."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        assert all(tensor.dtype != torch.float64 for tensor in tensors_in(out)), func
        return out


def test_a_step_needs_no_float64(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus)
    with NoFloat64():
        trainer._step(parts_of_step(trainer.batches(0), 0, 0, 1), 0.0)


def test_the_log_of_the_loss_is_in_nats_per_token(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=50, learning_rate=1e-9)
    trainer.run()
    (line,) = [line for line in trainer.directory.read_metrics() if line["event"] == "train"]
    assert line["step"] == 50
    assert 2.5 < line["loss"] < 5  # an untrained model of some 20 to 40 tokens: about log(V)
    assert json.dumps(line)


# --- what the command gives the loop


def test_the_command_trains_on_train_validates_on_valid_and_learns_its_words_from_train(
    tmp_path, monkeypatch
):
    folder = tmp_path / "corpus"
    folder.mkdir()
    lines = {"train": ["a b", "b a a", "a"], "valid": ["b z", "z"], "test": ["q"]}
    for split, sentences in lines.items():
        for language in ("en", "de"):
            (folder / f"{split}.{language}").write_text("\n".join(sentences) + "\n", "utf-8")
    built = []

    class Watched(Trainer):
        def run(self) -> bool:
            built.append(self)
            return super().run()

    monkeypatch.setattr("annotated_transformer.cli.train_run.Trainer", Watched)
    options = ["--data-dir", str(folder), "--steps", "2", "--preset", "tiny/N=1,d_model=8,d_ff=8"]
    assert main(["train", "--run-dir", str(tmp_path / "run"), *options, "--device", "cpu"]) == 0
    [trainer] = built
    vocabulary = Vocabulary.load(tmp_path / "run" / "tokenizer.json")
    for split, encoded in (("train", trainer.train_split), ("valid", trainer.valid_split)):
        for side in (encoded.source, encoded.target):
            texts = [vocabulary.decode(ids).replace("<unk>", "z") for ids in side]
            assert [text.split() for text in texts] == [line.split() for line in lines[split]]
    known = vocabulary.tokenizer.get_vocab()
    assert {"a", "b"} <= set(known)
    assert not {piece for piece in known if "z" in piece or "q" in piece}
