"""`tokenization.token_batches` (section 5.1): batches of about as many tokens, little padding."""

from itertools import groupby

import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def token_batches(lengths: list[int], max_tokens: int) -> list[list[int]]:
    order = sorted(range(len(lengths)), key=lambda index: (lengths[index], index))
    batches: list[list[int]] = []
    batch: list[int] = []
    for index in order:
        longest = lengths[index]  # lengths grow, so the newest is the longest
        size = (len(batch) + 1) * longest  # padded, if it joins
        if batch and size > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(index)
    if batch:
        batches.append(batch)
    return batches


def _by_pairs(lengths: list[int], max_tokens: int) -> list[list[int]]:
    batches: list[list[int]] = [[]]
    for length, index in sorted((length, index) for index, length in enumerate(lengths)):
        if length * (len(batches[-1]) + 1) > max_tokens:
            batches.append([])
        batches[-1].append(index)
    return [batch for batch in batches if batch]


def _by_slices(lengths: list[int], max_tokens: int) -> list[list[int]]:
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    batches = []
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * lengths[order[end]] <= max_tokens:
            end += 1
        batches.append(order[start:end])
        start = end
    return batches


def _by_torch(lengths: list[int], max_tokens: int) -> list[list[int]]:
    ordered, order = torch.tensor(lengths).sort(stable=True)
    number, start, numbers = 0, 0, []
    for place, length in enumerate(ordered.tolist()):
        if (place - start + 1) * length > max_tokens:
            number, start = number + 1, place
        numbers.append(number)
    grouped = groupby(zip(numbers, order.tolist(), strict=True), key=lambda pair: pair[0])
    return [[index for _, index in group] for _, group in grouped]


def _by_recursion(lengths: list[int], max_tokens: int) -> list[list[int]]:
    def cut(order: list[int]) -> list[list[int]]:
        if not order:
            return []
        size = 1
        while size < len(order) and max(lengths[i] for i in order[: size + 1]) * (size + 1) <= (
            max_tokens
        ):
            size += 1
        return [order[:size], *cut(order[size:])]

    return cut([index for _, index in sorted(zip(lengths, range(len(lengths)), strict=True))])


def _case(lengths: list[int], max_tokens: int, isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(list(lengths), max_tokens)

    return Case(f"lengths {lengths}, max_tokens {max_tokens}", make, isolates=isolates)


CASES = (
    _case([3, 3, 3], 9, "a batch that fits exactly, and is the last one"),
    _case([5, 2], 5, "the order: the shorter sentence comes first"),
    _case([1, 4], 7, "the padding: two sentences padded to 4 are 8 tokens, not 5"),
    _case([4, 2, 4, 2], 8, "ties: among equal lengths the smaller index comes first"),
    _case([2, 2, 2, 5], 6, "the last batch, of one sentence"),
    _case([1, 2, 1, 1, 1], 3, "that max_tokens bounds sentences x longest, neither alone"),
    _case([6], 6, "a single sentence"),
    _case([4, 4, 4, 4, 4], 11, "full batches: 3 sentences of 4 would be 12 tokens"),
    _case([1, 2, 3, 4, 5, 6], 12),
    _case([9, 1, 5, 3, 3, 7, 2, 8, 3, 1], 12),
    _case([10, 3, 8, 8, 2, 5, 9, 4, 4, 7, 1, 6], 20),
    _case([7, 7, 2, 9, 2, 2, 7, 3, 9, 1, 1, 30, 12], 30),
    _case([2, 1, 2, 1, 2, 1], 100, "room for all of them"),
    _case([5, 3, 4], 5, "one sentence a batch"),
)

TOKEN_BATCHES = Exercise(
    id="tokenization.token_batches",
    title="Batches by the number of tokens",
    kind="code",
    difficulty=3,
    minutes=15,
    signature="token_batches(lengths: list[int], max_tokens: int) -> list[list[int]]",
    statement=(
        "Put sentences into batches by their padded size. Sort the indices by (length, index). Go "
        "through them in this order and fill each batch greedily, so that sentences x longest (the "
        "padded size) <= max_tokens; what no longer fits begins the next batch. Return the batches "
        "as lists of indices into `lengths`, in this order. Every index occurs exactly once. Each "
        "length is at least 1 and at most max_tokens."
    ),
    objective="Fill batches with tokens rather than sentences, and waste little on padding.",
    prerequisite="tokenization.pad_batch",
    hints=(
        "How many numbers has the padded tensor of two sentences, one of 1 and one of 4 tokens?",
        "In sorted order the newest sentence is the longest. What is the padded size of the batch "
        "if it joins? Ask before it joins, and remember the batch that is open at the end.",
        "`(len(batch) + 1) * lengths[index] > max_tokens` says that the sentence does not fit: "
        "close the batch, begin a new one *with this sentence*. After the loop append the last.",
    ),
    reference=token_batches,
    explanation=(
        "The machine computes the padded tensor, so its size is what counts: sentences times the "
        "longest. Sorted by length, neighbours are nearly equal and little is padded; section 5.1 "
        'says so ("batched together by approximate sequence length"). The same number of tokens '
        "rather than of sentences keeps memory and the weight of a step about constant: the "
        "paper's batches hold some 25,000 source and 25,000 target tokens."
    ),
    cases=CASES,
    mistakes=page(__file__, token_batches),
    alternatives=(_by_pairs, _by_slices, _by_torch, _by_recursion),
    starter=(
        "def token_batches(lengths, max_tokens):\n"
        '    """Length of each sentence -> lists of indices, each at most max_tokens padded."""\n'
        "    ...  # your code"
    ),
)
