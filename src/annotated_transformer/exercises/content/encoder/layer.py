"""`encoder.layer`: self-attention and feed-forward, each with residual and norm (section 3.1)."""

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
    norm_part,
    silent_attention,
    silent_network,
)
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Gradient, Stage, call


def encoder_layer(
    x: Tensor, mask: Tensor, self_attn: Attention, ffn: Network, norms: Sequence[Norm]
) -> Tensor:
    norm_1, norm_2 = norms
    query = key = value = x  # self-attention: all three are made from the same words
    attended = self_attn(query, key, value, mask)  # (B, n, d): words look at one another
    middle = norm_1(x + attended)
    changed = ffn(middle)  # (B, n, d): each word by itself
    return norm_2(middle + changed)


def _in_two_lines(
    x: Tensor, mask: Tensor, self_attn: Attention, ffn: Network, norms: Sequence[Norm]
) -> Tensor:
    x = norms[0](x + self_attn(x, x, x, mask))
    return norms[1](x + ffn(x))


def _by_names(
    x: Tensor, mask: Tensor, self_attn: Attention, ffn: Network, norms: Sequence[Norm]
) -> Tensor:
    first, second = norms
    attended = self_attn(query=x, key=x, value=x, mask=mask)
    middle = first(torch.add(attended, x))
    return second(torch.add(ffn(middle), middle))


def _by_a_wrapper(
    x: Tensor, mask: Tensor, self_attn: Attention, ffn: Network, norms: Sequence[Norm]
) -> Tensor:
    def wrapped(inputs: Tensor, sublayer: Callable[[Tensor], Tensor], norm: Norm) -> Tensor:
        return norm(sublayer(inputs).add(inputs))

    middle = wrapped(x, lambda y: self_attn(y, y, y, mask), norms[0])
    return wrapped(middle, ffn, norms[1])


def _by_a_loop(
    x: Tensor, mask: Tensor, self_attn: Attention, ffn: Network, norms: Sequence[Norm]
) -> Tensor:
    sublayers: list[Callable[[Tensor], Tensor]] = [lambda y: self_attn(y, y, y, mask), ffn]
    for sublayer, norm in zip(sublayers, norms, strict=True):
        x = norm(x + sublayer(x))
    return x


def _by_sentences(
    x: Tensor, mask: Tensor, self_attn: Attention, ffn: Network, norms: Sequence[Norm]
) -> Tensor:
    masks = mask.expand(x.size(0), -1, -1, -1)
    sentences = []
    for i in range(x.size(0)):
        sentence = x[i : i + 1]
        sentence = norms[0](sentence + self_attn(sentence, sentence, sentence, masks[i : i + 1]))
        sentences.append(norms[1](sentence + ffn(sentence)))
    return torch.cat(sentences)


