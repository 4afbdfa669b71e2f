"""Both attentions of a decoder layer: what they are given, and what learners give them instead."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.layer_parts import Attention, Network, Norm


@dataclass(frozen=True)
class Given:
    """What the layer gets besides x."""

    x: Tensor
    memory: Tensor
    tgt_mask: Tensor
    src_mask: Tensor
    self_attn: Attention
    cross_attn: Attention
    ffn: Network
    norms: Sequence[Norm]


Attend = Callable[[Given, Tensor], Tensor]  # of what is given and the current x


def attend(g: Given, x: Tensor) -> Tensor:
    return g.self_attn(x, x, x, g.tgt_mask)


def cross_attend(g: Given, x: Tensor) -> Tensor:
    return g.cross_attn(x, g.memory, g.memory, g.src_mask)


def _causal_source(g: Given) -> Tensor:
    past = torch.ones(g.x.size(1), g.memory.size(1), dtype=torch.bool).tril()
    return g.src_mask & past


def _padding_of(mask: Tensor) -> Tensor:
    """The padding half of a target mask: whether the last word may see each key."""
    return mask[:, :, -1:, :]


def _causal_of(mask: Tensor) -> Tensor:
    return torch.ones(mask.shape[-2:], dtype=torch.bool).tril()


def _joined(
    g: Given, x: Tensor, words: tuple[Tensor, Tensor], masks: tuple[Tensor, Tensor]
) -> Tensor:
    keys, n_t = torch.cat(words, dim=1), x.size(1)
    mask = torch.cat([mask.expand(-1, -1, n_t, -1) for mask in masks], dim=-1)
    return g.cross_attn(x, keys, keys, mask)


_SRC = "Cross-attention's mask hides the padding of its keys, which are the source's: src_mask. "
_TGT = "Self-attention's mask is causal and speaks of the target: tgt_mask. "
_NEEDS_MEMORY = (
    "In cross-attention the queries come from the decoder, keys and values from the encoder's "
    "output: `cross_attn(x, memory, memory, src_mask)`. "
)
_INVERTED = "{which} is inverted (`~`). Here True means may attend: pass it as it is. "
_DROPPED_TGT = (
    "tgt_mask does not reach self-attention, so every word sees the words that come after it, "
    "which it is to predict: training looks excellent and translation fails. Pass it on. "
)
_DROPPED_SRC = (
    "src_mask does not reach cross-attention, so the source's padding takes a share of the "
    "attention. Pass it on: `cross_attn(x, memory, memory, src_mask)`. "
)

_CROSSES: dict[str, tuple[str, Attend]] = {
    "keys-and-values-from-the-decoder": (
        "Keys and values of cross-attention come from the decoder, so the source is not looked at "
        "at all. " + _NEEDS_MEMORY,
        lambda g, x: g.cross_attn(x, x, x, g.src_mask),
    ),
    "second-self-attention": (
        "Cross-attention is given the decoder's own words as keys and values, with tgt_mask: a "
        "second self-attention, which never looks at the source. " + _NEEDS_MEMORY,
        lambda g, x: g.cross_attn(x, x, x, g.tgt_mask),
    ),
    "self-attention-twice": (
        "Self-attention is applied a second time in place of cross-attention: the source is not "
        "looked at. " + _NEEDS_MEMORY,
        lambda g, x: g.self_attn(x, x, x, g.tgt_mask),
    ),
    "second-self-attention-unmasked": (
        "Cross-attention is given the decoder's own words as keys and values, and no mask: the "
        "source is not looked at, and the future is visible. " + _NEEDS_MEMORY,
        lambda g, x: g.cross_attn(x, x, x),
    ),
    "memory-and-target-joined": (
        "The keys and values of cross-attention are memory and target joined. Some later models "
        "do so; here the target has its own attention before. " + _NEEDS_MEMORY,
        lambda g, x: (lambda both: g.cross_attn(x, both, both))(torch.cat([g.memory, x], dim=1)),
    ),
    "memory-and-target-joined-masked": (
        "The keys and values of cross-attention are memory and target joined. Some later models "
        "do so; here the target has its own attention before. " + _NEEDS_MEMORY,
        lambda g, x: _joined(g, x, (g.memory, x), (g.src_mask, g.tgt_mask)),
    ),
    "memory-added-to-the-queries": (
        "The memory is added to the queries of cross-attention. " + _NEEDS_MEMORY,
        lambda g, x: g.cross_attn(x + g.memory, g.memory, g.memory, g.src_mask),
    ),
    "first-source-mask-for-all": (
        "The first sentence's src_mask is used for all sentences. Each has padding of its own: "
        "pass the whole mask on. ",
        lambda g, x: g.cross_attn(x, g.memory, g.memory, g.src_mask[:1]),
    ),
    "source-mask-squeezed": (
        "Axes of src_mask are taken away before attention sees it, so that it meets the wrong "
        "axes of the scores. Pass it on as it came, (B, 1, 1, n_s). ",
        lambda g, x: g.cross_attn(x, g.memory, g.memory, g.src_mask[:, 0, 0]),
    ),
    "values-from-the-decoder": (
        "The values of cross-attention come from the decoder, its keys from the memory. What is "
        "mixed has to be the source's words. " + _NEEDS_MEMORY,
        lambda g, x: g.cross_attn(x, g.memory, x, g.src_mask),
    ),
    "keys-from-the-decoder": (
        "The keys of cross-attention come from the decoder, its values from the memory. Both "
        "belong to the same words. " + _NEEDS_MEMORY,
        lambda g, x: g.cross_attn(x, x, g.memory, g.src_mask),
    ),
    "queries-from-the-memory": (
        "Queries and keys are exchanged: the memory asks and the decoder's words answer, so the "
        "result has the source's length. " + _NEEDS_MEMORY,
        lambda g, x: g.cross_attn(g.memory, x, x, g.src_mask),
    ),
    "queries-from-the-memory-target-mask": (
        "Queries and keys are exchanged: the memory asks and the decoder's words answer, so the "
        "result has the source's length. " + _NEEDS_MEMORY,
        lambda g, x: g.cross_attn(g.memory, x, x, g.tgt_mask),
    ),
    "memory-alone": (
        "Cross-attention is given the memory for everything, queries too, so the decoder's words "
        "do not ask. " + _NEEDS_MEMORY,
        lambda g, x: g.cross_attn(g.memory, g.memory, g.memory, g.src_mask),
    ),
    "memory-first": (
        "The arguments of cross-attention are in the wrong order: (memory, memory, x) makes the "
        "memory the query and x the value. The query comes first. " + _NEEDS_MEMORY,
        lambda g, x: g.cross_attn(g.memory, g.memory, x, g.src_mask),
    ),
    "input-as-query": (
        "The queries of cross-attention are the layer's input. They are what came out of the "
        "first sub-layer: overwrite x, or use the new name. ",
        lambda g, x: g.cross_attn(g.x, g.memory, g.memory, g.src_mask),
    ),
    "target-mask-in-cross-attention": (
        "Cross-attention is given tgt_mask. " + _SRC,
        lambda g, x: g.cross_attn(x, g.memory, g.memory, g.tgt_mask),
    ),
    "source-mask-dropped": (_DROPPED_SRC, lambda g, x: g.cross_attn(x, g.memory, g.memory)),
    "source-mask-inverted": (
        _INVERTED.format(which="src_mask"),
        lambda g, x: g.cross_attn(x, g.memory, g.memory, ~g.src_mask),
    ),
    "source-mask-causal": (
        "A causal mask is mixed into cross-attention, so the first target words see only the "
        "first source words. The whole source is known before anything is written: src_mask "
        "alone. ",
        lambda g, x: g.cross_attn(x, g.memory, g.memory, _causal_source(g)),
    ),
    "both-masks-in-cross-attention": (
        "Cross-attention is given both masks joined. " + _SRC,
        lambda g, x: g.cross_attn(x, g.memory, g.memory, g.src_mask & g.tgt_mask),
    ),
    "self-attention-for-cross": (
        "self_attn is used for both attentions, and cross_attn not at all. Each has weights of "
        "its own. ",
        lambda g, x: g.self_attn(x, g.memory, g.memory, g.src_mask),
    ),
    "memory-normalised": (
        "The memory is normalised before cross-attention. It is used as it came out of the "
        "encoder. ",
        lambda g, x: (lambda m: g.cross_attn(x, m, m, g.src_mask))(g.norms[1](g.memory)),
    ),
    "memory-keys-normalised-plain": (
        "The memory is normalised before cross-attention. It is used as it came out of the "
        "encoder. ",
        lambda g, x: (lambda m: g.cross_attn(x, m, m, g.src_mask))(
            F.layer_norm(g.memory, (x.size(-1),))
        ),
    ),
    "source-mask-as-numbers": (
        "src_mask is turned into numbers (`.float()`, an additive mask). It is boolean, True = "
        "may attend: pass it on as it came. ",
        lambda g, x: g.cross_attn(x, g.memory, g.memory, g.src_mask.float()),
    ),
}
_SELVES: dict[str, tuple[str, Attend]] = {
    "source-mask-in-self-attention": (
        "Self-attention is given src_mask. " + _TGT,
        lambda g, x: g.self_attn(x, x, x, g.src_mask),
    ),
    "target-mask-dropped": (_DROPPED_TGT, lambda g, x: g.self_attn(x, x, x)),
    "target-mask-inverted": (
        _INVERTED.format(which="tgt_mask"),
        lambda g, x: g.self_attn(x, x, x, ~g.tgt_mask),
    ),
    "target-mask-transposed": (
        "tgt_mask is transposed: queries and keys are exchanged, so every word sees what comes "
        "after it. Its rows are queries and its columns keys: pass it on as it came. ",
        lambda g, x: g.self_attn(x, x, x, g.tgt_mask.mT),
    ),
    "first-target-mask-for-all": (
        "The first sentence's tgt_mask is used for all sentences. Each has padding of its own: "
        "pass the whole mask on. ",
        lambda g, x: g.self_attn(x, x, x, g.tgt_mask[:1]),
    ),
    "target-mask-without-the-diagonal": (
        "tgt_mask is shifted by one, so that a word no longer sees itself. The decoder's input is "
        "shifted already: pass tgt_mask on as it came. ",
        lambda g, x: g.self_attn(x, x, x, g.tgt_mask.tril(-1)),
    ),
    "target-padding-only": (
        "Only the padding half of tgt_mask reaches self-attention: every word sees the future. "
        "Pass the whole mask on. ",
        lambda g, x: g.self_attn(x, x, x, _padding_of(g.tgt_mask)),
    ),
    "causal-only": (
        "A causal mask of your own stands in place of tgt_mask, so the target's padding is "
        "visible. Pass tgt_mask on: it is causal and hides the padding. ",
        lambda g, x: g.self_attn(x, x, x, _causal_of(g.tgt_mask)),
    ),
    "both-masks-in-self-attention": (
        "Self-attention is given both masks joined. " + _TGT,
        lambda g, x: g.self_attn(x, x, x, g.tgt_mask & g.src_mask),
    ),
    "self-attention-to-the-memory": (
        "The first sub-layer attends to the memory, with the source's mask. It is "
        "self-attention: queries, keys and values are all x, with tgt_mask. ",
        lambda g, x: g.self_attn(x, g.memory, g.memory, g.src_mask),
    ),
    "cross-attention-for-self": (
        "cross_attn is used for both attentions, and self_attn not at all. Each has weights of "
        "its own. ",
        lambda g, x: g.cross_attn(x, x, x, g.tgt_mask),
    ),
    "target-mask-as-numbers": (
        "tgt_mask is turned into numbers (`.float()`, an additive mask). It is boolean, True = "
        "may attend: pass it on as it came. ",
        lambda g, x: g.self_attn(x, x, x, g.tgt_mask.float()),
    ),
}
_BOTH: dict[str, tuple[str, Attend, Attend]] = {
    "masks-exchanged": (
        "The masks are exchanged: src_mask in self-attention, tgt_mask in cross-attention. A mask "
        "speaks of keys, and those of self-attention are the target's, those of cross-attention "
        "the source's. ",
        _SELVES["source-mask-in-self-attention"][1],
        _CROSSES["target-mask-in-cross-attention"][1],
    ),
    "masks-dropped": (
        "Neither mask reaches its attention: " + _DROPPED_TGT + _DROPPED_SRC,
        _SELVES["target-mask-dropped"][1],
        _CROSSES["source-mask-dropped"][1],
    ),
    "masks-inverted": (
        "Both masks are inverted (`~`). Here True means may attend: pass them as they are. ",
        _SELVES["target-mask-inverted"][1],
        _CROSSES["source-mask-inverted"][1],
    ),
    "masks-as-numbers": (
        "The masks are turned into numbers (`.float()`, additive masks). They are boolean, True = "
        "may attend: pass them on as they came. ",
        _SELVES["target-mask-as-numbers"][1],
        _CROSSES["source-mask-as-numbers"][1],
    ),
    "attentions-exchanged": (
        "self_attn and cross_attn are exchanged. Each has weights of its own, and self_attn is "
        "the one that looks at the target. ",
        _SELVES["cross-attention-for-self"][1],
        _CROSSES["self-attention-for-cross"][1],
    ),
    "source-mask-dropped-and-target-padding-only": (
        _SELVES["target-padding-only"][0] + _DROPPED_SRC,
        _SELVES["target-padding-only"][1],
        _CROSSES["source-mask-dropped"][1],
    ),
    "masks-joined": (
        "Both attentions are given both masks joined. " + _TGT + _SRC,
        _SELVES["both-masks-in-self-attention"][1],
        _CROSSES["both-masks-in-cross-attention"][1],
    ),
}
# A name, what to say, self-attention, cross-attention.
WRONG_ATTENTION: dict[str, tuple[str, Attend, Attend]] = {
    **{name: (text, attend, cross) for name, (text, cross) in _CROSSES.items()},
    **{name: (text, own, cross_attend) for name, (text, own) in _SELVES.items()},
    **_BOTH,
}
