"""The ladder, the comparisons, the cards and the progress file, each on its own."""

import contextlib
import json
import math
import random
import re
import stat
import subprocess
import sys
import threading
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer.cli import main
from annotated_transformer.errors import CallError
from annotated_transformer.exercises import check, grade, hint, progress, solution
from annotated_transformer.exercises.catalogue import catalogue, find
from annotated_transformer.exercises.exercise import (
    Case,
    Invariant,
    Mistake,
    Report,
    call,
)
from annotated_transformer.exercises.grader.compare import Tolerance, same, structure_problem
from annotated_transformer.exercises.grader.grading import grade_exercise
from annotated_transformer.exercises.grader.running import run_once
from annotated_transformer.exercises.grader.values import (
    MAX_DEPTH,
    Array,
    Foreign,
    pack,
    to_plain,
    unpack,
)
from annotated_transformer.exercises.learner import lessons
from annotated_transformer.exercises.learner.records import change_record, read_records
from annotated_transformer.exercises.reports.card import report_card
from small_exercises import case_of, exercise_of, fixed


@pytest.fixture(autouse=True)
def progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "learner" / "progress.json"
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_PROGRESS", str(path))
    monkeypatch.setattr(lessons, "_hints_given", {})
    return path


# The ladder


def mean_and_sum(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.mean(-1, keepdim=True), x.sum(-1)


MEAN = exercise_of(mean_and_sum, case_of((2, 3)), case_of((1, 1)), case_of((3, 4)))


@pytest.mark.parametrize(
    ("candidate", "rung", "words"),
    [
        (3, "callable", "got an object of class int"),
        (lambda x: x.nonsense, "returns", "AttributeError"),
        (lambda x: x.mean(-1), "type", "expected a tuple of 2, got a tensor of shape (2,)"),
        (lambda x: (x.mean(-1),), "type", "expected a tuple of 2, got a tuple of 1"),
        (lambda x: (x, "text"), "type", "at [1], got a string"),
        (lambda x: print("no return"), "type", "is the `return` missing?"),
        (lambda x: (x.mean(-1), x.sum(-1)), "shape", "expected (2, 1), got (2,)"),
        (lambda x: (x.mean(-1, keepdim=True).float(), x.sum(-1)), "dtype", "got float32"),
        (lambda x: (x.mean(-1, True).float() / 0, x.sum(-1)), "dtype", "got float32"),
        (lambda x: (x.mean(-1) / 0, x.sum(-1)), "shape", "expected (2, 1), got (2,)"),
        (lambda x: (x.mean(-1, True) / 0, x.sum(-1)), "finite", "infinite at 2 of 2"),
        (lambda x: (x.mean(-1, True), x.zero_().sum(-1)), "untouched", "inputs were changed"),
        (lambda x: (x.mean(-1, True), x.sum(-1) * 2), "values", "2 times what it should be"),
        (lambda x: (x.mean(-1, True), x.sum(-1) + 1), "values", "off by the same 1"),
    ],
)
def test_the_first_rung_that_fails_speaks(candidate: Any, rung: str, words: str) -> None:
    report = grade_exercise(MEAN, candidate)
    assert not report.passed
    assert report.rung == rung
    assert words in report.message


def test_equal_forms_pass() -> None:
    def by_loops(x: Tensor) -> list[Tensor]:
        rows = [sum(row) for row in x]
        return [torch.stack([row / x.shape[1] for row in rows])[:, None], torch.stack(rows)]

    def by_einsum(x: Tensor) -> tuple[Tensor, Tensor]:
        total = torch.einsum("ij->i", x)
        return (total / x.shape[1]).unsqueeze(1), total

    def through_numpy(x: Tensor) -> tuple[Tensor, Tensor]:
        numbers = x.numpy()
        return torch.from_numpy(numbers.mean(1, keepdims=True)), torch.from_numpy(numbers.sum(1))

    for candidate in (by_loops, by_einsum, through_numpy):
        assert grade_exercise(MEAN, candidate).passed


def test_views_and_gradients_in_the_result_are_no_difference() -> None:
    twice = exercise_of(lambda x: x.T * 2, case_of((2, 3)))
    assert grade_exercise(twice, lambda x: (x.requires_grad_() * 2).T).passed
    assert grade_exercise(twice, lambda x: torch.nn.Parameter(x.T * 2)).passed
    assert grade_exercise(twice, lambda x: torch.complex(x, x).conj().real.T * 2).passed


def test_a_candidate_that_takes_only_float32_is_checked_in_float32() -> None:
    exercise = exercise_of(lambda x: x @ x.T, case_of((2, 3)))

    def candidate(x: Tensor) -> Tensor:
        return (torch.eye(2) @ x) @ x.T

    report = grade_exercise(exercise, candidate)
    assert report.passed
    assert "Checked in float32" in report.notes[0]
    wrong = grade_exercise(exercise, lambda x: 1.01 * (torch.eye(2) @ x) @ x.T)
    assert wrong.rung == "values"


def test_other_shapes_come_last_and_say_so() -> None:
    exercise = exercise_of(
        lambda x: x.sum(-1),
        case_of((2, 2, 3), name="a batch of matrices", stage="other"),
        case_of((2, 3)),
    )
    report = grade_exercise(exercise, lambda x: x.sum(1))
    assert report.rung == "other"
    assert "All else is right, but on a batch of matrices" in report.message


def test_an_invariant_speaks_before_the_values() -> None:
    sums = Invariant(
        "rows", lambda c, y: bool(((y.sum(-1) - 1).abs() < 1e-6).all()), "Rows must sum to 1."
    )
    exercise = exercise_of(lambda x: x.softmax(-1), case_of((2, 3)), invariants=(sums,))
    report = grade_exercise(exercise, lambda x: x.softmax(0))
    assert (report.rung, report.finding) == ("invariant", "Rows must sum to 1.")


def test_what_is_right_in_a_result_of_the_wrong_arity_is_said() -> None:
    one = exercise_of(lambda x: x * 2, case_of((2, 3)))
    both = exercise_of(lambda x: (x * 2, x + 1), case_of((2, 3)))
    assert "Item 1 of it is what is asked for" in grade_exercise(one, lambda x: (x, x * 2)).finding
    assert "Item" not in grade_exercise(one, lambda x: (x, x)).finding
    assert "It is item 1 of the 2" in grade_exercise(both, lambda x: x + 1).finding
    assert "The first 2 are right" in grade_exercise(both, lambda x: (x * 2, x + 1, x)).finding
    assert "right" not in grade_exercise(both, lambda x: (x, x + 1, x)).finding


def test_numbers_taken_out_of_torch_are_no_wrong_answer() -> None:
    """Loops over plain numbers and NumPy give no gradient; that is said, and does not decide."""
    exercise = exercise_of(lambda x: x.softmax(-1), case_of((2, 3), gradient="in torch"))

    def by_numpy(x: Tensor) -> Tensor:
        e = np.exp(x.numpy())
        return torch.from_numpy(e / e.sum(-1, keepdims=True))

    def by_numbers(x: Tensor) -> Tensor:
        rows = [[math.exp(number) for number in row] for row in x.tolist()]
        return torch.tensor([[e / sum(row) for e in row] for row in rows], dtype=x.dtype)

    for candidate in (by_numpy, by_numbers):
        report = grade_exercise(exercise, candidate)
        assert report.passed
        assert "outside of torch" in report.notes[0]


@pytest.mark.parametrize("mode", ["required", "in torch", "noted", "ignored"])
def test_gradients_count_where_the_exercise_says_so(mode: str) -> None:
    counts = mode in ("required", "in torch")
    exercise = exercise_of(lambda x, y: x * y, case_of((2, 3), (2, 3), gradient=mode))
    assert grade_exercise(exercise, lambda x, y: y * x).passed
    cut = grade_exercise(exercise, lambda x, y: (x * y).detach())
    assert cut.passed != counts
    assert (cut.rung == "gradient") == counts
    assert ("no gradient flows" in cut.message) == (mode != "ignored")
    half = grade_exercise(exercise, lambda x, y: x * y.detach())
    assert half.passed != counts


def test_an_operation_in_place_on_own_tensors_is_only_noted() -> None:
    def candidate(x: Tensor) -> Tensor:
        powers = x.exp()
        powers /= powers.sum(-1, keepdim=True)
        return powers

    exercise = exercise_of(lambda x: x.softmax(-1), case_of((2, 3), gradient="required"))
    report = grade_exercise(exercise, candidate)
    assert report.passed
    assert "it changes in place a tensor" in report.notes[0]


def test_the_place_of_an_exception_is_named() -> None:
    def candidate(x: Tensor) -> Any:
        inner = 1
        return x[inner + 10]

    report = grade_exercise(MEAN, candidate)
    assert "IndexError in line 3 (`return x[inner + 10]`)" in report.message


def test_the_line_counts_from_the_function_also_inside_what_it_holds() -> None:
    """A generator expression and a function of its own begin at lines of their own."""

    def by_generator(x: Tensor) -> Any:
        rows = 3
        # fmt: off
        return sum(
            x[row + 10] for row in range(rows)
        )
        # fmt: on

    def by_inner_function(x: Tensor) -> Any:
        def pick(row: int) -> Tensor:
            return x[row + 10]

        return max(range(3), key=lambda row: float(pick(row)))

    def outside(x: Tensor) -> Any:
        return by_generator(x)

    for candidate, line in ((by_generator, 5), (by_inner_function, 3), (outside, 5)):
        report = grade_exercise(MEAN, candidate)
        assert f"IndexError in line {line} (`" in report.message
        assert "x[row + 10]" in report.message


# Kinds of candidates: callables as arguments, states, lists, numbers, named answers


def test_callable_arguments_can_be_observed() -> None:
    def observe(candidate: Callable[..., Any], x: Tensor) -> Any:
        calls = []

        def sublayer(inner: Tensor) -> Tensor:
            calls.append(inner)
            return inner * 2

        return {"result": candidate(x, sublayer), "calls": len(calls)}

    exercise = exercise_of(lambda x, f: x + f(x), case_of((2, 3), observe=observe))
    assert grade_exercise(exercise, lambda x, f: f(x) + x).passed
    report = grade_exercise(exercise, lambda x, f: (f(x) + f(x)) / 2 + x)
    assert not report.passed
    assert "['calls']" in report.message


def test_dictionaries_of_tensors() -> None:
    states = [{"w": torch.ones(2), "step": torch.tensor(1)}, {"w": torch.zeros(2), "step": 3}]

    def average(given: Any) -> dict[str, Any]:
        return {"w": (given[0]["w"] + given[1]["w"]) / 2, "step": given[1]["step"]}

    exercise = exercise_of(
        average, Case("two states", lambda g, d: call([dict(state) for state in states]))
    )
    assert grade_exercise(exercise, average).passed
    assert "has no entry 'step'" in grade_exercise(exercise, lambda s: {"w": s[0]["w"]}).message

    def changes_its_input(given: Any) -> Any:
        given[0]["w"] = average(given)["w"]
        return {"w": given[0]["w"], "step": 3}

    assert grade_exercise(exercise, changes_its_input).rung == "untouched"


def test_lists_of_pairs_and_numbers() -> None:
    pairs = exercise_of(lambda n: [("a", "b"), ("b", "c")][:n], fixed(2), fixed(1))
    assert grade_exercise(pairs, lambda n: [["a", "b"], ["b", "c"]][:n]).passed
    report = grade_exercise(pairs, lambda n: [("a", "b")])
    assert report.rung == "values"
    assert "Expected: [('a', 'b'), ('b', 'c')]" in report.message

    number = exercise_of(lambda n: n * 0.5, fixed(3))
    for right in (lambda n: 1.5, lambda n: np.float64(1.5), lambda n: torch.tensor(1.5)):
        assert grade_exercise(number, right).passed
    assert grade_exercise(number, lambda n: True).rung == "type"
    assert grade_exercise(number, lambda n: "1.5").rung == "type"
    truth = exercise_of(lambda n: n > 2, fixed(3))
    assert grade_exercise(truth, lambda n: torch.tensor(True)).passed
    assert grade_exercise(truth, lambda n: 1).rung == "type"


ANSWERS = exercise_of(
    lambda: {"shape": (2, 3), "variance": 64.0, "stable": True},
    mistakes=(
        Mistake("transposed", lambda: {"shape": (3, 2)}, "The axes are exchanged."),
        Mistake("std", lambda: {"variance": 8.0}, "That is the standard deviation."),
    ),
)


def test_every_wrong_answer_is_named() -> None:
    report = grade_exercise(ANSWERS, lambda: {"shape": [3, 2], "variance": 8.05, "stable": True})
    assert report.mistakes == ("transposed", "std")
    assert report.mistake == "transposed"
    assert "The axes are exchanged." in report.message
    assert "That is the standard deviation." in report.message
    assert "1 of 3 answers is right" in report.message


@pytest.mark.parametrize("variance", [64, 64.5, 63.5, np.float32(64), torch.tensor(64)])
def test_numbers_are_accepted_within_one_percent(variance: Any) -> None:
    answer = {"shape": [2, 3], "variance": variance, "stable": np.True_}
    assert grade_exercise(ANSWERS, lambda: answer).passed


def test_answers_in_words_and_whole_numbers() -> None:
    exercise = exercise_of(lambda: {"count": 1000, "letter": "A", "shape": (100, 2)})
    right = {"count": 1005, "letter": " a ", "shape": torch.Size([100, 2])}
    assert grade_exercise(exercise, lambda: right).passed
    for wrong in ({"count": 1011}, {"letter": "b"}, {"shape": (101, 2)}):
        assert not grade_exercise(exercise, lambda wrong=wrong: {**right, **wrong}).passed


def test_answers_that_are_missing_wrong_in_kind_or_open() -> None:
    assert "'stable' has no answer yet" in grade_exercise(ANSWERS, lambda: {"shape": 2}).message
    assert grade_exercise(ANSWERS, lambda: [1, 2]).rung == "type"
    left_open = grade_exercise(ANSWERS, lambda: {"shape": ..., "variance": None, "stable": ...})
    assert not left_open.attempted
    assert not grade_exercise(ANSWERS, lambda: {"variance": 65}).passed


@pytest.mark.parametrize(
    "stub",
    [
        lambda x: None,
        lambda x: ...,
        None,
        ...,
        pytest.param(lambda x: (_ for _ in ()).throw(NotImplementedError), id="raises"),
    ],
)
def test_a_stub_is_not_an_attempt(stub: Any) -> None:
    report = grade_exercise(MEAN, stub)
    assert not report.passed
    assert not report.attempted
    assert report.message.startswith("test.exercise (A test): to do\nNot attempted yet")


def test_an_unknown_exercise_names_the_nearest() -> None:
    report = grade("masks.casual", lambda n: n)
    assert not report.passed
    assert "masks.causal" in report.message
    assert not grade(None, lambda n: n).passed  # type: ignore[arg-type]


# Diagnosis


def _times(factor: float) -> Callable[[Tensor], Tensor]:
    return lambda x: x.exp() * factor


BANK = exercise_of(
    torch.exp,
    case_of((1, 1), isolates="the function: one number alone"),
    case_of((2, 3)),
    mistakes=(
        Mistake("doubled", _times(2), "It is doubled."),
        Mistake("crashes", lambda x: x[5], "It reads past the end."),
        Mistake("flat", lambda x: x.exp().flatten(), "It is flattened."),
        Mistake("nan", lambda x: x.exp() * float("nan"), "It is NaN."),
    ),
)


@pytest.mark.parametrize(
    ("candidate", "name"),
    [
        (lambda x: 2 * torch.e**x, "doubled"),
        (lambda x: (2 * x.exp()).float(), "doubled"),
        (lambda x: x.exp()[5], "crashes"),
        (lambda x: x.exp().reshape(-1), "flat"),
        (lambda x: x / 0 * 0, "nan"),
        (lambda x: 3 * x.exp(), None),
        (lambda x: {}["key"], None),
        (lambda x: [][1], None),
    ],
)
def test_a_mistake_is_named_at_whatever_rung_it_fails(candidate: Any, name: str | None) -> None:
    report = grade_exercise(BANK, candidate)
    assert not report.passed
    assert report.mistake == name


def test_without_a_name_the_mechanism_is_said() -> None:
    report = grade_exercise(BANK, _times(3))
    assert "This input isolates the function: one number alone" in report.message


def test_a_mistake_that_raises_does_not_explain_wrong_values() -> None:
    exercise = replace(BANK, cases=(case_of((2, 3), gradient="required"), case_of((1, 1))))
    assert grade_exercise(exercise, lambda x: x.exp() + 0.01 * x).mistake is None


def test_two_mistakes_at_once_are_explained_by_the_better_match() -> None:
    def candidate(x: Tensor) -> Tensor:
        return x.exp() * 2 if x.shape[0] == 2 else x.exp() * 7

    assert grade_exercise(BANK, candidate).mistake == "doubled"


def test_two_mistakes_that_are_each_seen_alone_are_both_named() -> None:
    def scaled(x: Tensor, shift: Tensor, by: float = 1.0, sign: float = 1.0) -> Tensor:
        return x * by + sign * shift

    twice = Mistake("twice", lambda x, shift: scaled(x, shift, 2.0), "x is doubled.")
    subtracted = Mistake("minus", lambda x, shift: scaled(x, shift, 1.0, -1.0), "It is taken off.")
    thrice = Mistake("thrice", lambda x, shift: scaled(x, shift, 3.0), "x is trebled.")
    ones, none = torch.ones(2, 3), torch.zeros(2, 3)
    cases = (fixed(ones, none, name="x"), fixed(none, ones, name="shift"), fixed(ones, ones))
    exercise = exercise_of(scaled, *cases, mistakes=(thrice, twice, subtracted))

    report = grade_exercise(exercise, lambda x, shift: x * 2 - shift)
    assert report.mistakes == ("twice", "minus")
    assert (report.diagnosis or "").endswith("x is doubled. Besides: It is taken off.")
    never_alone = replace(exercise, cases=(cases[0], cases[2]))
    assert len(grade_exercise(never_alone, lambda x, shift: x * 2 - shift).mistakes) < 2
    in_order = exercise_of(
        lambda x, y: (x, y),
        fixed(ones, none),
        mistakes=(
            Mistake("first", lambda x, y: (x + 1, y), "The first is wrong."),
            Mistake("second", lambda x, y: (x, y + 1), "The second is wrong."),
        ),
    )
    assert grade_exercise(in_order, lambda x, y: (x + 1, y + 1)).mistakes == ("first", "second")


@pytest.mark.parametrize(
    ("others", "begins", "ends"),
    [
        (1, "It is doubled.", "On 1 of 6 inputs the result is wrong in another way."),
        (2, "In part: on 4 of 6 inputs the result is that of this mistake.", "It is doubled."),
        (4, "Perhaps: on 2 of 6 inputs the result is that of this mistake.", "It is doubled."),
    ],
)
def test_what_explains_a_part_says_so(others: int, begins: str, ends: str) -> None:
    exercise = replace(BANK, cases=tuple(case_of((n, 2), name=str(n)) for n in range(1, 7)))
    report = grade_exercise(exercise, lambda x: x.exp() * (7 if len(x) <= others else 2))
    assert report.mistakes == ("doubled",)
    assert (report.diagnosis or "").startswith(begins)
    assert (report.diagnosis or "").endswith(ends)


# One run


def test_every_run_begins_with_the_same_seeds() -> None:
    def draws() -> list[float]:
        return [float(torch.rand(())), float(np.random.rand()), random.random()]

    runs = []
    for _ in range(2):
        runs.append(run_once(draws, lambda: ((), {}), None)["value"])
        torch.rand(3), np.random.rand(3), random.random()
    assert runs[0] == runs[1]
    assert runs[0][0] == float(torch.rand((), generator=torch.Generator().manual_seed(0)))


def test_the_run_for_the_gradient_has_inputs_of_its_own() -> None:
    def counts(x: Tensor, calls: list[int]) -> Tensor:
        calls.append(1)
        return x * len(calls)

    result = run_once(counts, lambda: ((torch.ones(1), []), {}), ())
    assert result["value"].tolist() == [1.0]
    assert result["gradients"][0].tolist() == pytest.approx([math.cos(1)])


@pytest.mark.parametrize(("off", "accepted"), [(1e-6, True), (1e-3, False), (5e-3, False)])
def test_a_gradient_is_compared_nearly_as_closely_as_values(off: float, accepted: bool) -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(context: Any, gradient: Tensor) -> Tensor:
            return gradient * 2 * (1 + off)

    exercise = exercise_of(lambda x: x * 2, case_of((2, 3), gradient="required"))
    report = grade_exercise(exercise, Doubled.apply)
    assert report.passed == accepted
    assert accepted or report.rung == "gradient"


# Plain values

numbers = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False),
    st.text(max_size=20),
)
trees = st.recursive(
    numbers,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=5), inner, max_size=4),
        st.sets(st.text(max_size=5), max_size=4),
    ),
    max_leaves=20,
)


