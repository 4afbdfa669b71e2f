"""A page of mistakes: how it is read, what is refused, and how two mistakes come together."""

import tempfile
from pathlib import Path

import pytest
import torch
from torch import Tensor

from annotated_transformer.exercises.bank import read_page, together
from annotated_transformer.exercises.exercise import Mistake


def normalise(x: Tensor, eps: float = 1e-6) -> Tensor:
    mean = x.mean(-1, keepdim=True)
    variance = (
        (x - mean).square().mean(-1, keepdim=True)  # of the population
    )
    table = torch.zeros(2)
    table[0] = 1
    table[1] = 2
    return (x - mean) / (variance + eps).sqrt() + table.sum()


X = torch.tensor([[1.0, 2.0, 6.0], [0.0, -4.0, -2.0]])
SAID = "This is said to whoever wrote it so, at some length."


def of(text: str, **others: str) -> dict[str, Mistake]:
    """The mistakes of a page, beside which there may be others."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {"page": text, **others}.items():
            (Path(folder) / f"{name}.md").write_text(content, encoding="utf-8")
        mistakes = read_page(Path(folder) / "page.md", normalise)
    return {mistake.name: mistake for mistake in mistakes}


def one(lines: str) -> Mistake:
    code = "".join(f"    {line}\n" for line in lines.splitlines())
    (mistake,) = of(f"## it\n{code}{SAID}\n").values()
    return mistake


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("mean = 0", lambda: X / (X.square().mean(-1, keepdim=True) + 1e-6).sqrt() + 3),
        ("return mean", lambda: X.mean(-1, keepdim=True)),
        ("return (x - mean) -> return x", lambda: normalise(X) + _mean_over_root()),
        ("table.sum() -> 0", lambda: normalise(X) - 3),
        ("table[1] = 5", lambda: normalise(X) + 3),
        ("eps: float = 1e-6 -> eps: float = 0.5", lambda: normalise(X, 0.5)),
        ("table[1] = 2\n+ table *= 2", lambda: normalise(X) + 3),
        ("+ x = 2 * x\n+ x = x / 2", lambda: normalise(X)),
        (
            "def normalise(x, eps=1e-6):\n    return half(x)\n\ndef half(x):\n    return x / 2",
            lambda: X / 2,
        ),
    ],
)
def test_what_a_line_changes(lines, expected):
    mistake = one(lines)
    assert mistake.sentence == SAID
    torch.testing.assert_close(mistake.implementation(X), expected())


def _mean_over_root() -> Tensor:
    mean = X.mean(-1, keepdim=True)
    return mean / ((X - mean).square().mean(-1, keepdim=True) + 1e-6).sqrt()


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        (f"## a\n    scale = 2\n{SAID}", "'scale = 2' has 0 places in the reference"),
        (f"## a\n    table = 3; x = 1\n{SAID}", "is not one statement"),
        (f"## a\n    mean -> 0\n{SAID}", "'mean' stands in 5 places"),
        (f"## a\n    table[2] = 1\n{SAID}", "has 0 places"),
        (f"## a\n    mean.mul_(2)\n{SAID}", "is not one statement that assigns or returns"),
        ("## a\n    mean = 0\n", "there is nothing to say to it"),
        (f"## a\n{SAID}", "it changes nothing"),
        (f"## a\n    mean = 0\n{SAID}\n## a\n    mean = 1\n{SAID}", "this name is there twice"),
        (f"## a\n    def other(x):\n        return x\n{SAID}", "has to be called 'normalise'"),
        (f"## a-*, as more.md\n{SAID}", "there is no page 'more.md' beside it"),
        (f"## a-*, as page.md\n{SAID}", "page.md takes this page itself"),
        (f"## a-*, as nothing.md\n    mean = 0\n{SAID}", "there is no page 'nothing.md'"),
        (f"## a, as\n    mean = 0\n{SAID}", "a heading is a name without blanks"),
        (f"## a b\n    mean = 0\n{SAID}", "a heading is a name without blanks"),
        (f"## a\n    mean = 0\n{SAID}\n### b\n{SAID}", "'### b' is no sentence"),
        (f"## a\n    mean = 0\n\treturn 0\n{SAID}", "'return 0' is code if"),
        (f"## a\n    x - mean -> x\n{SAID}", "'x - mean' stands in 2 places"),
        (
            f"## a\n    def normalise(x):\n        return x\n{SAID}\n## b, as a\n",
            "'a' is a whole function",
        ),
        (f"## a-*\n{SAID}", "there is no page '' beside it"),
        (f"## a\n    mean = 0\n{SAID}\n## b, as a and\n", "there is no entry 'a and' before it"),
        ("## a, as b\n    mean = 0\n", "there is no entry 'b' before it"),
        (f"## a\n    mean = 0\n{SAID}\n## b, as a, c\n", "there is no entry 'c' before it"),
        (
            f"## a\n    mean = 0\n    x.mean -> x.sum\n{SAID}",
            "two of its lines are about the same place",
        ),
        (
            f"## a\n    (x - mean).square() -> x\n    + y = 1\n{SAID}",
            "only behind the end of a line",
        ),
        (f"## a\n    mean = (\n{SAID}", "'mean = (' is no statement of one line"),
        (f"## a\n    mean = 0\n    -> 1\n{SAID}", "'-> 1' is no statement of one line"),
        (f"## a\n    + break\n{SAID}", "'break' outside loop"),
        (f"## a\n    def normalise(x):\n        nonlocal y\n{SAID}", "nonlocal"),
        (f"## a\n    x.mean -> x.mean\n{SAID}", "it changes nothing"),
        (f"## a\n    mean = 0\n{SAID}\n    return 0\n", "its lines come first"),
        (f"## a\n    mean = 0\n{SAID}\n---\n", "'---' is no sentence"),
        (f"## a\n    mean = 0\n{SAID}\n<!-- b -->\n", "'<!-- b -->' is no sentence"),
        (f"## a\n    mean = 0\n{SAID}\n ## b\n    mean = 1\n", "' ## b' is no sentence"),
        (f"##a\n    mean = 0\n{SAID}\n## b\n    mean = 1\n{SAID}", "'##a' is no sentence"),
        (f"\tx = 1\n## b\n    mean = 1\n{SAID}", "before the first ##: 'x = 1' is code if"),
        (f"## a-*, as ../page.md\n{SAID}", "there is no page '../page.md' beside it"),
        (
            f"## a\n    mean = 0\n{SAID}\n## b\n    mean = 1\n{SAID}\n## c, as a and b\n",
            "about the same place",
        ),
    ],
)
def test_what_has_no_place_is_refused(page, complaint):
    with pytest.raises(ValueError, match=r"page\.md, (## |before the first ##: )") as raised:
        of(page)
    assert complaint in str(raised.value)


PAIR = f"""\
    half = 0.5

