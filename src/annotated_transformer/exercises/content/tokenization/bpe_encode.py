"""`tokenization.bpe_encode` (section 5.1, Sennrich et al.): cut a word into learned symbols."""

from itertools import pairwise

import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call

Pair = tuple[str, str]


def bpe_encode(word: str, merges: list[tuple[str, str]]) -> list[str]:
    rank = {pair: number for number, pair in enumerate(merges)}  # 0 = learned first
    symbols = [*word, "</w>"]
    for _ in word:  # a round leaves a symbol less, so there are no more
        neighbours = [(symbols[i], symbols[i + 1]) for i in range(len(symbols) - 1)]
        known = [pair for pair in neighbours if pair in rank]
        if not known:
            break
        earliest = min(known, key=lambda pair: rank[pair])
        merged, i = [], 0
        while i < len(symbols):  # at all its places, left to right
            width = 2 if tuple(symbols[i : i + 2]) == earliest else 1
            merged.append("".join(symbols[i : i + width]))
            i += width
        symbols = merged
    return symbols


def _in_order_of_learning(word: str, merges: list[Pair]) -> list[str]:
    symbols = [*word, "</w>"]
    for first, second in merges:
        i = 0
        while i < len(symbols) - 1:
            if symbols[i] == first and symbols[i + 1] == second:
                symbols[i : i + 2] = [first + second]
            i += 1
    return symbols


def _one_place_a_round(word: str, merges: list[Pair]) -> list[str]:
    symbols = (*tuple(word), "</w>")
    while True:
        places = [
            (merges.index((symbols[i], symbols[i + 1])), i)
            for i in range(len(symbols) - 1)
            if (symbols[i], symbols[i + 1]) in merges
        ]
        if not places:
            return list(symbols)
        _, i = min(places)  # the earliest merge, and of its places the leftmost
        symbols = (*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :])


def _by_recursion(word: str, merges: list[Pair]) -> list[str]:
    def apply(symbols: list[str]) -> list[str]:
        for pair in merges:
            if pair in pairwise(symbols):
                return apply(join(symbols, pair))
        return symbols

    def join(symbols: list[str], pair: Pair) -> list[str]:
        if tuple(symbols[:2]) == pair:
            return ["".join(pair), *join(symbols[2:], pair)]
        return [symbols[0], *join(symbols[1:], pair)] if symbols else []

    return apply([*word, "</w>"])


LOW = [
    ("e", "s"),
    ("es", "t"),
    ("est", "</w>"),
    ("l", "o"),
    ("lo", "w"),
    ("e", "w"),
    ("n", "ew"),
    ("new", "est</w>"),
    ("low", "</w>"),
    ("i", "d"),
]
LETTERS = [("b", "c"), ("a", "b"), ("c", "d"), ("bc", "d"), ("a", "bcd"), ("d", "</w>")]
RUNS = [("a", "a"), ("aa", "a"), ("b", "</w>"), ("aa", "b</w>"), ("b", "aa")]
ENDS = [("w", "</w>"), ("o", "w</w>"), ("l", "ow</w>"), ("l", "o")]
CROSSED = [("x", "a"), ("a", "b"), ("c", "ab"), ("xa", "b"), ("b", "c")]
AGAIN = [("a", "n"), ("b", "an"), ("an", "a"), ("ana", "</w>"), ("ban", "ana</w>")]


def _case(word: str, merges: list[Pair], isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(word, list(merges))

    learned = f"{len(merges)} merge" + "s" * (len(merges) != 1)
    return Case(f"{word!r} with {learned}: {_first(merges)}", make, isolates=isolates)


def _first(merges: list[Pair]) -> str:
    text = ", ".join(f"({first}, {second})" for first, second in merges[:6])
    return (text or "none") + (", ..." if len(merges) > 6 else "")


CASES = (
    _case("ab", [], "the first symbols: characters and '</w>'"),
    _case("ab", [("a", "b")], "one merge at one place"),
    _case("abc", [("b", "c"), ("a", "b")], "the order: (b, c) was learned before (a, b)"),
    _case("abab", [("a", "b")], "that a merge is made at all its places"),
    _case("aaa", [("a", "a")], "left to right: aa a, not a aa"),
    _case("low", ENDS, "that '</w>' is a symbol like the others"),
    _case("xab", [("x", "a"), ("a", "b")], "that only whole symbols merge: xa b is not x ab"),
    _case("abcd", LETTERS, "the order against the longest symbol"),
    _case("abd", LETTERS),
    _case("abc", [("a", "b"), ("b", "c"), ("a", "bc")], "that (ab, c) is not (a, bc)"),
    _case("ba", [("a", "b")], "that (a, b) is not (b, a)"),
    _case("aaaaab", RUNS),
    _case("baaaab", RUNS),
    _case("lowest", LOW),
    _case("newest", LOW),
    _case("widest", LOW),
    _case("low", LOW),
    _case("lowlow", LOW),
    _case("banana", AGAIN),
    _case("anan", AGAIN),
    _case("xabcab", CROSSED),
    _case("cabxa", CROSSED),
    _case("Früh", [("r", "ü"), ("f", "rü"), ("F", "rü"), ("Frü", "h"), ("Früh", "</w>")]),
    _case("e", LOW),
    _case("quiz", LOW, "characters that no merge has"),
)

BPE_ENCODE = Exercise(
    id="tokenization.bpe_encode",
    title="Encode a word with learned merges",
    kind="code",
    difficulty=3,
    minutes=15,
    signature="bpe_encode(word: str, merges: list[tuple[str, str]]) -> list[str]",
    statement=(
        "Cut a word into symbols. Start from its characters and `</w>`; always apply the "
        "earliest-learned merge that occurs, at all its places (left to right), until none "
        "occurs. `merges` is what tokenization.bpe_train returns, the first learned first. The "
        "`</w>` stays in the result, alone or as the end of a symbol."
    ),
    objective="Encode new words just as the words of the training corpus were taken apart.",
    prerequisite="tokenization.bpe_train",
    hints=(
        "With the merges (b, c), (a, b), in this order: what becomes of `abc`? Which of the two "
        "was learned first?",
        "Encoding repeats what training did to its words, in the same order. So what decides is "
        "neither where a pair stands nor how long the new symbol is.",
        "Go through `merges` from the first to the last. For each, go through the symbols from "
        "left to right and join the pair wherever it stands; compare whole symbols.",
    ),
    reference=bpe_encode,
    explanation=(
        "During training every word went through the merges in the order in which they were "
        "learned. A new word must go the same way, or the model would meet symbols in company it "
        "has never seen. The longest known symbol is another rule (WordPiece has it), and gives "
        "other symbols. Any word can be encoded, since at worst its characters are left: that is "
        "why the paper needs no token for unknown words."
    ),
    cases=CASES,
    mistakes=page(__file__, bpe_encode),
    alternatives=(_in_order_of_learning, _one_place_a_round, _by_recursion),
    starter=(
        "def bpe_encode(word, merges):\n"
        '    """A word and the learned pairs -> its symbols, a list of strings."""\n'
        "    ...  # your code"
    ),
)