@given(trees)
@settings(max_examples=60, deadline=None)
def test_plain_values_come_back_as_they_were(value: Any) -> None:
    assert to_plain(value) == value
    assert same(to_plain(value), to_plain(value), Tolerance())


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_bytes_from_a_candidate_are_read_or_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"damaged|decode|JSON|Expecting|Extra"):
        unpack(data)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_altered_bytes_never_do_more_than_fail(data: st.DataObject) -> None:
    good = bytearray(pack({"a": [torch.ones(2, 3), 1.5, "text"], "b": (True, None)}))
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        unpack(bytes(good))


@pytest.mark.parametrize(
    "dtype",
    [torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64],
)
def test_tensors_come_back_with_their_numbers(dtype: torch.dtype) -> None:
    tensor = torch.arange(6).reshape(2, 3).to(dtype).T
    plain = to_plain(tensor)
    assert isinstance(plain, Array)
    assert (plain.shape, plain.dtype) == ((3, 2), str(dtype).removeprefix("torch."))
    assert plain.array is not None
    assert plain.array.tolist() == tensor.tolist()


def test_the_dictionaries_of_the_standard_library_come_back_as_dictionaries() -> None:
    """A `state_dict()` is an OrderedDict; sums are often gathered in a defaultdict."""
    for kind in (OrderedDict, lambda items: defaultdict(list, items), Counter):
        plain = to_plain(kind({"b": 2, "a": 1}))
        assert type(plain) is dict
        assert plain == {"a": 1, "b": 2}

    class Lying(dict[str, int]):
        pass

    assert to_plain(Lying(a=1)) == Foreign("Lying")


