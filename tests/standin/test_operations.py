"""Each operation of the stand-in against PyTorch: numbers, dtype, shape, memory, gradients.

The expressions stand in `expressions_*.txt`, one a line; the names are those of
`both_torches.inputs`.
"""

import base64
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch as real

from annotated_transformer.standin import torch as standin
from both_torches import LIBRARIES
from front_end import ROOT, command
from told import difference, gradients, inputs, outcome

# No gradient here, and said so.
WITHOUT_GRADIENT = (
    "torch.linalg.pinv(x)",
    "torch.linalg.lstsq(s, s).solution",
    "F.cross_entropy(s, i[0], weight=p[0])",
    "torch.func.jacrev(lambda r: r.softmax(-1))(v)",
    "F.binary_cross_entropy(x.sigmoid(), y.sigmoid())",
)
MEMORY_ORDER_MAY_DIFFER = (
    "rot90",
    "einsum",
    "flip",
    "roll",
    "@",
    "mm(",
    "linalg",
    "solve",
)


EXPRESSIONS = [
    line
    for page in sorted(Path(__file__).parent.glob("expressions_*.txt"))
    for line in page.read_text().splitlines()
]


def _steps_matter(expression: str) -> bool:
    return not any(part in expression for part in MEMORY_ORDER_MAY_DIFFER)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_is_worth_the_same(expression: str) -> None:
    for kind, relative in (("float64", 1e-9), ("float32", 2e-4)):
        one, other = (
            outcome(expression, torch, inputs(torch, kind)) for torch in LIBRARIES.values()
        )
        assert not difference(one, other, relative, _steps_matter(expression)), kind


def _gradients_differ(expression: str, one: Any, other: Any) -> str:
    return difference(one, other, 1e-5 if "float32" in expression else 1e-7, steps=False)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_its_gradients_are_the_same(expression: str) -> None:
    try:
        found = [gradients(expression, torch) for torch in LIBRARIES.values()]
    except standin.NotInThisPage:
        assert expression in WITHOUT_GRADIENT
    else:
        assert not _gradients_differ(expression, *found)


def test_all_of_it_is_the_same_in_the_python_of_a_page() -> None:
    """Some ten seconds: NumPy's own whole numbers have 32 bits there, and here there is no such."""
    script = Path(__file__).with_name("in_pyodide.py")
    runner = Path(__file__).parents[1] / "support" / "pyodide_run.js"
    called = [*command("node"), str(runner), str(ROOT), str(script)]
    done = subprocess.run(called, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    found = pickle.loads(base64.b64decode(done.stdout))
    assert len(found) == 3 * len(EXPRESSIONS)
    others = {}
    for (expression, what), own in found.items():
        if what == "gradients" and expression in WITHOUT_GRADIENT:
            continue
        if what == "gradients":
            apart = _gradients_differ(expression, gradients(expression, real), own)
        else:
            wanted = outcome(expression, real, inputs(real, what))
            apart = difference(wanted, own, 2e-4 if what == "float32" else 1e-9, steps=False)
        if apart:
            others[expression, what] = apart
    assert not others
