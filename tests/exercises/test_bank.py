"""A page of mistakes: how it is read, what is refused, and how two mistakes come together."""

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


def of(text: str) -> dict[str, Mistake]:
    return {mistake.name: mistake for mistake in read_page(text, "a page", normalise)}


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
        (f"## a\n    table = 3; x = 1\n{SAID}", "a page, ## a"),
        (f"## a\n    mean -> 0\n{SAID}", "'mean' stands in 5 places"),
        (f"## a\n    table[2] = 1\n{SAID}", "has 3 places"),
        ("## a\n    mean = 0\n", "there is nothing to say to it"),
        (f"## a\n{SAID}", "it changes nothing"),
        (f"## a\n    mean = 0\n{SAID}\n## a\n    mean = 1\n{SAID}", "this name is there twice"),
        (f"## a\n    def other(x):\n        return x\n{SAID}", "has to be called 'normalise'"),
        ("## a\n    mean = 0\nAs `b`.", "there is no entry 'b' before it"),
        (
            f"## a\n    mean = 0\n    x.mean -> x.sum\n{SAID}",
            "two of its lines are about the same place",
        ),
        (
            f"## a\n    (x - mean).square() -> x\n    + y = 1\n{SAID}",
            "only behind the end of a line",
        ),
        (f"## a\n    mean = (\n{SAID}", "a page, ## a"),
        (
            f"## a\n    mean = 0\n{SAID}\n## b\n    mean = 1\n{SAID}\n## a + b\n",
            "about the same place",
        ),
    ],
)
def test_what_has_no_place_is_refused(page, complaint):
    with pytest.raises(ValueError, match="a page, ## ") as raised:
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
## other-half
    return x * half
As `halved`.
## no-mean + halved
"""


def test_sentences_are_borrowed_and_pairs_say_both():
    mistakes = of(PAIR)
    assert mistakes["other-half"].sentence == SAID
    assert mistakes["no-mean+halved"].sentence == f"{mistakes['no-mean'].sentence} {SAID}"


def test_two_mistakes_come_together_where_they_change_different_places():
    mistakes = of(PAIR)
    both = together(mistakes["no-mean"], mistakes["halved"])
    assert both is not None
    expected = X / (X.square().mean(-1, keepdim=True) + 1e-6).sqrt() / 2
    torch.testing.assert_close(both(X), expected)
    torch.testing.assert_close(mistakes["no-mean+halved"].implementation(X), expected)
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
