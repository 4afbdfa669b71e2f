"""`seeded`: the draws of a seed, and none of them seen outside."""

import torch

from annotated_transformer.experiments.seeding import seeded


def test_a_block_draws_its_seeds_numbers_and_leaves_no_trace() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(0)
    before = torch.get_rng_state()
    for _ in range(2):
        with seeded(7):
            assert torch.equal(torch.rand(3), expected)
        assert torch.equal(torch.get_rng_state(), before)
