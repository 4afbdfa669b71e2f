"""Resampling: sacreBLEU's draws and verdicts, and answers that are known."""

import math
import time
from functools import partial
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.significance import PairedTest

from annotated_transformer.errors import CallError
from annotated_transformer.evaluation import significance
from annotated_transformer.evaluation.bleu import bleu_of_counts, count_corpus
from annotated_transformer.evaluation.scoring import (
    PROTOCOLS,
    count_sentences,
    match_of_counts,
    score_corpus,
)
from annotated_transformer.evaluation.significance import (
    Counted,
    bootstrap_interval,
    in_groups,
    middle_95,
    paired_bootstrap,
    paired_randomisation,
    resampled_scores,
)

SENTENCE = "ein Hund läuft über das grüne Gras und zwei Kinder spielen im Park ."
WORDS = SENTENCE.split()


def systems(sentences: int = 60, seed: int = 0) -> tuple[list[str], list[str], list[str]]:
    """References, a system that changes some words, and one that changes more."""
    generator = np.random.default_rng(seed)
    references, good, bad = [], [], []
    for _ in range(sentences):
        line = list(generator.choice(WORDS, size=generator.integers(4, 14)))
        references.append(" ".join(line))
        for output, share in ((good, 0.25), (bad, 0.3)):
            kept = generator.random(len(line)) > share
            words = [
                w if k else str(generator.choice(WORDS)) for w, k in zip(line, kept, strict=True)
            ]
            output.append(" ".join(words))
    return references, good, bad


@pytest.fixture
def sacrebleu_seed(monkeypatch):
    """sacreBLEU reads its seed from here, and leaves the default to this package's tests."""
    monkeypatch.setenv("SACREBLEU_SEED", str(significance.SEED))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_the_sentences_add_up_to_is_the_score_of_the_corpus(protocol):
    references, good, _ = systems()
    references[3], good[4] = "„So“, sagt er: 3.5 &amp; 1,000 rot-weiße.", "„So“, sagte er: 3.5"
    counted = count_sentences(good, references, protocol)
    [score] = score_corpus(good, references, [protocol])
    assert counted.score == pytest.approx(score.value, abs=1e-9)


def test_an_unknown_protocol_is_a_sentence():
    with pytest.raises(CallError, match="no scoring protocol 'blue'; choose from cased"):
        count_sentences(["a"], ["a"], "blue")


@pytest.mark.parametrize("at_once", [1, 1000, 1 << 22])
def test_the_interval_is_sacrebleus(monkeypatch, sacrebleu_seed, at_once):
    monkeypatch.setattr(significance, "AT_ONCE", at_once)  # the draws do not depend on the chunks
    references, good, _ = systems()
    theirs = BLEU().corpus_score(good, [references], n_bootstrap=200)
    counted = count_sentences(good, references, "cased")
    scores = resampled_scores(counted, 200)
    interval = bootstrap_interval(counted, 200)
    assert scores.mean() == pytest.approx(theirs._mean, abs=1e-4)  # theirs adds in float32
    assert (interval.high - interval.low) / 2 == pytest.approx(theirs._ci, abs=1e-4)
    assert (interval.resamples, interval.seed) == (200, significance.SEED)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["cased", "chrf"]))
@example(237, "cased")  # one of the draws is a tie
def test_p_values_are_sacrebleus(seed, protocol):
    """Equal but for ties: there sacreBLEU's last digits decide, and here each counts."""
    references, good, bad = systems(30, seed)
    metric = {"cased": BLEU(), "chrf": CHRF()}[protocol]
    ours = count_sentences(good, references, protocol)
    theirs = count_sentences(bad, references, protocol)
    for kind, compare, times in (
        ("bs", paired_bootstrap, 100),
        ("ar", paired_randomisation, 300),
    ):
        test = PairedTest(
            [("bad", bad), ("good", good)], {"M": metric}, [references], kind, n_samples=times
        )
        _, results = test()
        [expected] = [column[1] for name, column in results.items() if name != "System"]
        found = compare(ours, theirs, times)
        with mock.patch.object(significance, "TIE", -significance.TIE):
            without_ties = compare(ours, theirs, times)
        lowest, highest = without_ties.p_value - 1e-9, found.p_value + 1e-9
        assert lowest <= expected.p_value <= highest, kind
        ties = round((found.p_value - without_ties.p_value) * (times + 1))
        assert ties <= 2  # so that the bounds above hold the figure to a draw or two
        assert found.trials == times


def test_the_draws_by_hand():
    """Each resample is the score of the corpus of the sentences that were drawn."""
    references, good, _ = systems(20)
    split = [line.split() for line in good], [line.split() for line in references]
    counted = Counted(count_corpus(*split), bleu_of_counts)
    drawn = np.random.default_rng(7).choice(20, size=(5, 20))
    expected = [
        float(bleu_of_counts(count_corpus(*([side[i] for i in row] for side in split)).sum(0)))
        for row in drawn
    ]
    np.testing.assert_allclose(resampled_scores(counted, 5, seed=7), expected)


def test_the_same_seed_gives_the_same_and_another_another():
    references, good, bad = systems()
    ours, theirs = (count_sentences(lines, references, "cased") for lines in (good, bad))
    for compare in (paired_bootstrap, paired_randomisation):
        assert compare(ours, theirs, 50, seed=1) == compare(ours, theirs, 50, seed=1)
    assert bootstrap_interval(ours, 50, seed=1) != bootstrap_interval(ours, 50, seed=2)


