"""The numbers that a chapter's prose says are those that its cells print, the paper or a record."""

from pathlib import Path

import pytest
from test_lanes import CHAPTERS
from test_notebooks import read

from numbers_in_prose import PLOTLY, strays

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_every_number_is_held(chapter: Path) -> None:
    found = [f"{stray.number}: {stray.around}" for stray in strays(read(chapter)["cells"], ROOT)]
    assert not found, (
        "held by no output beside it, rounded as it is written, and not by the paper; if a file of "
        'this repository holds it, say so in the cell\'s metadata, "numbers": {"0.75": "FILE"}'
    )


def test_a_number_that_the_cell_rounds_otherwise_is_found() -> None:
    cells = read(ROOT / "notebooks" / "03_multi_head.ipynb")["cells"]
    assert not [*strays(cells, ROOT)]
    text = next(c for c in cells if "4.91 against 4.92" in "".join(c["source"]))
    text["source"] = ["".join(text["source"]).replace("4.91 against", "4.93 against")]
    assert [stray.number for stray in strays(cells, ROOT)] == ["4.93"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The loss is 0.76, at step 200.", []),
        ("The loss is 0.8.", []),
        ("The loss is 0.75.", ["0.75"]),
        ("It is right in 96.3 % of 1,234 words.", []),
        ("It is right in 97 %.", ["97"]),
        ("More than 1,200 words, about 1,200.", []),
        ("More than 1,300 words.", ["1,300"]),
        ("Six layers, 6 heads, in 2017, of 100.", []),
        ("See section 5.4, Table 3 and (6.2, Table 3), [there](x.html#0.99), `0.99`, $0.99$.", []),
        ("Others saw 0.99 (Ba and others, 2016).", []),
        ("The paper has 25.8 BLEU in Table 3.", []),
        ("We have 25.8 BLEU.", ["25.8"]),
        ("It was trained for 100,000 steps.", []),
    ],
)
def test_what_counts_as_held(text: str, found: list[str]) -> None:
    output = {"text": ["step 200, loss 0.7603; 96.28 % of 1,234\n"], "output_type": "stream"}
    code = {"cell_type": "code", "metadata": {}, "source": ["run()"], "outputs": [output]}
    prose = {"cell_type": "markdown", "metadata": {}, "source": [f"## Text\n\n{text}"]}
    assert [stray.number for stray in strays([prose, code], ROOT)] == found


def test_what_a_figure_to_touch_draws_holds_nothing_and_its_words_do() -> None:
    forms = {PLOTLY: {"data": [0.75]}, "text/html": ["0.75"], "text/plain": ["up to 0.85"]}
    code = {"cell_type": "code", "metadata": {}, "source": ["show()"], "outputs": [{"data": forms}]}
    prose = {"cell_type": "markdown", "metadata": {}, "source": ["It is 0.75, at most 0.85."]}
    assert [stray.number for stray in strays([prose, code], ROOT)] == ["0.75"]


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        ({"0.75": "example"}, []),
        ({"0.75": "tests/book/no_such_file.json"}, ["0.75"]),
        ({"0.75": "pyproject.toml"}, ["0.75"]),
        ({"0.5": "example"}, ["0.75"]),
    ],
)
def test_a_number_may_say_where_it_is_from(declared: dict[str, str], found: list[str]) -> None:
    cell = {"cell_type": "markdown", "metadata": {"numbers": declared}, "source": ["It is 0.75."]}
    assert [stray.number for stray in strays([cell], ROOT)] == found
