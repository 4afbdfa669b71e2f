"""The settings of a training run: one frozen dataclass, the paper's recipe by default."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

Precision = Literal["fp32", "bf16"]
Measure = Literal["loss", "bleu"]
Final = Literal["average", "best", "last"]
Shape = Literal["paper", "cosine", "plateau"]
Optimizer = Literal["adam", "muon"]
CHOICES = {
    "precision": get_args(Precision),
    "stop_by": get_args(Measure),
    "final": get_args(Final),
    "schedule": get_args(Shape),
    "optimizer": get_args(Optimizer),
}

# What a machine can still count or hold; beyond, PyTorch and tokenizers fail without a sentence.
LARGEST = {"seed": 2**63 - 1, "vocab_size": 1_000_000, "threads": 1024}
LARGEST_OF_ANY = 10**12


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained. The defaults are section 5's, except batch, length, vocabulary.

    Args:
        steps: optimizer steps; None if `epochs` or `minutes` decides.
        epochs: passes over the training pairs.
        minutes: wall time.
        max_tokens: budget of a batch, source and target each, padding counted. The paper's is
            about 25,000.
        batch_tokens: budget of an optimizer step where it is more than the memory takes in one
            batch: so many batches of `max_tokens` give one gradient (`accumulate`). None: one.
        label_smoothing: epsilon_ls (section 5.4).
        warmup: steps until the peak of the learning rate (section 5.3).
        learning_rate: the peak; None is the paper's d_model^-0.5 * warmup^-0.5. A departure.
        decay: last share of the run over which the rate also falls linearly to zero. A departure.
        schedule: of the learning rate: the "paper"'s, or a "cosine" over the run, or a "plateau"
            that falls over the last `decay` of it (`after.schedules`). A departure.
        optimizer: the paper's "adam", or "muon" for the matrices of the layers
            (`after.optimizers`). A departure.
        weight_decay: what a step takes of each matrix, times the rate: AdamW's; 0 is Adam. With
            Muon, of its matrices. A departure.
        betas: Adam's, as printed in section 5.3.
        adam_eps: Adam's epsilon, likewise.
        clip_norm: a gradient whose norm over all weights is longer is shortened to this; None
            leaves all as they are. A departure.
        init_gain: the starting values of the residual branches' matrices are multiplied by this
            (`initial_gain`). A departure.
        r_drop: weight alpha of the disagreement between two passes of each sentence (`r_drop`); 0
            makes one pass. The training loss that is logged then holds it too. A departure.
        seed: of the starting values, the dropout and the order of the batches.
        precision: "fp32", or "bf16" for the matrix products and the activations between them; the
            weights, their gradients and Adam stay in float32, and every softmax is computed there.
        byte_dropout: dropout probabilities rounded to 1/256, faster on a CPU. A departure.
        share_rows: several sentences share a row of a batch (`fast.shared_rows`): hardly any
            padding, and one shape, so that a GPU replays each step from a recording. Batches are
            then of any lengths, where section 5.1 has similar ones: a departure.
        compile: torch.compile, meant for GPUs.
        checkpoint_every: steps between checkpoints; None is one an epoch.
        keep: how many checkpoints stay.
        average: how many of the last checkpoints the final weights are the mean of (section 6.1).
        final: what the final weights are: that "average", those of the "best" validation, or of
            the "last" checkpoint. All but the average are a departure.
        stop_after: end the run after so many validations without a better one; None runs to the
            end. A departure.
        stop_by: what is better, a lower validation "loss" or a higher "bleu" of greedy search.
        pairs: how many pairs of the corpus are there to learn from, the first ones; None: all. The
            vocabulary is learned from them too.
        max_length: longer pairs are left out of training.
        vocab_size: of the shared byte-pair vocabulary.
        bpe_dropout: probability that a merge is left out when training text is split into pieces
            (`data.bpe_dropout`). A departure.
        lowercase: train on lower-cased text.
        threads: CPU threads. Sums are split among them, so a resumed run must use as many to come
            to the same bits; None leaves the number to PyTorch.
    """

    steps: int | None = None
    epochs: int | None = None
    minutes: float | None = None
    max_tokens: int = 4096
    batch_tokens: int | None = None
    label_smoothing: float = 0.1
    warmup: int = 4000
    learning_rate: float | None = None
    decay: float = 0.0
    schedule: Shape = "paper"
    optimizer: Optimizer = "adam"
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.98)
    adam_eps: float = 1e-9
    clip_norm: float | None = None
    init_gain: float = 1.0
    r_drop: float = 0.0
    seed: int = 0
    precision: Precision = "fp32"
    byte_dropout: bool = False
    share_rows: bool = False
    compile: bool = False
    checkpoint_every: int | None = None
    keep: int = 5
    average: int = 5
    final: Final = "average"
    stop_after: int | None = None
    stop_by: Measure = "loss"
    pairs: int | None = None
    max_length: int = 256
    vocab_size: int = 10_000
    bpe_dropout: float = 0.0
    lowercase: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("steps", "epochs", "minutes") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"The length of the run is given by {' and '.join(given) or 'nothing'}: "
                "exactly one of steps, epochs and minutes is expected."
            )
        finite = ("minutes", "learning_rate", "clip_norm", "init_gain", "r_drop", "weight_decay")
        for name in (*finite, "label_smoothing", "decay"):
            if not math.isfinite(getattr(self, name) or 0.0):
                raise ValueError(f"{name} = {getattr(self, name)}: a finite number is expected.")
        for name in (*given, "max_tokens", "warmup", "keep", "average", "max_length", "vocab_size"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} = {getattr(self, name)}: it must be positive.")
        for field in fields(self):
            value = getattr(self, field.name)
            most = LARGEST.get(field.name, LARGEST_OF_ANY)
            if isinstance(value, int) and value > most:
                raise ValueError(f"{field.name} = {value}: it must be at most {most:,}.")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas = {self.betas}: two numbers from 0 to below 1 are expected.")
        for name in ("seed", "r_drop", "adam_eps", "weight_decay"):
            if (value := getattr(self, name)) < 0:
                raise ValueError(f"{name} = {value}: it must be at least 0.")
        for name in ("label_smoothing", "decay", "bpe_dropout"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} = {getattr(self, name)}: 0 to 1 is expected.")
        optional = ("checkpoint_every", "learning_rate", "clip_norm", "stop_after", "pairs")
        for name in (*optional, "threads", "init_gain"):
            if (value := getattr(self, name)) is not None and value <= 0:
                raise ValueError(f"{name} = {value}: it must be positive.")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} = {getattr(self, name)}: {' or '.join(choices)} is expected."
                )
        if self.schedule == "cosine" and self.decay:
            raise ValueError(
                f"decay = {self.decay} does nothing where schedule = cosine, which falls to zero "
                "by itself: leave it at 0."
            )
        if self.schedule == "plateau" and not self.decay:
            raise ValueError(
                "schedule = plateau with decay = 0 would never fall: say over which last share of "
                "the run, as decay = 0.2."
            )
        if self.batch_tokens is not None and self.batch_tokens < self.max_tokens:
            raise ValueError(
                f"batch_tokens = {self.batch_tokens} a step is less than the max_tokens = "
                f"{self.max_tokens} of one batch: lower max_tokens."
            )
        if self.average > self.keep:
            raise ValueError(
                f"average = {self.average} checkpoints cannot be taken from the keep = "
                f"{self.keep} that stay: raise keep or lower average."
            )

    @property
    def accumulate(self) -> int:
        """Batches of `max_tokens` whose gradients make one step: the number nearest to
        `batch_tokens`, so 6 of 4,096 for the paper's 25,000."""
        return max(1, math.floor((self.batch_tokens or 0) / self.max_tokens + 0.5))

    @property
    def keeps_best(self) -> bool:
        """Whether the weights of the best validation are kept."""
        return self.stop_after is not None or self.final == "best"

    def to_dict(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return {**asdict(self), "betas": list(self.betas)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TrainingConfig":
        """The settings that `to_dict` wrote. Raises ValueError for a field that is not ours."""
        if unknown := set(values) - {field.name for field in fields(cls)}:
            raise ValueError(f"Unknown training settings: {', '.join(sorted(unknown))}.")
        return cls(**{**values, "betas": tuple(values.get("betas", cls.betas))})
