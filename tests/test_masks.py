"""Sections 3.1 and 3.2.3: who may attend to whom."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.masks import causal_mask, padding_mask, target_mask

sentences = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=1, max_size=4)
)


@given(st.integers(0, 8))
def test_causal_mask_lets_a_position_see_itself_and_what_stands_before_it(n):
    mask = causal_mask(n)
    assert mask.shape == (n, n)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[j <= i for j in range(n)] for i in range(n)]


@given(sentences, st.integers(0, 3))
def test_padding_mask_hides_padding_wherever_it_stands(rows, pad_id):
    tokens = torch.tensor(rows)
    mask = padding_mask(tokens, pad_id)
    assert mask.shape == (len(rows), 1, 1, len(rows[0]))
    assert mask.dtype == torch.bool
    assert mask[:, 0, 0].tolist() == [[token != pad_id for token in row] for row in rows]


@given(sentences, st.integers(0, 3))
def test_target_mask_is_both_at_once(rows, pad_id):
    tokens = torch.tensor(rows)
    n = len(rows[0])
    mask = target_mask(tokens, pad_id)
    assert mask.shape == (len(rows), 1, n, n)
    assert mask[:, 0].tolist() == [
        [[j <= i and row[j] != pad_id for j in range(n)] for i in range(n)] for row in rows
    ]
