"""A trained model as a parser: from words to a row, and from a row to a tree."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from annotated_transformer.data import Vocabulary, collate
from annotated_transformer.data.gum import word_tokens
from annotated_transformer.data.trees import Tree, delinearise, leaf
from annotated_transformer.data.word_classes import tokens_of
from annotated_transformer.decoding.beam import search
from annotated_transformer.decoding.incremental import CachedDecoder
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.experiments.parsing.search import TreesOnly
from annotated_transformer.training.run_directory import load_run
from annotated_transformer.transformer import Transformer, evaluation_mode

MAX_EXTRA = 300  # tokens that a row may have more than the sentence has words (section 6.3)


@dataclass(frozen=True)
class Parser:
    """A model trained on the corpus "gum".

    Attributes:
        model: the Transformer.
        vocabulary: of its run, whose words are those that it knows.
        form: of its rows: "tree", "words" or "xx", the target of `data.gum.load_gum`.
    """

    model: Transformer
    vocabulary: Vocabulary
    form: str

    @classmethod
    def load(cls, run_dir: Path) -> "Parser":
        """From a run directory.

        Raises:
            CallError: the run did not learn from trees.
        """
        model, vocabulary, config = load_run(run_dir)
        if config.data["name"] != "gum":
            raise CallError(
                f"{run_dir} has learned from the corpus {config.data['name']!r} and writes no "
                "trees; give a run with --data gum --target tree."
            )
        return cls(model, vocabulary, config.data["target"])

    @cached_property
    def known(self) -> frozenset[str]:
        """What its vocabulary holds."""
        return frozenset(self.vocabulary.tokenizer.get_vocab())

    def tokens(self, words: Sequence[str]) -> list[str]:
        """A sentence as the model reads it."""
        return tokens_of(words, self.known)

    def word_tokens(self, words: Sequence[str]) -> list[str]:
        """What stands for its words in a row; <unk> for what no row of its training had."""
        row = " ".join(word_tokens(self.tokens(words), self.form))
        return self.vocabulary.decode(self.vocabulary.encode(row)).split()

    def rows(
        self,
        sentences: Sequence[Sequence[str]],
        *,
        beam_size: int = 4,
        alpha: float = 0.0,
        at_once: int = 32,
    ) -> list[str]:
        """Of each sentence the best row that is a tree of its words.

        Args:
            sentences: their words, one at least.
            beam_size: the paper's is 21 here.
            alpha: of the length penalty; the paper's is 0.3 here. All that is searched for are
                trees of the same words, so that it matters little.
            at_once: sentences that are searched together.

        Raises:
            CallError: a sentence has no words, or is a text that is not cut into words.
        """
        for words in sentences:
            if not words or isinstance(words, str):
                raise CallError(
                    f"{words!r} was given as a sentence; a list of its words is expected, one at "
                    "least: words_of_text(text) cuts a text."
                )
        ids = [self.vocabulary.encode(" ".join(self.word_tokens(words))) for words in sentences]
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        rows = [""] * len(ids)
        for first in range(0, len(order), at_once):
            places = order[first : first + at_once]
            found = self._search(
                [sentences[place] for place in places],
                [ids[place] for place in places],
                beam_size,
                alpha,
            )
            for place, row in zip(places, found, strict=True):
                rows[place] = row
            if len(order) > at_once:
                done = first + len(places)
                print(f"  {done} of {len(order)} parsed", end="\r", file=sys.stderr, flush=True)
        return rows

    @torch.inference_mode()
    def _search(
        self,
        sentences: Sequence[Sequence[str]],
        ids: Sequence[Sequence[int]],
        beam_size: int,
        alpha: float,
    ) -> list[str]:
        vocabulary = self.vocabulary
        sources = [vocabulary.encode(" ".join(self.tokens(words))) for words in sentences]
        src = collate([[*source, vocabulary.eos_id] for source in sources], vocabulary.pad_id)
        # One less than in `free_rows`, where the source's end counts: both are recorded so.
        limits = [len(words) + MAX_EXTRA for words in ids]
        with evaluation_mode(self.model):
            decoder = CachedDecoder(self.model, src, beam_size)
            found = search(
                TreesOnly(decoder, ids, limits, vocabulary),
                limits,
                beam_size=beam_size,
                alpha=alpha,
                nbest=1,
                bos_id=vocabulary.bos_id,
                eos_id=vocabulary.eos_id,
            )
        return [vocabulary.decode(best.tokens) for [best] in found]

    def parse(self, words: Sequence[str], leaves: Sequence[Tree] | None = None) -> Tree:
        """The tree of one sentence.

        Args:
            words: of the sentence.
            leaves: what the tree stands on, words under their tags; under the tag XX if None.

        Raises:
            CallError: as `rows`.
        """
        (row,) = self.rows([words])
        tree, _ = self.read(row, [leaf(word) for word in words] if leaves is None else leaves)
        return tree

    def free_rows(
        self, sentences: Sequence[Sequence[str]], *, beam_size: int = 4, alpha: float = 0.3
    ) -> list[str]:
        """The best row of each sentence, whatever the model writes.

        Args:
            sentences: their words, one at least.
            beam_size: the paper's is 21 here.
            alpha: of the length penalty; with 0 the best row of a long sentence is often the empty
                one.
        """
        return translate_sentences(
            self.model,
            self.vocabulary,
            [" ".join(self.tokens(words)) for words in sentences],
            beam_size=beam_size,
            alpha=alpha,
            max_extra=MAX_EXTRA,
        )

    def read(self, row: str, leaves: Sequence[Tree]) -> tuple[Tree, bool]:
        """The tree of a row above these words, mended if it is none, and whether it was one."""
        words = [word for part in leaves for word in part.words()]
        return delinearise(row, leaves, self.word_tokens(words))
