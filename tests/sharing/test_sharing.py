"""A shared model is the model that was trained, and says of itself what its run says."""

import json
import shutil
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from huggingface_hub import ModelCard

from annotated_transformer.cli import main
from annotated_transformer.sharing import Translator
from annotated_transformer.shipped import FOLDER
from annotated_transformer.training import load_run
from annotated_transformer.training.made_from import MadeFrom

RECORD = Path(__file__).resolve().parents[2] / "results" / "grammar_shipped"
BAD_NAME = '{"scores": [{"name": "quality", "value": 1, "signature": "mine"}]}'
SENTENCES = ["The old woman reads the book.", "", "A man sleeps."]


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A run directory as training leaves it; it remembers where the text lay."""
    run = tmp_path / "run"
    shutil.copytree(FOLDER, run, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    shutil.copy(RECORD / "metrics.jsonl", run)
    config = json.loads((run / "config.json").read_text("utf-8"))
    config["data"]["data_dir"] = "/home/ada/texts"
    (run / "config.json").write_text(json.dumps(config), "utf-8")
    (run / "checkpoints").mkdir()
    return run


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """What `evaluate --format json` prints, as far as it is shared, and something that is not."""
    score = {"name": "cased", "value": 12.3456, "signature": "nrefs:1|case:mixed"}
    chosen = {"beam": 4, "alpha": 0.6, "alpha_chosen_on": "valid"}
    corpus = {"data": "grammar", "split": "test", "source": "en", "target": "de", "sentences": 3}
    path = tmp_path / "scores.json"
    path.write_text(
        json.dumps({**corpus, **chosen, "scores": [score], "run_dir": "/home/ada/run"}), "utf-8"
    )
    return path


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return {name: tensor.detach() for name, tensor in load_run(folder)[0].named_parameters()}


def test_exported_folder_is_the_same_model(trained: Path, report: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    assert main(["export", "--run-dir", str(trained), "--output", str(shared)]) == 0
    before, after = weights(trained), weights(shared)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    ours = Translator.from_folder(trained)
    loaded = Translator.from_pretrained(str(shared))
    translations = loaded.translate(SENTENCES)
    assert translations == ours.translate(SENTENCES)
    assert translations[0]
    assert translations[1] == ""
    assert loaded.run.model == ours.run.model
    assert loaded.run.training == ours.run.training
    assert loaded.metrics == ours.metrics
    assert loaded.made_from == ours.made_from == MadeFrom(steps=(2592,))
    assert not loaded.transformer.training


def test_other_commands_take_the_exported_folder(
    trained: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shared = tmp_path / "shared"
    main(["export", "--run-dir", str(trained), "--output", str(shared)])
    capfd.readouterr()
    assert main(["translate", "--run-dir", str(shared), SENTENCES[0]]) == 0
    assert capfd.readouterr().out.strip() == Translator.from_folder(trained).translate(SENTENCES)[0]


def test_no_file_of_the_folder_names_a_machine(trained: Path, report: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    call = ["export", "--run-dir", str(trained), "--output", str(shared), "--scores", str(report)]
    assert main(call) == 0
    names = {path.name for path in shared.iterdir()}
    assert {"config.json", "tokenizer.json", "model.safetensors", "README.md"} <= names
    assert "checkpoints" not in names
    for path in shared.iterdir():
        assert b"/home/ada" not in path.read_bytes(), path.name


def test_card_says_what_the_run_says(trained: Path, report: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    call = ["export", "--run-dir", str(trained), "--output", str(shared), "--scores", str(report)]
    assert main([*call, "--license", "cc0-1.0"]) == 0
    card = ModelCard.load(shared / "README.md")  # the hub's own reader
    head = card.data.to_dict()
    assert head["language"] == ["en", "de"]
    assert head["license"] == "cc0-1.0"
    assert head["pipeline_tag"] == "translation"
    (result,) = card.data.eval_results
    assert (result.metric_type, result.metric_value) == ("bleu", 12.35)
    assert result.dataset_split == "test"
    model, _, run = load_run(trained)
    last = json.loads((trained / "metrics.jsonl").read_text("utf-8").splitlines()[-1])
    for said in (
        f"{model.num_parameters():,}",
        f"{last['step']:,} steps",
        f"{last['cpu_seconds'] / 60:.1f} minutes",
        f"perplexity {last['perplexity']:.2f}",
        "BLEU, cased, detokenised | 12.35 | `nrefs:1\\|case:mixed`",
        "beam 4, α 0.6 (chosen on valid)",
        f"{run.data['splits']['train']['pairs']:,} pairs (train)",
    ):
        assert said in card.text, said
    assert "lower case only" not in card.text


def test_card_says_which_limit_of_length_the_search_had(
    trained: Path, report: Path, tmp_path: Path
) -> None:
    report.write_text(json.dumps({**json.loads(report.read_text("utf-8")), "max_extra": 10}))
    shared = tmp_path / "shared"
    call = ["export", "--run-dir", str(trained), "--output", str(shared), "--scores", str(report)]
    assert main(call) == 0
    card = (shared / "README.md").read_text("utf-8")
    assert "beam 4, α 0.6, at most source + 10 tokens (chosen on valid)" in card


def test_card_does_not_invent_what_is_not_known(tmp_path: Path) -> None:
    Translator.from_folder(FOLDER).save_pretrained(tmp_path / "shared")
    text = (tmp_path / "shared" / "README.md").read_text("utf-8")
    assert "Nothing has been recorded" in text
    assert "length and cost | not known" in text
    assert "license:" not in text


def test_scores_survive_being_shared_again(trained: Path, report: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    main(["export", "--run-dir", str(trained), "--output", str(first), "--scores", str(report)])
    Translator.from_pretrained(str(first)).save_pretrained(second)
    for name in ("README.md", "scores.json", "metrics.jsonl", "config.json", "model.safetensors"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_push_takes_the_whole_folder(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub is out of reach here, so its client is: what it is given is what counts."""
    given: dict[str, Any] = {}

    class Client:
        def __init__(self, **options: Any) -> None:
            pass

        def create_repo(self, repo_id: str, **options: Any) -> Any:
            return type("Repository", (), {"repo_id": f"ada/{repo_id}"})

        def upload_folder(self, folder_path: Path, repo_id: str, **options: Any) -> str:
            given.update({path.name: path.read_bytes() for path in Path(folder_path).iterdir()})
            return f"https://hub.example/{repo_id}"

    monkeypatch.setattr(huggingface_hub.hub_mixin, "HfApi", Client)
    url = Translator.from_folder(trained).push_to_hub("translator")
    assert url == "https://hub.example/ada/translator"
    assert {"README.md", "config.json", "tokenizer.json", "model.safetensors"} <= given.keys()


