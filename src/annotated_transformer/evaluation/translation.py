"""From sentences to sentences: encode, sort by length, search in batches, decode, put in order."""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from annotated_transformer.after.families import OneStack
from annotated_transformer.config import ALPHA, BEAM_SIZE, MAX_EXTRA
from annotated_transformer.data import Vocabulary, collate, token_batches
from annotated_transformer.decoding import NO_NUMBER, beam_search
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.inspection import recording_attention
from annotated_transformer.transformer import Transformer, evaluation_mode

logger = logging.getLogger(__name__)

LONGEST_SOURCE = 1024  # tokens; attention needs memory for the square of this

Progress = Callable[[int, int], None]  # called with how many sentences are done, and of how many


@dataclass(frozen=True)
class Translation:
    """One translation of one sentence, and how the search ranked it."""

    text: str
    score: float  # log-probability over length penalty: higher is better
    log_probability: float  # in nats, of all tokens and eos
    tokens: tuple[int, ...]  # bos first; eos last, unless the length limit ended it


@dataclass(frozen=True)
class CrossAttention:
    """What each piece of a translation looked at, by layer and head."""

    source: list[str]  # (n_src,) pieces, eos last
    target: list[str]  # (n_tgt,) pieces as they were predicted, eos last
    weights: list[list[list[list[float]]]]  # (num_layers, num_heads, n_tgt, n_src)


def translate_sentences(
    model: Transformer,
    vocabulary: Vocabulary,
    sentences: Sequence[str],
    *,
    beam_size: int = BEAM_SIZE,
    alpha: float = ALPHA,
    max_extra: int = MAX_EXTRA,
    batch_tokens: int = 2048,
    progress: Progress | None = None,
) -> list[str]:
    """The best translation of each sentence, in the order given; "" where there is none.

    The defaults of the search are the paper's (section 6.1). See `nbest_translations`.
    """
    found = nbest_translations(
        model,
        vocabulary,
        sentences,
        beam_size=beam_size,
        alpha=alpha,
        max_extra=max_extra,
        batch_tokens=batch_tokens,
        progress=progress,
    )
    return [translations[0].text if translations else "" for translations in found]


def nbest_translations(
    model: Transformer,
    vocabulary: Vocabulary,
    sentences: Sequence[str],
    *,
    beam_size: int = BEAM_SIZE,
    alpha: float = ALPHA,
    max_extra: int = MAX_EXTRA,
    nbest: int = 1,
    batch_tokens: int = 2048,
    first_line: int = 1,
    prefix: str | Sequence[str] = "",
    progress: Progress | None = None,
) -> list[list[Translation]]:
    """The nbest translations of each sentence, best first, in the order given.

    An empty sentence has none. Neither has one of more tokens than `longest_source`, or one whose
    translation may not become as long as its prefix: of these a warning is logged under the line
    number.

    Args:
        model: a trained model, on any device.
        vocabulary: the one that it was trained with.
        sentences: plain text, one sentence each.
        beam_size: how many beginnings are kept (section 6.1).
        alpha: of the length penalty (section 6.1).
        max_extra: tokens that a translation may have more than its source (section 6.1).
        nbest: how many translations of each sentence are wanted.
        batch_tokens: source tokens in a batch, padding counted; more need more memory.
        first_line: the number of the first sentence in warnings.
        prefix: the text that each translation must begin with: one for all, or one a sentence ("":
            any). What follows may go on with its last word.
        progress: told after each batch how far it is.

    Raises:
        CallError: if there is not one prefix a sentence, or one text in place of sentences.
        WorkError: if the model's output is not a number, so that nothing can be searched.
    """
    sources, beginnings, wanted = what_is_searched(
        model, vocabulary, sentences, prefix, max_extra=max_extra, first_line=first_line
    )
    lengths = [(len(sources[index]), len(sources[index])) for index in wanted]
    budget = max([batch_tokens, *(length for length, _ in lengths)])
    translations: list[list[Translation]] = [[] for _ in sentences]
    done = 0
    for batch in token_batches(lengths, budget, seed=0, epoch=0):
        indices = [wanted[place] for place in batch]
        src = collate([sources[index] for index in indices], vocabulary.pad_id)  # (batch, n_src)
        forced = collate([beginnings[index] for index in indices], vocabulary.pad_id)
        found = beam_search(
            model,
            src.to(model.device),
            beam_size,
            alpha,
            max_extra=max_extra,
            nbest=nbest,
            prefix=forced.to(model.device),  # (batch, n_prefix)
        )
        for index, hypotheses in zip(indices, found, strict=True):
            if not hypotheses or not math.isfinite(hypotheses[0].score):
                raise WorkError(NO_NUMBER)
            translations[index] = [
                Translation(
                    vocabulary.decode(hypothesis.tokens),
                    hypothesis.score,
                    hypothesis.log_probability,
                    hypothesis.tokens,
                )
                for hypothesis in hypotheses
            ]
        done += len(indices)
        if progress is not None:
            progress(done, len(wanted))
    return translations


