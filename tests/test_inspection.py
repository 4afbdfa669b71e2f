"""Two results compared."""

import numpy as np
import pytest
import torch

from annotated_transformer.inspection import gap


def test_gap_is_the_largest_difference_of_lists_arrays_and_tensors() -> None:
    ours = [[1.0, 2.0], [3.0, 4.0]]
    theirs = torch.tensor([[1.0, 2.5], [3.0, 4.25]], requires_grad=True)
    assert gap(ours, theirs) == gap(theirs, np.array(ours)) == 0.5


def test_gap_repeats_nothing_to_fit() -> None:
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(1, 2\) were given"):
        gap([1.0, 2.0], [[1.0, 2.0]])