def test_fetches_from_the_hub_no_more_than_it_reads(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    Translator.from_folder(trained).save_pretrained(shared)
    asked: dict[str, Any] = {}

    def fetch(name: str, **options: Any) -> str:
        asked.update(options, name=name)
        return str(shared)

    monkeypatch.setattr("annotated_transformer.sharing.translator.snapshot_download", fetch)
    monkeypatch.setattr(
        huggingface_hub.hub_mixin, "hf_hub_download", lambda **_: str(shared / "config.json")
    )
    loaded = Translator.from_pretrained("ada/translator", revision="v1")
    assert loaded.translate(SENTENCES) == Translator.from_folder(trained).translate(SENTENCES)
    assert (asked["name"], asked["revision"]) == ("ada/translator", "v1")
    assert not any(name.endswith((".bin", ".pkl", ".pt")) for name in asked["allow_patterns"])


@pytest.mark.parametrize("there", ["a file", "a full folder", "the run itself"])
def test_overwrites_nothing(
    trained: Path, tmp_path: Path, there: str, capfd: pytest.CaptureFixture[str]
) -> None:
    output = trained if there == "the run itself" else tmp_path / "there"
    if there == "a file":
        output.write_text("mine", "utf-8")
    elif there == "a full folder":
        output.mkdir()
        (output / "config.json").write_text("mine", "utf-8")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert main(["export", "--run-dir", str(trained), "--output", str(output)]) == 2
    assert "nothing is overwritten" in capfd.readouterr().err
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_scores_of_a_file_of_translations_are_not_shared_as_the_models(
    trained: Path, report: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    values = json.loads(report.read_text("utf-8"))
    report.write_text(json.dumps({**values, "hypotheses": "theirs.de"}), "utf-8")
    call = ["export", "--run-dir", str(trained), "--output", str(tmp_path / "shared")]
    assert main([*call, "--scores", str(report)]) == 2
    assert "it scores a file of translations, which may be anybody's" in capfd.readouterr().err


@pytest.mark.parametrize("text", ["", "[1]", "{}", '{"scores": [{}]}', BAD_NAME, '{"scores": 3}'])
def test_scores_that_are_none_are_refused_before_anything_is_written(
    trained: Path, tmp_path: Path, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.json").write_text(text, "utf-8")
    call = ["export", "--run-dir", str(trained), "--output", str(tmp_path / "shared")]
    assert main([*call, "--scores", str(tmp_path / "s.json")]) == 2
    assert "is not what `evaluate --format json` prints" in capfd.readouterr().err
    assert not (tmp_path / "shared").exists()


def test_run_without_a_model_is_named(
    trained: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (trained / "model.safetensors").unlink()
    call = ["export", "--run-dir", str(trained), "--output", str(tmp_path / "shared")]
    assert main(call) == 2
    assert "has no model.safetensors yet" in capfd.readouterr().err
    assert not (tmp_path / "shared").exists()
