"""A search that writes nothing but trees of the sentence, for chapter 14.

A model of sequences may forget a bracket or a word. Beam search takes any decoder, so this one is
put around the model's: it hides every token that no tree of the sentence can go on with. Which word
comes next is known, so that only *whether* one comes is the model's to say: the next word has the
probability of all words together.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from annotated_transformer.data import Vocabulary
from annotated_transformer.decoding.beam import IncrementalDecoder

ROOT = "(ROOT"


class Begun(NamedTuple):
    """How far a row is.

    Attributes:
        words: how many stand in it.
        to_close: of each open phrase the token that closes it, outermost first.
        is_empty: whether the innermost holds nothing yet.
    """

    words: int = 0
    to_close: tuple[int, ...] = ()
    is_empty: bool = True


class TreesOnly:
    """A decoder whose tokens can only become a tree of the sentence: `beam.search` takes it.

    A row begins with (ROOT. Then, inside it, a phrase may open if a word waits, the next word may
    come, and the innermost phrase may close if it holds something, (ROOT only behind the last word.
    Behind )ROOT comes the end. So that a row can end in time, nothing opens if its tokens would
    then not be enough for the words that wait and for closing what is open.

    Args:
        inner: gives the logits; those of tokens that may not follow become -inf, and that of the
            next word takes in those of all words.
        words: of each sentence the ids of what stands for its words in a row.
        limits: how many tokens each row may have, the end counted.
        vocabulary: knows the tokens of phrases.

    Raises:
        ValueError: a sentence has no words.
        KeyError: the vocabulary is of no rows.
    """

    def __init__(
        self,
        inner: IncrementalDecoder,
        words: Sequence[Sequence[int]],
        limits: Sequence[int],
        vocabulary: Vocabulary,
    ) -> None:
        if not all(words):
            raise ValueError("a sentence without words has no tree; give each one word at least.")
        self.inner, self.words, self.limits = inner, words, limits
        ids: dict[str, int] = vocabulary.tokenizer.get_vocab()
        self.closing_of = {
            number: ids[")" + token[1:]]
            for token, number in ids.items()
            if token.startswith("(") and ")" + token[1:] in ids
        }
        self.root, self.eos_id = ids[ROOT], vocabulary.eos_id
        no_words = {*self.closing_of, *self.closing_of.values(), vocabulary.pad_id}
        no_words |= {vocabulary.bos_id, vocabulary.eos_id}
        self.any_word = torch.tensor(sorted(set(ids.values()) - no_words))
        self.opening = torch.tensor(sorted(set(self.closing_of) - {self.root}))
        self.searching = list(range(len(words)))  # sentences
        # Of each beginning of the last step how far it is, and what may follow it: (vocab,).
        self.begun: dict[tuple[int, tuple[int, ...]], tuple[Begun, Tensor]] = {}

    def next_logits(self, prefixes: Tensor) -> Tensor:
        """prefixes: (live, beam, length), bos first. Returns (live, beam, vocab)."""
        logits = self.inner.next_logits(prefixes)
        a_word = logits[..., self.any_word].logsumexp(dim=-1, keepdim=True)  # (live, beam, 1)
        logits = logits.index_copy(-1, self.any_word, a_word.expand(-1, -1, len(self.any_word)))
        allowed = torch.zeros_like(logits, dtype=torch.bool)
        begun = {}
        for row, rows in enumerate(prefixes.tolist()):
            sentence = self.searching[row]
            for place, prefix in enumerate(map(tuple, rows)):
                here = self._begun(sentence, prefix)
                if here is None:  # an empty place: its probability is 0 whatever follows
                    allowed[row, place] = True
                    continue
                left = self.limits[sentence] - len(prefix) + 1
                self._allow(allowed[row, place], here, sentence, left)
                begun[sentence, prefix] = here, allowed[row, place]
        self.begun = begun
        return logits.masked_fill(~allowed, -math.inf)

    def select(self, sentences: Tensor, parents: Tensor) -> None:
        """Follow the search: keep these sentences."""
        self.inner.select(sentences, parents)
        self.searching = [self.searching[row] for row in sentences.tolist()]

    def _begun(self, sentence: int, prefix: tuple[int, ...]) -> Begun | None:
        """How far a beginning is; None if its last token was not allowed, or one before."""
        if len(prefix) == 1:  # bos
            return Begun()
        *_, token = prefix
        past = self.begun.get((sentence, prefix[:-1]))
        if past is None or not past[1][token]:
            return None
        words, to_close, _ = past[0]
        if token in self.closing_of:
            return Begun(words, (*to_close, self.closing_of[token]), True)
        if to_close and token == to_close[-1]:
            return Begun(words, to_close[:-1], False)
        return Begun(words + 1, to_close, False)

    def _allow(self, allowed: Tensor, begun: Begun, sentence: int, left: int) -> None:
        """Mark in (vocab,) what may follow, of so many tokens that are left."""
        words, to_close, is_empty = begun
        waiting = self.words[sentence][words:]
        if not to_close:
            allowed[self.eos_id if words else self.root] = True
            return
        if waiting:
            allowed[waiting[0]] = True
            # With one more phrase open: itself, all the words, what closes, the end.
            if left >= 1 + len(waiting) + len(to_close) + 2:
                allowed[self.opening] = True
        if not is_empty and (len(to_close) > 1 or not waiting):
            allowed[to_close[-1]] = True
