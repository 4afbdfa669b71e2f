"""`tokenization.bpe_train` (section 5.1, Sennrich et al.): learn merges from counted words."""

from collections import Counter, defaultdict
from itertools import pairwise

import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call

Pair = tuple[str, str]


def bpe_train(word_counts: dict[str, int], n_merges: int) -> list[tuple[str, str]]:
    words = {word: [*word, "</w>"] for word in word_counts}  # each word as its symbols
    merges: list[tuple[str, str]] = []
    for _ in range(n_merges):
        counts: dict[tuple[str, str], int] = {}
        for word, symbols in words.items():
            for i in range(len(symbols) - 1):  # every position counts
                pair = symbols[i], symbols[i + 1]
                counts[pair] = counts.get(pair, 0) + word_counts[word]
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))  # the smallest of the best
        merges.append(best)
        for word, symbols in words.items():
            merged, i = [], 0
            while i < len(symbols):  # left to right
                width = 2 if tuple(symbols[i : i + 2]) == best else 1
                merged.append("".join(symbols[i : i + width]))
                i += width
            words[word] = merged
    return merges


def _by_tuples(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    vocabulary = {(*word, "</w>"): count for word, count in word_counts.items()}
    merges: list[Pair] = []
    while len(merges) < n_merges:
        counts: dict[Pair, int] = defaultdict(int)
        for symbols, count in vocabulary.items():
            for i in range(len(symbols) - 1):
                counts[symbols[i], symbols[i + 1]] += count
        if len(counts) == 0:
            return merges
        highest = max(counts.values())
        best = sorted(pair for pair in counts if counts[pair] == highest)[0]
        merges.append(best)
        following = {}
        for symbols, count in vocabulary.items():
            joined: list[str] = []
            for symbol in symbols:
                if joined and (joined[-1], symbol) == best:
                    joined[-1] += symbol
                else:
                    joined.append(symbol)
            following[tuple(joined)] = count
        vocabulary = following
    return merges


def _in_place(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    corpus = [([*word, "</w>"], count) for word, count in word_counts.items()]
    merges: list[Pair] = []
    for _ in range(n_merges):
        pairs = [((a, b), count) for symbols, count in corpus for a, b in pairwise(symbols)]
        if not pairs:
            break
        totals: dict[Pair, int] = {}
        for pair, count in pairs:
            totals[pair] = totals.get(pair, 0) + count
        best, _ = sorted(totals.items(), key=lambda item: (-item[1], item[0]))[0]
        for symbols, _ in corpus:
            place = 0
            while place + 1 < len(symbols):
                if (symbols[place], symbols[place + 1]) == best:
                    symbols[place : place + 2] = ["".join(best)]
                place += 1
        merges.append(best)
    return merges


def _by_recursion(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    def learn(words: list[tuple[list[str], int]], left: int) -> list[Pair]:
        counts: Counter[Pair] = Counter()
        for symbols, count in words:
            for pair in pairwise(symbols):
                counts.update({pair: count})
        if left == 0 or not counts:
            return []
        most = max(counts.values())
        first, second = min(pair for pair, count in counts.items() if count == most)
        return [(first, second), *learn([(join(s, first, second), c) for s, c in words], left - 1)]

    def join(symbols: list[str], first: str, second: str) -> list[str]:
        if len(symbols) < 2:
            return symbols
        if symbols[0] == first and symbols[1] == second:
            return [first + second, *join(symbols[2:], first, second)]
        return [symbols[0], *join(symbols[1:], first, second)]

    return learn([([*word, "</w>"], count) for word, count in word_counts.items()], n_merges)


def _case(word_counts: dict[str, int], n_merges: int, isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(dict(word_counts), n_merges)

    merges = f"{n_merges} merge" + "s" * (n_merges != 1)
    few = len(word_counts) == 1
    name = f"{word_counts}, {merges}" if few else f"{', '.join(word_counts)}, {merges}"
    return Case(name, make, isolates=isolates)


CASES = (
    _case({"ab": 1}, 1, "which symbols a word has, and which of two equal pairs is taken"),
    _case({"cab": 2, "ab": 1}, 1, "the counting of pairs, with one clear winner"),
    _case({"ab": 1}, 9, "the early stop: two merges join the whole word, then no pair is left"),
    _case({"aaa": 2, "ab": 3}, 1, "that (a, a) stands in aaa at two positions"),
    _case({"hat": 1, "mat": 1, "rug": 5}, 3, "that a word of count 5 weighs five times"),
    _case({"ba": 1, "ab": 1, "cc": 1}, 1, "ties: the smallest pair, whatever came first"),
    _case({"aaab": 1}, 3, "merging left to right: aaa becomes aa a"),
    _case({"abab": 2, "c": 3}, 4, "merging at every place of a word"),
    _case({"xab": 5, "ab": 4, "xa": 3}, 4, "that only whole symbols merge: xa b is not x ab"),
    _case({"ab": 5, "bac": 3}, 3, "that (a, b) is not (b, a)"),
    _case({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 10),
    _case({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 4),
    _case({"!": 2, "!!ab": 2, "!b!a": 2}, 3, "ties with signs that sort before letters"),
    _case({"b1": 1, "1b": 1, "b": 1}, 5),
    _case({"ab": 3, "cab": 1, "dab": 2, "e": 5}, 2, "that the counts of all words are added"),
    _case({"banana": 2, "Band": 3, "früh": 2, "ananas": 1, "nab": 1}, 12),
    _case({"abc": 1, "ab": 1, "aba": 1, "bca": 2, "cab": 1, "a": 4}, 8),
    _case({"aaaaa": 3, "aaaa": 2, "baa": 2, "bb": 4}, 6),
    _case({"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5}, 20),
    _case({"hug": 10, "pug": 5}, 0),
)

BPE_TRAIN = Exercise(
    id="tokenization.bpe_train",
    title="Learn a byte-pair encoding",
    kind="code",
    difficulty=4,
    minutes=25,
    signature=("bpe_train(word_counts: dict[str, int], n_merges: int) -> list[tuple[str, str]]"),
    statement=(
        "Learn n_merges merges, the most frequent pair first, and return the pairs in the order "
        "in which they were learned. Each word is its characters and a separate final symbol "
        "`</w>`. Every adjacent pair of symbols counts once per position, times the word's count. "
        "Ties go to the lexicographically smallest pair (as Python compares the tuples). A merge "
        "joins the pair wherever it occurs, left to right, and the pairs are counted anew before "
        "the next. Stop early when no pair is left. word_counts is not changed."
    ),
    objective="Know where the pieces come from that a translation model reads and writes.",
    prerequisite="Section 5.1 of the paper",
    hints=(
        "Take {'ab': 2, 'b': 1} and write the symbols of both words down. Which pairs are there, "
        "and how often?",
        "One merge is three steps: count all pairs of the present symbols, choose one, rewrite "
        "every word with it. The next merge begins with counting again.",
        "`best = min(counts, key=lambda pair: (-counts[pair], pair))` is the most frequent pair "
        "and, among equals, the smallest. To rewrite a word, go through its symbols and join a "
        "symbol to the one before when the two are `best`.",
    ),
    reference=bpe_train,
    explanation=(
        "Each merge makes the pair that is most frequent now into one symbol, so counts must be "
        "taken again after every merge: the new symbol has new neighbours. The separate `</w>` "
        "lets `est</w>` at the end of a word differ from `est` inside it, and lets the text be put "
        "together again. The rule for ties matters more than it seems: without one, the result "
        "depends on the order of a dictionary, and two machines learn two vocabularies. The paper "
        "learned about 37,000 such symbols from both languages together."
    ),
    cases=CASES,
    mistakes=page(__file__, bpe_train),
    alternatives=(_by_tuples, _in_place, _by_recursion),
    starter=(
        "def bpe_train(word_counts, n_merges):\n"
        '    """Word -> count, and how many merges; the list of merged pairs, the first first."""\n'
        "    ...  # your code"
    ),
)
