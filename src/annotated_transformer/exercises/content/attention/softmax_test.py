"""`attention.softmax_test`: a test of the softmax of equation (1)."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.content.attention.softmax import SOFTMAX
from annotated_transformer.exercises.content.turned import turned

Softmax = Callable[..., Tensor]


def test_softmax(softmax: Softmax) -> None:
    torch.manual_seed(0)
    x = 3 * torch.randn(3, 4, 5, dtype=torch.float64)
    x[0, 0] += 1000  # its exponentials are no numbers
    for dim in (0, 1, 2, -1):
        expected = torch.softmax(x, dim)
        torch.testing.assert_close(softmax(x, dim), expected)
    torch.testing.assert_close(softmax(x), torch.softmax(x, -1))
    apart = x.new_tensor([[-1000, -1001], [1000, 1001]])  # no maximum serves both rows
    torch.testing.assert_close(softmax(apart), torch.softmax(apart, -1))


def _by_hand(softmax: Softmax) -> None:
    logs = torch.tensor([[1.0, 2.0, 5.0], [3.0, 3.0, 2.0]]).log()
    rows = torch.tensor([[0.125, 0.25, 0.625], [0.375, 0.375, 0.25]])
    assert torch.allclose(softmax(logs), rows)
    assert torch.allclose(softmax(logs, dim=1), rows)
    columns = torch.tensor([[1 / 4, 2 / 5, 5 / 7], [3 / 4, 3 / 5, 2 / 7]])
    assert torch.allclose(softmax(logs, 0), columns)
    far = softmax(logs + torch.tensor([[-2000.0], [2000.0]]))
    assert torch.allclose(far, rows, atol=1e-3)
    boxes = softmax(logs.expand(2, 2, 3), dim=0)
    assert torch.allclose(boxes, torch.full((2, 2, 3), 0.5))
    assert torch.allclose(softmax(logs.expand(2, 2, 3)), rows.expand(2, 2, 3))
    many = softmax(torch.zeros(7, 3))
    assert torch.allclose(many, torch.full((7, 3), 1 / 3))


def _by_properties(softmax: Softmax) -> None:
    torch.manual_seed(1)
    for shape, dim in (((4,), 0), ((3, 5), 0), ((3, 5), 1), ((2, 3, 4), 1), ((2, 3, 4), -1)):
        x = torch.randn(shape)
        weights = softmax(x, dim)
        assert weights.shape == x.shape
        assert torch.allclose(weights.sum(dim), torch.ones(()))
        assert torch.allclose(softmax(x + 5000, dim), weights, atol=1e-3)  # a shift does nothing
        ratio = weights.log() - x  # the same number along the axis
        assert torch.allclose(ratio, ratio.mean(dim, keepdim=True).expand(shape), atol=1e-5)
        steps = torch.arange(float(x.size(0))) * 4000
        steps = steps.reshape(-1, *[1] * (x.dim() - 1))
        if dim != 0:  # each slice has its own size
            assert torch.allclose(softmax(x + steps, dim), weights, atol=2e-3)
    x = torch.randn(2, 3, 4)
    assert torch.equal(softmax(x), softmax(x, 2))


SOFTMAX_TEST = turned(
    SOFTMAX,
    __file__,
    test_softmax,
    wrong=(
        *("overflow", "global-max", "last-axis", "first-axis", "second-axis", "all-axes"),
        *("not-normalised", "divided-by-mean", "one-added-to-denominator", "sigmoid"),
        *("0.001-added-to-denominator", "log-softmax", "powers-of-two", "clamped", "nan-hidden"),
        *("default-axis-first", "default-axis-second", "standardised"),
    ),
    alternatives=(_by_hand, _by_properties),
    title="A test of softmax",
    ask=(
        "Write a test of `softmax(x, dim=-1)`, which has to be right along every axis and for "
        "numbers as large as 1000."
    ),
    objective="Test a function by an independent one, by hand, or by what must hold for it.",
    hints=(
        "You may compare with `torch.softmax`: nobody here wrote it. What is left to choose are "
        "inputs on which wrong forms differ from it.",
        "Two or more axes of different lengths, each of them once, and once no axis. One slice "
        "near 1000, and one near -1000 beside it: the largest of all does not help the small one.",
        "`x = torch.randn(3, 4, 5, dtype=torch.float64)`, for `dim` in (0, 1, 2, -1); then rows "
        "[-1000, -1001] and [1000, 1001]; each against `torch.softmax` with "
        "`torch.testing.assert_close`.",
    ),
    explanation=(
        "That rows add up to 1 is true of many functions that are no softmax. Together with two "
        "more properties it is enough: a shift of all numbers changes nothing, and the logarithms "
        "of the weights differ as the numbers do. An independent implementation says all of that "
        "at once, if its inputs reach the places where forms differ: another axis, and numbers "
        "whose exponentials are none."
    ),
    difficulty=2,
    minutes=10,
)
