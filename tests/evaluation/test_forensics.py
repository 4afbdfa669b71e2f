"""One output under every protocol: each is what its tool computes."""

import re

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacremoses import MosesTokenizer

from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.evaluation.bleu import corpus_bleu
from annotated_transformer.evaluation.forensics import (
    PROTOCOLS_IN_USE,
    lower_ascii,
    score_under_every_protocol,
    split_compounds,
)
from annotated_transformer.evaluation.scoring import lower_tokenised_bleu, signature_of

REFERENCES = [
    "Ein Mann mit rot-weißem Hut liest die „Zeitung“, sagt er.",
    "Über 1,000 Hunde laufen über das Gras, und es regnet seit 3.5 Stunden.",
    "Das Kind isst ein Eis & lacht am 2014-05-03.",
]
HYPOTHESES = [
    "Ein Mann mit rot-weißem Hut liest eine „Zeitung“, sagt Er.",
    "über 1,000 Hunde laufen über das Gras, und es regnet seit 3.5 Tagen.",
    "Das Kind isst ein Eis & lachte am 2014-05-03.",
]
# Printed by multi-bleu.perl of Moses (with -lc for moses-lower) for these lines.
MULTI_BLEU = {
    "moses": "70.50",
    "moses-lower": "75.96",
    "moses-compounds": "75.23",
    "spaces": "71.04",
}
NAMES = [protocol.name for protocol in PROTOCOLS_IN_USE]


@pytest.fixture(scope="module")
def scores():
    found = score_under_every_protocol(HYPOTHESES, REFERENCES, "de")
    assert [score.name for score in found] == [*NAMES, "lower-tokenised"]
    return {score.name: score for score in found}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("13a", {}),
        ("13a-lower", {"lowercase": True}),
        ("intl", {"tokenize": "intl"}),
        ("intl-lower", {"tokenize": "intl", "lowercase": True}),
    ],
)
def test_sacrebleus_protocols_are_its_own_score_and_signature(scores, name, options):
    metric = BLEU(**options)
    assert scores[name].value == metric.corpus_score(HYPOTHESES, [REFERENCES]).score
    assert scores[name].signature == str(metric.get_signature())


def tokenised(lines, change=str):
    moses = MosesTokenizer("de")
    return [change(moses.tokenize(line, return_str=True)).split() for line in lines]


@pytest.mark.parametrize(
    ("name", "change"),
    [("moses", str), ("moses-lower", lower_ascii), ("moses-compounds", split_compounds)],
)
def test_multi_bleu_counts_the_words_of_moses_without_smoothing(scores, name, change):
    expected = corpus_bleu(tokenised(HYPOTHESES, change), tokenised(REFERENCES, change))
    assert scores[name].value == pytest.approx(expected, abs=1e-9)
    assert "|smooth:none|" in scores[name].signature
    assert "|tok:moses-de-" in scores[name].signature


def test_a_precision_of_0_is_0_by_multi_bleu_and_smoothed_by_sacrebleu():
    found = {s.name: s.value for s in score_under_every_protocol(["a b c x y"], ["a b c z w"])}
    assert found["moses"] == found["moses-compounds"] == found["spaces"] == 0
    assert found["13a"] > 0
    assert found["lower-tokenised"] > 0


def test_plain_spaces_are_plain_spaces(scores):
    split = ([line.split() for line in lines] for lines in (HYPOTHESES, REFERENCES))
    assert scores["spaces"].value == pytest.approx(corpus_bleu(*split), abs=1e-9)


def test_the_captions_protocol_is_that_of_the_recorded_scores(scores):
    ours, theirs = scores["lower-tokenised"], lower_tokenised_bleu(HYPOTHESES, REFERENCES, "de")
    assert (ours.value, ours.signature) == (theirs.value, theirs.signature)


def test_the_multi_bleu_script_gives_the_same(scores):
    for name, printed in MULTI_BLEU.items():
        assert f"{scores[name].value:.2f}" == printed, name


def test_compounds_are_split_as_by_the_script_one_character_for_one_hyphen():
    assert split_compounds("rot-weiß - ab-cd-ef -x a-b-c") == (
        "rot ##AT##-##AT## weiß - ab ##AT##-##AT## cd ##AT##-##AT## ef -x a ##AT##-##AT## b-c"
    )


def test_a_compound_that_matches_counts_three_words(scores):
    assert scores["moses-compounds"].value > scores["moses"].value


def test_lower_case_by_bytes_leaves_letters_outside_ascii():
    assert lower_ascii("ÄZ Über ABC") == "Äz Über abc"


def test_every_protocol_has_its_own_signature_and_says_who_uses_it(scores):
    assert len({score.signature for score in scores.values()}) == len(scores)
    for score in scores.values():
        assert re.fullmatch(
            r"nrefs:1\|case:(mixed|lc|lc-ascii)\|eff:no\|tok:[\w.-]+\|smooth:(exp|none)\|version:.+",
            score.signature,
        )
        assert score.used_by.endswith(".")


def test_a_signature_without_a_field_is_refused():
    """Not left as it is: two protocols would be signed alike."""
    metric = BLEU(tokenize="none", force=True, references=[["a b c d"]])
    assert "|tok:spaces|" in signature_of(metric, tok="spaces")
    with pytest.raises(WorkError, match="which has no field words"):
        signature_of(metric, words="spaces")


def test_unequal_line_counts_are_a_sentence():
    with pytest.raises(CallError, match="1 translations and 3 references"):
        score_under_every_protocol(HYPOTHESES[:1], REFERENCES)
