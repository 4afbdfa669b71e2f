"""`decoder.layer`: masked self-attention, cross-attention, feed-forward (section 3.1)."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.drawn import drawn
from annotated_transformer.exercises.content.layer_parts import (
    Attention,
    Network,
    Norm,
    attention_part,
    network_part,
    no_norm,
    norm_part,
    silent_attention,
    silent_network,
)
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Gradient, Stage, call


def decoder_layer(
    x: Tensor,
    memory: Tensor,
    tgt_mask: Tensor,
    src_mask: Tensor,
    self_attn: Attention,
    cross_attn: Attention,
    ffn: Network,
    norms: Sequence[Norm],
) -> Tensor:
    norm_1, norm_2, norm_3 = norms
    query = key = value = x  # self-attention: the words written so far, among themselves
    attended = self_attn(query, key, value, tgt_mask)  # (B, n_t, d)
    written = norm_1(x + attended)
    query = written  # cross-attention: the translation asks,
    key = value = memory  # and the source answers
    found = cross_attn(query, key, value, src_mask)  # (B, n_t, d)
    both = norm_2(written + found)
    changed = ffn(both)  # (B, n_t, d): each word by itself
    return norm_3(both + changed)


def _in_three_lines(
    x: Tensor,
    memory: Tensor,
    tgt_mask: Tensor,
    src_mask: Tensor,
    self_attn: Attention,
    cross_attn: Attention,
    ffn: Network,
    norms: Sequence[Norm],
) -> Tensor:
    x = norms[0](x + self_attn(x, x, x, tgt_mask))
    x = norms[1](x + cross_attn(x, memory, memory, src_mask))
    return norms[2](x + ffn(x))


def _by_names(
    x: Tensor,
    memory: Tensor,
    tgt_mask: Tensor,
    src_mask: Tensor,
    self_attn: Attention,
    cross_attn: Attention,
    ffn: Network,
    norms: Sequence[Norm],
) -> Tensor:
    first, second, third = norms
    own = first(self_attn(query=x, key=x, value=x, mask=tgt_mask).add(x))
    both = second(cross_attn(query=own, key=memory, value=memory, mask=src_mask).add(own))
    return third(ffn(both).add(both))


def _by_a_loop(
    x: Tensor,
    memory: Tensor,
    tgt_mask: Tensor,
    src_mask: Tensor,
    self_attn: Attention,
    cross_attn: Attention,
    ffn: Network,
    norms: Sequence[Norm],
) -> Tensor:
    sublayers: list[Callable[[Tensor], Tensor]] = [
        lambda y: self_attn(y, y, y, tgt_mask),
        lambda y: cross_attn(y, memory, memory, src_mask),
        ffn,
    ]
    for sublayer, norm in zip(sublayers, norms, strict=True):
        x = norm(torch.add(x, sublayer(x)))
    return x


def _by_sentences(
    x: Tensor,
    memory: Tensor,
    tgt_mask: Tensor,
    src_mask: Tensor,
    self_attn: Attention,
    cross_attn: Attention,
    ffn: Network,
    norms: Sequence[Norm],
) -> Tensor:
    sentences = []
    for i in range(x.size(0)):
        one, source, past, words = (t[i : i + 1] for t in (x, memory, tgt_mask, src_mask))
        one = norms[0](one + self_attn(one, one, one, past))
        one = norms[1](one + cross_attn(one, source, source, words))
        sentences.append(norms[2](one + ffn(one)))
    return torch.cat(sentences)


def _case(
    name: str,
    d: int,
    target: list[list[int]],
    source: list[list[int]],
    *,
    self_attention: Callable[..., Attention] = attention_part,
    cross_attention: Callable[..., Attention] = attention_part,
    network: Callable[..., Network] = network_part,
    norm: Callable[..., Norm] = norm_part,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
    transposed: bool = False,
) -> Case:
    """Drawn parts; target and source say which words are real (1) and which padding (0)."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        parts: tuple[Any, ...] = (generator, dtype, d)
        real_target = torch.tensor(target, dtype=torch.bool)
        real_source = torch.tensor(source, dtype=torch.bool)
        n_t = real_target.size(1)
        past = torch.ones(n_t, n_t, dtype=torch.bool).tril()
        x = drawn(generator, dtype, *real_target.shape, d)
        memory = drawn(generator, dtype, *real_source.shape, d)
        if transposed:
            x, memory = (t.transpose(0, 1).contiguous().transpose(0, 1) for t in (x, memory))
        return call(
            x,
            memory,
            real_target[:, None, None, :] & past,
            real_source[:, None, None, :],
            self_attention(*parts),
            cross_attention(*parts),
            network(*parts),
            [norm(*parts) for _ in range(3)],
        )

    return Case(name, make, isolates=isolates, stage=stage, dtype=dtype, gradient=gradient)


