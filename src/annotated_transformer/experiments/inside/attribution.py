"""Attribution: which source word mattered for a word, by three answers, and how far they agree."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from annotated_transformer.attention import MultiHeadAttention, scaled_dot_product_attention
from annotated_transformer.data import Split, Vocabulary
from annotated_transformer.errors import CallError
from annotated_transformer.experiments.inside.looks import of_words
from annotated_transformer.inspection import recording_attention
from annotated_transformer.masks import padding_mask
from annotated_transformer.transformer import Transformer

WAYS = ("weight", "gradient", "removal")


@dataclass(frozen=True)
class Explained:
    """How much each source word matters for each word of a translation, by three measures.

    Attributes:
        weight: attention of the last layer, mean over its heads, (target words, source words).
        gradient: the sum over features of |gradient times input|: the gradient of the word's
            log-probability, the input what stands at the source word before the first layer
            (embedding, scaled, and position).
        removal: how much the log-probability falls when the word is hidden from all attentions.
    """

    weight: Tensor
    gradient: Tensor
    removal: Tensor


def explain(model: Transformer, vocabulary: Vocabulary, source: str, target: str) -> Explained:
    """All three measures for each word of a translation, the words before it given.

    A word of several pieces is asked about where its first piece is written.
    """
    src = torch.tensor([[*vocabulary.encode(source), vocabulary.eos_id]])  # (1, n_src)
    tgt = torch.tensor([[vocabulary.bos_id, *vocabulary.encode(target)]])
    words = vocabulary.word_indices(source)
    target_words = vocabulary.word_indices(target)
    begins = [target_words.index(word) for word in range(max(target_words) + 1)]
    wanted = tgt[0, 1:][begins]  # first piece of each word
    pieces = of_words([*words, max(words) + 1])[:, :-1]  # the end sign is a piece of no word
    of_word = pieces.to(model.projection.weight.dtype)

    with torch.no_grad(), recording_attention(model) as recorded:
        model(src, tgt[:, :-1])
    last = f"decoder.layers.{len(model.decoder.layers) - 1}.cross_attention"
    weight = recorded[last][0].mean(0)[begins] @ of_word

    embedded = model.source_embedding(src).detach().requires_grad_()

    def log_probabilities(x: Tensor, mask: Tensor) -> Tensor:
        memory = model.encoder(x, mask)
        logits = model.project(model.decode(memory, tgt[:, :-1], mask))[0, begins]
        return logits.log_softmax(-1)[range(len(begins)), wanted]

    every = padding_mask(src, model.config.pad_id)
    told = log_probabilities(embedded, every)
    rows = []
    for place in range(len(begins)):
        (slope,) = torch.autograd.grad(told[place], embedded, retain_graph=True)
        rows.append((slope[0] * embedded[0].detach()).abs().sum(-1))
    gradient = torch.stack(rows) @ of_word

    falls = []
    with torch.no_grad():
        for word in range(of_word.size(1)):
            hidden = every & ~of_word[:, word].bool()
            falls.append(told.detach() - log_probabilities(embedded, hidden))
    return Explained(weight, gradient, torch.stack(falls, dim=1))


def rank_correlation(a: Tensor, b: Tensor) -> float:
    """Spearman's: the correlation of the ranks; equal values share the mean of their ranks."""
    one, two = (_ranks(values) - (len(values) - 1) / 2 for values in (a, b))
    return float((one @ two) / (one.norm() * two.norm()))


def _ranks(values: Tensor) -> Tensor:
    values = values.double()
    below = (values[:, None] > values[None, :]).sum(1)
    equal = (values[:, None] == values[None, :]).sum(1)
    return (below + below + equal - 1).double() / 2


def compared(
    model: Transformer, vocabulary: Vocabulary, split: Split, sentences: Sequence[int]
) -> dict[str, dict[str, float]]:
    """How far the three answers agree.

    Returns:
        "ranks": of each two ways, the mean rank correlation over target words; "top": how often
        both have the same word first; "loses": what the log-probability falls by, on average, when
        each way's first word is hidden, and on average over all words; "aligned": how often
        each way's first word is one that the target word translates.
    """
    assert split.alignments is not None
    pairs = (("weight", "gradient"), ("weight", "removal"), ("gradient", "removal"))
    ranks: dict[str, list[float]] = {}
    top: dict[str, list[float]] = {}
    loses: dict[str, list[float]] = {}
    aligned: dict[str, list[float]] = {}
    for sentence in sentences:
        found = explain(model, vocabulary, split.source[sentence], split.target[sentence])
        links = set(split.alignments[sentence])
        for place in range(len(found.weight)):
            of = {way: getattr(found, way)[place] for way in WAYS}
            for a, b in pairs:
                both = f"{a}, {b}"
                ranks.setdefault(both, []).append(rank_correlation(of[a], of[b]))
                top.setdefault(both, []).append(float(of[a].argmax() == of[b].argmax()))
            for way in WAYS:
                loses.setdefault(way, []).append(float(of["removal"][of[way].argmax()]))
            loses.setdefault("any word", []).append(float(of["removal"].mean()))
            if any(j == place for _, j in links):
                for way in WAYS:
                    hit = (int(of[way].argmax()), place) in links
                    aligned.setdefault(way, []).append(float(hit))
    measures = {"ranks": ranks, "top": top, "loses": loses, "aligned": aligned}
    return {
        name: {key: sum(values) / len(values) for key, values in of.items()}
        for name, of in measures.items()
    }


@contextmanager
def with_weights(
    model: nn.Module, names: Sequence[str], change: Callable[[Tensor, Tensor], Tensor]
) -> Iterator[None]:
    """While the block runs, some attentions use other weights than their own.

    Args:
        names: the attentions, each the paper's own kind.
        change: gets the weights (batch, heads, n_queries, n_keys) and which are allowed, bool, of
            the same shape; gives what is used instead.

    Raises:
        CallError: the model has no attention of that name and kind.
    """
    known = {
        name: module for name, module in model.named_modules() if type(module) is MultiHeadAttention
    }
    if lacking := [name for name in names if name not in known]:
        raise CallError(f"this model has no attention of the paper's kind named {lacking[0]!r}")

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        _, weights = scaled_dot_product_attention(query, key, value, mask)
        allowed = torch.ones(1, dtype=torch.bool) if mask is None else mask
        return change(weights, allowed.expand_as(weights)) @ value

    with ExitStack() as restored:
        for name in names:
            before = known[name].__dict__.get("attend")
            restored.callback(_put_back, known[name], before)
            known[name].__dict__["attend"] = attend  # it stands before the class's own
        yield


def _put_back(module: nn.Module, attend: object) -> None:
    if attend is None:
        del module.__dict__["attend"]
    else:
        module.__dict__["attend"] = attend


def uniform(weights: Tensor, allowed: Tensor) -> Tensor:
    """The same weight on every key that is allowed."""
    even = allowed.to(weights.dtype)
    return even / even.sum(-1, keepdim=True)


def shuffled(draw: torch.Generator) -> Callable[[Tensor, Tensor], Tensor]:
    """The same weights, dealt out at random among the keys that are allowed, row by row."""

    def deal(weights: Tensor, allowed: Tensor) -> Tensor:
        keys = torch.rand(weights.shape, generator=draw).masked_fill(~allowed, 2.0)
        places = keys.argsort(-1)  # the allowed first, in random order
        sorted_weights = weights.masked_fill(~allowed, -1.0).sort(-1, descending=True)[0]
        return torch.zeros_like(weights).scatter(-1, places, sorted_weights.clamp(min=0.0))

    return deal
