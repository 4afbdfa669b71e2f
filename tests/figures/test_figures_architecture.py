"""The drawing of the model: every box is a link, named, inside the picture, and in order."""

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from annotated_transformer.figures import architecture
from annotated_transformer.figures.architecture import (
    BOX_WIDTH,
    BOXES,
    HEIGHT,
    TITLES,
    WIDTH,
    architecture_markup,
    show_architecture,
)

HREF = "{http://www.w3.org/1999/xlink}href"  # a plain one makes JupyterLab show an error
CURRICULUM = {"00", "02", "03", "04", "05", "06"}


def drawing(here: str | None = None) -> ElementTree.Element:
    found = re.search("<svg.*</svg>", architecture_markup(here))
    assert found
    return ElementTree.fromstring(found[0])


def test_every_box_is_a_link_with_a_name() -> None:
    links = drawing().findall("a")
    assert len(links) == len(BOXES)
    for link, box in zip(links, BOXES, strict=True):
        assert link.get(HREF) == f"{box.chapter}.ipynb"
        assert link.get("aria-label", "").startswith(" ".join(box.lines))
        assert "".join(link.itertext()).strip()
    assert {box.chapter[:2] for box in BOXES} == CURRICULUM


def test_boxes_lie_in_the_picture_and_do_not_touch() -> None:
    for column in (0, 1):
        boxes = [box for box in BOXES if box.column == column]
        for below, above in pairwise(boxes):
            assert below.y - (above.y + above.height) >= 14  # room for an arrow
        for box in boxes:
            assert 0 <= box.x <= WIDTH - BOX_WIDTH
            assert 0 <= box.y <= HEIGHT - box.height


def test_the_chapter_that_shows_it_is_marked() -> None:
    marked = [link.get(HREF) for link in drawing("05_encoder").findall("a[@class]")]
    assert set(marked) == {"05_encoder.ipynb"}
    assert not drawing().findall("a[@class]")
    with pytest.raises(ValueError, match="'07_data' builds no box; these do: 00_start_here"):
        show_architecture("07_data")


def test_what_is_shown_is_also_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr(architecture, "display", lambda bundle, raw: shown.append(bundle))
    by_chapter = show_architecture("04_positional_encoding")
    assert list(by_chapter) == list(TITLES)
    assert by_chapter["04_positional_encoding"] == ["+ positions", "+ positions"]
    (bundle,) = shown
    assert all(box.does in bundle["text/plain"] for box in BOXES)
    assert bundle["text/html"] == architecture_markup("04_positional_encoding")


def test_links_lead_to_chapters_that_exist() -> None:
    notebooks = Path(__file__).resolve().parents[2] / "notebooks"
    missing = [chapter for chapter in TITLES if not (notebooks / f"{chapter}.ipynb").exists()]
    assert not missing
