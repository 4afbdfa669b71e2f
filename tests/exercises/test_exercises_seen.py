"""Answers that were seen: written in NumPy, or right and cut off from their inputs."""

import functools
import inspect
import itertools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import numpy_answers as in_numpy
from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Report, call
from annotated_transformer.exercises.grader.arrays import taking_arrays, uses_numpy
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.grading import grade_exercise
from annotated_transformer.exercises.grader.ladder import BY_TORCH, IN_NUMPY
from annotated_transformer.exercises.instructor.session import Checked, Session
from small_exercises import case_of, exercise_of
from small_notebooks import IMPORTS

TRAINED = "Gradients have to flow back to its inputs: it is trained through."
ACCEPTED = "A tensor from NumPy is accepted with a remark."
Candidate = Callable[..., Any]

RIGHT = {
    "encoder.layer_norm": (in_numpy.layer_norm,),
    "attention.softmax": (
        in_numpy.softmax,
        in_numpy.softmax_by_a_helper,
        in_numpy.softmax_as_a_tensor,
    ),
    "attention.scaled_dot_product": (in_numpy.attention,),
    "masks.padding": (in_numpy.padding_mask,),
    "decoding.greedy": (in_numpy.greedy_decode,),
}
UNTRAINED = {  # right numbers, of functions that are trained through
    "training.label_smoothing_loss": in_numpy.label_smoothing_loss,
    "encoder.sublayer_connection": in_numpy.sublayer_connection,
}
WRONG = {
    "encoder.layer_norm": (in_numpy.layer_norm_unbiased, "unbiased"),
    "attention.softmax": (in_numpy.softmax_overflowing, "overflow"),
    "attention.scaled_dot_product": (in_numpy.attention_without_scale, "no-scale"),
    "training.label_smoothing_loss": (in_numpy.loss_over_all_positions, "mean-over-all"),
    "encoder.sublayer_connection": (in_numpy.sublayer_connection_before, "pre-norm"),
    "masks.padding": (in_numpy.padding_mask_inverted, "inverted"),
    "masks.causal": (in_numpy.causal_mask, "numpy"),
    "positional.sinusoidal": (in_numpy.sinusoidal_encoding, "numpy-array"),
}
ONE_OF_EACH = [(name, answers[0]) for name, answers in RIGHT.items()]
ALL = [*ONE_OF_EACH, *UNTRAINED.items(), *((name, answer) for name, (answer, _) in WRONG.items())]


def check(name: str, candidate: Candidate) -> Report:
    return grade_exercise(catalogue()[name], candidate)


# Answers in NumPy


@pytest.mark.parametrize(
    ("name", "answer"), [(name, answer) for name, answers in RIGHT.items() for answer in answers]
)
def test_a_right_answer_in_numpy_passes_with_a_remark(name: str, answer: Candidate) -> None:
    report = check(name, answer)
    assert report.passed, report.message
    assert report.notes == (IN_NUMPY,)


@pytest.mark.parametrize("name", UNTRAINED)
def test_what_is_trained_through_has_to_be_written_with_torch(name: str) -> None:
    report = check(name, UNTRAINED[name])
    assert (report.passed, report.rung, report.mistakes) == (False, "gradient", ())
    assert report.finding == f"The values are right. {IN_NUMPY}{BY_TORCH}"


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_answer_in_numpy_gets_its_named_mistake(name: str) -> None:
    answer, mistake = WRONG[name]
    report = check(name, answer)
    assert not report.passed
    assert report.mistake == mistake, report.message


def test_what_is_handed_no_tensor_returns_one() -> None:
    for name, answer in (
        ("masks.causal", in_numpy.causal_mask),
        ("positional.sinusoidal", in_numpy.sinusoidal_encoding),
    ):
        assert not check(name, answer).passed
        report = check(name, lambda *given, answer=answer: torch.from_numpy(answer(*given)))
        assert report.passed, report.message
        assert report.notes == ()


def test_an_exception_of_numpy_on_arrays_is_the_one_that_is_told() -> None:
    report = check("attention.softmax", in_numpy.softmax_without_axis)
    assert "operands could not be broadcast" in report.message
    assert "invalid combination" not in report.message


def test_code_in_torch_that_names_numpy_is_run_on_tensors() -> None:
    def scaled(x: Tensor) -> Tensor:
        scaled = x / np.sqrt(x.size(-1))
        return scaled - scaled.max(-1)  # type: ignore[operator]

    exercise = exercise_of(lambda x: x, case_of((2, 3)))
    report = grade_exercise(exercise, scaled)
    assert "`amax`" in report.message
    one_line = lambda x: (x / np.sqrt(x.size(-1))).softmax()  # noqa: E731
    assert "ndarray" not in grade_exercise(exercise, one_line).message
    assert "callable" not in grade_exercise(exercise, one_line).message


