"""What the stand-in says to a mistake, and to what it has not."""

import importlib
from pathlib import Path
from typing import Any

import pytest
import torch

from annotated_transformer.exercises.grader.outcomes import Failure
from annotated_transformer.exercises.grader.wordings import same_to_the_number
from annotated_transformer.standin import torch as standin
from annotated_transformer.standin.torch import NotInThisPage, absent
from both_torches import LIBRARIES
from told import inputs, outcome

# In PyTorch's words to the letter: the grader explains these, and learners look them up.
SAID = Path(__file__).with_name("said.txt").read_text().splitlines()
# Only class and kind are the same: PyTorch's lists of what it would have taken are long.
SAID_SHORTER = {"x.masked_fill(0, 0)", "x.sum(dim=1.0)", "v.clamp(min=0.5, max=v)"}
MISSING = {
    "torch": "OF_TORCH",
    "torch.nn": "OF_NN",
    "torch.nn.functional": "OF_FUNCTIONAL",
    "torch.nn.init": "OF_INIT",
    "torch.linalg": "OF_LINALG",
    "torch.autograd": "OF_AUTOGRAD",
}


@pytest.mark.parametrize("code", SAID)
def test_a_mistake_is_told_in_torchs_words(code: str) -> None:
    one, other = (outcome(code, t, inputs(t, "float32")) for t in LIBRARIES.values())
    assert isinstance(one, str)
    assert ": " in one, "PyTorch raises nothing here"
    if code in SAID_SHORTER:
        assert other[:60] == one[:60]
    else:
        assert other == one


def test_the_grader_takes_the_two_for_one() -> None:
    words = [outcome("x + w", t, inputs(t)) for t in LIBRARIES.values()]
    one, other = (Failure(*said.split(": ", 1)) for said in words)
    assert same_to_the_number(one, other)


@pytest.mark.parametrize(
    "code",
    [
        *("torch.fft", "torch.ones(2).svd()", "torch.nn.LSTM", "torch.ones(2).sum(out=1)"),
        *("torch.ones(2, device='cuda')", "torch.nn.functional.silu(torch.ones(2), inplace=True)"),
        *("torch.autograd.grad(torch.ones(1).requires_grad_().sum(), [], create_graph=True)",),
        *(
            "torch.optim.Adam([])",
            "torch.nn.functional.conv1d",
            "torch.sum(torch.ones(2), 0, 1, 2, 3)",
        ),
        *("torch.nn.functional.pad(torch.ones(1, 2), (1, 1), mode='reflect')",),
    ],
)
def test_what_is_not_here_says_so(code: str) -> None:
    with pytest.raises(NotInThisPage, match=r"not in this page.*Use the notebook"):
        eval(code, {"torch": standin})


def test_it_reaches_who_shows_it_through_an_answers_own_except() -> None:
    assert not issubclass(NotInThisPage, Exception)


def test_a_module_that_is_not_here_says_so() -> None:
    with pytest.raises(NotInThisPage, match=r"torch\.utils"):
        importlib.import_module("annotated_transformer.standin.torch.utils.data")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("annotated_transformer.standin.torch.nonsense")


def test_a_fault_of_the_stand_in_is_a_gap_and_no_mistake() -> None:
    from annotated_transformer.standin.torch.operations import operation

    @operation("broken", function=False, method=False)
    def broken(input: Any) -> Any:
        raise KeyError("a slip")

    with pytest.raises(NotInThisPage, match="broken"):
        broken(standin.ones(1))


@pytest.mark.parametrize("module", MISSING)
def test_every_missing_name_is_one_of_torchs_and_is_missing(module: str) -> None:
    real, own = (eval(module, {"torch": t}) for t in (torch, standin))
    for name in getattr(absent, MISSING[module]):
        assert name not in vars(own), f"{module}.{name} is here by now: take it from the list"
    common = {name for name in dir(real) if not name.startswith("_") and name.islower()}
    unknown = [
        name
        for name in common - set(dir(own)) - getattr(absent, MISSING[module])
        if getattr(getattr(real, name), "__module__", "").startswith("torch")
    ]
    assert not unknown


def test_every_method_is_here_or_known_to_be_missing() -> None:
    real = {name for name in dir(torch.Tensor) if not name.startswith("_")}
    assert not real - set(dir(standin.ones(1))) - absent.OF_TENSOR
    assert not absent.OF_TENSOR & set(dir(standin.ones(1)))