## no-mean
    mean = 0
The mean is missing, and that is all that is wrong here.
## halved
    return (x - mean) / (variance + eps).sqrt() * half
{SAID}
## other-half, as halved
    return x * half
## both, as no-mean and halved
## both-in-short, as no-mean and halved
Two things are wrong, and they are the two that you know.
"""


def test_what_an_entry_leaves_out_is_that_of_the_others():
    mistakes = of(PAIR)
    assert mistakes["other-half"].sentence == SAID
    assert mistakes["both"].sentence == f"{mistakes['no-mean'].sentence} {SAID}"
    assert mistakes["both-in-short"].sentence.startswith("Two things are wrong")
    for name in ("both", "both-in-short"):
        torch.testing.assert_close(
            mistakes[name].implementation(X),
            X / (X.square().mean(-1, keepdim=True) + 1e-6).sqrt() / 2,
        )


OTHER = """\
    twice = 2

## doubled
    return (x - mean) / (variance + eps).sqrt() * twice
It is doubled, and that is all that is wrong here.
## no-mean
    mean = 0
The mean is missing, and that is all that is wrong here.
## both, as no-mean and doubled
## x-changed
    + x = x + 1
What comes first in that function may not come first in this one.
## whole
    def normalise(x):
        return x
A whole function is left where it is: this one may do more.
## unwanted
    mean = 2
