"""What a corpus looks like to a model (section 5.1): words, pieces, lengths, padding.

Chapter 7 measures the grammar corpus with these functions. `multi30k.json` beside this module holds
the same figures for Multi30k, which may not be handed on and is not downloaded in a chapter.
`python -m annotated_transformer.experiments.corpora_measured --data-dir FOLDER` makes it anew from
a folder with its text files.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from annotated_transformer.data import (
    EncodedSplit,
    ParallelCorpus,
    Split,
    Vocabulary,
    encode_split,
    padding_waste,
    token_batches,
)

RECORD = Path(__file__).resolve().parent / "multi30k.json"
VOCABULARY_SIZES = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 37_000)
BATCH_VOCABULARY = 10_000  # the size in the recorded training runs on Multi30k
SENTENCES, BUDGETS = 64, (1_024, 2_048, 25_000)
RARE = 5  # a piece seen less often than this is rare

Lengths = Sequence[tuple[int, int]]
Batches = Sequence[Sequence[int]]


def count_words(texts: Sequence[str]) -> Counter[str]:
    """How often each word occurs, words being what white space separates."""
    return Counter(word for text in texts for word in text.split())


def measure_text(split: Split) -> dict[str, Any]:
    """Counts of a split; where there are two numbers, they are for source and target."""
    counted = [count_words(side) for side in (split.source, split.target)]
    return {
        "pairs": len(split),
        "words": [sum(words.values()) for words in counted],
        "distinct_words": [len(words) for words in counted],
        "characters": [sum(map(len, side)) for side in (split.source, split.target)],
        "repeated_sources": len(split) - len(set(split.source)),
    }


def measure_vocabulary(split: Split, vocabulary: Vocabulary) -> dict[str, Any]:
    """What a vocabulary makes of the text it was trained on.

    Returns:
        "pieces": its size. "merges": how many were learned. "pieces_a_word" and "positions" (mean
        length as the model sees it, the sign included) for source and target; "rare": pieces that
        occur fewer than RARE times, the four specials not counted; "used" by source alone, by both
        and by target alone.
    """
    sides = [vocabulary.encode_batch(side) for side in (split.source, split.target)]
    uses = [Counter(piece for ids in side for piece in ids) for side in sides]
    words = [sum(count_words(side).values()) for side in (split.source, split.target)]
    total = uses[0] + uses[1]
    specials = 4
    return {
        "pieces": len(vocabulary),
        "merges": len(json.loads(vocabulary.tokenizer.to_str())["model"]["merges"]),
        "pieces_a_word": [
            sum(use.values()) / count for use, count in zip(uses, words, strict=True)
        ],
        "positions": [sum(use.values()) / len(split) + 1 for use in uses],
        "rare": sum(total[piece] < RARE for piece in range(specials, len(vocabulary))),
        "used": [
            len(uses[0].keys() - uses[1].keys()),
            len(uses[0].keys() & uses[1].keys()),
            len(uses[1].keys() - uses[0].keys()),
        ],
    }


def sentence_batches(order: Sequence[int], size: int) -> list[list[int]]:
    """Batches of `size` sentences, in this order; the last one may be smaller."""
    return [list(order[start : start + size]) for start in range(0, len(order), size)]


def by_length(lengths: Lengths) -> list[int]:
    """The indices sorted by source length, then by target length."""
    return sorted(range(len(lengths)), key=lambda index: lengths[index])


def measure_batches(lengths: Lengths, batches: Batches) -> dict[str, Any]:
    """Padding and sizes of batches.

    Returns:
        "batches": their number. "waste": share of positions that are padding, for source and
        target. "sentences": least and most in a batch. "positions" (padded, of the larger side):
        least and most in a batch; "spread" (of the real target tokens of a batch): standard
        deviation over mean. Both leave out the smallest tensor of several: the sentences that are
        left over at the end make a batch, too, and it says nothing about the way.
    """
    table = np.asarray(lengths)  # (pairs, 2)
    waste = padding_waste(lengths, batches)
    sizes = [len(batch) for batch in batches]
    counted = sorted(
        (len(batch) * int(table[list(batch)].max()), int(table[list(batch), 1].sum()))
        for batch in batches
    )
    positions, tokens = zip(*(counted[1:] or counted), strict=True)
    return {
        "batches": len(batches),
        "waste": [waste.source, waste.target],
        "sentences": [min(sizes), max(sizes)],
        "positions": [positions[0], positions[-1]],
        "spread": float(np.std(tokens) / np.mean(tokens)),
    }


def ways_to_batch(lengths: Lengths) -> dict[str, dict[str, Any]]:
    """The ways to make batches that the chapter compares, by their names."""
    given: list[int] = list(range(len(lengths)))
    ways: dict[str, Batches] = {
        f"{SENTENCES} sentences, as they come": sentence_batches(given, SENTENCES),
        f"{SENTENCES} sentences, sorted": sentence_batches(by_length(lengths), SENTENCES),
    }
    for budget in BUDGETS:
        ways[f"{budget:,} tokens"] = token_batches(lengths, budget, seed=0, epoch=0)
    return {name: measure_batches(lengths, batches) for name, batches in ways.items()}


def histogram(encoded: EncodedSplit) -> dict[str, list[list[int]]]:
    """[length, sentences] for source and target, in order of length."""
    source, target = zip(*encoded.lengths, strict=True)
    return {
        name: [list(pair) for pair in sorted(Counter(lengths).items())]
        for name, lengths in (("source", source), ("target", target))
    }


def measure_corpus(corpus: ParallelCorpus) -> dict[str, Any]:
    """Everything above for one corpus."""
    train = corpus["train"]
    texts = [*train.source, *train.target]
    vocabularies, encoded = [], None
    for size in VOCABULARY_SIZES:
        vocabulary = Vocabulary.train(texts, size)
        vocabularies.append({"asked": size, **measure_vocabulary(train, vocabulary)})
        if size == BATCH_VOCABULARY:
            encoded = encode_split(train, vocabulary)
    assert encoded is not None
    known = set(train.source)
    return {
        "corpus": corpus.name,
        "languages": [corpus.source_language, corpus.target_language],
        "origin": corpus.origin,
        "splits": {name: measure_text(split) for name, split in corpus.splits.items()},
        "sources_known_from_training": {
            name: sum(source in known for source in split.source)
            for name, split in corpus.splits.items()
            if name != "train"
        },
        "vocabularies": vocabularies,
        "batch_vocabulary": BATCH_VOCABULARY,
        "lengths": histogram(encoded),
        "batches": ways_to_batch(encoded.lengths),
    }


def load_record() -> dict[str, Any]:
    """The recorded figures of Multi30k, with the command that made them."""
    record: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))
    return record
