"""`decoding.corpus_bleu`: the measure of Table 2 (Papineni et al., 2002)."""

import math
from collections import Counter

import numpy as np
import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call

Corpus = list[list[str]]


def corpus_bleu(hypotheses: list[list[str]], references: list[list[str]], max_n: int = 4) -> float:
    from collections import Counter

    def ngrams(sentence: list[str], n: int) -> Counter[tuple[str, ...]]:
        return Counter(tuple(sentence[i : i + n]) for i in range(len(sentence) - n + 1))

    precisions = []
    for n in range(1, max_n + 1):
        matches = total = 0
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            counts = ngrams(hypothesis, n)
            wanted = ngrams(reference, n)
            clipped = counts & wanted  # the smaller count of each n-gram
            matches += sum(clipped.values())
            total += sum(counts.values())
        precision = matches / total if matches else 0.0
        precisions.append(precision)
    if not all(precisions):
        return 0.0
    mean = math.exp(sum(math.log(p) for p in precisions) / len(precisions))
    c = sum(len(hypothesis) for hypothesis in hypotheses)
    r = sum(len(reference) for reference in references)
    brevity = min(1.0, math.exp(1 - r / c))
    return 100 * brevity * mean


def _by_lists(hypotheses: Corpus, references: Corpus, max_n: int = 4) -> float:
    """Each match is struck from a list of what the reference still offers."""
    matches, totals = [0] * max_n, [0] * max_n
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for n in range(1, max_n + 1):
            offered = [reference[i : i + n] for i in range(len(reference) - n + 1)]
            for i in range(len(hypothesis) - n + 1):
                totals[n - 1] += 1
                if hypothesis[i : i + n] in offered:
                    offered.remove(hypothesis[i : i + n])
                    matches[n - 1] += 1
    if not all(matches):
        return 0.0
    product = math.prod(m / t for m, t in zip(matches, totals, strict=True))
    c, r = (len([word for s in corpus for word in s]) for corpus in (hypotheses, references))
    penalty = 1.0 if c > r else math.exp(1 - r / c)
    return 100.0 * penalty * product ** (1 / max_n)


def _by_dictionaries(hypotheses: Corpus, references: Corpus, max_n: int = 4) -> float:
    def table(words: list[str]) -> dict[tuple[str, ...], int]:
        found: dict[tuple[str, ...], int] = {}
        for start in range(len(words)):
            for stop in range(start + 1, min(start + max_n, len(words)) + 1):
                gram = tuple(words[start:stop])
                found[gram] = found.get(gram, 0) + 1
        return found

    right, made = Counter[int](), Counter[int]()
    for pair in zip(hypotheses, references, strict=True):
        ours, theirs = map(table, pair)
        for gram, count in ours.items():
            made[len(gram)] += count
            right[len(gram)] += min(count, theirs.get(gram, 0))
    orders = range(1, max_n + 1)
    if any(right[n] == 0 for n in orders):
        return 0.0
    score = sum(math.log(right[n]) - math.log(made[n]) for n in orders) / max_n
    score += min(0.0, 1 - sum(map(len, references)) / sum(map(len, hypotheses)))
    return math.exp(score) * 100


def _by_numpy(hypotheses: Corpus, references: Corpus, max_n: int = 4) -> float:
    shape = (len(hypotheses), max_n)
    matches, totals = np.zeros(shape), np.zeros(shape)
    for row, (hypothesis, reference) in enumerate(zip(hypotheses, references, strict=True)):
        for n in range(1, max_n + 1):
            ours = list(zip(*(hypothesis[k:] for k in range(n)), strict=False))
            theirs = list(zip(*(reference[k:] for k in range(n)), strict=False))
            matches[row, n - 1] = sum(min(ours.count(g), theirs.count(g)) for g in set(ours))
            totals[row, n - 1] = len(ours)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.exp(np.mean(np.log(matches.sum(0) / totals.sum(0))))
    lengths = [sum(len(s) for s in corpus) for corpus in (references, hypotheses)]
    penalty = np.exp(np.minimum(0, 1 - lengths[0] / lengths[1]))
    return float(100 * penalty * np.nan_to_num(mean))


def _by_torch(hypotheses: Corpus, references: Corpus, max_n: int = 4) -> float:
    def windows(words: list[str], n: int) -> Counter[tuple[str, ...]]:
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    precisions = []
    for n in range(1, max_n + 1):
        hits = [windows(h, n) & windows(r, n) for h, r in zip(hypotheses, references, strict=True)]
        made = sum(max(len(h) + 1 - n, 0) for h in hypotheses)
        precisions.append(sum(hit.total() for hit in hits) / max(made, 1))
    mean = torch.tensor(precisions, dtype=torch.float64).log().mean().exp().item()
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    return 100 * mean * (1.0 if c >= r else math.e ** (1 - r / c))


