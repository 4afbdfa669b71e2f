"""A configuration with parts that came after the paper, each by its name."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_type_hints

from annotated_transformer.config import TransformerConfig, refuse_other_names

NormKind = Literal["layer", "rms"]
Network = Literal["relu", "gelu", "swiglu", "experts"]
Places = Literal["none", "rope", "alibi"]
Stretch = Literal["linear", "ntk"]
Kernel = Literal["softmax", "linear"]

KINDS = {
    "norm_kind": get_args(NormKind),
    "network": get_args(Network),
    "places": get_args(Places),
    "rope_stretch": get_args(Stretch),
    "kernel": get_args(Kernel),
}


@dataclass(frozen=True)
class LaterConfig(TransformerConfig):
    """The paper's configuration, and parts that came later. The defaults are the paper's.

    `build_transformer` builds what it says; `Transformer` alone builds the paper's parts.

    Args:
        norm_kind: "layer", or "rms": divided by the root mean square, no mean and no shift.
        network: of the feed-forward sub-layers: "relu" (equation 2), "gelu", "swiglu" with three
            matrices and no biases, or "experts", of which each token takes a few.
        experts: how many networks of inner width d_ff there are.
        experts_used: how many of them each token takes.
        places: what self-attention adds of the distance: "rope" turns queries and keys, "alibi"
            lowers scores. With positions="none".
        rope_stretch: how rotations reach `rope_factor` times the trained length: "linear" squeezes
            the positions, "ntk" turns the slow pairs more slowly.
        rope_factor: 1 leaves the rotations as they are.
        key_heads: heads of keys and values, which the num_heads queries share evenly; num_heads if
            None, 1 for multi-query attention.
        qk_norm: RMSNorm of each query and each key, in every head.
        window: self-attention sees no key so many positions away, or further; None: all.
        global_tokens: the first so many positions see all and are seen by all, window or not.
        kernel: "softmax", or "linear": (elu(q) + 1) · (elu(k) + 1) in place of the exponential.

    Raises:
        ValueError: if a name is unknown or a number does not fit.
    """

    norm_kind: NormKind = "layer"
    network: Network = "relu"
    experts: int = 4
    experts_used: int = 2
    places: Places = "none"
    rope_stretch: Stretch = "linear"
    rope_factor: float = 1.0
    key_heads: int | None = None
    qk_norm: bool = False
    window: int | None = None
    global_tokens: int = 0
    kernel: Kernel = "softmax"

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_other_names(self, KINDS)
        if self.attention != "scaled-dot-product":
            raise ValueError(
                f'attention = "{self.attention}": later parts stand beside equation 1; leave it at '
                '"scaled-dot-product".'
            )
        if self.places != "none" and self.positions != "none":
            raise ValueError(
                f'places = "{self.places}" with positions = "{self.positions}": say '
                'positions = "none", or positions enter twice.'
            )
        if self.places == "rope" and self.head_widths[0] % 2:
            raise ValueError(
                f"d_k = {self.head_widths[0]}: rotations turn pairs of numbers; make it even."
            )
        if self.kernel == "linear" and (self.places == "alibi" or self.attention_dropout):
            raise ValueError(
                'kernel = "linear" has no scores for ALiBi to lower and no weights to drop: '
                "take other places, and attention_dropout = 0."
            )
        if self.rope_factor < 1:
            raise ValueError(f"rope_factor = {self.rope_factor}: 1 or more is expected.")
        if self.key_heads is not None and not (
            self.key_heads > 0 and self.num_heads % self.key_heads == 0
        ):
            raise ValueError(
                f"key_heads = {self.key_heads}: a divisor of num_heads = {self.num_heads} is "
                "expected, so that every key serves as many queries."
            )
        if not 1 <= self.experts_used <= self.experts:
            raise ValueError(
                f"experts_used = {self.experts_used}: from 1 to experts = {self.experts} expected."
            )
        if self.window is not None and self.window < 1:
            raise ValueError(f"window = {self.window}: at least 1 is expected, the key itself.")
        if self.global_tokens < 0:
            raise ValueError(f"global_tokens = {self.global_tokens}: 0 or more is expected.")

    @property
    def heads_of_keys(self) -> int:
        """How many heads of keys and values there are."""
        return self.key_heads or self.num_heads

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
            return self.experts * (super().network_parameters() + self.d_model)
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
    """{"network": "swiglu", "key_heads": 2} from "network=swiglu,key_heads=2".

    Raises:
        ValueError: if a part is unknown or its value cannot be read.
    """
    kinds = get_type_hints(LaterConfig)
    found: dict[str, Any] = {}
    for part in filter(None, written.split(",")):
        name, _, value = part.partition("=")
        if name not in LATER:
            raise ValueError(f"the part {name!r} is not known. Known: {', '.join(LATER)}")
        try:
            found[name] = _READERS.get(kinds[name], str)(value)
        except (KeyError, ValueError):
            raise ValueError(f"{part!r}: {value!r} is no value of {name}") from None
    return found
