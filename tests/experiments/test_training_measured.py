"""The small translators of chapter 8: their loop, their record, and what they read of results/."""

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from annotated_transformer.data import encode_split
from annotated_transformer.evaluation.likelihood import teacher_forced
from annotated_transformer.experiments import training_measured as measured
from annotated_transformer.experiments.training_measured import multi30k, multi30k_runs
from annotated_transformer.training import TrainingConfig
from annotated_transformer.training.step import Part, add_gradients, count_tokens

RESULTS = Path(__file__).resolve().parents[2] / "results"
SMALL = measured.Recipe(
    steps=6, warmup=3, max_tokens=128, d_model=16, d_ff=32, num_heads=2, num_layers=1
)


@pytest.fixture(scope="module")
def data():
    corpus, vocabulary = measured.load_data(train=60, test=12)
    return corpus, vocabulary, encode_split(corpus["train"], vocabulary)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loop_is_adam_at_the_rate_of_the_schedule(data, smoothing):
    _, vocabulary, pairs = data
    recipe = replace(SMALL, smoothing=smoothing)
    model = recipe.model(len(vocabulary))
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    batches = measured.endless_batches(pairs, recipe.max_tokens, recipe.seed)
    losses = []
    for step in range(1, 7):
        rate = min(step / 3, (3 / step) ** 0.5) * min(1.0, (1 - (step - 1) / 6) / recipe.decay)
        optimizer.param_groups[0]["lr"] = recipe.peak * rate
        hidden, labels = teacher_forced(model, next(batches))
        loss = cross_entropy(model.project(hidden), labels, label_smoothing=smoothing)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    ours, trained = measured.train(pairs, vocabulary, recipe)
    assert np.allclose(ours, losses, atol=1e-3)
    assert not trained.training


def test_the_gradients_are_those_of_the_packages_step(data):
    _, vocabulary, pairs = data
    model, twin = (SMALL.model(len(vocabulary)) for _ in "12")
    batch = next(measured.endless_batches(pairs, SMALL.max_tokens, SMALL.seed))
    measured.batch_loss(model, batch, SMALL).backward()
    parts = [Part(batch.indices, 0, 0)]
    target, _ = count_tokens(pairs, parts)
    add_gradients(twin, TrainingConfig(steps=1, label_smoothing=0.1), pairs, parts, target)
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(ours.grad, theirs.grad)


def test_both_ways_to_the_loss_are_one_training(data):
    _, vocabulary, pairs = data
    fast, _ = measured.train(pairs, vocabulary, SMALL)
    plain, _ = measured.train(pairs, vocabulary, replace(SMALL, whole_logits=True))
    assert fast != plain  # the last bits: two ways, not one under two names
    assert np.allclose(fast, plain, atol=1e-4)


def test_a_stop_changes_no_bit_and_a_seed_does(data):
    _, vocabulary, pairs = data
    recipe = replace(SMALL, dropout=0.1)
    seen = [len(losses) for losses, _ in measured.training(pairs, vocabulary, recipe, (2, 4))]
    assert seen == [2, 4, 6]
    *_, (stopped, _) = measured.training(pairs, vocabulary, recipe, (2, 4))
    assert stopped == measured.train(pairs, vocabulary, recipe)[0]
    assert stopped != measured.train(pairs, vocabulary, replace(recipe, seed=1))[0]


def test_scores_are_of_this_split(data):
    corpus, vocabulary, pairs = data
    _, model = measured.train(pairs, vocabulary, SMALL)
    score = measured.evaluate(model, corpus["test"], vocabulary)
    assert score.perplexity == pytest.approx(np.exp(score.loss), rel=1e-3)
    assert 0 <= score.exact <= 1
    assert 0 <= score.accuracy <= 1
    assert "version:" in score.signature


def test_the_record_is_complete_and_of_the_recipe_in_the_code():
    record = measured.load_record()
    assert record["settings"] == json.loads(json.dumps(measured.settings()))
    assert {float(eps): set(runs) for eps, runs in record["runs"].items()} == {
        eps: {str(seed) for seed in measured.SEEDS} for eps in measured.SMOOTHINGS
    }
    for runs in record["runs"].values():
        for score in runs.values():
            assert measured.Score(**score).perplexity == pytest.approx(
                np.exp(score["loss"]), rel=1e-3
            )
    assert measured.recorded(0.1, "bleu").shape == (3,)


def test_a_record_is_written_after_every_run(tmp_path, monkeypatch):
    score = measured.Score(1.0, 2.7183, 0.5, 0.25, 10.0, "nrefs:1|version:x")
    little = measured.load_data(train=20, test=2)
    monkeypatch.setattr(measured, "load_data", lambda: little)
    monkeypatch.setattr(measured, "SEEDS", (5,))
    monkeypatch.setattr(measured, "SMOOTHINGS", (0.0, 0.3))
    monkeypatch.setattr(measured, "train", lambda pairs, vocabulary, recipe: ([], recipe))
    monkeypatch.setattr(measured, "evaluate", lambda model, split, vocabulary: score)
    path = tmp_path / "record.json"
    measured.make_record(path)
    runs = json.loads(path.read_text("utf-8"))["runs"]
    assert runs == {"0.0": {"5": asdict(score)}, "0.3": {"5": asdict(score)}}