def test_a_set_comes_back_as_a_set() -> None:
    assert to_plain(frozenset({1, "a", (2, "b")})) == {1, "a", (2, "b")}
    assert unpack(pack({"a", "b"})) == {"a", "b"}
    kept, added = to_plain({"a"}), to_plain({"a", "b"})
    assert not same(kept, added, Tolerance())
    assert structure_problem(kept, added) is None
    assert structure_problem(kept, ["a"]) == "expected a set of 1, got a list of 1"


def test_what_is_no_plain_value_comes_back_as_its_class() -> None:
    assert to_plain(object()) == Foreign("object")
    items: list[Any] = []
    items.append(items)
    text = repr(to_plain(items))
    assert "without end" in text
    assert text.count("[") <= MAX_DEPTH + 1


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3))
@settings(max_examples=60, deadline=None)
def test_closeness_is_relative(value: float, scale: float) -> None:
    x = to_plain(torch.tensor([value, 1.0], dtype=torch.float64) * scale)
    near = to_plain(torch.tensor([value * (1 + 1e-7), 1.0], dtype=torch.float64) * scale)
    far = to_plain(torch.tensor([value, 1.001], dtype=torch.float64) * scale)
    assert same(x, near, Tolerance())
    assert same(x, far, Tolerance()) == (abs(value) > 9.9e3)