DECODER_LAYER = Exercise(
    id="decoder.layer",
    title="The decoder layer",
    kind="code",
    difficulty=3,
    minutes=15,
    signature=(
        "decoder_layer(x: (B, n_t, d), memory: (B, n_s, d), tgt_mask, src_mask, self_attn, "
        "cross_attn, ffn, norms) -> (B, n_t, d)"
    ),
    statement=(
        "Put one decoder layer together, as in the right half of figure 1: masked self-attention, "
        "attention to the encoder's output (memory), the feed-forward network, each followed by "
        "residual and norm (post-norm), without dropout. self_attn and cross_attn are callables "
        "(query, key, value, mask); ffn a callable of one tensor; norms a list of three "
        "callables, in the order of the sub-layers. Masks are boolean, True = may attend: "
        "tgt_mask (B, 1, n_t, n_t) is causal and hides the target's padding, src_mask "
        "(B, 1, 1, n_s) hides the source's. The dtype is kept, the inputs are left untouched. "
        "Gradients have to flow back to its inputs: it is trained through."
    ),
    objective="Assemble a decoder layer, and know whose queries meet whose keys under which mask.",
    prerequisite="encoder.layer; masks.target",
    hints=(
        "Follow the arrows of figure 1, right half. The middle block takes three inputs, and the "
        "arrow from the encoder stands for two of them. Which two, and where does the third come "
        "from?",
        "Each mask belongs to the keys it hides. Whose words are the keys of self-attention, and "
        "whose are those of cross-attention?",
        "`x = norms[0](x + self_attn(x, x, x, tgt_mask))`, then `x = norms[1](x + cross_attn(x, "
        "memory, memory, src_mask))`, then the network with `norms[2]`.",
    ),
    reference=decoder_layer,
    explanation=(
        "A word of the translation asks (query) and the source's words answer (keys and values), "
        "so cross-attention returns one vector for each target word: its length is n_t, whatever "
        "n_s is. A mask speaks of keys: tgt_mask hides the future and the padding of the target "
        "in self-attention, src_mask the padding of the source in cross-attention, which needs no "
        "causal mask, because the whole source is known. The memory is used as it came: only the "
        "decoder's own stream passes through residuals and norms. Where both sentences are of one "
        "length, exchanged masks or keys raise no error, and the model trains badly."
    ),
    cases=(
        _case(
            "three sub-layers that return zeros",
            3,
            [[1, 1], [1, 1]],
            [[1, 1, 1], [1, 1, 1]],
            self_attention=silent_attention,
            cross_attention=silent_attention,
            network=silent_network,
            isolates="the norms: the sub-layers add nothing",
        ),
        _case(
            "self-attention alone; the others return zeros",
            4,
            [[1, 1, 1], [1, 1, 0]],
            [[1, 1], [1, 0]],
            cross_attention=silent_attention,
            network=silent_network,
            isolates="self-attention: the other two sub-layers add nothing",
        ),
        _case(
            "cross-attention alone; the others return zeros",
            4,
            [[1, 1, 1], [1, 1, 0]],
            [[1, 1, 1, 1], [1, 1, 0, 0]],
            self_attention=silent_attention,
            network=silent_network,
            isolates="cross-attention: the other two sub-layers add nothing",
        ),
        _case(
            "the network alone; attention returns zeros",
            4,
            [[1, 1, 1], [1, 1, 0]],
            [[1, 1], [1, 0]],
            self_attention=silent_attention,
            cross_attention=silent_attention,
            isolates="the network: attention adds nothing",
        ),
        _case(
            "one target word and two source words, no padding",
            4,
            [[1], [1]],
            [[1, 1], [1, 1]],
            isolates="everything but the masks: they hide nothing",
        ),
        _case(
            "self-attention alone, and norms that do nothing",
            4,
            [[1, 1, 1], [1, 1, 0]],
            [[1, 1], [1, 0]],
            cross_attention=silent_attention,
            network=silent_network,
            norm=no_norm,
            isolates="self-attention and its mask: all else does nothing",
        ),
        _case(
            "three target words and three source words",
            4,
            [[1, 1, 1], [1, 1, 0]],
            [[1, 0, 1], [1, 1, 1]],
        ),
        _case(
            "three target words and five source words",
            5,
            [[1, 1, 1], [1, 1, 0]],
            [[1, 1, 1, 1, 1], [0, 1, 1, 0, 0]],
            gradient="required",
        ),
        _case(
            "four target words and two source words",
            3,
            [[1, 1, 1, 1], [0, 1, 1, 1], [1, 1, 0, 0]],
            [[1, 1], [1, 0], [0, 1]],
        ),
        _case(
            "a source of padding only, target padded on the left",
            4,
            [[0, 0, 1, 1], [1, 1, 1, 1]],
            [[0, 0, 0], [1, 0, 1]],
        ),
        _case(
            "float32",
            6,
            [[1, 1, 1], [1, 1, 0]],
            [[1, 1, 1, 0], [1, 1, 1, 1]],
            stage="other",
            dtype=torch.float32,
        ),
        _case(
            "x and memory that are not contiguous",
            4,
            [[1, 1, 1], [1, 1, 1]],
            [[1, 1], [1, 0]],
            stage="other",
            transposed=True,
        ),
    ),
    mistakes=page(__file__, decoder_layer),
    alternatives=(_in_three_lines, _by_names, _by_a_loop, _by_sentences),
    starter=(
        "def decoder_layer(x, memory, tgt_mask, src_mask, self_attn, cross_attn, ffn, norms):\n"
        '    """x (B, n_t, d), memory (B, n_s, d), tgt_mask (B, 1, n_t, n_t), src_mask\n'
        "    (B, 1, 1, n_s), attention (query, key, value, mask), ffn(x), three norms\n"
        '    -> (B, n_t, d)."""\n'
        "    ...  # your code"
    ),
)
