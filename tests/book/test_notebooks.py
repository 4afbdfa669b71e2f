"""Every chapter as a file: run once from the top, readable everywhere, and strictly tested.

That its stored outputs are true is what `make test-notebooks` checks with nbval; here one number is
altered to see that nbval would notice.
"""

import copy
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import address
from scores_in_prose import papers_numbers, unsigned_scores

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NBVAL = ["--nbval", "--nbval-current-env", "-p", "no:cacheprovider"]
NBVAL += ["--nbval-cell-timeout=1200", "--nbval-kernel-startup-timeout=300"]  # a busy machine's
ELSEWHERE = re.compile(r"cdn\.|unpkg\.com|jsdelivr")
ONLY_IN_MYST = re.compile(r"^(:::|```\{)|\{(doc|ref|term|eq|numref|cite)\}`", re.MULTILINE)
NUMBER = re.compile(r"\d")


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def tags(cell: dict[str, Any]) -> list[str]:
    found: list[str] = cell["metadata"].get("tags", [])
    return found


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> Any:
    return read(request.param)


def code_cells(notebook: Any) -> list[dict[str, Any]]:
    return [c for c in notebook["cells"] if c["cell_type"] == "code" and "".join(c["source"])]


def test_run_once_from_the_top(notebook: Any) -> None:
    counts = [cell["execution_count"] for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))


def test_no_error_and_no_warning_is_stored(notebook: Any) -> None:
    for cell in code_cells(notebook):
        for output in cell["outputs"]:
            assert output.get("name") != "stderr", "".join(output["text"])
            if output["output_type"] == "error":
                assert "raises-exception" in tags(cell), output["evalue"]


def test_first_code_cell_is_the_setup_cell(notebook: Any) -> None:
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    first = code_cells(notebook)[0]
    assert address.SETUP_TAG in tags(first), 'the first code cell needs the tag "setup"'
    assert "".join(first["source"]) == address.setup_source(address.read_address(config))


def test_plain_markdown_only(notebook: Any) -> None:
    """MyST's directives and roles show as broken code in JupyterLab and Colab."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            assert not ONLY_IN_MYST.search("".join(cell["source"])), "".join(cell["source"])[:200]


@pytest.mark.parametrize(
    ("pattern", "poor"),
    [
        (ONLY_IN_MYST, ":::{note}"),
        (ONLY_IN_MYST, "```{note}"),
        (ONLY_IN_MYST, "see {doc}`02_attention`"),
        (ELSEWHERE, '<script src="https://cdn.plot.ly/plotly.js">'),
        (ELSEWHERE, "https://unpkg.com/tippy.js"),
    ],
)
def test_what_must_stay_out_would_be_found(pattern: re.Pattern[str], poor: str) -> None:
    assert pattern.search(f"Text.\n{poor}\n")


def test_nothing_from_another_host(notebook: Any) -> None:
    assert not ELSEWHERE.search(json.dumps(notebook))


def test_every_picture_is_described(notebook: Any) -> None:
    for cell in code_cells(notebook):
        if any("image/png" in output.get("data", {}) for output in cell["outputs"]):
            described = cell["metadata"].get("mystnb", {}).get("image", {}).get("alt")
            assert described, f"set mystnb.image.alt in: {''.join(cell['source'])[:120]}"


def test_some_cell_draws_a_picture() -> None:
    """Otherwise the test above has looked at nothing."""
    kinds = {
        kind
        for path in NOTEBOOKS
        for cell in code_cells(read(path))
        for output in cell["outputs"]
        for kind in output.get("data", {})
    }
    assert {"image/png", "text/html"} <= kinds


def test_an_ignored_output_says_why(notebook: Any) -> None:
    for cell in code_cells(notebook):
        if "nbval-ignore-output" in tags(cell):
            reason = cell["metadata"].get("nbval_reason") or "#" in "".join(cell["source"])
            assert reason, f"say in a comment why nothing is compared: {''.join(cell['source'])}"


# A score of a whole corpus: two decimals or more, 10 to 99; nothing that is a part of a number.
OUR_SCORE = re.compile(r"(?<![\d.+-])[1-9]\d\.\d{2,}(?![\d%])")
CITED = re.compile(r"\(\d{4}\)")


@pytest.fixture(scope="module")
def papers() -> set[str]:
    return papers_numbers()


def unsigned_outputs(notebook: Any, papers: set[str]) -> list[str]:
    """Scores of ours that a cell about BLEU prints without a signature."""
    found = []
    for cell in code_cells(notebook):
        text = "".join("".join(output.get("text", [])) for output in cell["outputs"])
        if "bleu" in ("".join(cell["source"]) + text).lower() and "version:" not in text:
            found += [score for score in OUR_SCORE.findall(text) if score not in papers]
    return found


def test_a_score_of_ours_stands_with_its_signature(notebook: Any, papers: set[str]) -> None:
    assert unsigned_outputs(notebook, papers) == []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            blocks = re.split(r"\n\s*\n", "".join(cell["source"]))
            quoted = [block for block in blocks if not CITED.search(block)]
            scores = unsigned_scores("\n\n".join(quoted), papers)
            assert [score for score in scores if OUR_SCORE.search(score)] == []


def test_scores_are_printed_and_one_without_a_signature_is_noticed(papers: set[str]) -> None:
    notebook = read(ROOT / "notebooks" / "09_decoding.ipynb")
    for cell in code_cells(notebook):
        for output in cell["outputs"]:
            if "text" in output:
                output["text"] = [line.replace("version:", "") for line in output["text"]]
    assert "39.67" in unsigned_outputs(notebook, papers)


def first_stored_number(notebook: Any) -> tuple[int, int]:
    """The cell and the output of the first printed number that nbval compares."""
    for index, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code" or "nbval-ignore-output" in tags(cell):
            continue
        for place, output in enumerate(cell["outputs"]):
            if output["output_type"] == "stream" and NUMBER.search("".join(output["text"])):
                return index, place
    pytest.fail("no cell prints a number: what would the strict test compare?")


def nbval(notebook: Any, path: Path) -> subprocess.CompletedProcess[str]:
    path.write_text(json.dumps(notebook), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", *NBVAL, str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "path",
    NOTEBOOKS,
    ids=lambda path: path.stem,
)
@pytest.mark.slow
def test_altering_one_stored_number_fails(path: Path, tmp_path: Path) -> None:
    notebook = read(path)
    index, place = first_stored_number(notebook)
    notebook["cells"] = notebook["cells"][: index + 1]  # later cells do not matter here
    altered = copy.deepcopy(notebook)
    output = altered["cells"][index]["outputs"][place]
    other_digit = lambda match: str((int(match[0]) + 1) % 10)  # noqa: E731
    output["text"] = NUMBER.sub(other_digit, "".join(output["text"]), count=1)
    false = nbval(altered, tmp_path / "false.ipynb")
    assert false.returncode == 1
    assert "1 failed" in false.stdout