# Cards


class _Html(HTMLParser):
    """Collects the text and checks that every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if "style" not in self.open else ""


def _markup(report: Report) -> str:
    card = report_card(report)
    parser = _Html()
    parser.feed(card.markup)
    assert not parser.open
    assert card._repr_mimebundle_()["text/plain"] == report.message == repr(card)
    return parser.text


@pytest.mark.parametrize(
    "candidate",
    [mean_and_sum, None, 3, lambda x: x, lambda x: (x.mean(-1, True) * 2, x.sum(-1))],
)
def test_a_card_is_sound_html_and_says_its_state_in_words(candidate: Any) -> None:
    report = grade_exercise(MEAN, candidate)
    text = _markup(report)
    state = "passed" if report.passed else "not yet right" if report.attempted else "to do"
    assert state in text
    assert report.finding.replace("`", "") in text


def test_a_card_shows_both_matrices_and_marks_what_differs() -> None:
    report = grade("masks.causal", lambda n: torch.ones(n, n, dtype=torch.bool))
    text = _markup(report)
    assert "Expected" in text
    assert text.count("≠ True") == 3


def test_a_card_escapes_inputs_and_results() -> None:
    """Words of a corpus may be anything, and so may what is returned."""
    exercise = exercise_of(lambda words: [*words, "</pre>"], fixed(["<script>alert(1)</script>"]))
    report = grade_exercise(exercise, lambda words: [*words, "<img src=x onerror=alert(1)>"])
    assert "<img src=x" in report.message
    assert "<script>" in report.message
    markup = report_card(report).markup
    assert "<script" not in markup
    assert "<img" not in markup
    assert markup.count("</pre>") == 2


def test_a_card_escapes_what_the_candidate_says() -> None:
    def candidate(x: Tensor) -> Any:
        print("<script>alert(1)</script>")
        raise ValueError("<img src=x onerror=alert(1)>")

    markup = report_card(grade_exercise(MEAN, candidate)).markup
    assert "<script" not in markup
    assert "<img" not in markup


def test_a_report_is_the_same_in_every_process() -> None:
    source = (
        "import torch\n"
        "from annotated_transformer.exercises import grade\n"
        "from annotated_transformer.exercises.reports.card import report_card\n"
        "report = grade('masks.causal', lambda n: object() if n > 2 else None)\n"
        "print(report.message, report_card(report).markup)\n"
    )
    command = [sys.executable, "-c", source]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout
    assert "0x" not in runs[0].stdout


# check, hint, solution, progress


def right(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).tril()


def wrong(n: int) -> Tensor:
    return ~right(n)


def test_check_records_attempts_but_not_stubs(capsys: pytest.CaptureFixture[str]) -> None:
    check("masks.causal", None)  # type: ignore[arg-type]
    assert read_records() == {}
    check("masks.causal", wrong)
    check("masks.causal", right)
    record = read_records()["masks.causal"]
    assert (record.attempts, record.level) == (2, 1)
    assert record.solved is not None
    assert "masks.causal (The causal mask): passed" in capsys.readouterr().out


def test_what_check_shows_does_not_depend_on_the_past(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for _ in range(2):
        check("masks.causal", wrong)
        shown.append(capsys.readouterr().out)
        hint("masks.causal")
        capsys.readouterr()
    assert shown[0] == shown[1]


def test_hints_come_one_a_call(capsys: pytest.CaptureFixture[str]) -> None:
    hints = catalogue()["masks.causal"].hints
    for expected in (*hints, hints[-1]):
        hint("masks.causal")
        assert expected in capsys.readouterr().out
    with pytest.raises(CallError, match=r"masks\.causal"):
        hint("masks.casual")


def test_the_solution_shows_source_and_explanation(capsys: pytest.CaptureFixture[str]) -> None:
    solution("masks.causal")
    shown = capsys.readouterr().out
    assert "def causal_mask(n):" in shown
    assert catalogue()["masks.causal"].explanation in shown
    assert read_records()["masks.causal"].solution_seen


def test_progress_lists_every_exercise(capsys: pytest.CaptureFixture[str]) -> None:
    check("masks.causal", right)
    capsys.readouterr()
    progress()
    shown = capsys.readouterr().out
    assert all(exercise in shown for exercise in catalogue())
    assert re.search(
        r"masks\.causal +The causal mask +solved +\d{4}-\d\d-\d\d +1 +5 +1 +0\n", shown
    )
    assert f"1 of {len(catalogue())} solved, 0 due" in shown


def test_the_progress_command(capsys: pytest.CaptureFixture[str], progress_file: Path) -> None:
    check("masks.causal", right)
    capsys.readouterr()
    assert main(["progress", "--format", "json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["path"] == str(progress_file)
    states = {row["id"]: row["state"] for row in tree["exercises"]}
    assert states.pop("masks.causal") == "solved"
    assert set(states.values()) <= {"open"}
    assert main(["progress"]) == 0
    assert "masks.causal" in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff\xfe", b"[]", b'{"exercises": 3}'),
        b'{"version": 1, "exercises": {"masks.causal": {"attempts": "many"}}}',
    ],
)
def test_a_damaged_progress_file_is_kept_aside(progress_file: Path, content: bytes) -> None:
    progress_file.parent.mkdir()
    progress_file.write_bytes(content)
    assert read_records() == {}
    remark = change_record("masks.causal", lambda record: record.update(True, date(2026, 1, 1)))
    assert remark is not None
    assert "could not be read" in remark
    aside = progress_file.with_name("progress.json.damaged-1")
    assert aside.read_bytes() == content
    assert read_records()["masks.causal"].attempts == 1


def test_a_folder_that_cannot_be_written_does_not_stop_a_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_PROGRESS", str(blocked / "progress.json"))
    check("masks.causal", right)
    assert "passed" in capsys.readouterr().out
    remark = change_record("masks.causal", lambda record: None)
    assert remark is not None
    assert "could not be stored" in remark


def test_two_kernels_may_record_at_once(progress_file: Path) -> None:
    def attempts() -> None:
        for _ in range(20):
            change_record("masks.causal", lambda record: record.update(False, date(2026, 1, 1)))

    workers = [threading.Thread(target=attempts) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert read_records()["masks.causal"].attempts == 80
    assert stat.S_ISREG(progress_file.stat().st_mode)
    assert [p.name for p in progress_file.parent.iterdir() if p.suffix == ".new"] == []


def test_the_file_is_replaced_in_one_step(progress_file: Path) -> None:
    """Who has opened it keeps a whole file, whatever happens to the process that writes."""
    change_record("masks.causal", lambda record: record.update(False, date(2026, 1, 1)))
    with progress_file.open("rb") as file:
        change_record("masks.causal", lambda record: record.update(False, date(2026, 1, 2)))
        assert json.loads(file.read())["exercises"]["masks.causal"]["attempts"] == 1
    assert read_records()["masks.causal"].attempts == 2


def test_an_exercise_drawn_per_learner() -> None:
    drawn = [exercise for exercise in catalogue().values() if exercise.vary is not None]
    for exercise in drawn:
        assert find(exercise.id, 0) is exercise
        other = find(exercise.id, 5)
        assert other is not None
        assert other.id == exercise.id
        assert other.statement != exercise.statement or other.starter != exercise.starter


def test_the_part_that_is_shown_holds_the_first_difference():
    """A fault in the second sentence of a batch must be seen, not the equal first one."""

    def only_the_first_sentence(tokens, pad_id=0):
        mask = (tokens[:1] != pad_id)[:, None, None, :]
        return mask.expand(tokens.size(0), 1, 1, -1)

    message = grade("masks.padding", only_the_first_sentence).message
    expected, got = (
        next(line for line in message.splitlines() if line.startswith(word))
        for word in ("Expected:", "Got:")
    )
    assert expected.removeprefix("Expected:").strip() != got.removeprefix("Got:").strip()


# What is said of any exercise


def test_a_regularity_is_said_only_where_it_holds_on_every_input() -> None:
    halves = fixed(torch.tensor([0.5, 0.5]), name="halves", dtype=torch.float32)
    three = fixed(torch.tensor([0.5, 0.3, 0.2]), name="three", dtype=torch.float32)
    for cases, candidate, words in (
        ((halves, three), lambda p: p * p, None),  # half of 0.5 twice, by coincidence
        ((halves,), lambda p: p + 1, None),  # a factor or an amount: two equal numbers say neither
        ((halves, three), lambda p: p * 3, "3 times what it should be"),
        ((halves, three), lambda p: p + 1, None),  # on `halves` it looks like a factor
        ((three, halves), lambda p: p.flip(0), "in other places"),
    ):
        report = grade_exercise(exercise_of(lambda p: p * 1, *cases), candidate)
        assert not report.passed
        assert (words or "") in (report.diagnosis or "")
        assert words or not report.diagnosis


def test_one_right_answer_is_one() -> None:
    right = {"shape": (2, 3), "variance": 64.0, "stable": True}
    for wrong, words in (
        ({}, "Right in all 3 answers."),
        ({"stable": False}, "2 of 3 answers are right."),
        ({"stable": False, "variance": 8}, "1 of 3 answers is right."),
    ):
        assert grade_exercise(ANSWERS, lambda wrong=wrong: {**right, **wrong}).finding == words


def test_the_type_of_a_wrong_answer_is_named() -> None:
    right = {"shape": (2, 3), "variance": 64.0, "stable": True}
    for wrong, words in (
        ({"variance": "64"}, "This is a string; asked for is a number, without quotes."),
        ({"shape": "(2, 3)"}, "asked for is a tuple or a list, without quotes."),
        ({"stable": 1}, "This is an int; asked for is True or False."),
        ({"variance": 65}, "This is not the value."),
    ):
        assert words in grade_exercise(ANSWERS, lambda wrong=wrong: {**right, **wrong}).message


def test_a_property_of_the_weights_shows_the_weights() -> None:
    def masked_afterwards(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
        weights = (q @ k.mT / q.size(-1) ** 0.5).softmax(-1)
        weights = weights if mask is None else weights * mask
        return weights @ v, weights

    report = grade("attention.scaled_dot_product", masked_afterwards)
    assert report.rung == "invariant"
    assert "weights of a query do not sum to 1" in report.finding
    assert report.finding.endswith("Shown is `result[1]` (`weights`).")
    assert report.expected.array.sum(-1).max() == pytest.approx(1)
    assert not np.allclose(report.got.array.sum(-1), report.expected.array.sum(-1))
