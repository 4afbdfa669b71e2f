"""Wrong answers of outsiders about pieces of words and batches, each with two mistakes."""

from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor


def words_not_weighed_without_end(
    word_counts: dict[str, int], n_merges: int
) -> list[tuple[str, str]]:
    """Counts each word once, however frequent it is.
    The final symbol </w> is forgotten."""
    corpus = [list(word) for word in word_counts]
    learned: list[tuple[str, str]] = []
    while len(learned) < n_merges:
        freq: Counter[tuple[str, str]] = Counter()
        for pieces in corpus:
            freq.update(pairwise(pieces))
        if not freq:
            break
        top = max(freq.values())
        a, b = min(pair for pair, count in freq.items() if count == top)
        learned.append((a, b))
        for pieces in corpus:
            i = 0
            while i < len(pieces) - 1:
                if pieces[i] == a and pieces[i + 1] == b:
                    pieces[i : i + 2] = [a + b]
                i += 1
    return learned


def largest_of_equals_and_text_replaced(
    word_counts: dict[str, int], n_merges: int
) -> list[tuple[str, str]]:
    """Among equally frequent pairs takes the largest.
    Merges by replacing text, which also hits the ends of longer symbols."""
    vocab = {" ".join(word) + " </w>": count for word, count in word_counts.items()}
    merges = []
    for _ in range(n_merges):
        pairs: dict[tuple[str, str], int] = defaultdict(int)
        for text, count in vocab.items():
            symbols = text.split(" ")
            for left, right in pairwise(symbols):
                pairs[left, right] += count
        if len(pairs) == 0:
            break
        best = max(pairs, key=lambda p: (pairs[p], p))
        merges.append(best)
        vocab = {text.replace(" ".join(best), "".join(best)): c for text, c in vocab.items()}
    return merges


def glued_end_and_one_place_only(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """The end </w> sticks to the last character from the start.
    A merge is applied at its first place only."""
    if not word:
        return ["</w>"]
    parts = list(word)
    parts[-1] = parts[-1] + "</w>"
    for left, right in merges:
        for i in range(len(parts) - 1):
            if parts[i] == left and parts[i + 1] == right:
                parts[i : i + 2] = [left + right]
                break
    return parts


def leftmost_pair_and_end_removed(word: str, merges: list[tuple[str, str]]) -> list[str]:
    """Merges the leftmost pair that was learned, not the one learned first.
    Takes </w> out of the result."""
    pieces = [*word, "</w>"]
    known = set(merges)
    i = 0
    while i + 1 < len(pieces):
        if (pieces[i], pieces[i + 1]) in known:
            pieces = [*pieces[:i], pieces[i] + pieces[i + 1], *pieces[i + 2 :]]
            i = 0
        else:
            i += 1
    cleaned = [piece.replace("</w>", "") for piece in pieces]
    return [piece for piece in cleaned if piece]


def zeros_on_the_left(rows: list[list[int]], pad_id: int = 0) -> Tensor:
    """Pads at the beginning of a row.
    Pads with 0, whatever pad_id says."""
    width = max(map(len, rows))
    batch = torch.zeros(len(rows), width, dtype=torch.long)
    for b, row in enumerate(rows):
        batch[b, width - len(row) :] = torch.tensor(row)
    return batch


def appended_in_place_as_floats(rows: list[list[int]], pad_id: int = 0) -> Tensor:
    """Appends to the given lists themselves.
    torch.Tensor makes floats of whole numbers."""
    n = len(sorted(rows, key=len)[-1])
    for row in rows:
        while len(row) < n:
            row.append(pad_id)
    return torch.Tensor(rows)


def real_tokens_and_last_batch_lost(lengths: list[int], max_tokens: int) -> list[list[int]]:
    """Counts the tokens without the padding.
    The batch that is open at the end is lost."""
    result: list[list[int]] = []
    current: list[int] = []
    used = 0
    for length, idx in sorted((n, i) for i, n in enumerate(lengths)):
        if used + length > max_tokens:
            result.append(current)
            current, used = [], 0
        current.append(idx)
        used += length
    return result


def unsorted_and_never_full(lengths: list[int], max_tokens: int) -> list[list[int]]:
    """Goes through the sentences in the order given, without sorting.
    A batch that is exactly full counts as too large."""
    batches: list[list[int]] = [[]]
    longest = 0
    for idx, length in enumerate(lengths):
        candidate = max(longest, length)
        if batches[-1] and candidate * (len(batches[-1]) + 1) >= max_tokens:
            batches.append([])
            candidate = length
        batches[-1].append(idx)
        longest = candidate
    return [batch for batch in batches if batch]


ANSWERS: dict[str, list[Callable[..., object]]] = {
    "tokenization.bpe_train": [
        words_not_weighed_without_end,
        largest_of_equals_and_text_replaced,
    ],
    "tokenization.bpe_encode": [glued_end_and_one_place_only, leftmost_pair_and_end_removed],
    "tokenization.pad_batch": [zeros_on_the_left, appended_in_place_as_floats],
    "tokenization.token_batches": [real_tokens_and_last_batch_lost, unsorted_and_never_full],
}
