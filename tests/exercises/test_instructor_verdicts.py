"""The verdict of `grade` on a notebook is the verdict that `check` gave its writer."""

import base64
import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle
import pytest

from annotated_transformer.exercises.bank import Edited
from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.exercise import Exercise, Report
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.grading import grade_exercise
from annotated_transformer.exercises.instructor.session import Checked, Session
from sampling import one_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="grade needs Linux or macOS")
EXERCISES = list(catalogue().values())
Candidate = Callable[..., Any]
START = "import base64, pickle\nfrom annotated_transformer.exercises import check"


@contextlib.contextmanager
def by_value() -> Iterator[None]:
    """The package's functions travel with all that they use: it is not there in a notebook."""
    ours = [m for name, m in list(sys.modules.items()) if name.startswith("annotated_transformer")]
    for module in ours:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in ours:
            cloudpickle.unregister_pickle_by_value(module)


def as_cell(exercise: Exercise, candidate: Candidate) -> str:
    if isinstance(candidate, Edited):  # it travels as the function that it is
        candidate = candidate.function
    with by_value():
        data = base64.b64encode(cloudpickle.dumps(candidate)).decode()
    return f"check({exercise.id!r}, pickle.loads(base64.b64decode({data!r})))"


def graded(pairs: list[tuple[Exercise, Candidate]]) -> list[Report]:
    """The reports on candidates that a notebook checks one after the other."""
    cells = [as_cell(exercise, candidate) for exercise, candidate in pairs]
    exercises = {exercise.id: exercise for exercise, _ in pairs}
    reports: list[Report] = []
    with Session(list(enumerate([START, *cells], 1)), Limits(), 600) as session:
        for event in session.events():
            assert isinstance(event, Checked), event
            reports.append(session.grade(exercises[event.exercise_id]))
    assert len(reports) == len(pairs), session.end
    return reports


def told(report: Report) -> tuple[Any, ...]:
    return report.passed, report.attempted, report.rung, report.mistakes, report.finding


def differing(pairs: list[tuple[str, Exercise, Candidate]]) -> dict[str, Any]:
    reports = graded([(exercise, candidate) for _, exercise, candidate in pairs])
    there = dict(zip((name for name, _, _ in pairs), map(told, reports), strict=True))
    here = {name: told(grade_exercise(exercise, one)) for name, exercise, one in pairs}
    return {name: (here[name], there[name]) for name in here if here[name] != there[name]}


@pytest.mark.parametrize(
    ("name", "every"),
    [("beyond.linear_attention", 1), ("beyond.tiled_attention", 1)],
)
@pytest.mark.slow
def test_what_is_watched_is_watched_in_a_notebook_too(name: str, every: int) -> None:
    exercise = catalogue()[name]
    pairs = [(m.name, exercise, m.implementation) for m in exercise.mistakes[::every]]
    pairs += [(f"right {n}", exercise, one) for n, one in enumerate(exercise.alternatives)]
    assert not differing([*pairs, ("reference", exercise, exercise.reference)])


def test_a_matrix_of_all_pairs_is_seen_in_a_notebook() -> None:
    cell = (
        "def linear_attention(phi_q, phi_k, v):\n"
        "    scores = (phi_q @ phi_k.transpose(-2, -1)).tril()\n"
        "    return (scores / scores.sum(-1, keepdim=True)) @ v\n"
        "check('beyond.linear_attention', linear_attention)"
    )
    with Session([(1, START), (2, cell)], Limits(), 60) as session:
        (report,) = [
            session.grade(catalogue()["beyond.linear_attention"])
            for event in session.events()
            if isinstance(event, Checked)
        ]
    assert not report.passed
    assert report.mistakes


BESIDE = {  # right numbers without their gradient, each with an excuse that is none
    "an item beside the way": "    x.sum().item()\n    return torch.softmax(x, dim).detach()",
    "a question beside the way": "    if (x > 9).any():\n        pass\n"
    "    with torch.no_grad():\n        return torch.softmax(x, dim)",
    "half of it": "    e = (x - x.amax(dim, keepdim=True)).exp()\n"
    "    x.max().item()\n    total = e.sum(dim, keepdim=True).detach()\n    return e / total",
    "autograd's words": "    if x.requires_grad:\n"
    "        raise RuntimeError('modified by an inplace operation')\n"
    "    return torch.softmax(x, dim)",
}
OUTSIDE = {  # the statement accepts these, with a remark
    "NumPy": "    e = np.exp(x.numpy() - x.numpy().max(dim, keepdims=True))\n"
    "    return torch.from_numpy(e / e.sum(dim, keepdims=True))",
    "NumPy, detached": "    a = x.detach().numpy()\n    e = np.exp(a - a.max(dim, keepdims=True))\n"
    "    return torch.from_numpy(e / e.sum(dim, keepdims=True))",
    "numbers into a new tensor": "    out = torch.zeros_like(x).movedim(dim, -1)\n"
    "    rows = x.movedim(dim, -1)\n"
    "    for place in np.ndindex(*rows.shape[:-1]):\n"
    "        m = max(v.item() for v in rows[place])\n"
    "        e = [math.exp(v.item() - m) for v in rows[place]]\n"
    "        for j, one in enumerate(e):\n"
    "            out[(*place, j)] = one / sum(e)\n"
    "    return out.movedim(-1, dim)",
}
IN_PLACE = (
    "    e = (x - x.amax(dim, keepdim=True)).exp()\n    e /= e.sum(dim, keepdim=True)\n    return e"
)


def softmax_of(body: str) -> str:
    return f"import math\nimport numpy as np\nimport torch\ndef softmax(x, dim=-1):\n{body}\n"


def both(body: str) -> tuple[Report, Report]:
    """By check and by grade."""
    source, exercise = softmax_of(body), catalogue()["attention.softmax"]
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec"), space)
    cells = [(1, START), (2, f"{source}check('attention.softmax', softmax)")]
    with Session(cells, Limits(), 60) as session:
        (there,) = [session.grade(exercise) for e in session.events() if isinstance(e, Checked)]
    return grade_exercise(exercise, space["softmax"]), there


@pytest.mark.parametrize("name", one_in(4, BESIDE))
def test_no_excuse_skips_a_gradient_that_is_required(name: str) -> None:
    for report in both(BESIDE[name]):
        assert (report.passed, report.rung) == (False, "gradient"), report.message


@pytest.mark.parametrize("body", one_in(4, [IN_PLACE, *OUTSIDE.values()]))
def test_what_the_statement_accepts_passes_with_a_remark(body: str) -> None:
    for report in both(body):
        assert report.passed, report.message
        assert report.notes


@pytest.mark.parametrize(
    "exercises",
    [EXERCISES[::10], pytest.param(EXERCISES, marks=pytest.mark.slow)],
    ids=["one in ten", "all"],
)
def test_a_mistake_of_every_exercise_and_its_solution_get_one_verdict(
    exercises: list[Exercise],
) -> None:
    pairs = [
        (f"{exercise.id} {kind}", exercise, one)
        for exercise in exercises
        for kind, one in (
            ("mistake", exercise.mistakes[0].implementation),
            ("reference", exercise.reference),
        )
    ]
    assert not differing(pairs)