def what_is_searched(
    model: Transformer,
    vocabulary: Vocabulary,
    sentences: Sequence[str],
    prefix: str | Sequence[str],
    *,
    max_extra: int,
    first_line: int,
) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """What a search is given; the arguments are those of `nbest_translations`.

    Returns:
        The ids of each sentence, eos behind; what its translation must begin with; and the indices
        of those that are translated. Of the others a warning is logged, but for empty ones.

    Raises:
        CallError: if there is not one prefix a sentence, or one text in place of sentences.
    """
    if isinstance(sentences, str):
        raise CallError("one text was given where sentences are expected: write [text].")
    sources = source_ids(vocabulary, sentences)
    beginnings = prefix_ids(vocabulary, prefix, sources)
    limit = longest_source(model, max_extra)
    wanted = []
    for index, ids in enumerate(sources):
        if reason := refusal(ids, beginnings[index], limit, max_extra):
            logger.warning("line %d%s: it is left empty", first_line + index, reason)
        elif len(ids) > 1:  # more than eos
            wanted.append(index)
    return sources, beginnings, wanted


@torch.inference_mode()
def cross_attention(
    model: Transformer, vocabulary: Vocabulary, sentence: str, translation: Translation
) -> CrossAttention:
    """The cross-attention weights of a translation, given its source; without dropout.

    Raises:
        CallError: if the model has none.
    """
    if isinstance(model, OneStack):
        raise CallError(
            f"family = {model.config.family} has no cross-attention: its translation sees the "
            "source by self-attention. Leave --attention out, or take a model of two stacks."
        )
    [source] = source_ids(vocabulary, [sentence])
    with evaluation_mode(model), recording_attention(model) as recorded:
        model(
            torch.tensor([source], device=model.device),
            torch.tensor([translation.tokens[:-1]], device=model.device),
        )
    names = [f"decoder.layers.{number}.cross_attention" for number in range(model.config.depths[1])]
    return CrossAttention(
        source=vocabulary.pieces(source),
        target=vocabulary.pieces(translation.tokens[1:]),
        weights=[recorded[name][0].tolist() for name in names],
    )


def source_ids(vocabulary: Vocabulary, sentences: Sequence[str]) -> list[list[int]]:
    """The ids of each sentence with eos behind, as in training."""
    return [[*ids, vocabulary.eos_id] for ids in vocabulary.encode_batch(sentences)]


def prefix_ids(
    vocabulary: Vocabulary, prefix: str | Sequence[str], sources: Sequence[Sequence[int]]
) -> list[list[int]]:
    """What each translation must begin with: ids without start and end.

    Raises:
        CallError: if there is not one a sentence.
    """
    texts = [prefix] * len(sources) if isinstance(prefix, str) else list(prefix)
    if len(texts) != len(sources):
        raise CallError(f"{len(texts)} prefixes were given for {len(sources)} sentences.")
    return vocabulary.encode_batch(texts)


def refusal(
    source: Sequence[int], beginning: Sequence[int], limit: int, max_extra: int = MAX_EXTRA
) -> str:
    """Why a line with these ids is not translated, to be read after its number; "" if it is.

    Args:
        source: of the sentence, eos behind.
        beginning: of its translation.
        limit: ids that a source may have.
        max_extra: ids that its translation may have more.
    """
    if len(source) == 1:  # eos: an empty line has no translation, and misses none
        return ""
    if len(source) > limit:
        return f" has {len(source)} tokens and at most {limit} can be translated"
    longest = len(source) + max_extra  # of its translation (section 6.1)
    if len(beginning) >= longest:
        return (
            f": its translation may have {longest} tokens and the prefix has "
            f"{len(beginning)} already"
        )
    return ""


def longest_source(model: Transformer, max_extra: int = MAX_EXTRA) -> int:
    """How many tokens a source may have: a learned table of positions ends, and memory does."""
    if model.config.positions != "learned":
        return LONGEST_SOURCE
    room = model.config.max_positions - max_extra
    if isinstance(model, OneStack):  # a row holds the source and, as long, its translation
        room //= 2
    return max(0, min(LONGEST_SOURCE, room))


def check_room(model: Transformer, max_extra: int) -> None:
    """Raises CallError if a learned table of positions is too short for any translation."""
    if longest_source(model, max_extra) < 2:  # a piece and eos
        raise CallError(
            f"max_extra {max_extra} leaves a source no token: the model has a table of "
            f"{model.config.max_positions} positions, so ask for less, with --max-extra on the "
            "command line."
        )
