"""`encoder.layer_norm_test`: a test of layer normalisation (section 3.1)."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.content.encoder.layer_norm import LAYER_NORM
from annotated_transformer.exercises.content.turned import turned

Norm = Callable[..., Tensor]


def test_layer_norm(layer_norm: Norm) -> None:
    torch.manual_seed(0)
    gamma, beta = torch.randn(2, 4, dtype=torch.float64)
    for shape in ((4,), (3, 4), (2, 3, 4), (2, 5, 3, 4)):
        x = 2 * torch.randn(shape, dtype=torch.float64) + 3
        for eps in (1e-6, 0.5):
            expected = torch.nn.functional.layer_norm(x, (4,), gamma, beta, eps)
            torch.testing.assert_close(layer_norm(x, gamma, beta, eps), expected)
    flat = x.new_tensor([[7, 7, 7, 7], [1, 1.002, 1, 1.002]])  # eps decides here
    expected = torch.nn.functional.layer_norm(flat, (4,), gamma, beta, 1e-6)
    torch.testing.assert_close(layer_norm(flat, gamma, beta), expected)


def _by_hand(layer_norm: Norm) -> None:
    x = torch.tensor([[[1.0, 3.0], [10.0, 4.0]]])  # means 2 and 7, variances 1 and 9
    gamma, beta = torch.tensor([2.0, -1.0]), torch.tensor([0.5, 10.0])
    plain = layer_norm(x, gamma, beta)
    assert torch.allclose(plain, torch.tensor([[[-1.5, 9.0], [2.5, 11.0]]]), atol=1e-5)
    eased = layer_norm(x, gamma, beta, eps=3.0)  # roots of 4 and of 12
    seven = 3 / 12**0.5
    expected = torch.tensor([[[-0.5, 9.5], [2 * seven + 0.5, seven + 10]]])
    assert torch.allclose(eased, expected, atol=1e-5)
    assert torch.allclose(layer_norm(torch.full((3, 2), 5.0), gamma, beta), beta.expand(3, 2))
    tiny = layer_norm(torch.tensor([[0.001, -0.001]]), torch.ones(2), torch.zeros(2))
    half = torch.tensor(0.5).sqrt()  # variance and eps are the same
    assert torch.allclose(tiny, torch.stack([half, -half]), atol=1e-4)
    assert torch.allclose(layer_norm(x[0, 0], gamma, beta), torch.tensor([-1.5, 9.0]), atol=1e-5)


def _by_properties(layer_norm: Norm) -> None:
    torch.manual_seed(1)
    x = torch.randn(2, 3, 8, dtype=torch.float64)
    one, none = torch.ones(8, dtype=torch.float64), torch.zeros(8, dtype=torch.float64)
    for inputs in (x, x[0], x[0, 0], x[None]):
        normalised = layer_norm(inputs, one, none, 1e-12)
        assert torch.allclose(normalised.mean(-1), torch.zeros((), dtype=torch.float64), atol=1e-9)
        assert torch.allclose(normalised.var(-1, correction=0), torch.ones_like(inputs[..., 0]))
        assert torch.allclose(layer_norm(5 * inputs + 2, one, none, 1e-12), normalised)
        root = ((inputs.var(-1, correction=0) + 0.25) ** 0.5)[..., None]
        eased = layer_norm(inputs, one, none, 0.25)
        assert torch.allclose(eased, (inputs - inputs.mean(-1, keepdim=True)) / root)
    gamma, beta = torch.randn(2, 8, dtype=torch.float64)
    normalised = layer_norm(x, one, none)
    assert torch.allclose(layer_norm(x, gamma, beta), gamma * normalised + beta)
    small = layer_norm(1e-3 * x, one, none)
    root = ((1e-3 * x).var(-1, correction=0) + 1e-6).sqrt()[..., None]
    assert torch.allclose(small, 1e-3 * (x - x.mean(-1, keepdim=True)) / root)
    assert torch.allclose(layer_norm(0 * x, gamma, beta), beta.expand_as(x))


LAYER_NORM_TEST = turned(
    LAYER_NORM,
    __file__,
    test_layer_norm,
    wrong=(
        *("unbiased", "eps-outside", "no-eps", "eps-1e-5-fixed", "first-axis", "second-axis"),
        *("whole-tensor", "each-sentence", "batch-norm", "rms-norm", "variance-not-centred"),
        *("mean-absolute-deviation", "no-root", "no-division", "no-gain", "no-shift"),
        *("gain-and-shift-exchanged", "shift-inside", "gain-plus-one", "default-1e-05"),
        *("default-0.001", "eps-on-both-sides", "three-axes-only", "two-axes-only"),
    ),
    alternatives=(_by_hand, _by_properties),
    title="A test of layer normalisation",
    ask=(
        "Write a test of `layer_norm(x, gamma, beta, eps=1e-6)`, which normalises the last axis of "
        "x of any number of axes, with the population variance and eps inside the root."
    ),
    objective="Test a layer against PyTorch's, where forms differ by little.",
    hints=(
        "`torch.nn.functional.layer_norm(x, (d,), gamma, beta, eps)` is there to compare with. "
        "With which gamma and beta would a form pass that forgets them?",
        "eps = 1e-6 is nowhere to be seen beside a variance of 1. Take a large one as well; and "
        "once a row of equal numbers, and one that hardly varies, with the default.",
        "x of one to four axes in double precision, gamma and beta drawn, eps 1e-6 and 0.5; then "
        "`[[7, 7, 7, 7], [1, 1.002, 1, 1.002]]` without eps against PyTorch's with 1e-6.",
    ),
    explanation=(
        "gamma of ones and beta of zeros, as they begin, hide half of the mistakes; a variance "
        "of 1 hides what eps does. Dividing by d - 1 is seen at d = 4, and hardly at 512. A test "
        "compares where the difference is largest, not where the layer usually is. In double "
        "precision right forms agree to many digits, however they round."
    ),
    difficulty=2,
    minutes=12,
)
