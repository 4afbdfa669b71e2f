"""Splitting a word into symbols and merging a pair of them: as asked, and as it goes wrong."""

from collections.abc import Callable, Sequence

Pair = tuple[str, str]
Split = Callable[[str], list[str]]
Merge = Callable[[Sequence[str], Pair], list[str]]

END = "</w>"


def split_word(word: str) -> list[str]:
    """The characters of a word and the end of word, a symbol of its own."""
    return [*word, END]


def merge_pair(symbols: Sequence[str], pair: Pair) -> list[str]:
    """Every occurrence of the pair joined, from left to right."""
    merged: list[str] = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


def merge_from_the_right(symbols: Sequence[str], pair: Pair) -> list[str]:
    merged: list[str] = []
    for symbol in reversed(symbols):
        if merged and (symbol, merged[0]) == pair:
            merged[0] = symbol + merged[0]
        else:
            merged.insert(0, symbol)
    return merged


def merge_first_place(symbols: Sequence[str], pair: Pair) -> list[str]:
    for place in range(len(symbols) - 1):
        if (symbols[place], symbols[place + 1]) == pair:
            return [*symbols[:place], pair[0] + pair[1], *symbols[place + 2 :]]
    return list(symbols)


def merge_last_place(symbols: Sequence[str], pair: Pair) -> list[str]:
    for place in reversed(range(len(symbols) - 1)):
        if (symbols[place], symbols[place + 1]) == pair:
            return [*symbols[:place], pair[0] + pair[1], *symbols[place + 2 :]]
    return list(symbols)


def merge_by_text(symbols: Sequence[str], pair: Pair) -> list[str]:
    """The well-known slip: "xa b" holds the text "a b" too."""
    return " ".join(symbols).replace(" ".join(pair), "".join(pair)).split()


def merge_overlapping(symbols: Sequence[str], pair: Pair) -> list[str]:
    """aaa becomes aa aa: a symbol just used is used again."""
    merged: list[str] = []
    used = False
    for place, symbol in enumerate(symbols):
        if (symbol, *symbols[place + 1 : place + 2]) == pair:
            merged.append(pair[0] + pair[1])
            used = True
        else:
            if not used:
                merged.append(symbol)
            used = False
    return merged


def merge_either_order(symbols: Sequence[str], pair: Pair) -> list[str]:
    merged: list[str] = []
    places = iter(range(len(symbols)))
    for place in places:
        here = tuple(symbols[place : place + 2])
        if here in (pair, pair[::-1]):
            merged.append("".join(here))
            next(places, None)
        else:
            merged.append(symbols[place])
    return merged


def merge_and_keep(symbols: Sequence[str], pair: Pair) -> list[str]:
    """The pair's second symbol is not skipped: ab becomes ab b."""
    merged: list[str] = []
    for place, symbol in enumerate(symbols):
        here = (symbol, *symbols[place + 1 : place + 2])
        merged.append("".join(here) if here == pair else symbol)
    return merged


def merge_and_lose_the_last(symbols: Sequence[str], pair: Pair) -> list[str]:
    """The loop over pairs ends before the last symbol, which is lost where it was not merged."""
    merged: list[str] = []
    places = iter(range(len(symbols) - 1))
    for place in places:
        here = tuple(symbols[place : place + 2])
        merged.append("".join(here) if here == pair else symbols[place])
        if here == pair:
            next(places, None)
    return merged


def split_without_end(word: str) -> list[str]:
    return list(word)


def split_end_attached(word: str) -> list[str]:
    return [*word[:-1], word[-1] + END]


def split_end_in_characters(word: str) -> list[str]:
    return list(word + END)


def split_end_in_front(word: str) -> list[str]:
    return [END, *word]


def split_both_ends(word: str) -> list[str]:
    return ["<w>", *word, END]


OTHER_ENDS = ("_", "<w>", "$", " ", "<eow>", "<end>", "</s>", "</W>", "<e>", "#", "▁", "@@")


def split_with(end: str) -> Split:
    return lambda word: [*word, end]


def split_g(word: str) -> list[str]:
    """The mark of GPT-2's tokenizer, before the word."""
    return ["Ġ", *word]


def split_sentencepiece(word: str) -> list[str]:
    return ["▁", *word]


def split_lower(word: str) -> list[str]:
    return [*word.lower(), END]


def split_bytes(word: str) -> list[str]:
    return [*word.encode().decode("latin-1"), END]