Another exercise may not be able to tell it from its own.
"""


def test_pages_that_take_each_other_are_refused():
    with pytest.raises(
        ValueError, match=r"page\.md, ## a-\*: .*other\.md, ## b-\*: page\.md takes"
    ):
        of("## a-*, as other.md", other="## b-*, as page.md")


def test_what_stands_before_the_first_entry_is_named_where_it_is_wrong():
    with pytest.raises(ValueError, match=r"page\.md, before the first ##: SyntaxError"):
        of(f"    x = (\n\n## a\n    mean = 0\n{SAID}")


def test_the_helpers_of_a_page_win_over_those_of_one_that_it_takes():
    own = f"    twice = 3\n\n## own\n    mean = twice\n{SAID}\n## n-*, as other.md\nLook."
    mistakes = of(own, other=OTHER)
    mean = torch.tensor(3.0)
    expected = (X - mean) / ((X - mean).square().mean(-1, keepdim=True) + 1e-6).sqrt() + 3
    torch.testing.assert_close(mistakes["own"].implementation(X), expected)


def test_a_page_is_not_taken_without_what_it_has_not():
    with pytest.raises(ValueError, match=r"page\.md, ## n-\*: other\.md has no entry 'median'"):
        of("## n-*, as other.md without median", other=OTHER)


def test_another_page_is_taken_with_its_names_begun_and_its_sentences_opened():
    page = f"## own\n    mean = 1\n{SAID}\n## norm-*, as other.md without unwanted\nLook here."
    mistakes = of(page, other=OTHER)
    assert list(mistakes) == ["own", "norm-doubled", "norm-no-mean", "norm-both"]
    said = "The mean is missing, and that is all that is wrong here."
    assert mistakes["norm-no-mean"].sentence == f"Look here. {said}"
    assert mistakes["norm-both"].sentence == (
        f"Look here. {said} It is doubled, and that is all that is wrong here."
    )
    torch.testing.assert_close(
        mistakes["norm-both"].implementation(X),
        X / (X.square().mean(-1, keepdim=True) + 1e-6).sqrt() * 2,
    )


def test_what_an_entry_takes_from_one_that_stays_behind():
    """Its sentence comes with it; an entry without lines of its own stays behind as well."""
    other = f"""\
{OTHER}
## short-way, as whole
    return x
## not-both, as unwanted and doubled
"""
    mistakes = of("## norm-*, as other.md without unwanted\nLook.", other=other)
    assert list(mistakes) == ["norm-doubled", "norm-no-mean", "norm-both", "norm-short-way"]
    assert mistakes["norm-short-way"].sentence.startswith("Look. A whole function is left")


def test_an_entry_of_another_page_is_named_with_both_pages():
    with pytest.raises(
        ValueError, match=r"page\.md, ## norm-\* \(other\.md, ## lost\): 'scale = 1"
    ):
        of("## norm-*, as other.md\nLook.", other=f"## lost\n    scale = 1\n{SAID}")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, r"page\.md cannot be read"),
        ("## mü\n    mean = 0\nGesagt.".encode("latin-1"), r"page\.md cannot be read"),
        (b"Nothing but words.", r"page\.md has no entry"),
    ],
)
def test_a_file_that_is_no_page_is_called_by_its_name(tmp_path, content, complaint):
    if content is not None:
        (tmp_path / "page.md").write_bytes(content)
    with pytest.raises(ValueError, match=complaint):
        read_page(tmp_path / "page.md", normalise)


def test_a_page_may_come_from_another_system(tmp_path):
    """A byte order mark, and lines that end in two characters."""
    (tmp_path / "page.md").write_bytes(
        b"\xef\xbb\xbf" + f"# Title\n\n{PAIR}".replace("\n", "\r\n").encode()
    )
    assert [m.name for m in read_page(tmp_path / "page.md", normalise)] == list(of(PAIR))


def test_two_mistakes_come_together_where_they_change_different_places():
    mistakes = of(PAIR)
    both = together(mistakes["no-mean"], mistakes["halved"])
    assert both is not None
    expected = X / (X.square().mean(-1, keepdim=True) + 1e-6).sqrt() / 2
    torch.testing.assert_close(both(X), expected)
    assert together(mistakes["halved"], mistakes["other-half"]) is None


def test_what_would_never_end_ends():
    mistake = one("+ while x.sum() > -1:\n+     x = x + 1")
    with pytest.raises(RuntimeError, match="a loop without an end"):
        mistake.implementation(X)
    assert (
        one("table[1] = 2\n+ for n in range(9):\n+     mean = mean * 1")
        .implementation(X)
        .equal(normalise(X))
    )