@pytest.mark.parametrize("at_once", [1, 5000])
def test_the_coins_do_not_depend_on_how_many_are_tossed_at_once(monkeypatch, at_once):
    references, good, bad = systems(31)
    ours, theirs = (count_sentences(lines, references, "cased") for lines in (good, bad))
    expected = paired_randomisation(ours, theirs, 1000)
    monkeypatch.setattr(significance, "AT_ONCE", at_once)
    assert paired_randomisation(ours, theirs, 1000) == expected


def test_a_clear_difference_is_seen_and_its_sign_is_ours_minus_theirs():
    references, good, _ = systems()
    worse = [" ".join(reversed(line.split())) for line in good]
    ours, theirs = (count_sentences(lines, references, "cased") for lines in (good, worse))
    better, turned = paired_bootstrap(ours, theirs), paired_bootstrap(theirs, ours)
    assert better.difference == pytest.approx(ours.score - theirs.score)
    assert turned.difference == -better.difference
    assert 0 < better.interval.low < better.difference < better.interval.high
    assert turned.interval.high == -better.interval.low
    assert (better.wins, turned.wins) == (1.0, 0.0)
    assert better.p_value == turned.p_value == 1 / 1001
    assert paired_randomisation(ours, theirs).p_value == 1 / 10_001


@pytest.mark.parametrize("compare", [paired_bootstrap, paired_randomisation])
def test_equal_outputs_do_not_differ(compare):
    references, good, _ = systems()
    counted = count_sentences(good, references, "cased")
    found = compare(counted, counted, 100)
    assert (found.difference, found.p_value) == (0, 1)
    assert not found.wins  # not one draw is better, or that is not asked


def test_randomisation_gives_the_p_value_of_the_sign_test():
    """Five sentences of 40 are matched by one system alone: 2 of 32 coins are as one-sided."""
    references = [f"w{i}" for i in range(40)]
    theirs = ["x"] * 5 + references[5:]
    ours, others = (
        count_sentences(lines, references, "exact-match") for lines in (references, theirs)
    )
    found = paired_randomisation(ours, others)
    assert found.difference == pytest.approx(12.5)
    assert found.p_value == pytest.approx(2 / 32, abs=0.01)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    """The share of matches of 100 lines, drawn 200 times from a population where it is 30%."""
    generator = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        hits = generator.random(100) < 0.3
        counts = np.stack([hits, np.ones(100)], axis=1)
        interval = bootstrap_interval(Counted(counts, match_of_counts), 200)
        covered += interval.low <= 30 <= interval.high
    assert 0.88 <= covered / 200 <= 0.99


def test_how_often_equally_good_systems_are_called_different():
    """One pair in twenty by exchanging outputs; sacreBLEU's bootstrap looks at one side only."""
    generator = np.random.default_rng(0)
    pairs = 600
    called = {paired_bootstrap: 0, paired_randomisation: 0}
    for pair in range(pairs):
        ours, theirs = (
            Counted(generator.normal(size=(100, 1)), lambda sums: sums[..., 0]) for _ in range(2)
        )
        for compare in called:
            called[compare] += compare(ours, theirs, 200, seed=pair).p_value < 0.05
    assert 0.025 < called[paired_randomisation] / pairs < 0.075
    assert 0.075 < called[paired_bootstrap] / pairs < 0.16


def test_a_fortieth_is_cut_off_at_either_end():
    assert middle_95(np.arange(1000.0)[::-1]) == (25.0, 974.0)
    assert middle_95(np.array([2.0])) == (2.0, 2.0)


def test_sentences_of_a_document_are_drawn_together():
    counted = Counted(np.arange(12.0).reshape(6, 2), lambda sums: sums[..., 0])
    grouped = in_groups(counted, [1, 3, 2])
    assert grouped.counts.tolist() == [[0, 1], [2 + 4 + 6, 3 + 5 + 7], [8 + 10, 9 + 11]]
    assert grouped.score == counted.score
    for sizes in ([1, 3], [1, 3, 2, 0]):
        with pytest.raises(CallError, match="for 6; give as many, at least one to a group"):
            in_groups(counted, sizes)


def test_what_cannot_be_compared_is_a_sentence():
    one, two = (Counted(np.ones((n, 10)), bleu_of_counts) for n in (1, 2))
    none = Counted(np.ones((0, 10)), bleu_of_counts)
    for compare in (paired_bootstrap, paired_randomisation):
        with pytest.raises(CallError, match="one system has 1 translations and the other 2"):
            compare(one, two)
        with pytest.raises(CallError, match="no sentence to draw from"):
            compare(none, none)
    with pytest.raises(CallError, match="no sentence to draw from"):
        bootstrap_interval(none)


def test_thousands_of_draws_take_a_moment():
    """A test set of 3,003 sentences; the bound is generous for a busy machine."""
    generator = np.random.default_rng(0)
    totals = np.tile([24, 23, 22, 21], (3003, 1))
    counts = np.hstack([np.full((3003, 2), 24), totals // generator.integers(1, 4), totals])
    counted = Counted(counts.astype(float), partial(bleu_of_counts, smoothing="exp"))
    began = time.process_time()
    found = resampled_scores(counted, 2000)
    assert len(found) == 2000
    assert all(map(math.isfinite, found))
    assert time.process_time() - began < 20
