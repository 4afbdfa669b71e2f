"""The training of the recurrent translators, and the record of the longer runs."""

import operator

import pytest
import torch

from annotated_transformer.data import TRAVELLING_SENTENCE, encode_split
from annotated_transformer.experiments import recurrent_runs as runs


@pytest.fixture(scope="module")
def data():
    return runs.load_data(train=200, test=30)


def test_training_is_repeatable_and_scores_are_shares(data):
    corpus, vocabulary = data
    first, again = (
        runs.evaluate(
            runs.train(corpus["train"], vocabulary, 3, "additive"), corpus["test"], vocabulary
        )
        for _ in range(2)
    )
    assert first == again
    assert 0 <= first.all_tokens <= 1
    assert 0 < first.chance < 0.3
    assert first.aligned is not None
    assert sum(first.sentences) == 30
    without = runs.train(corpus["train"], vocabulary, 3, "none")
    assert runs.evaluate(without, corpus["test"], vocabulary).aligned is None


def test_checkpoints_are_the_same_run(data):
    corpus, vocabulary = data
    steps = [
        {name: value.clone() for name, value in model.state_dict().items()}
        for _, model in runs.training(corpus["train"], vocabulary, (2, 4), "none")
    ]
    alone = runs.train(corpus["train"], vocabulary, 4, "none").state_dict()
    assert all(torch.equal(value, alone[name]) for name, value in steps[1].items())
    assert not torch.equal(steps[0]["embedding.weight"], steps[1]["embedding.weight"])


def test_length_classes_cover_the_corpus():
    assert [runs.length_class("a " * words) for words in (3, 6, 7, 14, 18)] == [0, 0, 1, 2, 3]


def test_aligned_pieces_of_the_travelling_sentence(data):
    corpus, vocabulary = data
    test = corpus["test"]
    assert test.source[0] == TRAVELLING_SENTENCE.source
    aligned = runs.aligned_pieces(test, vocabulary, 0)
    english = [*vocabulary.pieces(vocabulary.encode(test.source[0])), "(end)"]
    german = vocabulary.pieces(vocabulary.encode(test.target[0]))
    pairs = {
        german[piece].strip("▁"): {english[i].strip("▁") for i, here in enumerate(row) if here}
        for piece, row in aligned.items()
    }
    assert pairs["Frau"] == {"woman"}
    assert pairs["liest"] == {"reads"}
    assert pairs["an"] == {"calls"}


def test_record_fits_the_code():
    record = runs.load_record()
    assert record["settings"] == runs.settings()
    assert list(record["runs"]) == list(runs.VARIANTS)
    for seeds in record["runs"].values():
        assert list(seeds) == [str(seed) for seed in runs.SEEDS]
        for scores in seeds.values():
            assert list(scores) == [str(step) for step in runs.CHECKPOINTS]
            assert all(sum(score["sentences"]) == 600 for score in scores.values())


def test_recorded_gives_one_row_a_seed():
    assert runs.recorded("one vector", "tokens").shape == (3, 4)
    assert runs.recorded("one vector", "all_exact", step=runs.CHECKPOINTS[0]).shape == (3,)


class AllButTheLast:
    """Stands for a translator: right everywhere but in the last word of odd sentences.

    Its weights lie where the corpus says, `off` rows too low.
    """

    score = object()

    def __init__(self, split, vocabulary, off=0):
        self.split, self.vocabulary, self.off = split, vocabulary, off
        self.encoded = encode_split(split, vocabulary)
        self.places = {tuple(ids): i for i, ids in enumerate(self.encoded.source)}

    def place(self, ids):
        return self.places[tuple(i for i in ids.tolist() if i != self.vocabulary.pad_id)]

    def target(self, ids):
        return self.encoded.target[self.place(ids)]

    def run(self, src, tgt):
        logits = torch.zeros(*tgt.shape, len(self.vocabulary))
        weights = torch.zeros(*tgt.shape, src.size(1))
        for row, ids in enumerate(src):
            place, target = self.place(ids), self.target(ids)
            for t, token in enumerate(target[1:]):
                logits[row, t, token] = 1.0
            for piece, sources in runs.aligned_pieces(self.split, self.vocabulary, place).items():
                weights[row, min(piece + self.off, tgt.size(1) - 1), sources.index(True)] = 1.0
        return logits, weights

    def translate(self, src):
        outputs = []
        for ids in src:
            target = list(self.target(ids))
            if self.place(ids) % 2:
                del target[-3]  # a piece of the last word; the full stop and the end remain
            outputs.append(torch.tensor(target))
        return torch.nn.utils.rnn.pad_sequence(outputs, batch_first=True)


def test_scores_are_what_their_names_say(data):
    corpus, vocabulary = data
    test = corpus["test"]
    score = runs.evaluate(AllButTheLast(test, vocabulary), test, vocabulary)
    assert score.all_tokens == 1
    assert score.all_exact == 0.5
    assert score.aligned == 1
    in_class = [runs.length_class(source) for source in test.source]
    for place in range(len(runs.LENGTHS)):
        members = [i for i, found in enumerate(in_class) if found == place]
        if members:
            share = sum(i % 2 == 0 for i in members) / len(members)
            assert score.exact[place] == pytest.approx(share, abs=1e-4)
    assert runs.evaluate(AllButTheLast(test, vocabulary, off=1), test, vocabulary).aligned < 0.5


def test_chance_is_the_mean_share_of_true_sources(data):
    corpus, vocabulary = data
    test = corpus["test"]
    shares = [
        sum(sources) / (len(vocabulary.encode(test.source[place])) + 1)  # the end sign counts
        for place in range(len(test.source))
        for sources in runs.aligned_pieces(test, vocabulary, place).values()
    ]
    score = runs.evaluate(AllButTheLast(test, vocabulary), test, vocabulary)
    assert score.chance == pytest.approx(sum(shares) / len(shares), abs=1e-4)


class Changed(AllButTheLast):
    """Writes every translation, but for one change of its letters."""

    change = staticmethod(str)

    def translate(self, src):
        written = []
        for ids in src:
            text = self.change(self.split.target[self.place(ids)])
            written.append(torch.tensor([self.vocabulary.bos_id, *self.vocabulary.encode(text)]))
        return torch.nn.utils.rnn.pad_sequence(written, batch_first=True)


def test_a_small_letter_for_a_capital_is_a_mistake(data):
    corpus, vocabulary = data
    writer = Changed(corpus["test"], vocabulary)
    for change, exact in ((str, 1), (str.lower, 0)):
        writer.change = change
        assert runs.evaluate(writer, corpus["test"], vocabulary).all_exact == exact


def test_the_parts_of_the_record_add_up():
    for seeds in runs.load_record()["runs"].values():
        for scores in seeds.values():
            for score in scores.values():
                right = sum(map(operator.mul, score["exact"], score["sentences"]))
                assert right / 600 == pytest.approx(score["all_exact"], abs=2e-4)
                assert min(score["tokens"]) <= score["all_tokens"] <= max(score["tokens"])


@pytest.mark.slow
def test_a_recorded_run_can_be_made_again():
    corpus, vocabulary = runs.load_data()
    steps = runs.CHECKPOINTS[0]
    score = runs.evaluate(
        runs.train(corpus["train"], vocabulary, steps, *runs.VARIANTS["one vector"]),
        corpus["test"],
        vocabulary,
    )
    recorded = runs.load_record()["runs"]["one vector"]["0"][str(steps)]
    assert score.all_tokens == pytest.approx(recorded["all_tokens"], abs=0.02)
    assert score.all_exact == pytest.approx(recorded["all_exact"], abs=0.02)