def test_what_the_chapter_reads_is_what_the_run_recorded():
    run = multi30k.load_extract()
    assert run == multi30k.extract(RESULTS / "multi30k_tiny_postnorm")
    assert run["name"] == "multi30k_tiny_postnorm"
    assert len(run["valid"]) == run["recipe"]["epochs"]


def test_the_extract_is_written_as_it_is_read(tmp_path):
    path = tmp_path / "extract.json"
    multi30k.make_extract(RESULTS / "multi30k_tiny_postnorm", path)
    assert path.read_bytes() == multi30k.EXTRACT.read_bytes()


def test_the_chapter_s_lines_are_those_of_all_finished_runs(tmp_path):
    path = tmp_path / "runs.json"
    multi30k_runs.make_extract(RESULTS, path)
    assert path.read_bytes() == multi30k_runs.EXTRACT.read_bytes()
    lines = multi30k_runs.load_runs()
    assert lines == multi30k_runs.extract(RESULTS)
    records = [json.loads(path.read_text("utf-8")) for path in RESULTS.glob("multi30k_*/run.json")]
    finished = {run["name"] for run in records if run["status"] == "finished"}
    assert {line.name for line in lines} == finished
    assert len({line.signature for line in lines}) == 1


def a_record(
    folder: Path,
    name: str,
    status: str = "finished",
    data: str = "multi30k",
    norm: str = "pre",
    **recipe: object,
) -> None:
    """A recorded run with settings changed, scored by several searches, one of which was chosen.

    A setting of None is left out, as in records that are older than the setting.
    """
    copied = shutil.copytree(RESULTS / "multi30k_tiny_rdrop_84", folder / name)
    run = json.loads((copied / "run.json").read_text("utf-8"))
    training = run["configuration"]["training"] | recipe
    run["configuration"]["training"] = {
        k: v for k, v in training.items() if recipe.get(k, 0) is not None
    }
    run |= {"name": name, "status": status}
    run["data"]["name"] = data
    run["configuration"]["model"]["norm"] = norm
    (copied / "run.json").write_text(json.dumps(run), "utf-8")
    scores = [
        {
            "split": split,
            "protocol": protocol,
            "value": value + (split == "test_2017_flickr") + 10 * (protocol == "cased"),
            "signature": "nrefs:1",
            "beam": beam,
            "alpha": alpha,
            "alpha_chosen_on": "valid",
            "max_extra": extra,
        }
        for split in multi30k_runs.TESTS
        for protocol in ("cased", "lower-tokenised")
        for beam, alpha, extra, value in (
            (5, 1.0, 0, 20.0),  # the chosen search, which is not the best on the test sets
            (5, 1.0, 50, 30.0),
            (4, 1.0, 0, 31.0),
            (5, 0.6, 0, 32.0),
        )
    ]
    (copied / "scores.json").write_text(json.dumps(scores), "utf-8")
    tried = [
        {"alpha": 1.0, "max_extra": 0, "score": 9.0},
        {"alpha": 0.6, "max_extra": 0, "score": 8.0},
        {"alpha": 1.0, "max_extra": 50, "score": 7.0},
    ]
    tuning = {"beam": 5, "chosen_on": "valid", "protocol": "lower-tokenised", "tried": tried}
    tunings = [tuning | {"split": split} for split in multi30k_runs.TESTS]
    (copied / "tuning.json").write_text(json.dumps(tunings), "utf-8")
    for split, words in zip(multi30k_runs.TESTS, (39, 40), strict=True):
        text = "kurz\n" + " ".join(["Wort"] * words) + "\n"
        (copied / f"translations.{split}.txt").write_text(text, "utf-8")


def test_a_line_has_the_scores_of_the_search_that_was_chosen(tmp_path):
    a_record(tmp_path, "multi30k_it", r_drop=3.0, init_gain=None)
    (line,) = multi30k_runs.extract(tmp_path)
    assert (line.alpha, line.max_extra, line.valid) == (1.0, 0, 9.0)
    assert line.tests == {"test_2016_flickr": 20.0, "test_2017_flickr": 21.0}
    assert (line.r_drop, line.init_gain) == (3.0, 1.0)
    assert line.long == 1  # 39 words are as many as a reference has
    assert (line.loss, line.cpu_minutes) == (1.607, 124.7)


def test_only_finished_runs_on_multi30k_are_lines_and_r_drop_stands_last(tmp_path):
    for name, settings in {
        "ended": {"status": "interrupted"},
        "failed": {"status": "failed"},
        "speed_run_mine_s0": {},
        "elsewhere": {"data": "tatoeba"},
        "e": {"r_drop": 5.0, "epochs": 5},
        "d": {"r_drop": None, "epochs": 84, "seed": 3},
        "c": {"r_drop": None, "epochs": 84, "seed": 4},
        "b": {"r_drop": None, "epochs": 90, "norm": "pre"},
        "x": {"r_drop": None, "epochs": 90, "norm": "post"},
    }.items():
        a_record(tmp_path, name, **settings)
    assert [line.name for line in multi30k_runs.extract(tmp_path)] == ["d", "c", "x", "b", "e"]


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("tuning.json", [], "it has no tuning.json"),
        ("scores.json", [], "it has scores of 0 best searches"),
    ],
)
def test_a_record_that_cannot_be_a_line_is_named(tmp_path, file, content, said):
    a_record(tmp_path, "it")
    (tmp_path / "it" / file).write_text(json.dumps(content), "utf-8")
    with pytest.raises(ValueError, match=said):
        multi30k_runs.extract(tmp_path)
