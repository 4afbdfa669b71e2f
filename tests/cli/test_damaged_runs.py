"""A damaged file of a run is a sentence that names it, and nothing is written."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from annotated_transformer.cli import main
from toy_run import write_corpus

CHECKPOINT = "step-00000002.safetensors"
RECIPE = [
    *("--preset", "tiny/N=1,d_model=8,d_ff=8,h=2", "--vocab-size", "60", "--steps", "2"),
    *("--device", "cpu", "--threads", "1", "--final", "best"),
]
READERS = {  # of each file, by the calls below
    "config.json": ("resume", "export", "translate", "evaluate", "average"),
    "tokenizer.json": ("resume", "export", "translate", "evaluate"),
    "metrics.jsonl": ("resume", "export"),
    "scores.json": ("export",),
    "model.safetensors": ("export", "translate", "evaluate"),
    f"checkpoints/{CHECKPOINT}": ("resume", "average"),
    "checkpoints/best.safetensors": ("best",),
}
FIRST_KEY = re.compile(rb'"\w+": ?')


def calls(run_dir: Path) -> dict[str, list[str]]:
    of_run = ["--run-dir", str(run_dir)]
    return {
        "resume": ["train", *of_run, "--resume", "--device", "cpu"],
        "export": ["export", *of_run, "--output", str(run_dir.parent / "exported")],
        "translate": ["translate", *of_run, "--device", "cpu", "a dog ."],
        "evaluate": ["evaluate", *of_run, "--device", "cpu", "--bootstrap", "0"],
        "average": ["average", *of_run, "--last", "1"],
        "best": ["average", *of_run, "--best"],
    }


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two steps with a file of every kind."""
    folder = tmp_path_factory.mktemp("trained")
    run_dir, corpus = folder / "run", write_corpus(folder / "corpus")
    assert main(["train", "--run-dir", str(run_dir), "--data-dir", str(corpus), *RECIPE]) == 0
    search = {"beam": 4, "alpha": 0.6, "alpha_chosen_on": None, "max_extra": 50}
    score = {"name": "cased", "value": 1.0, "signature": "nrefs:1"}
    about = {"data": "folder", "split": "test", "source": "en", "target": "de", "sentences": 3}
    (run_dir / "scores.json").write_text(json.dumps([{**about, **search, "scores": [score]}]))
    return run_dir


