"""`wmt14_base_one_gpu.sh` from end to end at a small size: archives of WMT form to BLEU."""

import json
from pathlib import Path

import pytest
from test_recipes import ROOT, commands

from annotated_transformer.cli import main
from annotated_transformer.data import folder, generate_corpus, registry, token_store
from annotated_transformer.data.published import get
from annotated_transformer.training import RunDirectory
from annotated_transformer.training.checkpoints import list_checkpoints
from local_server import Server, server
from wmt14_archives import MEMBERS, on_server

__all__ = ["server"]

SMALLER = {  # what is smaller here than in the script
    "--preset": "tiny/N=1,d_model=32,d_ff=64,h=2",
    "--vocab-size": "300",
    "--steps": "60",
    "--max-tokens": "512",
    "--checkpoint-every": "10",
    "--device": "cpu",
}


def standin() -> dict[str, dict[str, str]]:
    """WMT's archives with sentences of the grammar in them, 400 in each of three for training."""
    corpus = generate_corpus(train=1200, valid=60, test=40)
    languages = {"en": "source", "de": "target"}

    def text(split: str, language: str, first: int = 0, last: int | None = None) -> str:
        lines = getattr(corpus[split], languages[language])[first:last]
        return "".join(line + "\n" for line in lines)

    def marked(language: str) -> str:
        lines = getattr(corpus["test"], languages[language])
        return "<set>\n" + "\n".join(f'<seg id="{n}">{x}</seg>' for n, x in enumerate(lines))

    both = ("en", "de")
    return {
        **MEMBERS,
        "training-parallel-europarl-v7.tgz": {
            f"training/europarl-v7.de-en.{x}": text("train", x, 0, 400) for x in both
        },
        "training-parallel-commoncrawl.tgz": {
            f"commoncrawl.de-en.{x}": text("train", x, 400, 800) for x in both
        },
        "training-parallel-nc-v9.tgz": {
            f"training/news-commentary-v9.de-en.{x}": text("train", x, 800) for x in both
        },
        "dev.tgz": {
            **{f"dev/newstest2013.{x}": text("valid", x) for x in both},
            "dev/newstest2014-deen-ref.en.sgm": marked("en"),
            "dev/newstest2014-deen-src.de.sgm": marked("de"),
        },
    }


@pytest.mark.slow
def test_the_script_at_a_small_size(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    published = on_server(server, "de", standin())
    monkeypatch.setattr(registry, "wmt14", lambda other: published)
    monkeypatch.setattr("annotated_transformer.data.published.cache_root", lambda: tmp_path / "c")
    monkeypatch.setattr("annotated_transformer.data.wmt14.wmt14", lambda other: published)
    monkeypatch.setattr(token_store, "cache_root", lambda: tmp_path / "c")
    read_pairs = folder.pair_lines  # text is read from the disk, as four gigabytes would be
    monkeypatch.setattr(folder, "pair_lines", lambda *given: read_pairs(*given[:3], held_bytes=0))

    doctor, fetch, resume, train, evaluate = commands(ROOT / "recipes" / "wmt14_base_one_gpu.sh")
    assert doctor == ["doctor", "--gpus", "1"]
    run_dir = tmp_path / "run"
    train, resume, evaluate = (
        [str(run_dir) if word.startswith("runs/") else word for word in call]
        for call in (train, resume, evaluate)
    )
    for option, value in SMALLER.items():
        for call in (train, evaluate):
            if option in call:
                call[call.index(option) + 1] = value
    server.breaks, server.break_after = 1, 100  # the first download breaks off
    assert main(fetch) == 0
    assert published.folder.is_dir()
    faster = ["--warmup", "20", "--learning-rate", "5e-3"]  # the paper warms up for 4,000 steps
    assert main([*train, *faster, "--threads", "1"]) == 0
    said = capsys.readouterr().err
    assert "1,200 pairs" in said
    arrays = list((tmp_path / "c").rglob("source.npy"))
    assert arrays  # training read its ids from mapped arrays
    checkpoints = list_checkpoints(run_dir / "checkpoints")
    assert [step for step, _ in checkpoints] == [20, 30, 40, 50, 60]
    curve = RunDirectory(run_dir).read_metrics()
    losses = [line["loss"] for line in curve if line["event"] == "valid"]
    assert losses[-1] < 5.2  # ln 300 is 5.7
    assert main(resume) == 0  # the script called twice
    capsys.readouterr()
    assert main([*evaluate, "--threads", "1", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sentences"] == 40
    assert "version:" in json.dumps(found)
    assert main(["average", "--run-dir", str(run_dir), "--last", "3"]) == 0


def test_the_standin_is_whole(server: Server, tmp_path: Path) -> None:
    get(on_server(server, "de", standin()), tmp_path)
    train = (tmp_path / "train.en").read_text("utf-8").splitlines()
    assert train == generate_corpus(train=1200, valid=60, test=40)["train"].source
    assert len((tmp_path / "test.de").read_text("utf-8").splitlines()) == 40
