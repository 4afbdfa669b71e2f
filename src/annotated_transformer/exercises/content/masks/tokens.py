"""The inputs of the mask exercises: small batches of token ids, written out."""

import torch

from annotated_transformer.exercises.exercise import Call, Case, call


def tokens_case(name: str, rows: list[list[int]], *pad_id: int) -> Case:
    """A case that passes `rows` as a LongTensor, and `pad_id` only where one is given."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(torch.tensor(rows), *pad_id)

    return Case(name, make)
