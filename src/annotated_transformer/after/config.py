"""A configuration with parts that came after the paper, each by its name."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_type_hints

from annotated_transformer.config import LARGEST, TransformerConfig, refuse_other_names

NormKind = Literal["layer", "rms"]
Network = Literal["relu", "gelu", "silu", "swiglu", "experts"]
RelativePositions = Literal["none", "rope", "alibi"]
Stretch = Literal["linear", "ntk"]
Kernel = Literal["softmax", "linear"]
Family = Literal["encoder-decoder", "decoder-only", "prefix", "encoder-only"]

KINDS = {
    "norm_kind": get_args(NormKind),
    "network": get_args(Network),
    "relative_positions": get_args(RelativePositions),
    "rope_stretch": get_args(Stretch),
    "kernel": get_args(Kernel),
    "family": get_args(Family),
}

# What does something only where another field has this value.
NEEDS: dict[str, tuple[str, str]] = {
    "experts": ("network", "experts"),
    "experts_used": ("network", "experts"),
    "expert_balance": ("network", "experts"),
    "rope_stretch": ("relative_positions", "rope"),
    "rope_factor": ("relative_positions", "rope"),
}


@dataclass(frozen=True)
class LaterConfig(TransformerConfig):
    """The paper's configuration, and parts that came later. The defaults are the paper's.

    `build_transformer` builds what it says; `Transformer` alone builds the paper's parts.

    Args:
        norm_kind: "layer", or "rms": divided by the root mean square, no mean and no shift.
        network: of the feed-forward sub-layers: "relu" (equation 2), "gelu" or "silu" in its place,
            "swiglu" with three matrices and no biases, or "experts", of which each token takes a
            few.
        experts: how many networks of inner width d_ff there are.
        experts_used: how many of them each token takes.
        expert_balance: how much a training step raises the chances of an expert that got less than
            its share, and lowers those of one that got more; 0 leaves all to the router.
        relative_positions: how self-attention learns of distances: "rope" turns queries and keys,
            "alibi" lowers scores. With positions="none".
        rope_stretch: how rotations reach `rope_factor` times the trained length: "linear" squeezes
            the positions, "ntk" turns the slow pairs more slowly.
        rope_factor: 1 leaves the rotations as they are.
        num_key_value_heads: heads of keys and values, which the num_heads queries share evenly;
            num_heads if None, 1 for multi-query attention.
        qk_norm: RMSNorm of each query and each key, in every head.
        window: self-attention sees no key so many positions away, or further; None: all.
        global_tokens: the first so many positions see all and are seen by all, window or not.
        kernel: "softmax", or "linear": (elu(q) + 1) · (elu(k) + 1) in place of the exponential.
        output_bias: a number for each token, added to its logits: of models that were imported.
        family: "encoder-decoder", or one stack of num_layers that reads the source and writes the
            target in the same row: "decoder-only", or "prefix", in which the source is seen in both
            directions; "encoder-only" reads and cannot write (`families`).

    Raises:
        ValueError: if a name is unknown, a number does not fit, or a part would do nothing.
    """

    norm_kind: NormKind = "layer"
    network: Network = "relu"
    experts: int = 4
    experts_used: int = 2
    expert_balance: float = 0.0
    relative_positions: RelativePositions = "none"
    rope_stretch: Stretch = "linear"
    rope_factor: float = 1.0
    num_key_value_heads: int | None = None
    qk_norm: bool = False
    window: int | None = None
    global_tokens: int = 0
    kernel: Kernel = "softmax"
    output_bias: bool = False
    family: Family = "encoder-decoder"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_other_names(self, KINDS)
        self._refuse_what_would_do_nothing()
        for name in ("experts", "num_key_value_heads", "window", "global_tokens"):
            if (getattr(self, name) or 0) > LARGEST:
                raise ValueError(f"{name} = {getattr(self, name)}: it must be at most {LARGEST:,}.")
        if self.attention != "scaled-dot-product":
            raise ValueError(
                f'attention = "{self.attention}": later parts stand beside equation 1; leave it at '
                '"scaled-dot-product".'
            )
        if self.relative_positions != "none" and self.positions != "none":
            raise ValueError(
                f'relative_positions = "{self.relative_positions}" with positions = '
                f'"{self.positions}": say positions = "none", or positions enter twice.'
            )
        if self.relative_positions == "rope" and self.head_widths[0] % 2:
            raise ValueError(
                f"d_k = {self.head_widths[0]}: rotations turn pairs of numbers; make it even."
            )
        lowers_scores = self.relative_positions == "alibi"
        if self.kernel == "linear" and (lowers_scores or self.attention_dropout):
            raise ValueError(
                'kernel = "linear" has no scores for ALiBi to lower and no weights to drop: '
                "take positions that are added to the embeddings, and attention_dropout = 0."
            )
        if self.kernel == "linear" and self.relative_positions == "rope":
            raise ValueError(
                'kernel = "linear" with relative_positions = "rope": rotations before elu + 1 '
                "leave more than the distance; take positions that are added to the embeddings."
            )
        if not 1 <= self.rope_factor < math.inf:  # NaN too
            raise ValueError(
                f"rope_factor = {self.rope_factor}: a number of 1 or more is expected."
            )
        if self.num_key_value_heads is not None and not (
            self.num_key_value_heads > 0 and self.num_heads % self.num_key_value_heads == 0
        ):
            raise ValueError(
                f"num_key_value_heads = {self.num_key_value_heads}: a divisor of num_heads = "
                f"{self.num_heads} is expected, so that every key serves as many queries."
            )
        if not 1 <= self.experts_used <= self.experts:
            raise ValueError(
                f"experts_used = {self.experts_used}: from 1 to experts = {self.experts} expected."
            )
        if not 0 <= self.expert_balance <= 1:
            raise ValueError(f"expert_balance = {self.expert_balance}: 0 to 1 is expected.")
        if self.is_one_stack and self.decoder_layers is not None:
            raise ValueError(
                f'family = "{self.family}" with decoder_layers = {self.decoder_layers}: there is '
                "one stack, of num_layers."
            )
        if self.window is not None and self.window < 1:
            raise ValueError(f"window = {self.window}: at least 1 is expected, the key itself.")
        if self.global_tokens < 0:
            raise ValueError(f"global_tokens = {self.global_tokens}: 0 or more is expected.")

    def _refuse_what_would_do_nothing(self) -> None:
        """Raise ValueError where a part is given of which the model would have nothing."""
        for name, (field, value) in NEEDS.items():
            if getattr(self, name) != LATER[name] and getattr(self, field) != value:
                raise ValueError(
                    f"{name} = {getattr(self, name)} does nothing: say {field} = {value} too."
                )
        if self.global_tokens and self.window is None:
            raise ValueError(
                f"global_tokens = {self.global_tokens} does nothing without a window: all "
                "positions see all. Say how wide the window is."
            )
        if self.norm_kind != "layer" and self.norm == "none":
            raise ValueError(f'norm_kind = "{self.norm_kind}" does nothing: there is no norm.')

    @property
    def is_one_stack(self) -> bool:
        """Whether source and target stand in one row, of one stack."""
        return self.family != "encoder-decoder"

    @property
    def heads_of_keys(self) -> int:
        """How many heads of keys and values there are."""
        return self.num_key_value_heads or self.num_heads

    def cache_bytes(self, width: int = 2) -> int:
        """Of the keys and values that a decoder keeps of one token, in all layers.

        Args:
            width: bytes of a number.
        """
        return self.depths[1] * self.heads_of_keys * sum(self.head_widths) * width

    def count_parameters(self) -> int:
        """As of the paper's model; of one stack its layers, without cross-attention."""
        biases = self.vocab_size * self.output_bias
        if not self.is_one_stack:
            return super().count_parameters() + biases
        tables = self.max_positions * self.d_model if self.positions == "learned" else 0
        norm = self.norm_parameters()
        layer = self.attention_parameters() + self.network_parameters() + 2 * norm
        matrices = 1 if self.tie_embeddings else 2
        return (
            self.num_layers * layer
            + norm * self.has_final_norm
            + matrices * self.vocab_size * self.d_model
            + tables
            + biases
        )

    def attention_parameters(self) -> int:
        """Of one multi-head attention: projections, and gains of normed queries and keys."""
        d_k, d_v = self.head_widths
        left_out = self.num_heads - self.heads_of_keys
        narrower = left_out * (d_k + d_v) * (self.d_model + bool(self.attention_bias))
        return super().attention_parameters() - narrower + 2 * d_k * self.qk_norm

    def network_parameters(self) -> int:
        """Of one feed-forward sub-layer; of a mixture all experts, and the router."""
        if self.network == "swiglu":
            return 3 * self.d_model * self.d_ff
        if self.network == "experts":
            router = self.d_model + (self.expert_balance > 0)
            return self.experts * (super().network_parameters() + router)
        return super().network_parameters()

    def norm_parameters(self) -> int:
        """Of one norm: a gain, and in a LayerNorm a shift."""
        return super().norm_parameters() // (2 if self.norm_kind == "rms" else 1)

    def departures(self, apart_from: Collection[str] = ()) -> list[str]:
        """As of the paper's configuration, and every later part."""
        later = [
            f"{name} = {getattr(self, name)}"
            for name, default in LATER.items()
            if name not in apart_from and getattr(self, name) != default
        ]
        return [*super().departures(apart_from), *later]