def _pairs(
    name: str, pairs: list[tuple[str, str]], *max_n: int, isolates: str | None = None
) -> Case:
    """pairs: hypothesis and reference, words separated by spaces."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call([ours.split() for ours, _ in pairs], [ref.split() for _, ref in pairs], *max_n)

    return Case(name, make, isolates=isolates)


_CAT = ("the cat sat on the mat", "the cat sat on the red mat")
_DOG = ("a dog runs in the park today", "a dog runs in the park")
_TWO_MEN = ("two men are on a street corner talking", "two men talk on a street corner")
_GIRL = (
    "a girl in a red coat is playing in the snow near a house",
    "a girl in a red coat is playing in the snow by the house",
)

CORPUS_BLEU = Exercise(
    id="decoding.corpus_bleu",
    title="BLEU of a corpus",
    kind="code",
    difficulty=3,
    minutes=20,
    signature=(
        "corpus_bleu(hypotheses: list[list[str]], references: list[list[str]], max_n: int = 4) "
        "-> float"
    ),
    statement=(
        "Score translations, given as lists of words, against one reference each, from 0 to 100. "
        "For n = 1 to max_n the precision is the number of clipped n-gram matches (in a sentence, "
        "an n-gram matches at most as often as its reference has it) divided by the number of "
        "n-grams of the hypotheses, both summed over the corpus. Take the geometric mean of the "
        "precisions, times the brevity penalty: 1 if the hypotheses have c >= r words, r the "
        "number in the references, else exp(1 - r / c). The score is 0.0 if any precision is 0; "
        "no smoothing."
    ),
    objective="Compute the figure that the paper reports, and see what it rewards.",
    prerequisite="decoding.greedy",
    hints=(
        'The hypothesis is "the the the", the reference "the cat". How many unigrams should '
        'count as right? And why would precision alone like the hypothesis "the"?',
        "`Counter(...) & Counter(...)` keeps the smaller count of each key. Which numbers must be "
        "added up over all sentences *before* anything is divided?",
        "For each n: matches += sum((h & r).values()), total += sum(h.values()) over the corpus; "
        "0.0 if matches is 0; then 100 * min(1, exp(1 - r/c)) * exp(mean of log(matches / total)).",
    ),
    reference=corpus_bleu,
    explanation=(
        "Precision asks how much of the translation is found in the reference. Without clipping, "
        'every word of "the the the" would count as right; without the brevity penalty, a few sure '
        "words in a row would be perfect. "
        "The geometric mean lets no order be neglected: one precision of 0 makes the score 0, so "
        "single sentences often score 0, and the mean of sentence scores is another, lower "
        "number than the score of the corpus. The words depend on how the text was split: the "
        "same translation scores differently under another tokenisation, so a BLEU score needs "
        "its signature. 28.4 and 28.4 can be two different things."
    ),
    cases=(
        _pairs(
            "`the the the cat` against `the cat sat`, unigrams alone",
            [("the the the cat", "the cat sat")],
            1,
            isolates="clipping: unigrams alone, and no brevity penalty",
        ),
        _pairs(
            "five words that are the first five of ten",
            [("one two three four five", "one two three four five six seven eight nine ten")],
            isolates="the brevity penalty: every n-gram matches",
        ),
        _pairs(
            "a sentence equal to its reference",
            [("the cat sat on the mat", "the cat sat on the mat")],
            isolates="the scale: everything matches",
        ),
        _pairs(
            "one sentence, up to bigrams",
            [("the cat the cat sat there", "the cat sat on a mat")],
            2,
            isolates="precisions and their geometric mean: no brevity penalty",
        ),
        _pairs("two sentences of different lengths, up to bigrams", [("a b", "a b c"), _DOG], 2),
        _pairs(
            "no 4-gram matches",
            [("the cat is on the mat", "a cat sat on the mat"), ("a b c", "a b d")],
            isolates="a precision of 0",
        ),
        _pairs(
            "neither 3-grams nor 4-grams match",
            [("on a mat the cat is sitting", "the cat sat on a red mat"), ("two men", "two women")],
        ),
        _pairs(
            "a short sentence all wrong, a longer one all right",
            [("no idea", "so what"), (_GIRL[1], _GIRL[1])],
            3,
        ),
        _pairs("four sentences, longer than the references", [_DOG, _GIRL, _TWO_MEN, _DOG]),
        _pairs(
            "four sentences, shorter than the references",
            [_CAT, _GIRL, ("two men", "two men talk on a street corner"), _DOG],
        ),
        _pairs("a sentence with repeated words", [(_GIRL[0] + " a a a", _GIRL[1]), _CAT], 3),
        _pairs("up to 5-grams", [_GIRL, _DOG, _CAT], 5),
        _pairs("trigrams, one hypothesis empty", [_CAT, ("", "no words"), _DOG, _TWO_MEN], 3),
        _pairs(
            "capital letters",
            [("The cat sat on the mat", "the cat sat on The mat"), _DOG, ("A b", "a b")],
            2,
        ),
        _pairs(
            "n-grams that meet in other sentences",
            [
                ("b c d e f g", "a b c d x y"),
                ("a b x y d e", "d e f g a b"),
                ("x y a b c d", "b c d e a b"),
            ],
            3,
        ),
        _pairs(
            "words that look alike when glued, and in another order",
            [("ab c d e f", "a bc d e f g"), ("d c b a x y", "a b c d x y z")],
            2,
        ),
        _pairs("the reference repeats words", [("a b c a d", "a b a b c a d a b")], 3),
        _pairs("one pair of longer sentences", [_GIRL]),
    ),
    mistakes=page(__file__, corpus_bleu),
    alternatives=(_by_lists, _by_dictionaries, _by_numpy, _by_torch),
    starter=(
        "def corpus_bleu(hypotheses, references, max_n=4):\n"
        '    """Lists of sentences, each a list of words -> BLEU, from 0 to 100."""\n'
        "    ...  # your code"
    ),
)
