"""Early stopping, the best validation's weights, and what becomes the final model."""

import json

import pytest
import torch

from annotated_transformer.cli import main
from annotated_transformer.data import ParallelCorpus, Split, Vocabulary
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.scoring import cased_bleu
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.training import RunDirectory, TrainingConfig, load_run
from annotated_transformer.training.checkpoints import list_checkpoints, load_checkpoint
from annotated_transformer.training.run_directory import model_weights
from annotated_transformer.training.stopping import best_validation, has_stalled, use_best
from annotated_transformer.training.validation import greedy_bleu
from toy_run import build_trainer, letters_corpus, write_corpus


@pytest.fixture
def corpus() -> ParallelCorpus:
    return letters_corpus()


def curve(*values: float, measure: str = "loss") -> list[dict]:
    """Metrics of a run that was validated after steps 10, 20, ..."""
    lines = []
    for place, value in enumerate(values, start=1):
        lines.append({"event": "train", "step": 10 * place, "loss": 0.0})
        lines.append({"event": "valid", "step": 10 * place, "loss": 5.0, measure: value})
    return lines


# --- judging


def test_the_best_is_the_lowest_loss_or_the_highest_bleu_and_the_first_of_equals():
    assert best_validation(curve(3, 2, 2, 4), "loss")["step"] == 20
    assert best_validation(curve(3, 2, 9, 9, measure="bleu"), "bleu")["step"] == 30
    assert best_validation([{"event": "train", "step": 1, "loss": 0.0}], "loss") is None


@pytest.mark.parametrize(
    ("values", "stop_after", "stalled"),
    [
        ((3, 2, 1), 1, False),
        ((3, 2, 2), 1, True),  # as good is no better
        ((3, 2, 2.5), 2, False),
        ((3, 2, 2.5, 2.1), 2, True),
        ((3, 2, 2.5, 1.9, 2.0), 2, False),  # a better one begins the count anew
        ((3, 4, 5, 6), None, False),
        ((), 1, False),
    ],
)
def test_a_run_has_stalled_after_so_many_validations_without_a_better_one(
    values, stop_after, stalled
):
    assert has_stalled(curve(*values), "loss", stop_after) is stalled


# --- the run


def follow(trainer, losses: list[float], taken: dict | None = None) -> None:
    """Let the validations of a run give these losses, and note the weights of each."""
    plain = trainer._validate

    def scripted(passes):
        split, trainer.valid_split = trainer.valid_split, losses[passes - 1]
        if taken is not None:
            weights = model_weights(trainer.model)
            taken[passes] = {name: value.clone() for name, value in weights.items()}
        plain(passes)
        trainer.valid_split = split

    trainer._validate = scripted


@pytest.fixture
def scripted_loss(monkeypatch):
    """`measure_validation` gives what `follow` has put in place of the validation pairs."""
    monkeypatch.setattr(
        "annotated_transformer.training.trainer.measure_validation",
        lambda model, loss, settings, bleu: {"loss": loss, "perplexity": 1.0},
    )


LOSSES = [5.0, 3.0, 4.0, 3.5, 2.0, 9.0]


@pytest.mark.usefixtures("scripted_loss")
def test_a_stalled_run_ends_and_its_best_weights_are_kept(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=None, epochs=6, stop_after=2, final="best")
    taken: dict = {}
    follow(trainer, LOSSES, taken)
    assert trainer.run()
    assert trainer.state.epoch == 4
    assert trainer.state.step == 4 * len(trainer.batches(0))
    assert "no validation was better than that of step" in trainer.progress.stream.getvalue()
    model, _, _ = load_run(tmp_path)
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, taken[2][name])


@pytest.mark.usefixtures("scripted_loss")
@pytest.mark.parametrize("kill_in", [1, 2, 3, 4])
@pytest.mark.parametrize("after", [True, False])
def test_a_run_killed_around_a_validation_stops_where_it_would_have(
    tmp_path, corpus, kill_in, after
):
    """Killed before or after the line of any validation; count and best are found again."""
    settings = {"steps": None, "epochs": 6, "stop_after": 2, "final": "best"}
    whole = build_trainer(tmp_path / "whole", corpus, **settings)
    follow(whole, LOSSES)
    assert whole.run()

    trainer = build_trainer(tmp_path / "killed", corpus, **settings)
    follow(trainer, LOSSES)
    plain = trainer.journal.validated

    def dying(values):
        if values["epoch"] == kill_in and not after:
            raise RuntimeError("killed")
        plain(values)
        if values["epoch"] == kill_in:
            raise RuntimeError("killed")

    trainer.journal.validated = dying
    with pytest.raises(RuntimeError, match="killed"):
        trainer.run()
    resumed = build_trainer(tmp_path / "killed", corpus, **settings)
    resumed.resume()
    follow(resumed, LOSSES)
    assert resumed.run()
    assert resumed.state.step == whole.state.step
    for name in ("model.safetensors", "checkpoints/best.safetensors"):
        ours, theirs = tmp_path / "killed" / name, tmp_path / "whole" / name
        assert ours.read_bytes() == theirs.read_bytes()
    steps = [
        [line["step"] for line in run.directory.read_metrics() if line["event"] == "valid"]
        for run in (whole, resumed)
    ]
    assert steps[0] == steps[1]


