"""The copy task: say back what was read. The smallest thing a whole Transformer can learn."""

import random

from annotated_transformer.data.corpus import ParallelCorpus, Split
from annotated_transformer.errors import CallError

SYMBOLS = "0123456789"


def copy_corpus(
    seed: int = 0,
    train: int = 4000,
    valid: int = 200,
    test: int = 200,
    min_length: int = 4,
    max_length: int = 10,
) -> ParallelCorpus:
    """Random rows of digits ("4 0 7 7"), each its own translation; no row occurs twice.

    Raises:
        CallError: more rows were asked for than half of those there are.
    """
    possible = sum(len(SYMBOLS) ** length for length in range(min_length, max_length + 1))
    total = train + valid + test
    if 2 * total > possible:
        raise CallError(
            f"{total} distinct rows of {min_length} to {max_length} digits were asked for and "
            f"there are {possible}; ask for at most {possible // 2}"
        )
    generator = random.Random(seed)
    rows: dict[str, None] = {}
    while len(rows) < total:
        length = min_length + int(generator.random() * (max_length - min_length + 1))
        digits = (SYMBOLS[int(generator.random() * len(SYMBOLS))] for _ in range(length))
        rows[" ".join(digits)] = None
    ordered = list(rows)
    splits = {
        "train": ordered[:train],
        "valid": ordered[train : train + valid],
        "test": ordered[train + valid :],
    }
    return ParallelCorpus(
        "copy",
        "digits",
        "digits",
        {
            name: Split(
                rows_of,
                list(rows_of),
                [[(i, i) for i in range(len(row.split()))] for row in rows_of],
            )
            for name, rows_of in splits.items()
        },
        {"seed": seed, "min_length": min_length, "max_length": max_length},
    )
