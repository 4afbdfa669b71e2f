"""The configuration of a model: one frozen dataclass, with the paper's models as presets."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

Attention = Literal["scaled-dot-product", "dot-product", "additive"]
Norm = Literal["post", "pre", "none"]
Positions = Literal["sinusoidal", "learned", "none"]

BEAM_SIZE, ALPHA = 4, 0.6  # of the search for a translation (section 6.1)
HIGHEST_ALPHA = 100  # far above what helps; no power of a length below 7,000 overflows
MAX_EXTRA = 50  # a translation has at most so many tokens more than its source (section 6.1)

LARGEST = 10**9  # of any size of a model: far more than a machine can hold

# What a preset's name may change, in the paper's symbols: "base/h=1", "base/N=2,d_ff=1024".
SYMBOLS = {
    "N": "num_layers",
    "h": "num_heads",
    "d_model": "d_model",
    "d_ff": "d_ff",
    "d_k": "d_k",
    "d_v": "d_v",
    "P_drop": "dropout",
}

# What a field that names a part may be.
CHOICES = {
    "norm": get_args(Norm),
    "positions": get_args(Positions),
    "attention": get_args(Attention),
}

# The fields that say how a model is built, apart from its sizes: changed, they depart from the
# paper. `max_positions` counts with "learned" alone, and the three ids are a matter of the data.
DESIGN = (
    "norm",
    "positions",
    "attention",
    "residual",
    "tie_embeddings",
    "embedding_scale",
    "attention_bias",
    "attention_dropout",
    "layer_norm_eps",
)


@dataclass(frozen=True)
class TransformerConfig:
    """What determines a model. The defaults are the base model of Table 3.

    What is changed after `dropout` departs from the paper; `departures` names it.

    Args:
        vocab_size: rows of the shared embedding; about 37,000 in the paper (section 5.1).
        d_model: width of every vector between sub-layers.
        d_ff: inner width of the feed-forward networks.
        num_heads: h.
        num_layers: N, in the encoder and again in the decoder.
        d_k: width of a key in one head; d_model / num_heads if None.
        d_v: width of a value in one head; d_model / num_heads if None.
        dropout: P_drop (section 5.4).
        norm: "post" as in the paper, "pre", which adds one norm behind each stack, or "none".
        positions: "sinusoidal", "learned" (row E of Table 3) or "none".
        max_positions: length of the learned table.
        attention: "scaled-dot-product" (equation 1), "dot-product" without the division by
            sqrt(d_k), or "additive", the two that section 3.2.1 compares it with.
        residual: whether a sub-layer's input is added to its output (section 3.1).
        decoder_layers: N of the decoder where it differs from the encoder's num_layers.
        tie_embeddings: one matrix for source, target and output (section 3.4).
        embedding_scale: embeddings times sqrt(d_model) (section 3.4).
        attention_bias: biases in the four projections of attention.
        attention_dropout: dropout on the attention weights.
        layer_norm_eps: the paper prints none; 1e-6 is the authors' code's.

    Raises:
        ValueError: if a size is not positive, a name unknown, or the heads do not divide d_model.
    """

    vocab_size: int
    d_model: int = 512
    d_ff: int = 2048
    num_heads: int = 8
    num_layers: int = 6
    d_k: int | None = None
    d_v: int | None = None
    dropout: float = 0.1
    norm: Norm = "post"
    positions: Positions = "sinusoidal"
    max_positions: int = 1024
    attention: Attention = "scaled-dot-product"
    residual: bool = True
    decoder_layers: int | None = None
    tie_embeddings: bool = True
    embedding_scale: bool = True
    attention_bias: bool = False
    attention_dropout: float = 0.0
    layer_norm_eps: float = 1e-6
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2

    def __post_init__(self) -> None:
        for name in ("vocab_size", "d_model", "d_ff", "num_heads", "num_layers", "max_positions"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}: it must be at least 1.")
            if getattr(self, name) > LARGEST:
                raise ValueError(f"{name} = {getattr(self, name)}: it must be at most {LARGEST:,}.")
        usual = {"d_k": "d_model / num_heads", "d_v": "d_model / num_heads"}
        usual["decoder_layers"] = "num_layers"
        for name, size in usual.items():
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(
                    f"{name} = {getattr(self, name)}: it must be at least 1, or None for {size}."
                )
            if (getattr(self, name) or 1) > LARGEST:
                raise ValueError(f"{name} = {getattr(self, name)}: it must be at most {LARGEST:,}.")
        for name in ("dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(
                    f"{name} = {getattr(self, name)}: a probability from 0 to below 1 is expected."
                )
        if not self.layer_norm_eps > 0:  # NaN too
            raise ValueError(
                f"layer_norm_eps = {self.layer_norm_eps}: a small number above 0 is expected, "
                "which is added to a variance under a root."
            )
        refuse_other_names(self, CHOICES)
        if (self.d_k is None or self.d_v is None) and self.d_model % self.num_heads:
            raise ValueError(
                f"d_model = {self.d_model} cannot be shared evenly by num_heads = "
                f"{self.num_heads}: choose a number of heads that divides d_model, or give d_k "
                "and d_v."
            )
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ValueError(f"d_model = {self.d_model}: sinusoids need an even d_model.")

    def count_parameters(self) -> int:
        """How many numbers a model of this configuration learns, without building it."""
        d = self.d_model
        attention, feed_forward = self.attention_parameters(), self.network_parameters()
        norm = self.norm_parameters()
        encoder_layer = attention + feed_forward + 2 * norm
        decoder_layer = 2 * attention + feed_forward + 3 * norm
        final_norms = 2 * norm if self.has_final_norm else 0
        matrices = 1 if self.tie_embeddings else 3
        tables = 2 * self.max_positions * d if self.positions == "learned" else 0
        of_encoder, of_decoder = self.depths
        return (
            of_encoder * encoder_layer
            + of_decoder * decoder_layer
            + final_norms
            + matrices * self.vocab_size * d
            + tables
        )

    def attention_parameters(self) -> int:
        """Of one multi-head attention: its four projections, and what its kind adds."""
        d, h = self.d_model, self.num_heads
        d_k, d_v = self.head_widths
        attention = 2 * d * h * d_k + 2 * d * h * d_v
        if self.attention_bias:
            attention += 2 * h * d_k + h * d_v + d
        if self.attention == "additive":
            attention += h * d_k
        return attention

    def network_parameters(self) -> int:
        """Of one feed-forward network."""
        return 2 * self.d_model * self.d_ff + self.d_ff + self.d_model

    def norm_parameters(self) -> int:
        """Of one norm: a gain and a shift."""
        return 0 if self.norm == "none" else 2 * self.d_model

    @property
    def head_widths(self) -> tuple[int, int]:
        """d_k and d_v: of a key and of a value in one head; d_model / h each, in the paper."""
        even = self.d_model // self.num_heads
        return self.d_k or even, self.d_v or even

    @property
    def depths(self) -> tuple[int, int]:
        """Layers of the encoder and of the decoder: N twice, in the paper."""
        return self.num_layers, self.decoder_layers or self.num_layers

    @property
    def has_final_norm(self) -> bool:
        """Pre-norm stacks end with a norm, or their output would never be normalised."""
        return self.norm == "pre"

    @classmethod
    def preset(cls, name: str, vocab_size: int, **changes: Any) -> "TransformerConfig":
        """A named model: tiny, small, base, big, or a row of Table 3.

        Rows of Table 3 are "A1" to "A4", "B1", "B2", "C1" to "C7", "D1" to "D4" and "E", counted
        from the top of the printed table. A name may carry changes in the paper's symbols:
        "base/h=1" is row A1, "tiny/N=2,P_drop=0" a smaller tiny.

        Raises:
            ValueError: if the name or a symbol is unknown.
        """
        base_name, _, written_changes = name.partition("/")
        if base_name not in PRESETS:
            raise ValueError(
                f"The preset {base_name!r} is not known. Known: {', '.join(PRESETS)}; "
                'with changes such as "base/h=1".'
            )
        values = {**PRESETS[base_name], **_read_changes(name, written_changes), **changes}
        return cls(vocab_size=vocab_size, **values)

    def departures(self, apart_from: Collection[str] = ()) -> list[str]:
        """The choices of design that are not the paper's, as "norm = pre".

        Sizes and the probability of dropout are none: the paper itself varies them (Table 3). But
        it has as many layers in the decoder as in the encoder.

        Args:
            apart_from: names of fields that may be as they like.
        """
        departed = [
            field.name
            for field in fields(self)
            if field.name in DESIGN and getattr(self, field.name) != field.default
        ]
        of_encoder, of_decoder = self.depths
        if of_encoder != of_decoder:
            departed.append("decoder_layers")
        return [f"{name} = {getattr(self, name)}" for name in departed if name not in apart_from]

    def with_changes(self, **changes: Any) -> "TransformerConfig":
        """A copy in which the given fields are changed."""
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TransformerConfig":
        """The configuration that `to_dict` wrote.

        Raises:
            ValueError: if a field is not one of ours or vocab_size is missing.
        """
        known = {field.name for field in fields(cls)}
        if unknown := set(values) - known:
            raise ValueError(
                f"Unknown model settings: {', '.join(sorted(unknown))}. "
                f"Known: {', '.join(sorted(known))}."
            )
        if "vocab_size" not in values:
            raise ValueError("The model settings lack vocab_size.")
        return cls(**values)


def refuse_other_names(config: TransformerConfig, names: Mapping[str, Collection[str]]) -> None:
    """Raise ValueError where a field that names a part is none of the names that it may be."""
    for field, choices in names.items():
        if getattr(config, field) not in choices:
            *others, last = (f'"{choice}"' for choice in choices)
            raise ValueError(
                f"{field} = {getattr(config, field)!r}: {', '.join(others)} or {last} is expected."
            )


def _read_changes(name: str, written: str) -> dict[str, int | float]:
    """{"num_heads": 1} from "h=1"."""
    changes: dict[str, int | float] = {}
    for part in filter(None, written.split(",")):
        symbol, _, value = part.partition("=")
        if symbol not in SYMBOLS:
            raise ValueError(
                f"{name!r}: the symbol {symbol!r} is not known. Known: {', '.join(SYMBOLS)}."
            )
        try:
            changes[SYMBOLS[symbol]] = float(value) if symbol == "P_drop" else int(value)
        except ValueError:
            raise ValueError(f"{name!r}: {value!r} is not a number.") from None
    return changes


# Each row of Table 3 by what it changes in the base model. D3 and D4 change only the label
# smoothing, which belongs to training: see `evidence.table3`.
PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"d_model": 128, "d_ff": 256, "num_heads": 4, "num_layers": 4},
    "small": {"d_model": 256, "d_ff": 1024, "num_heads": 4, "num_layers": 4},
    "base": {},
    "big": {"d_model": 1024, "d_ff": 4096, "num_heads": 16, "dropout": 0.3},
    "A1": {"num_heads": 1},
    "A2": {"num_heads": 4},
    "A3": {"num_heads": 16},
    "A4": {"num_heads": 32},
    "B1": {"d_k": 16},
    "B2": {"d_k": 32},
    "C1": {"num_layers": 2},
    "C2": {"num_layers": 4},
    "C3": {"num_layers": 8},
    "C4": {"d_model": 256},
    "C5": {"d_model": 1024},
    "C6": {"d_ff": 1024},
    "C7": {"d_ff": 4096},
    "D1": {"dropout": 0.0},
    "D2": {"dropout": 0.2},
    "D3": {},
    "D4": {},
    "E": {"positions": "learned"},
}
