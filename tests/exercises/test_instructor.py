"""Instructor mode: a class of notebooks, solved, half solved, wrong and hostile, and its marks."""

import functools
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from annotated_transformer.exercises.catalogue import catalogue, find
from annotated_transformer.exercises.exercise import Exercise
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.instructor import ALL_WALLS
from annotated_transformer.exercises.instructor.session import Session
from annotated_transformer.exercises.notebooks import IMPORTS, code_solved, solved, workbook

EXERCISES = list(catalogue().values())
SET = [  # what the class was asked to do, code and named answers
    "attention.softmax",
    "attention.predict_shapes",
    "attention.scaled_dot_product",
    "masks.causal",
    "masks.padding",
    "masks.find_bug",
    "multihead.split_heads",
    "multihead.equivariance",
]
POINTS = {name: exercise.difficulty for name in SET if (exercise := catalogue()[name])}
ALL_POINTS = sum(POINTS.values())

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="grade needs Linux or macOS")
COMMAND = "import sys; from annotated_transformer.cli import main; sys.exit(main())"

# Wrong answers, each with the misconception that the marks have to name.
WRONG = {
    "attention.softmax": (
        "def softmax(x, dim=-1):\n    return x.exp() / x.exp().sum(dim, keepdim=True)",
        "overflow",
    ),
    "attention.scaled_dot_product": (
        "def scaled_dot_product_attention(q, k, v, mask=None):\n"
        "    scores = q @ k.transpose(-2, -1)\n"
        "    if mask is not None:\n"
        "        scores = scores.masked_fill(~mask, float('-inf'))\n"
        "    weights = scores.softmax(-1).nan_to_num(0.0)\n"
        "    return weights @ v, weights",
        "no-scale",
    ),
    "masks.causal": (
        "def causal_mask(n):\n    return torch.ones(n, n).triu(1).bool()",
        "inverted",
    ),
    "multihead.split_heads": (
        "def split_heads(x, n_heads):\n"
        "    b, n, d = x.shape\n"
        "    return x.view(b, n_heads, n, d // n_heads)",
        "view-only-of-what-is-contiguous",
    ),
}

GOOD_MASK = code_solved(catalogue()["masks.causal"])
FORGED = """
import os, struct
for descriptor in range(3, 64):
    try:
        os.write(descriptor, struct.pack("<BIQ", {}, 1, 4) + b"abcd")
    except OSError:
        pass
"""
# The worker shares its interpreter with the cells, which can find it: the walls are the kernel's.
REACH = """
import sys
frame = sys._getframe()
while type(frame.f_locals.get("self")).__name__ != "Worker":
    frame = frame.f_back
worker = frame.f_locals["self"]
"""
# Cells that attack, each between a right answer to masks.causal and one to masks.padding.
# True: the notebook goes on after the attack, so both answers count; False: only the first.
HOSTILE: dict[str, tuple[str, bool]] = {
    "leaves": ("import os\nos._exit(0)", False),
    "loops": ("while True:\n    pass", False),
    "exits": ("import sys\nsys.exit(3)", True),
    "prints": ("for _ in range(200_000):\n    print('x' * 1000)", True),
    "forks": ("import os\nfor _ in range(50):\n    os.fork()", True),
    "starts": ("import subprocess\nsubprocess.run(['touch', '/tmp/touched'])", True),
    "eats": (
        "hoard = []\ntry:\n    while True:\n        hoard.append(bytearray(1 << 28))\n"
        "finally:\n    del hoard",
        True,
    ),
    "recurses": ("def f():\n    return f()\nf()", True),
    "patches": (
        "torch.allclose = torch.equal = lambda *a, **k: True\n"
        "torch.Tensor.__eq__ = lambda *a: True\n"
        "torch.ones = torch.zeros",
        True,
    ),
    "forges a reply": (FORGED.format(6), True),
    "forges the end": (FORGED.format(11), False),
    "closes": ("import os\nos.closerange(3, 64)", False),
    "kills": ("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)", True),
    "deletes": (
        "import shutil, pathlib\nshutil.rmtree(pathlib.Path(TARGET).parent)",
        True,
    ),
    "writes": ("open(TARGET, 'w').write('changed')", True),
    "writes below Python": (
        "torch.from_file(TARGET, shared=True, size=8, dtype=torch.uint8).zero_()",
        True,
    ),
    "calls out": (
        "import socket\nsocket.create_connection(('127.0.0.1', 9), timeout=1)",
        True,
    ),
    "reads the solutions": ("print(open(SOLUTIONS).read())", True),
    "reads them below Python": (
        "torch.from_file(SOLUTIONS, size=64, dtype=torch.uint8)[0].item()",
        True,
    ),
    "traces": ("import sys\nsys.settrace(lambda *a: None)", True),
    "replaces check": ("check = print", False),
    "begins again": (
        REACH + "while True:\n    worker.channel.send(1, worker.modules.values.pack([]))",
        False,
    ),
    "claims walls": (
        REACH + "worker.channel.send(1, worker.modules.values.pack(['unicorns']))",
        False,
    ),
    "sends nonsense": (REACH + "worker.channel.send(3, b'\\xff' * 100)", False),
    "never ends its check": (
        "def shift_matrix(k, d_model):\n    while True:\n        pass\n"
        "check('positional.shift_matrix', shift_matrix)",
        True,
    ),
    "leaves its check": (
        "import os\n"
        "def shift_matrix(k, d_model):\n    os._exit(0)\n"
        "check('positional.shift_matrix', shift_matrix)",
        True,
    ),
    "returns too large a number": (
        "check('training.noam_rate', lambda *a: 10**400)",
        True,
    ),
    "sends and does not read": (
        REACH + "def layer(x, *rest):\n"
        "    while True:\n"
        "        worker.channel.send(7, worker.modules.values.pack([0, 0, [x], {}, []]))\n"
        "check('encoder.sublayer_connection', layer)",
        False,
    ),
    "changes modes and dates": (
        REACH + "import os\n"
        "worker.modules.confinement._TOUCHES_PATHS = frozenset()\n"
        "for change in (lambda: os.chmod(TARGET, 0), lambda: os.utime(TARGET, (0, 0)),\n"
        "               lambda: os.setxattr(TARGET, 'user.x', b'x')):\n"
        "    try:\n"
        "        change()\n"
        "    except OSError as error:\n"
        "        print(error)",
        True,
    ),
    "fills its folder": (
        "for n in range(100):\n"
        "    with open(f'{n}', 'wb') as file:\n"
        "        file.write(bytes(1 << 23))",
        True,
    ),
}
# Where the kernel puts up no walls (a container that forbids it, another system), these are tried.
WITHOUT_WALLS = ("exits", "prints", "recurses", "patches", "traces", "replaces check", "closes")
MADE_BY_HAND = {
    "not json": (b"{", "is not a notebook"),
    "a list": (b"[]", "no list of cells"),
    "empty": (b"", "is not a notebook"),
    "deep": (b"[" * 100_000, "is not a notebook"),
}


