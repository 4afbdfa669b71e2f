"""Named mistakes of `tokenization.bpe_train`, made from one trainer with every step replaceable."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from annotated_transformer.exercises.exercise import Candidate, Mistake
from annotated_transformer.exercises.tokenization import merging
from annotated_transformer.exercises.tokenization.merging import Merge, Pair, Split

Counts = dict[Pair, int]
Words = dict[str, list[str]]


def _most_frequent(counts: Counts, words: Words) -> Pair:
    return min(counts, key=lambda pair: (-counts[pair], pair))


def _by(key: Callable[[Pair, int], Any]) -> Callable[[Counts, Words], Pair]:
    return lambda counts, words: min(counts, key=lambda pair: key(pair, counts[pair]))


def _with_end(pair: Pair, mark: str) -> Pair:
    return pair[0].replace(merging.END, mark), pair[1].replace(merging.END, mark)


def _last_seen(counts: Counts, words: Words) -> Pair:
    return min(reversed(list(counts)), key=lambda pair: -counts[pair])


def _wordpiece(counts: Counts, words: Words) -> Pair:
    single: Counter[str] = Counter()
    for (first, second), count in counts.items():
        single[first] += count
        single[second] += count
    return min(counts, key=lambda p: (-counts[p] / (single[p[0]] * single[p[1]]), p))


def _count(words: Words, weights: dict[str, int], how: str) -> Counts:
    counts: Counter[Pair] = Counter()
    for word, symbols in words.items():
        weight = 1 if how == "unweighted" else weights[word]
        pairs = list(pairwise(symbols))
        if how == "once per word":
            pairs = list(dict.fromkeys(pairs))
        if how == "first pair":
            pairs = pairs[:1]
        if how == "both orders":
            pairs = [*pairs, *(pair[::-1] for pair in pairs)]
        previous = -2
        for place, pair in enumerate(pairs):
            if how == "no overlap" and place == previous + 1 and pairs[previous] == pair:
                continue
            previous = place
            if how == "overwritten":
                counts[pair] = weight
            elif how == "largest":
                counts[pair] = max(counts[pair], weight)
            else:
                counts[pair] += weight
    return dict(counts)


def _train(
    word_counts: dict[str, int],
    n_merges: int,
    *,
    split: Split = merging.split_word,
    count: str = "",
    choose: Callable[[Counts, Words], Pair] = _most_frequent,
    merge: Merge = merging.merge_pair,
    at_least: int = 1,
) -> list[Pair]:
    words = {word: split(word) for word in word_counts}
    merges: list[Pair] = []
    for _ in range(n_merges):
        counts = _count(words, word_counts, count)
        if not counts or max(counts.values()) < at_least:
            break
        best = choose(counts, words)
        merges.append(best)
        words = {word: merge(symbols, best) for word, symbols in words.items()}
    return merges


def _no_update(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    counts = _count({w: merging.split_word(w) for w in word_counts}, word_counts, "")
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:n_merges]


def _same_again(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    return _train(word_counts, n_merges, merge=lambda symbols, pair: list(symbols))


def _stale_counts(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    """Words are rewritten, but the counts of gone neighbours are never taken down."""
    words = {word: merging.split_word(word) for word in word_counts}
    totals: Counter[Pair] = Counter(_count(words, word_counts, ""))
    merges: list[Pair] = []
    while len(merges) < n_merges and totals:
        best = _most_frequent(totals, words)
        merges.append(best)
        del totals[best]
        words = {word: merging.merge_pair(symbols, best) for word, symbols in words.items()}
        for pair, count in _count(words, word_counts, "").items():
            if best[0] + best[1] in pair:
                totals[pair] = count
    return merges


def _each_word_alone(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    merges: list[Pair] = []
    for word, count in word_counts.items():
        for pair in _train({word: count}, n_merges):
            if pair not in merges:
                merges.append(pair)
    return merges[:n_merges]


def _across_words(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    symbols = [s for word, n in word_counts.items() for _ in range(n) for s in [*word, merging.END]]
    merges: list[Pair] = []
    for _ in range(n_merges):
        counts = Counter(pairwise(symbols))
        if not counts:
            break
        best = _most_frequent(counts, {})
        merges.append(best)
        symbols = merging.merge_pair(symbols, best)
    return merges


def _vocabulary_size(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    alphabet = {symbol for word in word_counts for symbol in merging.split_word(word)}
    return _train(word_counts, max(n_merges - len(alphabet), 0))


def _raises(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    merges = _train(word_counts, n_merges)
    if len(merges) < n_merges:
        max(())
    return merges


def _filled_up(word_counts: dict[str, int], n_merges: int) -> list[Pair | None]:
    merges = _train(word_counts, n_merges)
    return [*merges, *([None] * (n_merges - len(merges)))]


def _used_up(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    merges = _train(word_counts, n_merges)
    for word in list(word_counts):
        word_counts[" ".join([*word, merging.END])] = word_counts.pop(word)
    return merges


def _words(word_counts: dict[str, int], n_merges: int) -> Words:
    words = {word: merging.split_word(word) for word in word_counts}
    for pair in _train(word_counts, n_merges):
        words = {word: merging.merge_pair(symbols, pair) for word, symbols in words.items()}
    return words


def _then(change: Callable[[dict[str, int]], Any]) -> Candidate:
    """The right merges, and the given counts changed."""

    def train(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
        merges = _train(word_counts, n_merges)
        change(word_counts)
        return merges

    return train


def _symbols(word_counts: dict[str, int], n_merges: int) -> list[str]:
    return [first + second for first, second in _train(word_counts, n_merges)]


def _vocabulary(word_counts: dict[str, int], n_merges: int) -> list[str]:
    words = [merging.split_word(word) for word in word_counts]
    alphabet = sorted({symbol for word in words for symbol in word})
    return [*alphabet, *_symbols(word_counts, n_merges)]


def _trained(**steps: Any) -> Candidate:
    return partial(_train, **steps)


_TIES = (
    "Among pairs of equal count the result follows {}. The rule is: the lexicographically smallest "
    "pair, compared as a tuple. A rule is needed so that everybody learns the same merges: choose "
    "by `(-count, pair)`."
)
_END_NAME = (
    "The words end in another mark than '</w>'. The result is compared as it stands, and files of "
    "merges are read by other programs: use '</w>'."
)
_IN_FRONT = (
    "The mark stands in front of the word, as GPT-2 and SentencePiece do it. Here it is '</w>' "
    "*after* the last character, so that endings become symbols."
)
_NOT_COUNTED_ANEW = (
    "The pairs are counted once, at the beginning, and the most frequent ones returned. After each "
    "merge there are new symbols with new neighbours, and old pairs are gone: merge in every word, "
    "then count again."
)

_CHANGED = (
    "The merges are right, but the given `word_counts` is changed on the way. Keep the symbols of "
    "the words in a dictionary of your own."
)

MISTAKES = (
    Mistake(
        "no-end-of-word",
        _trained(split=merging.split_without_end),
        "No pair ever holds '</w>': the words have no such symbol, or its pairs are left out (a "
        "loop that ends one too early does that). Then an ending cannot be told from the same "
        "letters inside a word. Start from the characters and '</w>', and count up to the last.",
    ),
    Mistake(
        "end-attached",
        _trained(split=merging.split_end_attached),
        "'</w>' is glued to the last character (`w</w>`), as later versions of subword-nmt do. "
        "Here it is a symbol of its own: `[*word, '</w>']`.",
    ),
    Mistake(
        "end-in-characters",
        _trained(split=merging.split_end_in_characters),
        "'</w>' is taken apart into its characters <, /, w, >: `list(word + '</w>')`. It is one "
        "symbol: `list(word) + ['</w>']`.",
    ),
    Mistake("end-in-front", _trained(split=merging.split_end_in_front), _IN_FRONT),
    Mistake("mark-in-front-gpt2", _trained(split=merging.split_g), _IN_FRONT),
    Mistake("mark-in-front-sentencepiece", _trained(split=merging.split_sentencepiece), _IN_FRONT),
    *(
        Mistake(f"end-called-{name}", _trained(split=merging.split_with(name)), _END_NAME)
        for name in merging.OTHER_ENDS
    ),
    Mistake(
        "word-reversed",
        _trained(split=lambda word: [*word[::-1], merging.END]),
        "The characters of a word are reversed. Its symbols are its characters in their order, "
        "then '</w>'.",
    ),
    Mistake(
        "word-not-split",
        _trained(split=lambda word: [word, merging.END]),
        "The words are not taken apart: each is one symbol and '</w>'. Start from the characters, "
        "`list(word) + ['</w>']` (`split()` cuts at spaces).",
    ),
    Mistake(
        "start-of-word-added",
        _trained(split=merging.split_both_ends),
        "The words also begin with a mark of their own. Only the end is marked: characters, then "
        "'</w>'.",
    ),
    Mistake(
        "lower-cased",
        _trained(split=merging.split_lower),
        "The words are put into lower case first. Nothing is said of that: `Band` and `band` begin "
        "with different symbols.",
    ),
    Mistake(
        "bytes",
        _trained(split=merging.split_bytes),
        "The words are taken apart into bytes, as GPT-2 does, so that `ü` becomes two symbols. "
        "Here the first symbols are characters.",
    ),
    Mistake(
        "counts-ignored",
        _trained(count="unweighted"),
        "Every word counts once, however often it occurs. A pair is worth the count of its word at "
        "each position: `counts[pair] += word_counts[word]`.",
    ),
    Mistake(
        "once-per-word",
        _trained(count="once per word"),
        "A pair that stands twice in a word is counted once (a set of pairs). Every position "
        "counts: in `banana` the pair (a, n) occurs twice.",
    ),
    Mistake(
        "no-overlapping-positions",
        _trained(count="no overlap"),
        "In `aaa` the pair (a, a) is counted once, because only one merge would be possible there. "
        "The rule here is simpler: every position where the pair stands counts, so twice.",
    ),
    Mistake(
        "count-overwritten",
        _trained(count="overwritten"),
        "The count of a pair is overwritten by each word that has it (`=` for `+=`). Counts add up "
        "over all positions of all words.",
    ),
    Mistake(
        "largest-count",
        _trained(count="largest"),
        "A pair gets the count of the most frequent word that has it. Counts add up over all "
        "positions of all words.",
    ),
    Mistake(
        "first-pair-only",
        _trained(count="first pair"),
        "Only the first pair of each word is counted. Go on to the last: `zip(symbols, "
        "symbols[1:])`.",
    ),
    Mistake(
        "both-orders",
        _trained(count="both orders"),
        "(a, b) and (b, a) are counted as one pair. Order matters: `ab` and `ba` are different "
        "symbols.",
    ),
    Mistake(
        "ties-first-seen",
        _trained(choose=lambda counts, words: max(counts, key=lambda pair: counts[pair])),
        _TIES.format("the order in which they were first seen (`max` alone, or `most_common`)"),
    ),
    Mistake("ties-last-seen", _trained(choose=_last_seen), _TIES.format("which was seen last")),
    Mistake(
        "ties-largest",
        _trained(choose=lambda counts, words: max(counts, key=lambda pair: (counts[pair], pair))),
        "Among pairs of equal count the lexicographically *largest* is taken: `max` with the key "
        "(count, pair) does that. Take the smallest: `min` with the key (-count, pair).",
    ),
    Mistake(
        "ties-by-joined-text",
        _trained(choose=_by(lambda pair, count: (-count, "".join(pair)))),
        _TIES.format("the joined text, so that (ab, a) comes before (a, bc)"),
    ),
    Mistake(
        "ties-by-written-tuple",
        _trained(choose=_by(lambda pair, count: (-count, str(pair)))),
        _TIES.format("the tuple written out, quotes and all (`str(pair)`)"),
    ),
    Mistake(
        "ties-without-end",
        _trained(choose=_by(lambda pair, count: (-count, *_with_end(pair, "")))),
        _TIES.format("the symbols without '</w>'"),
    ),
    Mistake(
        "ties-end-last",
        _trained(choose=_by(lambda pair, count: (-count, *_with_end(pair, "~")))),
        _TIES.format("an alphabet in which '</w>' stands last"),
    ),
    Mistake(
        "ties-by-second-symbol",
        _trained(choose=_by(lambda pair, count: (-count, pair[::-1]))),
        _TIES.format("the second symbol"),
    ),
    Mistake(
        "ties-longest",
        _trained(choose=_by(lambda pair, count: (-count, -len("".join(pair)), pair))),
        _TIES.format("the length of the new symbol, the longest first"),
    ),
    Mistake(
        "ties-shortest",
        _trained(choose=_by(lambda pair, count: (-count, len("".join(pair)), pair))),
        _TIES.format("the length of the new symbol, the shortest first"),
    ),
    Mistake(
        "ties-shortest-first-seen",
        _trained(choose=_by(lambda pair, count: (-count, len("".join(pair))))),
        _TIES.format("the length of the new symbol, the shortest first"),
    ),
    Mistake(
        "ties-longest-first-seen",
        _trained(choose=_by(lambda pair, count: (-count, -len("".join(pair))))),
        _TIES.format("the length of the new symbol, the longest first"),
    ),
    Mistake(
        "weighted-with-length",
        _trained(choose=_by(lambda pair, count: (-count * len("".join(pair)), pair))),
        "The counts are multiplied by the length of the new symbol. Byte-pair encoding takes the "
        "plain count; the length plays no part.",
    ),
    Mistake(
        "rarest-first",
        _trained(choose=_by(lambda pair, count: (count, pair))),
        "The *rarest* pair is merged. Byte-pair encoding joins what occurs often: the largest "
        "count first, in the key `(-count, pair)` with a minus sign.",
    ),
    Mistake(
        "counts-not-compared",
        _trained(choose=_by(lambda pair, count: pair)),
        "The lexicographically smallest pair is merged, whatever its count (`min(counts)`). The "
        "count comes first, the alphabet only settles ties.",
    ),
    Mistake(
        "wordpiece-score",
        _trained(choose=_wordpiece),
        "The count is divided by the counts of the two symbols, which is the score of WordPiece "
        "(BERT). Byte-pair encoding takes the plain count.",
    ),
    Mistake("no-update", _no_update, _NOT_COUNTED_ANEW),
    Mistake(
        "same-pair-again",
        _same_again,
        "The same pair is returned again and again: the words are never rewritten. Join the pair "
        "in every word before counting again, and keep the result.",
    ),
    Mistake(
        "stale-counts",
        _stale_counts,
        "New pairs are added after each merge, but the counts of pairs that the merge has broken "
        "are not taken down. After (a, b), an a that went into `ab` has no other neighbour any "
        "more: count all pairs anew.",
    ),
    Mistake(
        "merged-at-first-place",
        _trained(merge=merging.merge_first_place),
        "In each word only the first occurrence of the pair is merged. Merge all of them, going "
        "on after the one just joined.",
    ),
    Mistake(
        "merged-at-last-place",
        _trained(merge=merging.merge_last_place),
        "In each word only the last occurrence of the pair is merged. Merge all of them, from left "
        "to right.",
    ),
    Mistake(
        "merged-from-the-right",
        _trained(merge=merging.merge_from_the_right),
        "The pair is merged from right to left: `aaa` becomes `a aa`. Go from left to right, so "
        "that it becomes `aa a`.",
    ),
    Mistake(
        "merged-in-text",
        _trained(merge=merging.merge_by_text),
        "The pair is replaced in the text of the symbols with spaces between them, without looking "
        "where a symbol begins: in `xa b` the text `a b` is found too. Compare whole symbols.",
    ),
    Mistake(
        "merged-overlapping",
        _trained(merge=merging.merge_overlapping),
        "A symbol is used twice: `aaa` becomes `aa aa`. After joining two symbols go on behind "
        "both of them.",
    ),
    Mistake(
        "merged-and-kept",
        _trained(merge=merging.merge_and_keep),
        "The second symbol of a merged pair stays where it was: `a b` becomes `ab b`. After "
        "joining two symbols skip both.",
    ),
    Mistake(
        "last-symbol-lost",
        _trained(merge=merging.merge_and_lose_the_last),
        "When a word is rewritten, its last symbol is lost: the loop stops one before the end, "
        "since it looks at pairs. Keep the last symbol where it was not merged.",
    ),
    Mistake(
        "merged-either-order",
        _trained(merge=merging.merge_either_order),
        "The pair is merged in either order, `b a` as well as `a b`. Only the order that was "
        "counted.",
    ),
    Mistake(
        "each-word-alone",
        _each_word_alone,
        "The merges are learned from each word on its own and put one after the other. The counts "
        "of all words are added before a pair is chosen.",
    ),
    Mistake(
        "across-words",
        _across_words,
        "Pairs are counted across the border of two words, as if the corpus were one long row. A "
        "pair lies within one word: the last symbol is '</w>'.",
    ),
    Mistake(
        "vocabulary-size",
        _vocabulary_size,
        "n_merges is taken as the size of the whole vocabulary, characters included, so there are "
        "too few merges. It is the number of merges.",
    ),
    Mistake(
        "one-too-few",
        lambda word_counts, n_merges: _train(word_counts, max(n_merges - 1, 0)),
        "There is one merge too few. Learn n_merges of them: `for _ in range(n_merges)`.",
    ),
    Mistake(
        "one-too-many",
        lambda word_counts, n_merges: _train(word_counts, n_merges + 1),
        "There is one merge too many. Learn n_merges of them, none for 0: `for _ in "
        "range(n_merges)`.",
    ),
    Mistake(
        "n-merges-ignored",
        lambda word_counts, n_merges: _train(word_counts, 1000),
        "n_merges is not looked at: merging goes on until no pair is left. Stop after n_merges.",
    ),
    Mistake(
        "one-merge-only",
        lambda word_counts, n_merges: _train(word_counts, min(n_merges, 1)),
        "Only one merge is learned: is the `return` inside the loop?",
    ),
    Mistake(
        "stops-at-count-one",
        _trained(at_least=2),
        "Merging stops when the best pair occurs only once, a common setting of libraries "
        "(min_frequency). Here it goes on until no pair is left.",
    ),
    Mistake(
        "no-pair-raises",
        _raises,
        "When every word is a single symbol, there is no pair to choose and `max` or `min` of "
        "nothing raises. Leave the loop: `if not counts: break`.",
    ),
    Mistake(
        "filled-up",
        _filled_up,
        "When no pair is left, the list is filled up with None. It just ends: return the merges "
        "that there are.",
    ),
    Mistake(
        "merged-symbols-returned",
        _symbols,
        "The new symbols are returned as strings. Asked for are the pairs that were joined: `ab` "
        "could come from (a, b) only, but `abc` from (a, bc) or (ab, c).",
    ),
    Mistake(
        "vocabulary-returned",
        _vocabulary,
        "The whole vocabulary is returned. Asked for are the merged pairs, in the order in which "
        "they were learned: encoding needs that order.",
    ),
    Mistake(
        "with-counts",
        lambda word_counts, n_merges: [(p, 1) for p in _train(word_counts, n_merges)],
        "Each pair comes back together with its count. Return the pairs alone.",
    ),
    Mistake(
        "pairs-exchanged",
        lambda word_counts, n_merges: [(b, a) for a, b in _train(word_counts, n_merges)],
        "The two symbols of each pair are exchanged: (b, a) for what stands as `a b` in the word. "
        "The left one comes first.",
    ),
    Mistake(
        "as-text",
        lambda word_counts, n_merges: [" ".join(p) for p in _train(word_counts, n_merges)],
        "The pairs come back as strings with a space, as they stand in a file of merges. Return "
        "tuples of two symbols.",
    ),
    Mistake(
        "ranks-returned",
        lambda word_counts, n_merges: {p: i for i, p in enumerate(_train(word_counts, n_merges))},
        "A dictionary of pairs and ranks is returned. Return the list of pairs; their order says "
        "the rank.",
    ),
    Mistake(
        "merged-names-returned",
        lambda word_counts, n_merges: {p: "".join(p) for p in _train(word_counts, n_merges)},
        "A dictionary of pairs and what they become is returned. Return the list of pairs.",
    ),
    Mistake(
        "words-returned",
        _words,
        "The words come back, cut into symbols. Asked for are the merges that were made on the "
        "way, in the order in which they were learned.",
    ),
    Mistake(
        "in-reverse",
        lambda word_counts, n_merges: _train(word_counts, n_merges)[::-1],
        "The merges come back in reverse order, the last learned first. The first learned comes "
        "first: encoding applies them in that order.",
    ),
    Mistake(
        "sorted",
        lambda word_counts, n_merges: sorted(_train(word_counts, n_merges)),
        "The merges come back in the order of the alphabet. Keep the order in which they were "
        "learned: encoding applies them in that order.",
    ),
    Mistake("changes-word-counts", _used_up, _CHANGED),
    Mistake("empties-word-counts", _then(dict.clear), _CHANGED),
    Mistake("adds-to-word-counts", _then(lambda counts: counts.update(new=1)), _CHANGED),
    Mistake(
        "zeroes-word-counts",
        _then(lambda counts: counts.update(dict.fromkeys(counts, 0))),
        _CHANGED,
    ),
)
