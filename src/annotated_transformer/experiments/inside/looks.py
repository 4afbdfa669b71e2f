"""The weights of every head on sentences, in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from annotated_transformer.data import Split, Vocabulary, encode_split, make_batch
from annotated_transformer.inspection import recording_attention
from annotated_transformer.transformer import Transformer

AT_ONCE = 50  # sentences


@dataclass(frozen=True)
class Looks:
    """Where every head of a translator looks in one pair of sentences, word by word.

    A weight on a word is the sum of the weights on its pieces; a word of several pieces looks with
    the mean of them. Behind the last source word stands the end sign, before the first target word
    the start sign: each has a column.

    Attributes:
        sentence: which of the split.
        encoder: attention -> (heads, source words, source words + 1).
        decoder: attention -> (heads, target words, 1 + target words), where a word has been *read*:
            the row of a word is that in which it is the last one known.
        cross: attention -> (heads, target words, source words + 1), where a word is about to be
            *written*.
    """

    sentence: int
    encoder: dict[str, Tensor]
    decoder: dict[str, Tensor]
    cross: dict[str, Tensor]

    @property
    def every(self) -> dict[str, Tensor]:
        """All attentions."""
        return {**self.encoder, **self.decoder, **self.cross}


def in_words(weights: Tensor, rows: Sequence[int], columns: Sequence[int]) -> Tensor:
    """Weights between pieces as weights between words.

    Args:
        weights: (heads, pieces that look, pieces looked at).
        rows: the word of each piece that looks, from 0 on.
        columns: the word of each piece looked at, from 0 on.

    Returns:
        (heads, words that look, words looked at): summed over the pieces looked at, the mean over
        those that look. Rows still sum to 1.
    """
    looking, looked_at = (of_words(words).to(weights.dtype) for words in (rows, columns))
    return (looking / looking.sum(0)).T @ weights @ looked_at


def of_words(words: Sequence[int]) -> Tensor:
    """Which piece belongs to which word: 1 or 0, (pieces, words), from the word of each piece."""
    return torch.nn.functional.one_hot(torch.tensor(words))


@torch.no_grad()
def look(model: Transformer, vocabulary: Vocabulary, split: Split) -> Iterator[Looks]:
    """Where every head looks in each pair of a split, the reference being what is written."""
    encoded = encode_split(split, vocabulary)
    for start in range(0, len(encoded), AT_ONCE):
        batch = make_batch(encoded, list(range(start, min(start + AT_ONCE, len(encoded)))))
        with recording_attention(model) as recorded:
            model(batch.src, batch.tgt[:, :-1])
        for row, sentence in enumerate(batch.indices):
            source = vocabulary.word_indices(split.source[sentence])
            target = vocabulary.word_indices(split.target[sentence])
            with_end = [*source, max(source) + 1]
            with_start = [0, *(word + 1 for word in target)]
            s, t = len(source), len(target)
            found: dict[str, dict[str, Tensor]] = {"encoder": {}, "decoder": {}, "cross": {}}
            for name, weights in recorded.items():
                of = weights[row]  # (heads, longest, longest)
                if name.endswith("cross_attention"):
                    found["cross"][name] = in_words(of[:, :t, : s + 1], target, with_end)
                elif name.startswith("encoder"):
                    found["encoder"][name] = in_words(of[:, :s, : s + 1], source, with_end)
                else:
                    of = of[:, 1 : t + 1, : t + 1]
                    found["decoder"][name] = in_words(of, target, with_start)
            yield Looks(sentence, **found)
