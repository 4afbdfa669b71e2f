"""The pages in book/: links lead somewhere, terms have two registers, claims have evidence."""

import base64
import io
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from matplotlib.image import imread
from numpy.typing import NDArray

from annotated_transformer.config import TransformerConfig
from annotated_transformer.evidence.ledger.checks import SCORE
from annotated_transformer.evidence.ledger.facts import load_facts
from annotated_transformer.evidence.ledger.findings_numbers import implied_vocabularies
from annotated_transformer.evidence.ledger.ledger_page import anchor_of
from annotated_transformer.evidence.table3 import TABLE_3
from annotated_transformer.exercises.catalogue import catalogue, chapter_of, ids
from exercise_catalogue import listing
from scores_in_prose import papers_numbers, unsigned_scores

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
PAGES = sorted(BOOK.glob("*.md"))
PAGE_NAMES = [page.stem for page in PAGES]


def read(name: str) -> str:
    return (BOOK / f"{name}.md").read_text("utf-8")


def without_code(text: str) -> str:
    """The text without fenced code; directives, whose text readers see, stay."""
    return re.sub(r"^```\w*\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


# --- links ----------------------------------------------------------------------------------------

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
CARD = re.compile(r"^:link: (\S+)$", re.MULTILINE)
FACT = re.compile(r"\]\(#(fact-[a-z0-9-]+)\)")
CITATION = re.compile(r"\{cite\}`(\w+)`")
TERM = re.compile(r"\{term\}`(?:[^`<]*<)?([^`<>]+)>?`")


@pytest.mark.parametrize("pattern", [LINK, CARD, FACT, CITATION, TERM, SCORE])
def test_what_is_looked_for_on_every_page_stands_on_some(pattern: re.Pattern[str]) -> None:
    """A page without a link passes; a pattern that fits no page would test nothing."""
    assert any(pattern.search(without_code(read(name))) for name in PAGE_NAMES)


def page_of(target: str) -> str:
    """The file of a card's link, which is named without its ending."""
    return f"{target}.ipynb" if "notebooks/" in target else f"{target}.md"


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_links_between_pages_lead_somewhere(name: str) -> None:
    text = without_code(read(name))
    targets = LINK.findall(text) + [page_of(target) for target in CARD.findall(text)]
    for target in targets:
        assert not target.startswith("http"), f"{name}: {target} leads to another host"
        assert (BOOK / target).exists(), f"{name}: {target} does not exist"


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_links_to_facts_lead_to_rows_of_the_ledger(name: str) -> None:
    rows = set(re.findall(r"\{#(fact-[a-z0-9-]+) \.fact-id\}", read("ledger")))
    assert rows == {anchor_of(fact) for fact in load_facts()}
    assert set(FACT.findall(read(name))) <= rows


def test_every_page_is_in_the_table_of_contents_once() -> None:
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    listed = [contents["root"]]
    listed += [entry["file"] for part in contents["parts"] for entry in part["chapters"]]
    assert sorted(entry for entry in listed if entry.startswith("book/")) == sorted(
        f"book/{name}" for name in PAGE_NAMES
    )


def test_a_newcomer_who_reads_on_comes_to_chapter_0_before_the_symbols() -> None:
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    order = [entry["file"] for part in contents["parts"] for entry in part["chapters"]]
    assert order[:2] == ["book/how_to_use", "notebooks/00_start_here"]
    assert ":link: ../notebooks/00_start_here" in read("index")
    assert read("index").index("## Where to begin") < read("index").index("**What is missing.**")


def test_citations_exist_and_every_work_is_cited_or_listed() -> None:
    keys = set(re.findall(r"^@\w+\{(\w+),", (BOOK / "references.bib").read_text("utf-8"), re.M))
    cited = {key for name in PAGE_NAMES for key in CITATION.findall(read(name))}
    assert cited <= keys
    assert ":all:" in read("bibliography")


# --- pictures and boxes of the chapters -----------------------------------------------------------

CHAPTERS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def pictures(chapter: Path) -> Iterator[tuple[dict[str, Any], NDArray[Any]]]:
    """The metadata of every stored picture and its pixels, (height, width, 4) from 0 to 1."""
    for cell in json.loads(chapter.read_text("utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if "image/png" in (data := output.get("data", {})):
                pixels = imread(io.BytesIO(base64.b64decode("".join(data["image/png"]))))
                yield cell["metadata"]["mystnb"]["image"], pixels


def light_share(pixels: NDArray[Any]) -> float:
    """How much of a picture is opaque and so light that a quarter more light would falsify it."""
    return float(((pixels[..., 3] > 0.99) & (pixels[..., :3].max(-1) > 0.8)).mean())


def test_the_dark_page_lifts_what_is_not_called_opaque() -> None:
    css = (BOOK / "_static" / "book.css").read_text("utf-8")
    assert "img { filter: brightness(1.25); }" in css  # 0.8 becomes 1
    assert "img.opaque { filter: none; }" in css


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_picture_with_filled_cells_is_left_as_it_is_on_a_dark_page(chapter: Path) -> None:
    for image, pixels in pictures(chapter):
        filled = light_share(pixels) > 0.05  # lines, markers and labels are mid-grey and thin
        classes = image["classes"].split()
        assert filled == ("opaque" in classes), f"{image['alt'][:60]}: classes {classes}"


def test_some_pictures_have_filled_cells_and_some_have_not() -> None:
    found = {"opaque" in image["classes"] for path in CHAPTERS for image, _ in pictures(path)}
    assert found == {True, False}


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_the_production_box_has_the_head_that_the_style_sheet_knows(chapter: Path) -> None:
    """On a small screen the head goes, and the style sheet says its words in front of each cell."""
    cells = ["".join(c["source"]) for c in json.loads(chapter.read_text("utf-8"))["cells"]]
    boxes = [text for text in cells if "> **In production" in text]
    heads = re.findall(r"^> \|.*(?=\n> \|-)", "\n".join(boxes), re.MULTILINE)
    assert set(heads) == {"> | what breaks | how you would see it | the test |"}
    css = (BOOK / "_static" / "book.css").read_text("utf-8")
    assert 'nth-child(2)::before { content: "You would see: "' in css
    assert 'nth-child(3)::before { content: "The test: "' in css


# --- glossary -------------------------------------------------------------------------------------


def glossary() -> dict[str, str]:
    """Every term and its entry."""
    body = read("glossary").partition("```{glossary}\n")[2].rpartition("```")[0]
    entries = re.split(r"^(?=\S)", body, flags=re.MULTILINE)
    return {entry.partition("\n")[0]: entry for entry in entries if entry.strip()}


def test_every_term_has_two_registers() -> None:
    entries = glossary()
    assert len(entries) >= 50
    for term, entry in entries.items():
        short = re.search(r"\*\*In short\.\*\* (.+)", entry)
        precise = re.search(r"\*\*Precisely\.\*\* (.+)", entry)
        assert short, f"{term} lacks its short register"
        assert precise, f"{term} lacks its precise register"
        assert len(short[1]) >= 15, term
        assert len(precise[1]) >= 20, term
        assert short[1] != precise[1], term
    assert list(entries) == sorted(entries, key=str.lower)


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_terms_that_pages_point_to_exist(name: str) -> None:
    assert set(TERM.findall(read(name))) <= set(glossary())


# --- errata ---------------------------------------------------------------------------------------


def errata() -> dict[str, str]:
    """Every claim and what stands below it."""
    found = re.findall(r"^(“.+”)\n((?:: .+\n)+)", read("errata"), re.MULTILINE)
    return dict(found)


def test_every_erratum_has_truth_and_evidence() -> None:
    entries = errata()
    assert len(entries) >= 40
    assert len(entries) == len(re.findall(r"^“", read("errata"), re.MULTILINE))
    for claim, body in entries.items():
        lines = body.strip().splitlines()
        assert len(lines) == 2, claim
        assert lines[1].startswith(": *Evidence:* "), claim
        assert re.search(r"\]\(#fact-|\{cite\}`", lines[1]), f"{claim} refers to no fact, no work"


def test_errata_name_no_person() -> None:
    authors = ("Harvard", "labml", "Raschka", "Karpathy", "Alammar", "seed", "Lesson A")
    assert not any(name in read("errata") for name in authors)


def test_arithmetic_of_the_errata() -> None:
    rounded = torch.tensor([10.0, 1, 1, 1]).softmax(0).mul(1e4).round().int().tolist()
    assert rounded == [9996, 1, 1, 1]
    assert 1 / 25 < math.erfc(2 / math.sqrt(2)) < 1 / 18  # outside two sigma: one in twenty
    assert torch.tensor(89.0).exp().isinf()
    assert not torch.tensor(88.0).exp().isinf()
    assert torch.tensor(710.0).double().exp().isinf()
    assert torch.tensor(-1e9).half().isinf()
    masked = torch.full((4,), -1e9)
    assert masked.softmax(0).tolist() == [0.25] * 4  # a row in which everything is masked
    assert 4096**2 == 16_777_216
    distances = torch.arange(40.0)
    speeds = 10000 ** (-torch.arange(0, 128, 2) / 128)
    scores = 2 * (distances[:, None] * speeds).cos().sum(-1)  # RoPE, of two vectors of ones
    assert int(scores.diff().gt(0).nonzero()[0]) == 11
    rows = {row.preset: row for row in TABLE_3}
    gains = {name: round(rows[name].bleu - rows["base"].bleu, 1) for name in ("big", "C5", "C7")}
    assert gains == {"big": 0.6, "C5": 0.2, "C7": 0.4}
    implied = implied_vocabularies()
    assert implied.agrees
    assert re.findall(r"row (\w+) asks for (\d\d)", implied.text) == [("big", "35"), ("C6", "41")]


# --- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*PAGE_NAMES, "README"])
def test_a_score_of_ours_stands_with_its_signature(name: str) -> None:
    path = ROOT / "README.md" if name == "README" else BOOK / f"{name}.md"
    assert unsigned_scores(path.read_text("utf-8"), papers_numbers()) == []


def test_a_score_without_a_signature_is_noticed() -> None:
    signed = "* - **39.90** BLEU, cased\n\n    on test\n  - `nrefs:1|version:2.6.0`\n"
    assert unsigned_scores(f"Text.\n{signed}", set()) == []
    assert unsigned_scores(f"It reaches 39.90 BLEU.\n\n{signed}", set()) == ["39.90"]
    assert unsigned_scores("* - **39.90** BLEU, cased\n* - `version:2.6.0`", set()) == ["39.90"]


# --- what pages say of the code -------------------------------------------------------------------


def test_exercises_are_all_listed() -> None:
    listed = re.findall(
        r"^    `([a-z_]+\.[a-z0-9_]+)`$|^```\{exercise-cell\} (\S+)", listing(), re.M
    )
    listed = [row or whole for row, whole in listed]
    assert sorted(listed) == sorted(ids())
    assert "```{exercise-catalogue}" in read("exercises")
    assert f"{len(listed)} exercises" in read("index")


def test_exercises_are_in_the_chapter_that_is_linked() -> None:
    linked = set(re.findall(r"\]\(\.\./notebooks/(\w+)\.ipynb\)", listing()))
    chapters = {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert linked == chapters & set(map(chapter_of, ids()))  # a chapter may have none
    for exercise_id in ids():
        if chapter_of(exercise_id) in linked:
            chapter = (ROOT / "notebooks" / f"{chapter_of(exercise_id)}.ipynb").read_text("utf-8")
            assert f'check(\\"{exercise_id}\\"' in chapter


def test_the_quoted_sentence_is_what_the_check_says() -> None:
    quoted = read("exercises").partition("```{epigraph}\n")[2].partition("```\n")[0]
    (exercise,) = [e for e in catalogue().values() if e.id == "attention.scaled_dot_product"]
    sentences = [" ".join(mistake.sentence.split()) for mistake in exercise.mistakes]
    assert " ".join(quoted.split()) in sentences


def test_notation_names_what_the_code_has() -> None:
    text = read("notation")
    config = TransformerConfig(vocab_size=37_000)
    for name, shown in (
        ("num_layers", "6"),
        ("d_model", "512"),
        ("d_ff", "2048"),
        ("num_heads", "8"),
        ("dropout", "0.1"),
    ):
        assert f"  - {shown}\n  - `{name}`" in text
        assert str(getattr(config, name)) == shown
    assert f"Token {config.pad_id} is `pad`" in text
    assert f"{config.bos_id} is `bos`" in text
    assert f"{config.eos_id} is `eos`" in text


def test_the_reading_map_has_every_section_of_the_paper() -> None:
    rows = re.findall(r"^\* - (.+)", read("reading_map"), re.MULTILINE)
    sections = [row.split()[0] for row in rows]
    expected = """1 2 3.1 3.2.1 3.2.2 3.2.3 3.3 3.4 3.5 4
        5.1 5.2 5.3 5.4 6.1 6.2 6.3 7""".split()  # noqa: SIM905
    assert [section for section in sections if section[0].isdigit()] == expected


def test_pages_keep_to_the_project() -> None:
    for name in PAGE_NAMES:
        assert "/work" not in read(name), name
        assert "/home/" not in read(name), name
