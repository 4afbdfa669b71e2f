"""The alignment error rate against NLTK's (3.9.1), whose numbers `aer_cases.json` keeps."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.alignment import alignment_error_rate

CASES = json.loads(Path(__file__).with_name("aer_cases.json").read_text("utf-8"))
links = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


def as_links(case, name):
    return {(i, j) for i, j in case[name]}


@pytest.mark.parametrize("case", CASES)
def test_each_sentence_is_scored_as_by_nltk(case):
    guessed, sure, possible = (as_links(case, n) for n in ("guessed", "sure", "possible"))
    found = alignment_error_rate([guessed], [sure], [possible])
    assert found.error_rate == pytest.approx(case["rate"])
    assert alignment_error_rate([guessed], [sure]).error_rate == pytest.approx(case["rate_of_sure"])


@given(guessed=links, sure=links.filter(bool), possible=links)
def test_it_is_a_share_and_sure_links_are_possible(guessed, sure, possible):
    found = alignment_error_rate([guessed], [sure], [possible])
    assert 0 <= found.error_rate <= 1
    assert found == alignment_error_rate([guessed], [sure], [possible | sure])
    # With sure links alone it is 1 - F1.
    alone = alignment_error_rate([guessed], [sure])
    both = alone.precision + alone.recall
    f1 = 2 * alone.precision * alone.recall / both if both else 0.0
    assert alone.error_rate == pytest.approx(1 - f1)


def test_sentences_are_counted_together():
    """Not the mean of two rates: 1 of 1 and 0 of 3 links are 2 of 8, not a half."""
    found = alignment_error_rate(
        [{(0, 0)}, {(0, 1), (1, 0), (2, 3)}], [{(0, 0)}, {(0, 0), (1, 1), (2, 2)}]
    )
    assert found.error_rate == pytest.approx(1 - 2 / 8)


def test_nothing_to_score_and_lists_of_other_lengths_are_errors():
    with pytest.raises(CallError, match="nothing to score"):
        alignment_error_rate([set()], [set()])
    with pytest.raises(CallError, match="each sentence needs all three"):
        alignment_error_rate([set()], [])
