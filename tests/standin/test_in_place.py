"""Statements that change tensors, share memory, or go back: the same with PyTorch and stand-in."""

import textwrap
from pathlib import Path

import pytest

from both_torches import LIBRARIES
from told import after, difference, inputs

STATEMENTS = {
    name: textwrap.dedent(code)
    for block in Path(__file__).with_name("statements.md").read_text().split("\n## ")[1:]
    for name, _, code in [block.partition("\n")]
}


@pytest.mark.parametrize("code", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_statements_leave_the_same_behind(code: str) -> None:
    one, other = (after(code, torch, inputs(torch)) for torch in LIBRARIES.values())
    assert not difference(one, other, 1e-6, steps=False)
