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
SAID_SHORTER = Path(__file__).with_name("said_shorter.txt").read_text().splitlines()
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
    assert other == one


@pytest.mark.parametrize("code", SAID_SHORTER)
def test_a_mistake_is_told_in_torchs_first_words(code: str) -> None:
    one, other = (outcome(code, t, inputs(t, "float32")) for t in LIBRARIES.values())
    assert isinstance(one, str)
    first, several, _ = one.partition(" received an invalid combination of arguments - got (")
    assert several
    assert other.startswith(first + several)


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
            "torch.utils.data.DataLoader([1, 2])",
            "type('Own', (torch.utils.data.Dataset,), {})",
            "torch.utils.checkpoint.checkpoint(torch.exp, torch.ones(1))",
            "torch.cuda.synchronize()",
            "torch.vmap(lambda r: r.sum().item())(torch.ones(2, 3))",
            "torch.vmap(lambda r: r if r.sum() > 0 else -r)(torch.ones(2, 3))",
            "torch.vmap(lambda r: r[r.argmax()])(torch.ones(2, 3))",
            "torch.vmap(lambda r: r[: r.argmax()])(torch.ones(2, 3))",
            "torch.vmap(lambda r: r[r > 0])(torch.ones(2, 3))",
            "torch.device('cuda')",
            "torch.nn.functional.conv1d",
            "torch.sum(torch.ones(2), 0, True, 2, 3)",
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
    with pytest.raises(NotInThisPage, match=r"torch\.utils\.tensorboard"):
        importlib.import_module("annotated_transformer.standin.torch.utils.tensorboard")
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


LAYERS = {
    **dict.fromkeys(("Module", "Dropout", "Identity", "ReLU", "SiLU", "GELU", "Tanh"), ()),
    **dict.fromkeys(("Sigmoid", "LeakyReLU", "Flatten", "Sequential", "ModuleList"), ()),
    **dict.fromkeys(("ModuleDict", "CrossEntropyLoss", "NLLLoss", "KLDivLoss"), ()),
    **dict.fromkeys(("MSELoss", "L1Loss"), ()),
    **{"Linear": (2, 3), "Embedding": (3, 2), "LayerNorm": (3,), "RMSNorm": (3,)},
    **{"Softmax": (-1,), "LogSoftmax": (-1,), "MultiheadAttention": (4, 2)},
}


@pytest.mark.parametrize("name", LAYERS)
def test_what_a_layer_has_is_here_or_known_to_be_missing(name: str) -> None:
    real, own = (getattr(t.nn, name) for t in LIBRARIES.values())
    missing = absent.OF_MODULE | absent.OF_LAYERS.get(name, frozenset())
    for one, other in ((real, own), (real(*LAYERS[name]), own(*LAYERS[name]))):
        names = {asked for asked in dir(one) if not asked.startswith("_")}
        unknown = names - missing - set(dir(other))
        # Libraries hang methods of their own on torch's layers, for other tests of this process.
        modules = {asked: getattr(getattr(one, asked), "__module__", "torch") for asked in unknown}
        assert not [asked for asked in unknown if modules[asked].startswith("torch")]
    if name != "MultiheadAttention":
        assert repr(real(*LAYERS[name])) == repr(own(*LAYERS[name]))


@pytest.mark.parametrize(
    "code",
    ["torch.Tensor.quantile", "torch.nn.Linear.half", "torch.nn.Linear(2, 2).half", "torch.fft"],
)
def test_what_is_asked_of_a_class_and_is_not_here_says_so(code: str) -> None:
    with pytest.raises(NotInThisPage):
        eval(code, {"torch": standin})
    with pytest.raises(AttributeError):
        _ = standin.Tensor.nonsense
