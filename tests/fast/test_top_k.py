"""The best of a long row, against `torch.topk`."""

import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from annotated_transformer.fast.top_k import top_k


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000), rows=st.integers(1, 4), n=st.integers(1, 1500), k=st.integers(1, 5)
)
@example(seed=0, rows=400, n=641, k=1)  # one column is left over, and often the largest
@example(seed=0, rows=400, n=700, k=2)
def test_top_k_equals_torch(seed, rows, n, k):
    k = min(k, n)
    generator = torch.Generator().manual_seed(seed)
    x = torch.stack([torch.randperm(n, generator=generator) for _ in range(rows)]).double()
    values, columns = top_k(x, k)
    expected = x.topk(k)
    assert torch.equal(values, expected.values)
    assert torch.equal(columns, expected.indices)