def test_every_kind_of_tensor_crosses_in_lists_and_dictionaries() -> None:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        numbers = torch.rand(2, 3, generator=generator, dtype=dtype)
        kinds = [numbers.half(), numbers > 0.5, torch.arange(3), numbers.bfloat16()]
        return call([numbers, kinds], {"double": lambda x: x * 2}, offset=numbers[0])

    def reference(tensors: Any, functions: Any, offset: Tensor) -> Any:
        x, (half, mask, whole, brain) = tensors
        both = {"sum": functions["double"](x) + offset, "whole": (whole * 2, half + 1)}
        return [both, mask.any(-1), x.mean(), brain.float()]

    def answer(tensors: Any, functions: Any, offset: Any) -> Any:
        x, (half, mask, whole, brain) = tensors
        assert {type(part) for part in (x, half, mask, whole, offset)} == {np.ndarray}
        both = {
            "sum": functions["double"](x) + offset,
            "whole": (whole * 2, half + half.dtype.type(1)),
        }
        return [both, np.any(mask, axis=-1), np.mean(x, axis=(0, 1)), brain]

    report = grade_exercise(exercise_of(reference, Case("all kinds", make)), answer)
    assert report.passed, report.message


def test_inputs_that_an_answer_in_numpy_changes_are_changed() -> None:
    def answer(x: Any) -> Any:
        x -= np.mean(x, axis=-1, keepdims=True)
        return x

    exercise = exercise_of(lambda x: x - x.mean(-1, keepdim=True), case_of((2, 3)))
    assert grade_exercise(exercise, answer).rung == "untouched"


def test_a_dtype_is_judged_on_arrays_too() -> None:
    exercise = exercise_of(lambda x: x.mean(-1), case_of((2, 3), dtype=torch.float32))
    wide = grade_exercise(exercise, lambda x: np.mean(x, axis=-1, dtype=np.float64))
    assert wide.rung == "dtype"
    assert "expected float32, got float64" in wide.finding
    assert grade_exercise(exercise, lambda x: np.mean(x, axis=-1)).passed


def test_numpy_is_known_by_the_code() -> None:
    def imports_it(x: Any) -> Any:
        import numpy.linalg as la

        return la.norm(x)

    def in_a_loop(x: Any) -> Any:
        return [np.exp(row) for row in x]

    def around(function: Candidate) -> Candidate:
        @functools.wraps(function)
        def call(*given: Any) -> Any:
            return function(*given)

        return call

    class Callable_:  # noqa: N801
        def __call__(self, x: Any) -> Any:
            return np.exp(x)

        def method(self, x: Any) -> Any:
            return np.exp(x)

    named = (imports_it, in_a_loop, around(in_a_loop), functools.partial(in_a_loop, 1))
    for function in (*named, Callable_(), Callable_().method, in_numpy.softmax_by_a_helper):
        assert uses_numpy(function), function
    for function in (lambda x: x.numpy(), torch.exp, np, 3, math.exp, around(torch.exp), Report):
        assert not uses_numpy(function), function


def test_an_array_that_torch_lacks_stays_one() -> None:
    words = taking_arrays(lambda: [np.array(["a"]), np.array([1])])()
    assert [type(part) for part in words] == [np.ndarray, Tensor]


@pytest.mark.skipif(sys.platform == "win32", reason="grade needs Linux or macOS")
def test_an_instructor_judges_numpy_as_check_does() -> None:
    cells = [(1, f"{IMPORTS}\nimport numpy as np\nfrom typing import Any")]
    for number, (name, answer) in enumerate(ALL, 2):
        helpers = [in_numpy.layer_norm, in_numpy.attention, in_numpy.padding_mask]
        source = "\n".join(map(inspect.getsource, [*helpers, answer]))
        cells.append((number, f"{source}\ncheck({name!r}, {answer.__name__})"))
    with Session(cells, Limits(), 120) as session:
        there = [
            session.grade(catalogue()[event.exercise_id])
            for event in session.events()
            if isinstance(event, Checked)
        ]
    assert session.end == "finished"
    here = [check(name, answer) for name, answer in ALL]
    for one, other in zip(here, there, strict=True):
        assert (one.passed, one.rung, one.mistakes, one.notes, one.finding) == (
            (other.passed, other.rung, other.mistakes, other.notes, other.finding)
        )