# The fields that the paper's configuration has not, with what they are if nothing is said.
LATER: dict[str, Any] = {
    field.name: field.default
    for field in fields(LaterConfig)
    if field.name not in {of_paper.name for of_paper in fields(TransformerConfig)}
}

# How a value is read that is no word.
_READERS: dict[Any, Callable[[str], Any]] = {
    int: int,
    int | None: int,
    float: float,
    bool: {"yes": True, "no": False}.__getitem__,
}


def kind_of(values: Collection[str]) -> type[TransformerConfig]:
    """Which configuration has such fields: the paper's, or one with later parts."""
    return LaterConfig if {*LATER} & {*values} else TransformerConfig


def config_from_dict(values: dict[str, Any]) -> TransformerConfig:
    """The configuration that `to_dict` wrote.

    Raises:
        ValueError: as its kind does.
    """
    return kind_of(values).from_dict(values)


def read_parts(written: str) -> dict[str, Any]:
    """{"network": "swiglu", "num_key_value_heads": 2} from "network=swiglu,num_key_value_heads=2".

    Raises:
        ValueError: if a part is unknown or its value cannot be read.
    """
    kinds = get_type_hints(LaterConfig)
    found: dict[str, Any] = {}
    for part in filter(None, written.split(",")):
        name, _, value = part.partition("=")
        if name not in LATER:
            raise ValueError(f"the part {name!r} is not known. Known: {', '.join(LATER)}.")
        if name in found:
            raise ValueError(f"{name} is given twice: {written!r}. Say it once.")
        try:
            found[name] = _READERS.get(kinds[name], str)(value)
        except (KeyError, ValueError):
            expected = "yes or no" if kinds[name] is bool else "a number"
            raise ValueError(f"{part!r}: {expected} is expected.") from None
    return found
