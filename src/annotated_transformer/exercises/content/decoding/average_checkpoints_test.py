"""`decoding.average_checkpoints_test`: a test of checkpoint averaging (section 6.1)."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.content.decoding.average_checkpoints import AVERAGE_CHECKPOINTS
from annotated_transformer.exercises.content.turned import turned

State = dict[str, Tensor]
Average = Callable[[list[State]], State]


def test_average_checkpoints(average_checkpoints: Average) -> None:
    torch.manual_seed(0)
    states = [
        {"w": torch.randn(2, 3), "half": torch.randn(4).half(), "steps": torch.tensor([step, 1])}
        for step in (70, 10, 80, 20)
    ]
    averaged = average_checkpoints(states)
    assert averaged.keys() == {"w", "half", "steps"}
    for name in ("w", "half"):
        expected = torch.stack([state[name].double() for state in states]).mean(0)
        assert averaged[name].dtype == states[0][name].dtype
        assert torch.allclose(
            averaged[name].double(), expected, atol=1e-3 if name == "half" else 1e-6
        )
    assert torch.equal(averaged["steps"], torch.tensor([20, 1]))
    assert averaged["steps"].dtype == torch.long


def _by_hand(average_checkpoints: Average) -> None:
    states = [
        {
            "a": torch.tensor([value, -1.0]),
            "b": torch.tensor(2 * value).half(),
            "n": torch.tensor(n),
        }
        for value, n in ((8.0, 5), (2.0, 9), (6.0, 3), (-4.0, 6))
    ]
    averaged = average_checkpoints(states)
    assert sorted(averaged) == ["a", "b", "n"]
    assert torch.equal(averaged["a"], torch.tensor([3.0, -1.0]))
    assert averaged["a"].dtype == torch.float32
    assert averaged["b"].dtype == torch.float16
    assert averaged["b"] == 6
    assert averaged["n"] == 6
    assert averaged["n"].dtype == torch.int64
    assert averaged["n"].shape == ()


def _by_properties(average_checkpoints: Average) -> None:
    torch.manual_seed(1)
    weights = [torch.randn(3, 2, dtype=torch.float64) for _ in range(5)]
    halves = [torch.randn(2).half() for _ in weights]
    states = [
        {"w": w, "half": half, "count": torch.tensor(7 - i)}
        for i, (w, half) in enumerate(zip(weights, halves, strict=True))
    ]
    averaged = average_checkpoints(states)
    assert set(averaged) == {"w", "half", "count"}
    assert averaged["w"].dtype == torch.float64
    assert averaged["half"].dtype == torch.float16
    assert torch.allclose(5 * averaged["w"], sum(weights))  # type: ignore[arg-type]
    mean = sum(half.double() for half in halves) / 5
    assert torch.allclose(averaged["half"].double(), mean, atol=1e-2)  # type: ignore[arg-type]
    assert averaged["count"].item() == 3
    assert not averaged["count"].is_floating_point()
    alone = average_checkpoints(states[:1])
    assert torch.allclose(alone["w"], weights[0])
    shifted = [{**state, "w": state["w"] + 1} for state in states]
    assert torch.allclose(average_checkpoints(shifted)["w"], averaged["w"] + 1)


AVERAGE_CHECKPOINTS_TEST = turned(
    AVERAGE_CHECKPOINTS,
    __file__,
    test_average_checkpoints,
    wrong=(
        *("pairwise", "summed", "one-less", "last-only", "first-only", "first-left-out"),
        *("first-and-last", "last-two", "moving-average-0.9", "median", "mean-of-elements"),
        *("stacked", "integers-averaged-as-floats", "integers-averaged", "integers-summed"),
        *(
            "integers-of-the-first",
            "largest-integers",
            "integers-lost",
            "half-precision-not-averaged",
        ),
        *("all-in-float32", "weighted-by-position"),
    ),
    alternatives=(_by_hand, _by_properties),
    title="A test of checkpoint averaging",
    ask=(
        "Write a test of `average_checkpoints(states)`: of a list of dictionaries of tensors, the "
        "mean of every floating tensor in its own dtype, and of an integer tensor the last."
    ),
    objective="Test what happens to all kinds of entries, not only to the usual one.",
    hints=(
        "What lies in a checkpoint besides weights in single precision? A counter, weights in "
        "half precision.",
        "Two checkpoints do not tell a mean from a mean of pairs, nor three equal steps a mean "
        "from a median. Take four, in no order, with a counter that is largest in the middle.",
        'States like `{"w": torch.randn(2, 3), "half": torch.randn(4).half(), '
        '"steps": torch.tensor(step)}` for steps 70, 10, 80, 20: the means, their dtypes, and 20.',
    ),
    explanation=(
        "A wrong average is a model like any other: it loads, and its scores are a little lower. "
        "Counters and half precision are where averaging goes wrong unseen, so they are in the "
        "test; and four checkpoints in no order, since two or three in a row are special."
    ),
    difficulty=2,
    minutes=10,
)