@pytest.mark.usefixtures("scripted_loss")
def test_resuming_a_run_that_stopped_early_trains_no_further(tmp_path, corpus):
    settings = {"steps": None, "epochs": 6, "stop_after": 2}
    trainer = build_trainer(tmp_path, corpus, **settings)
    follow(trainer, LOSSES)
    trainer.run()
    before = (tmp_path / "model.safetensors").read_bytes()
    again = build_trainer(tmp_path, corpus, **settings)
    follow(again, LOSSES)
    assert again.resume() == trainer.state.step
    assert again.run()
    assert again.state.step == trainer.state.step
    assert (tmp_path / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("final", ["average", "last"])
def test_the_final_weights_are_those_asked_for(tmp_path, corpus, final):
    settings = {"steps": 6, "checkpoint_every": 2, "keep": 3, "average": 3, "final": final}
    trainer = build_trainer(tmp_path, corpus, **settings)
    trainer.run()
    found = list_checkpoints(trainer.directory.checkpoints)
    kept = [load_checkpoint(path).tensors for _, path in found]
    assert len(kept) == 3
    chosen = kept if final == "average" else kept[-1:]
    model, _, _ = load_run(tmp_path)
    for name, parameter in model.named_parameters():
        mean = torch.stack([tensors[f"model/{name}"].double() for tensors in chosen]).mean(0)
        assert torch.equal(parameter, mean.float())
    assert not trainer.directory.best_file.exists()  # nobody asked for it


def test_a_run_that_ends_within_an_epoch_is_validated_for_its_best(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=3, final="best")
    assert trainer.run()
    [line] = [line for line in trainer.directory.read_metrics() if line["event"] == "valid"]
    assert (line["step"], line["epoch"]) == (3, 0)
    model, _, _ = load_run(tmp_path)
    for name, parameter in trainer.model.named_parameters():
        assert torch.equal(parameter, dict(model.named_parameters())[name])


def test_there_may_be_no_best_to_use(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=2)
    trainer.run()
    with pytest.raises(CallError, match="only a run begun with --final best or --stop-after"):
        use_best(trainer.directory)


# --- by BLEU


def test_bleu_is_that_of_greedy_translations_in_the_case_of_the_model(tmp_path, corpus):
    trainer = build_trainer(tmp_path, corpus, steps=30, warmup=10, learning_rate=0.01)
    trainer.run()
    vocabulary = trainer.directory.read_vocabulary(trainer.config)
    lines = corpus["valid"].source[:40]
    some = Split(lines, [line.upper() for line in lines])
    translations = translate_sentences(trainer.model, vocabulary, some.source, beam_size=1)
    lower = TrainingConfig(steps=1, lowercase=True)
    found = greedy_bleu(some, vocabulary, lower)(trainer.model)
    assert found == cased_bleu(translations, lines).value > 0
    assert greedy_bleu(some, vocabulary, TrainingConfig(steps=1))(trainer.model) == 0


def test_measuring_bleu_changes_nothing_in_the_training(tmp_path, corpus):
    vocabulary = Vocabulary.train(corpus["train"].source, 40)
    some = Split(corpus["valid"].source[:9], corpus["valid"].target[:9])
    for name, changes in (("bleu", {"stop_by": "bleu", "stop_after": 9}), ("loss", {})):
        settings = {"steps": None, "epochs": 2, "p": 0.2, **changes}
        bleu = greedy_bleu(some, vocabulary, TrainingConfig(steps=1))
        build_trainer(tmp_path / name, corpus, bleu=bleu, **settings).run()
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("bleu", "loss")]
    assert models[0] == models[1]
    lines = RunDirectory(tmp_path / "bleu").read_metrics()
    assert all(0 <= line["bleu"] <= 100 for line in lines if line["event"] == "valid")


# --- the command


def test_the_command_stops_by_bleu_and_takes_the_best_afterwards(tmp_path, capsys):
    data = write_corpus(tmp_path / "corpus")
    run_dir = tmp_path / "run"
    options = ["--data-dir", str(data), "--preset", "tiny/N=1,d_model=8,d_ff=8,h=2"]
    options += ["--epochs", "9", "--stop-after", "2", "--stop-by", "bleu", "--device", "cpu"]
    assert main(["train", "--run-dir", str(run_dir), *options]) == 0
    said = capsys.readouterr().err
    assert "BLEU" in said
    assert "no validation was better than that of step 1 (bleu" in said
    lines = [line for line in RunDirectory(run_dir).read_metrics() if line["event"] == "valid"]
    assert len(lines) == 3
    mean = (run_dir / "model.safetensors").read_bytes()
    assert main(["average", "--run-dir", str(run_dir), "--best"]) == 0
    assert "the weights of step 1, bleu" in capsys.readouterr().err
    assert (run_dir / "model.safetensors").read_bytes() != mean
    assert main(["train", "--run-dir", str(run_dir), "--resume", "--stop-by", "loss"]) == 2
    assert "--stop-by loss contradicts the run" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--stop-after", "0"], ["--stop-by", "luck"]])
def test_a_wrong_way_to_stop_is_refused(tmp_path, capsys, option):
    call = ["train", "--run-dir", str(tmp_path / "run"), "--data", "copy", *option]
    try:
        status = main(call)
    except SystemExit as error:  # argparse knows the choices
        status = error.code
    assert status == 2
    assert option[1] in capsys.readouterr().err


def test_settings_written_before_these_options_still_load():
    old = {"steps": 3, "max_tokens": 64, "betas": [0.9, 0.98]}
    settings = TrainingConfig.from_dict(old)
    assert (settings.accumulate, settings.clip_norm, settings.final) == (1, None, "average")
    assert TrainingConfig.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
