"""Machines that people have, and what a training costs on them in hours and in money.

Speeds are the makers' peaks for dense matrix products, half of those that are printed "with
sparsity"; what a program reaches is a share of them, the utilisation, which has to be measured on
the machine (`benchmark ladder`) and is an argument here. Prices change by the month, so there are
none in this file: they are arguments too.
"""

from dataclasses import dataclass

from annotated_transformer.benchmark.counting import Sizes, step_operations
from annotated_transformer.config import TransformerConfig
from annotated_transformer.training.settings import Precision

TERA, GIGA = 1e12, 1e9


@dataclass(frozen=True)
class Machine:
    """One kind of GPU, as its maker describes it.

    Attributes:
        name: as people call it.
        precision: the fastest that this package trains in there.
        peak: operations a second in that precision.
        bandwidth: bytes a second to and from its memory.
        memory: bytes.
        source: where the three numbers are printed.
    """

    name: str
    precision: Precision
    peak: float
    bandwidth: float
    memory: float
    source: str

    @property
    def ridge(self) -> float:
        """Operations for each byte above which the arithmetic decides, and not the memory."""
        return self.peak / self.bandwidth


# The T4 has no bfloat16, and its 65 TFLOPS in float16 need a scaling of the loss that this package
# does not have: it trains in float32 there.
MACHINES = (
    Machine("Tesla P100", "fp32", 10.6 * TERA, 732 * GIGA, 16 * GIGA, "NVIDIA, P100 data sheet"),
    Machine("Tesla T4", "fp32", 8.1 * TERA, 320 * GIGA, 16 * GIGA, "NVIDIA, T4 data sheet"),
    Machine(
        "RTX 4090", "bf16", 165.2 * TERA, 1008 * GIGA, 24 * GIGA, "NVIDIA, Ada white paper, 2022"
    ),
    Machine("H100 SXM", "bf16", 989.4 * TERA, 3350 * GIGA, 80 * GIGA, "NVIDIA, H100 data sheet"),
    Machine("H200 SXM", "bf16", 989.4 * TERA, 4800 * GIGA, 141 * GIGA, "NVIDIA, H200 data sheet"),
)


def machine(name: str) -> Machine:
    """The machine of that name. Raises KeyError for one that is not listed."""
    return {one.name: one for one in MACHINES}[name]


def training_hours(
    operations: float, steps: int, peak: float, utilisation: float, gpus: int = 1
) -> float:
    """How long a training takes.

    Args:
        operations: of one step (`counting.step_operations`).
        steps: optimizer steps.
        peak: operations a second of one GPU.
        utilisation: the share of the peak that steps reach, from 0 to 1; with several GPUs what is
            lost in their exchange is in it too.
        gpus: that share each step.

    Raises:
        ValueError: if the utilisation is not a share.
    """
    if not 0 < utilisation <= 1:
        raise ValueError(
            f"utilisation = {utilisation}: a share of the peak, above 0 and at most 1, is expected."
        )
    return operations * steps / (peak * utilisation * gpus) / 3600


def money(hours: float, gpus: int, price: float) -> float:
    """What these hours cost at a price for one GPU and hour."""
    return hours * gpus * price


def largest_that_learns(
    vocab_size: int, one_pass: Sizes, seconds: float, rate: float, passes: int
) -> str:
    """The largest preset that sees its corpus often enough in the time there is.

    Args:
        vocab_size: of the vocabulary.
        one_pass: the positions of one pass over the corpus.
        seconds: there are.
        rate: operations a second that training reaches.
        passes: over the corpus, that it takes until the model has visibly learned.

    Returns:
        "base", "small" or "tiny"; the last where time is too short even for it.
    """
    for preset in ("base", "small"):
        config = TransformerConfig.preset(preset, vocab_size)
        if step_operations(config, one_pass) * passes <= rate * seconds:
            return preset
    return "tiny"