def _case(
    name: str,
    shape: tuple[int, int, int],
    mask: list[list[int]],
    *,
    attention: Callable[..., Attention] = attention_part,
    network: Callable[..., Network] = network_part,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
) -> Case:
    """Drawn parts, and a mask (B, 1, 1, n) with a row for each sentence."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        parts: tuple[Any, ...] = (generator, dtype, shape[-1])
        visible = torch.tensor(mask, dtype=torch.bool)[:, None, None, :]
        x = drawn(generator, dtype, *shape)
        norms = [norm_part(*parts), norm_part(*parts)]
        return call(x, visible, attention(*parts), network(*parts), norms)

    return Case(name, make, isolates=isolates, stage=stage, dtype=dtype, gradient=gradient)


def _not_contiguous(generator: torch.Generator, dtype: torch.dtype) -> Call:
    parts: tuple[Any, ...] = (generator, dtype, 4)
    x = drawn(generator, dtype, 3, 2, 4).transpose(0, 1)  # (2, 3, 4)
    visible = torch.tensor([[1, 1], [1, 0], [0, 1]], dtype=torch.bool).T[:, None, None, :]
    norms = [norm_part(*parts), norm_part(*parts)]
    return call(x, visible, attention_part(*parts), network_part(*parts), norms)


ENCODER_LAYER = Exercise(
    id="encoder.layer",
    title="The encoder layer",
    kind="code",
    difficulty=3,
    minutes=12,
    signature="encoder_layer(x (B, n, d), mask, self_attn, ffn, norms) -> (B, n, d)",
    statement=(
        "Put one encoder layer together, as in the left half of figure 1: self-attention, then "
        "the feed-forward network, each followed by residual and norm (post-norm), without "
        "dropout. self_attn is a callable (query, key, value, mask), ffn a callable of one "
        "tensor, norms a list of two callables, the first for self-attention and the second for "
        "the feed-forward network. mask is boolean, (B, 1, 1, n), True = may attend. The dtype is "
        "kept, x is left untouched. Gradients have to flow back to its inputs: it is trained "
        "through."
    ),
    objective="Assemble an encoder layer in the order of figure 1, with the mask where it belongs.",
    prerequisite="encoder.sublayer_connection; multihead.attention; masks.padding",
    hints=(
        "Follow the arrows of figure 1, left half, from below. Where does each of the two arrows "
        "that pass a block by start, and where does it end?",
        "Two sub-layer connections one after the other. What goes into the second is what came "
        "out of the first, for the network and for the residual alike.",
        "`x = norms[0](x + self_attn(x, x, x, mask))`, then `x = norms[1](x + ffn(x))`.",
    ),
    reference=encoder_layer,
    explanation=(
        "In self-attention queries, keys and values are all made from x, and the mask hides the "
        "padding among the keys; the network needs no mask, since it never looks at another word. "
        "Each sub-layer has a norm with a gain and a shift of its own, because what comes out of "
        "attention and what comes out of the network differ in size. The second residual starts "
        "behind the first norm, not at the layer's input: a layer is two steps, each of which adds "
        "a correction to what is there."
    ),
    cases=(
        _case(
            "attention and network that return zeros",
            (2, 2, 3),
            [[1, 1], [1, 1]],
            attention=silent_attention,
            network=silent_network,
            isolates="the norms: both sub-layers add nothing",
        ),
        _case(
            "a network that returns zeros, nothing masked",
            (2, 3, 4),
            [[1, 1, 1], [1, 1, 1]],
            network=silent_network,
            isolates="self-attention, its residual and its norm: the network adds nothing",
        ),
        _case(
            "attention that returns zeros",
            (2, 3, 4),
            [[1, 1, 1], [1, 1, 0]],
            attention=silent_attention,
            isolates="the network, its residual and its norm: attention adds nothing",
        ),
        _case("two sentences of three words, nothing masked", (2, 3, 4), [[1, 1, 1], [1, 1, 1]]),
        _case(
            "three sentences of four words, padded on either side",
            (3, 4, 5),
            [[1, 1, 1, 0], [1, 1, 0, 0], [0, 1, 1, 1]],
            gradient="required",
        ),
        _case("a sentence of padding only", (2, 3, 4), [[1, 0, 1], [0, 0, 0]]),
        _case("as many sentences as words", (3, 3, 6), [[1, 1, 0], [1, 0, 0], [1, 1, 1]]),
        _case(
            "float32",
            (2, 4, 6),
            [[1, 1, 1, 0], [1, 1, 1, 1]],
            stage="other",
            dtype=torch.float32,
        ),
        Case("x and mask that are not contiguous", _not_contiguous, stage="other"),
    ),
    mistakes=page(__file__, encoder_layer),
    alternatives=(_in_two_lines, _by_names, _by_a_wrapper, _by_a_loop, _by_sentences),
    starter=(
        "def encoder_layer(x, mask, self_attn, ffn, norms):\n"
        '    """x (B, n, d), mask (B, 1, 1, n), self_attn(query, key, value, mask), ffn(x),\n'
        '    norms: two callables -> (B, n, d)."""\n'
        "    ...  # your code"
    ),
)
