"""A search that can only write trees: whatever the model says, and as well as without bounds."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer.data import Vocabulary
from annotated_transformer.data.trees import Tree, delinearise
from annotated_transformer.decoding.beam import search
from annotated_transformer.experiments.parsing.search import TreesOnly

VOCABULARY = Vocabulary.of_words(["(ROOT (S (NP a b c )NP )S )ROOT"], 50)
BOS, EOS = VOCABULARY.bos_id, VOCABULARY.eos_id


class Noise:
    """Logits drawn at random for each beginning, the same whenever it is asked about."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def next_logits(self, prefixes: Tensor) -> Tensor:
        drawn = [
            torch.randn(
                len(VOCABULARY),
                generator=torch.Generator().manual_seed(hash((self.seed, *prefix)) % 2**31),
            )
            for prefix in prefixes.flatten(0, 1).tolist()
        ]
        return 3 * torch.stack(drawn).view(*prefixes.shape[:2], -1)

    def select(self, sentences: Tensor, parents: Tensor) -> None:
        pass


def parsed(seed: int, sentences: list[list[str]], extra: int, beam: int = 3, nbest: int = 1):
    words = [VOCABULARY.encode(" ".join(tokens)) for tokens in sentences]
    limits = [len(ids) + extra for ids in words]
    return search(
        TreesOnly(Noise(seed), words, limits, VOCABULARY),
        limits,
        beam_size=beam,
        alpha=0.0,
        nbest=nbest,
        bos_id=BOS,
        eos_id=EOS,
    )


SENTENCES = st.lists(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=6), min_size=1, max_size=4
)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), SENTENCES, st.integers(3, 20), st.integers(1, 12))
def test_whatever_the_model_says_a_row_is_a_tree_of_its_words(seed, sentences, extra, beam) -> None:
    for tokens, found in zip(sentences, parsed(seed, sentences, extra, beam), strict=True):
        leaves = [Tree("T", (word,)) for word in tokens]
        tree, well_formed = delinearise(VOCABULARY.decode(found[0].tokens), leaves, tokens)
        assert well_formed
        assert tree.label == "ROOT"
        assert len(found[0].tokens) - 1 <= len(tokens) + extra
        assert math.isfinite(found[0].log_probability)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from(["(S", "(NP", ")S", ")NP", "a"]), max_size=12), st.integers(1, 3))
def test_whatever_stands_in_a_place_of_the_beam_something_may_follow(tokens, n) -> None:
    """An empty place holds any beginning; were nothing to follow, its logits were no numbers."""
    ids = VOCABULARY.encode(" ".join(["(ROOT", *tokens]))
    words = VOCABULARY.encode(" ".join("a" * n))
    decoder = TreesOnly(Noise(0), [words], [n + 20], VOCABULARY)
    for length in range(len(ids) + 1):
        logits = decoder.next_logits(torch.tensor([[[BOS, *ids[:length]]]]))
        assert logits.log_softmax(dim=-1).isnan().sum() == 0


def every_row(words: list[str], limit: int) -> set[str]:
    """All rows of so many tokens that are trees of these words, by trying all that there are."""
    leaves = [Tree("T", (word,)) for word in words]
    tokens = ["(S", ")S", "(NP", ")NP", *sorted(set(words))]
    found = set()
    for length in range(len(words), limit - 2):
        for inside in itertools.product(tokens, repeat=length):
            row = " ".join(["(ROOT", *inside, ")ROOT"])
            if delinearise(row, leaves, words)[1]:
                found.add(row)
    return found


def test_all_trees_that_fit_are_found_and_no_others() -> None:
    words = ["a", "b"]
    limit = 2 + 7  # (ROOT, )ROOT and the end, and six tokens of phrases and words
    found = parsed(0, [words], limit - len(words), beam=200, nbest=200)[0]
    assert {VOCABULARY.decode(one.tokens) for one in found} == every_row(words, limit)


def test_a_vocabulary_without_rows_is_refused() -> None:
    with pytest.raises(KeyError):
        TreesOnly(Noise(0), [[4]], [9], Vocabulary.of_words(["a b"], 9))


def test_the_next_word_is_as_probable_as_all_words_and_every_other_token_as_itself() -> None:
    words = VOCABULARY.encode("a b")
    any_word = [*VOCABULARY.encode("a b c"), VOCABULARY.unk_id]
    row = [BOS, *VOCABULARY.encode("(ROOT (NP a )NP (S (NP b )NP )S )ROOT")]
    decoder = TreesOnly(Noise(0), [words], [20], VOCABULARY)
    for length in range(1, len(row) + 1):
        prefixes = torch.tensor([[row[:length]]])
        given, logits = Noise(0).next_logits(prefixes)[0, 0], decoder.next_logits(prefixes)[0, 0]
        for token in logits.isfinite().nonzero().flatten().tolist():
            expected = given[any_word].logsumexp(dim=0) if token in words else given[token]
            assert logits[token].item() == pytest.approx(expected.item(), abs=1e-5)