def files(folder: Path) -> dict[Path, bytes]:
    return {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def must_be_refused(run_dir: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Every call that reads the file says which it is, in one sentence, and writes nothing."""
    before = files(run_dir.parent)
    for call in READERS[name]:
        assert main(calls(run_dir)[call]) in (1, 2), call
        said = capfd.readouterr().err.splitlines()[-1]
        assert said.startswith("annotated-transformer: "), call
        assert Path(name).name in said, call
        assert files(run_dir.parent) == before, call


def no_utf8(content: bytes) -> bytes:
    place = content.index(b'"', len(content) // 2) + 1
    return content[:place] + b"\xff\xfe" + content[place:]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "bytes that are no UTF-8": no_utf8,
    "a byte order mark of UTF-16": lambda content: b"\xff\xfe" + content,
    "cut off": lambda content: content[: len(content) // 2],
    "empty": lambda _: b"",
    "a list": lambda _: b"[]\n",
    "a list of lists": lambda _: b"[[]]\n",
    "a number": lambda _: b"7\n",
    "nested without end": lambda _: b"[" * 100_000 + b"\n",
    "its first key missing": lambda content: FIRST_KEY.sub(b'"other": ', content, count=1),
    "text for a number": lambda content: re.sub(rb": ?\d+([,}\n])", rb': "x"\1', content),
    "a huge number": lambda content: re.sub(
        rb": ?\d+([,}\n])", rb": " + b"9" * 400 + rb"\1", content
    ),
    "no number": lambda content: re.sub(rb": ?[\d.]+([,}\n])", rb": NaN\1", content),
}
TEXTS = [name for name in READERS if name.endswith(("json", "jsonl"))]
SOUND = {  # what a crash leaves of the curve; no curve yet; no scores
    ("metrics.jsonl", "cut off"),
    ("metrics.jsonl", "empty"),
    ("scores.json", "a list"),
}


@pytest.fixture
def damaged(trained: Path, tmp_path: Path) -> Callable[[str, Callable[[bytes], bytes]], Path]:
    """Makes a copy of the run in which one file is damaged."""

    def copy(name: str, damage: Callable[[bytes], bytes]) -> Path:
        run_dir = Path(shutil.copytree(trained, tmp_path / "run"))
        sound = (run_dir / name).read_bytes()
        (run_dir / name).write_bytes(damage(sound))
        assert (run_dir / name).read_bytes() != sound
        return run_dir

    return copy


@pytest.mark.parametrize(
    ("name", "damage"), sorted({(name, how) for name in TEXTS for how in DAMAGE} - SOUND)
)
def test_damaged_text_is_a_sentence(damaged, name, damage, capfd):
    must_be_refused(damaged(name, DAMAGE[damage]), name, capfd)


@pytest.mark.parametrize(("name", "damage"), sorted(SOUND))
def test_what_is_no_damage_is_read(damaged, name, damage):
    run_dir = damaged(name, DAMAGE[damage])
    assert [main(calls(run_dir)[call]) for call in READERS[name]] == [0] * len(READERS[name])


def in_header(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """Another text of the same length at the first place where the old one stands."""
    assert len(old) == len(new)
    return lambda content: content.replace(old, new, 1)


@pytest.mark.parametrize("name", [name for name in READERS if name not in TEXTS])
@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-100],
        lambda _: b"",
        lambda content: b"\xff" * 8 + content[8:],
        in_header(b"annotated-transformer ", b"annotated-transfarmer "),
        in_header(b'"annotated_transformer"', b'"annotated-transformer"'),
        in_header(rb"{\"format\":", rb"[\"format\","),
        in_header(b"format", b"\xff\xfermat"),
    ],
)
def test_damaged_weights_are_a_sentence(damaged, name, damage, capfd):
    must_be_refused(damaged(name, damage), name, capfd)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (rb"\"step\"", rb"\"stop\""),
        (rb"\"step\": 2", rb"\"step\":-2"),
        (rb"\"batch\": 0", rb"\"batch\": 7"),
        (rb"\"alarmed\": false", rb"\"alarmed\": 12345"),
        (b"optimizer/exp_avg/", b"optimizer/exp_ave/"),
        (b"optimizer/step/encoder", b"optimizer/step/encodes"),
        (b"random/cpu", b"random/gpu"),
    ],
)
def test_a_place_where_no_training_ever_is_is_not_gone_on_from(damaged, old, new, capfd):
    name = f"checkpoints/{CHECKPOINT}"
    run_dir = damaged(name, in_header(old, new))
    before = files(run_dir)
    assert main(calls(run_dir)["resume"]) == 1
    assert CHECKPOINT in capfd.readouterr().err.splitlines()[-1]
    assert files(run_dir) == before


# A folder that is no run is not damaged: it is another one than was meant


def nothing(folder: Path) -> None:
    """Nothing is made."""


def empty(folder: Path) -> None:
    folder.mkdir()


def a_file(folder: Path) -> None:
    folder.write_text("mine", "utf-8")


def of_another_program(folder: Path) -> None:
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "marian", "d_model": 8}', "utf-8")


def of_runs(folder: Path) -> None:
    for name in ("second", "first"):
        (folder / name).mkdir(parents=True)
        (folder / name / "config.json").write_text("{}", "utf-8")


@pytest.mark.parametrize(
    ("make", "found", "advice"),
    [
        (nothing, "there is no such folder", "name the folder that `train`, `import` or `export`"),
        (empty, "there is no config.json in it", "name the folder that `train`, `import` or"),
        (a_file, "it is a file", "name the folder that `train`, `import` or `export` (without"),
        (of_another_program, "its config.json is another program's", "name the run that it was"),
        (of_runs, "it looks like a folder of runs", "name one of them, such as {}."),
    ],
)
@pytest.mark.parametrize("call", ["resume", "export", "translate", "evaluate", "average"])
def test_a_folder_that_is_no_run_is_said_to_be_none(make, found, advice, call, tmp_path, capfd):
    folder = tmp_path / "given"
    make(folder)
    before = files(tmp_path)
    assert main(calls(folder)[call]) == 2
    said = capfd.readouterr().err
    assert f"{folder} holds no run ({found}): {advice.format(folder / 'first')}" in said
    assert "damaged" not in said
    assert files(tmp_path) == before
