"""An answer as it is written in a page: the grader's own report, in the page's process."""

import html
import json
import linecache
import math
import re
import sys
from typing import Any

import numpy as np
import pytest
import torch

from annotated_transformer.exercises.catalogue import catalogue, find
from annotated_transformer.exercises.grader.grading import grade
from annotated_transformer.exercises.in_page import check_answer
from annotated_transformer.exercises.notebooks import solution_source
from annotated_transformer.exercises.reports.card import report_card

RIGHT = """
def softmax(x, dim=-1):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)
"""
OVERFLOWS = RIGHT.replace("x - x.amax(dim, keepdim=True)", "x")


def checked(source: str, name: str = "attention.softmax") -> dict[str, Any]:
    verdict: dict[str, Any] = json.loads(check_answer(name, source))
    return verdict


def text(verdict: dict[str, Any]) -> str:
    markup = re.sub(r"<style>.*?</style>|<[^>]+>", " ", verdict["markup"], flags=re.DOTALL)
    return html.unescape(markup)


@pytest.mark.parametrize("name", list(catalogue())[::10])  # in the page itself, all: test_solve.py
def test_a_solution_passes(name: str) -> None:
    exercise = find(name)
    assert exercise is not None
    verdict = checked(solution_source(exercise), name)
    assert verdict["state"] == "passed", text(verdict)


def test_a_report_is_that_of_a_notebook_but_for_the_calls_of_one() -> None:
    def softmax(x, dim=-1):  # type: ignore[no-untyped-def]
        e = torch.exp(x)
        return e / e.sum(dim, keepdim=True)

    card = report_card(grade("attention.softmax", softmax)).markup
    verdict = checked(OVERFLOWS)
    hint = '<p><code>hint("attention.softmax")</code> gives a hint.</p>'
    assert verdict == {
        "state": "wrong",
        "markup": card.replace(hint, ""),
        "mistakes": ["overflow"],
        "spent": False,
    }
    assert hint in card


@pytest.mark.parametrize("name", catalogue())
def test_a_starter_is_still_to_do(name: str) -> None:
    exercise = find(name)
    assert exercise is not None
    verdict = checked(exercise.starter, name)
    assert verdict["state"] == "to do"
    assert "cell" not in text(verdict)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def softmax(x)\n    return x", "SyntaxError: expected ':'"),
        ("y = 1\nz = y / 0", "Line 2 raised this:  ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)", "Line 2 raised this:  SystemExit: 3"),
        ("y = 1", "There is no function  softmax  in your answer"),
        ("def f(x): ...\ndef g(x): ...", "There is no function  softmax"),
        ("", "There is no function"),
        ("if True:\nreturn 1", "IndentationError"),
        ("\x00", "null bytes"),
    ],
)
def test_what_does_not_run_is_no_attempt(source: str, said: str) -> None:
    verdict = checked(source)
    assert (verdict["state"], verdict["mistakes"]) == ("does not run", [])
    assert said in text(verdict)


@pytest.mark.parametrize(
    "source",
    [
        "import no_such_library",
        "def softmax(x, dim=-1):\n    import no_such_library\n    return x",
        "class NotInThisPage(BaseException): pass\nraise NotInThisPage('torch.fft')",
        "class NotInThisPage(BaseException): pass\n"
        "def softmax(x, dim=-1):\n    raise NotInThisPage('torch.fft')",
        "class NotInThisPage(BaseException): pass\n"  # of float64 alone: float32 is not tried then
        "def softmax(x, dim=-1):\n    if x.dtype == torch.float64: raise NotInThisPage('float64')\n"
        "    return x.softmax(dim)",
        'def softmax(x, dim=-1):\n    raise TypeError("Cannot cast array data from '
        "dtype('int64') to dtype('int32') according to the rule 'safe'\")",
    ],
)
def test_what_the_page_lacks_is_not_called_wrong(source: str) -> None:
    verdict = checked(source)
    assert verdict["state"] == "not here"
    assert "right or wrong" in text(verdict)


def test_another_name_for_the_only_function_will_do() -> None:
    assert checked(RIGHT.replace("def softmax", "def mine"))["state"] == "passed"


def test_a_whole_cell_may_be_brought_along() -> None:
    assert checked(RIGHT + '\n\ncheck("attention.softmax", softmax)\n')["state"] == "passed"


def test_what_it_prints_is_shown_and_cut() -> None:
    verdict = checked(
        "print('at first')" + OVERFLOWS.replace("    e =", "    print('at', dim)\n    e =")
    )
    assert "Your code printed on this input:  at -1" in text(verdict)
    assert "at first" not in text(verdict)
    endless = "def softmax(x, dim=-1):\n    for _ in range(10**5): print('x' * 100)\n    return x"
    assert len(checked(endless)["markup"]) < 20_000


def test_markup_of_the_learners_is_text() -> None:
    verdict = checked(
        "def softmax(x, dim=-1):\n    print('<img src=x onerror=alert(1)>')\n    return 1"
    )
    assert "<img" not in verdict["markup"]
    assert "<img" not in checked("raise ValueError('<img src=x>')")["markup"]


def test_one_answer_leaves_the_next_as_it_found_it() -> None:
    before = torch.softmax, math.sqrt, torch.get_default_dtype(), torch.get_rng_state().clone()
    patching = (
        "torch.softmax = math.sqrt = None\ntorch.set_default_dtype(torch.float64)\n"
        "torch.manual_seed(5)\nnp.random.seed(3)\n" + RIGHT
    )
    numbers = np.random.get_state()[1].copy()
    assert checked(patching)["state"] == "passed"
    assert (torch.softmax, math.sqrt) == before[:2]
    assert torch.get_default_dtype() == before[2]
    assert torch.equal(torch.get_rng_state(), before[3])
    assert (np.random.get_state()[1] == numbers).all()


def test_it_says_whose_turn_it_is() -> None:
    turns: list[str] = []
    check_answer("attention.softmax", RIGHT, turns.append)
    assert turns == ["answer", "grader", "answer", "grader"]


def test_an_answer_that_replaces_modules_is_the_last_of_its_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torch.nn", torch.nn)  # put back at the end
    monkeypatch.setattr(linecache, "cache", linecache.cache)
    assert not checked(RIGHT)["spent"]
    assert checked("import linecache\nlinecache.cache = None\n" + RIGHT)["spent"]
    linecache.cache = {}
    assert checked("import sys\nsys.modules['torch.nn'] = None\n" + RIGHT)["spent"]


def test_an_exercise_that_is_none_is_the_pages_fault() -> None:
    with pytest.raises(KeyError):
        check_answer("attention.nothing", RIGHT)