@dataclass
class Expected:
    """states: of each exercise, where it is not "missing". mistakes: by exercise."""

    states: dict[str, str] = field(default_factory=dict)
    mistakes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Class:
    folder: Path
    expected: dict[str, Expected]
    first: dict[str, Any]
    second: dict[str, Any]
    seconds: float


@functools.cache
def walls() -> list[str]:
    """Those that this machine lets a notebook be put behind."""
    with Session([], Limits(), 60) as session:
        assert not list(session.events())
        return session.walls


def write(path: Path, notebook: dict[str, Any]) -> None:
    path.write_text(json.dumps(notebook), encoding="utf-8")


def of_cells(*sources: str) -> dict[str, Any]:
    cells = [
        {"cell_type": "code", "metadata": {}, "source": s, "outputs": [], "execution_count": None}
        for s in sources
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def processor_seconds() -> float:
    """Used by all processes that this one has started and that have ended, theirs included."""
    used = os.times()
    return used.children_user + used.children_system


def grade(*arguments: str | Path, timeout: float = 1500) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", COMMAND, "grade", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout)


def make_class(folder: Path, target: Path) -> dict[str, Expected]:
    """Over fifty notebooks; what each must get."""
    expected: dict[str, Expected] = {}
    given = workbook([catalogue()[name] for name in SET], "Exercises")

    def add(name: str, notebook: dict[str, Any], wanted: Expected) -> None:
        write(folder / f"{name}.ipynb", notebook)
        expected[name] = wanted

    for number in range(6):
        add(f"solved {number}", solved(given), Expected(dict.fromkeys(SET, "passed")))
    for number in range(6):
        done = {name for place, name in enumerate(SET) if (place + number) % 2 == 0}
        half = solved(given, lambda e, done=done: code_solved(e) if e.id in done else None)
        states = {name: "passed" if name in done else "not attempted" for name in SET}
        add(f"half {number}", half, Expected(states))
    for number in range(8):
        wrong = dict(list(WRONG.items())[: number % 4 + 1])

        def answer(exercise: Exercise, wrong: dict[str, tuple[str, str]] = wrong) -> str:
            right = code_solved(exercise)
            if exercise.id not in wrong:
                return right
            return f"{wrong[exercise.id][0]}\n\n{right.splitlines()[-1]}"

        states = {name: "wrong" if name in wrong else "passed" for name in SET}
        mistakes = {name: mistake for name, (_, mistake) in wrong.items()}
        add(f"wrong {number}", solved(given, answer), Expected(states, mistakes))
    solutions = Path(sys.modules[find.__module__].__file__ or "").parent / "masks" / "causal.py"
    names = f"TARGET = {str(target)!r}\nSOLUTIONS = {str(solutions)!r}"
    last = code_solved(catalogue()["masks.padding"])
    attacks = HOSTILE if walls() == list(ALL_WALLS) else {n: HOSTILE[n] for n in WITHOUT_WALLS}
    for name, (attack, goes_on) in attacks.items():
        states = {"masks.causal": "passed"} | ({"masks.padding": "passed"} if goes_on else {})
        add(f"hostile {name}", of_cells(IMPORTS, names, GOOD_MASK, attack, last), Expected(states))
    for name, (data, _) in MADE_BY_HAND.items():
        (folder / f"unreadable {name}.ipynb").write_bytes(data)
        expected[f"unreadable {name}"] = Expected()
    add("unrun", given, Expected(dict.fromkeys(SET, "not attempted")))
    return expected


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Class:
    folder = tmp_path_factory.mktemp("class")
    target = tmp_path_factory.mktemp("outside") / "file"
    target.write_text("precious")
    expected = make_class(folder, target)
    (folder.parent / "week.toml").write_text(
        'title = "Week 3"\n[points]\n' + "".join(f'"{k}" = {v}\n' for k, v in POINTS.items())
    )
    before = target.stat().st_mode, target.stat().st_mtime
    trees, begun = [], processor_seconds()
    for _ in range(2):
        done = grade(
            folder,
            *("--assignment", folder.parent / "week.toml"),
            *("--format", "json", "--jobs", "2", "--timeout", "20"),
        )
        assert done.returncode == 1, done.stderr  # some cannot be read
        trees.append(json.loads(done.stdout))
    seconds = (processor_seconds() - begun) / 2
    assert target.read_text() == "precious"
    assert (target.stat().st_mode, target.stat().st_mtime) == before
    return Class(folder, expected, *trees, seconds)


def notebook_of(tree: dict[str, Any], name: str) -> dict[str, Any]:
    found = [one for one in tree["notebooks"] if Path(one["notebook"]).stem == name]
    assert len(found) == 1
    return found[0]


@pytest.mark.slow
def test_a_class_of_fifty_gets_the_right_scores(course: Class) -> None:
    assert len(course.expected) >= 50 or walls() != list(ALL_WALLS)
    wrong = []
    for name, wanted in course.expected.items():
        got = notebook_of(course.first, name)
        states = {one["id"]: one["state"] for one in got["exercises"]}
        mistakes = {one["id"]: one["mistakes"] for one in got["exercises"]}
        passed = sum(POINTS[n] for n, state in wanted.states.items() if state == "passed")
        if (
            states != {n: wanted.states.get(n, "missing") for n in SET}
            or any(mistake not in mistakes[n] for n, mistake in wanted.mistakes.items())
            or (got["points"], got["of"]) != (passed, ALL_POINTS)
        ):
            wrong.append((name, got["end"], states, mistakes, got["failed_cells"]))
    assert not wrong


@pytest.mark.slow
def test_the_walls_that_stood_are_said(course: Class) -> None:
    assert course.first["walls"] == walls()
    if walls() != list(ALL_WALLS):
        pytest.skip(f"this machine lets only {walls()} be put up; the rest was not tried")


@pytest.mark.slow
def test_the_same_class_gets_the_same_marks_again(course: Class) -> None:
    first, second = dict(course.first), dict(course.second)
    pairs = zip(first.pop("notebooks"), second.pop("notebooks"), strict=True)
    assert [(one, other) for one, other in pairs if one != other] == []
    assert first == second


@pytest.mark.slow
def test_a_class_is_graded_in_ten_minutes(course: Class) -> None:
    """Of processor time: by the clock a busy machine takes longer, and `grade` has its limit."""
    assert 0 < course.seconds < 600


@pytest.mark.slow
def test_the_summary_counts_what_the_class_has_in_common(course: Class) -> None:
    counts = {
        (one["exercise"], one["mistake"]): one["notebooks"]
        for one in course.first["misconceptions"]
    }
    for place, (exercise_id, (_, mistake)) in enumerate(WRONG.items()):
        assert counts[exercise_id, mistake] == sum(n % 4 >= place for n in range(8))


@pytest.mark.slow
def test_what_cannot_be_read_says_why(course: Class) -> None:
    for name, (_, why) in MADE_BY_HAND.items():
        got = notebook_of(course.first, f"unreadable {name}")
        assert got["end"] == "unreadable"
        assert why in got["problem"]
