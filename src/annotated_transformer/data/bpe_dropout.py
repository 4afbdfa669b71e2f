"""BPE dropout (Provilkov et al., 2020): the same word is split in another way each time.

When a word is put together from its characters, every merge that could come next is left out with
probability p, and the best of the others is made; where all are left out, the word is done. The
model then sees rare pieces more often, and words as something that has parts. A named departure:
the paper always makes every merge.
"""

import json
from collections import Counter
from itertools import pairwise
from random import Random

from annotated_transformer.data.corpus import Split
from annotated_transformer.data.encoding import EncodedSplit, encode_pairs
from annotated_transformer.data.vocabulary import Vocabulary
from annotated_transformer.errors import CallError

COPIES = 8  # of the training pairs; epochs take them in turn
MOST_SPLITS = 16  # of one word in a copy, from which its occurrences take theirs


class Merges:
    """The merges of a vocabulary, made at random.

    Args:
        vocabulary: whose pieces and merges these are.
        p: the probability that a merge is left out, each time it could be made.
    """

    def __init__(self, vocabulary: Vocabulary, p: float) -> None:
        model = json.loads(vocabulary.tokenizer.to_str())["model"]
        self.ids: dict[str, int] = model["vocab"]
        self.ranks = {(left, right): rank for rank, (left, right) in enumerate(model["merges"])}
        self.unk_id, self.p = vocabulary.unk_id, p

    def split(self, word: str, random: Random) -> list[int]:
        """The ids of a word, split anew."""
        pieces = list(word)
        while True:
            candidates = [
                (self.ranks[pair], place)
                for place, pair in enumerate(pairwise(pieces))
                if pair in self.ranks and random.random() >= self.p
            ]
            if not candidates:
                return [self.ids.get(piece, self.unk_id) for piece in pieces]
            _, place = min(candidates)
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]


def split_anew(
    split: Split, vocabulary: Vocabulary, p: float, seed: int, max_length: int | None = None
) -> list[EncodedSplit]:
    """The pairs of a split as ids, COPIES times. The same seed gives the same ids.

    Args:
        split: the sentences, held in memory.
        vocabulary: gives words, pieces and merges.
        p: probability that a merge is left out, 0 to 1.
        seed: of the run.
        max_length: as in `encode_split`, of the pair as it is split this time.

    Raises:
        CallError: the split is too large to be held in memory, or nothing is left.
    """
    if split.is_stored:
        raise CallError(
            f"BPE dropout holds {COPIES} copies of the {len(split):,} training pairs in memory, "
            "and this corpus is read from the disk: leave --bpe-dropout out, or train on fewer "
            "lines."
        )
    random, merges = Random(seed), Merges(vocabulary, p)
    sides = [[vocabulary.words(text) for text in side] for side in (split.source, split.target)]
    counts = Counter(word for side in sides for words in side for word in words)
    copies = []
    for _ in range(COPIES):
        ways = {
            word: [merges.split(word, random) for _ in range(min(count, MOST_SPLITS))]
            for word, count in counts.items()
        }
        source, target = (
            [[piece for word in words for piece in random.choice(ways[word])] for words in side]
            for side in sides
        )
        copies.append(encode_pairs(source, target, vocabulary, max_length))
    return copies