@pytest.mark.skipif(sys.platform == "win32", reason="grade needs Linux or macOS")
def test_an_observer_of_the_instructor_sees_one_run() -> None:
    """What a function among the arguments remembers begins anew where arrays are handed over."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        seen: list[int] = []

        def count(x: Tensor) -> Tensor:
            seen.append(1)
            return x * len(seen)

        return call(torch.ones(2, 3, dtype=dtype), count)

    def observe(function: Candidate, x: Tensor, count: Candidate) -> Any:
        return [function(x, count), count(x)]

    def reference(x: Tensor, count: Candidate) -> Tensor:
        return count(x).mean(-1) + count(x).mean(-1)

    source = (
        "def f(x, count):\n"
        "    return np.mean(count(x), axis=-1, keepdims=False) + np.mean(count(x), axis=-1)"
    )
    space: dict[str, Any] = {"np": np, "__name__": "__main__"}
    exec(source, space)
    for observer in (None, observe):
        exercise = exercise_of(reference, Case("ones", make, observe=observer))
        cells = [(1, f"{IMPORTS}\nimport numpy as np\n{source}\ncheck({exercise.id!r}, f)")]
        with Session(cells, Limits(), 60) as session:
            reports = [session.grade(exercise) for e in session.events() if isinstance(e, Checked)]
        for report in (*reports, grade_exercise(exercise, space["f"])):
            assert report.passed, report.message
            assert report.notes == (IN_NUMPY,)


# Right results that are cut off from their inputs


def cuts(reference: Candidate) -> dict[str, Candidate]:
    """The reference with its result cut off, as it happens."""

    def of_each(change: Candidate) -> Candidate:
        def call(*given: Any, **named: Any) -> Any:
            result = reference(*given, **named)
            return tuple(map(change, result)) if isinstance(result, tuple) else change(result)

        return call

    return {
        "detach": of_each(lambda y: y.detach()),
        "data": of_each(lambda y: y.data),
        "no_grad": torch.no_grad()(reference),
        "numbers": of_each(lambda y: torch.tensor(y.tolist(), dtype=y.dtype)),
    }


TRAINED_THROUGH = [
    *("training.accumulated_loss", "training.label_smoothing_loss"),
    *("encoder.sublayer_connection", "multihead.split_heads", "multihead.merge_heads"),
    *("encoder.layer", "decoder.layer", "encoder.embed", "beyond.rope", "beyond.swiglu"),
    *("beyond.grouped_query_attention", "beyond.linear_attention"),
]
IN_TORCH = [
    *("attention.softmax", "attention.scaled_dot_product", "multihead.attention"),
    *("encoder.layer_norm", "encoder.feed_forward", "beyond.rms_norm", "model.tied_logits"),
    "beyond.tiled_attention",
]


@pytest.mark.parametrize(
    ("name", "cut"),
    [
        *itertools.product(TRAINED_THROUGH[:4], ("detach", "data", "no_grad", "numbers")),
        *itertools.product(TRAINED_THROUGH[4:], ("detach", "numbers")),
    ],
)
def test_a_result_that_is_cut_off_is_refused(name: str, cut: str) -> None:
    report = check(name, cuts(catalogue()[name].reference)[cut])
    assert (report.passed, report.rung) == (False, "gradient"), report.message
    if cut == "numbers":
        assert "outside of torch (`.item()`, `.tolist()`" in report.finding
        assert report.finding.endswith(BY_TORCH)
    else:
        assert "to autograd the result no longer depends on the inputs" in report.finding
        assert "`detach`, `.data`, `no_grad`, `.item()`, `float()`" in report.finding
    assert all("detach" in sentence for sentence in [report.diagnosis] if sentence)


@pytest.mark.parametrize("name", IN_TORCH)
def test_it_is_refused_too_where_numpy_is_accepted(name: str) -> None:
    report = check(name, cuts(catalogue()[name].reference)["no_grad"])
    assert (report.passed, report.rung) == (False, "gradient"), report.message


@pytest.mark.parametrize("name", ["training.accumulated_loss", "training.label_smoothing_loss"])
def test_a_loss_that_is_a_number_is_refused(name: str) -> None:
    reference = catalogue()[name].reference
    report = check(name, lambda *given: reference(*given).item())
    assert (report.passed, report.rung) == (False, "gradient"), report.message
    assert "`.item()`" in report.finding


def test_an_encoding_is_not_trained() -> None:
    def embed(tokens: Tensor, table: Tensor, pe: Tensor) -> Tensor:
        return table[tokens] * table.size(1) ** 0.5 + pe[: tokens.size(1)].requires_grad_(False)

    report = check("encoder.embed", embed)
    assert report.passed, report.message
    assert report.notes == ()


@pytest.mark.parametrize("exercise", catalogue().values(), ids=lambda exercise: exercise.id)
def test_a_statement_asks_for_the_gradients_that_are_asked_for(exercise: Exercise) -> None:
    asked = {case.gradient for case in exercise.cases if case.stage == "main"}
    wanted = (
        TRAINED if exercise.id != "encoder.embed" else "Gradients have to flow back to the table"
    )
    assert (wanted in exercise.statement) == bool(asked & {"required", "in torch"})
    assert (ACCEPTED in exercise.statement) == ("in torch" in asked)
    assert (exercise.id in TRAINED_THROUGH) == ("required" in asked)
    assert (exercise.id in IN_TORCH) == ("in torch" in asked)
