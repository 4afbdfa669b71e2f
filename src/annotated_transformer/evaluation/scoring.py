"""How good is a translator: BLEU with its signature, chrF, exact match.

A BLEU score means nothing without the way its text was prepared, so every score here carries a
signature. "cased" scores plain sentences as sacreBLEU prepares them; "lower-tokenised" is the
protocol of the published Multi30k scores: both sides lower-cased, punctuation-normalised and
tokenised by Moses before n-grams are counted. The two are not comparable with each other.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from annotated_transformer.config import MAX_EXTRA
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.evaluation.bleu import bleu_of_counts, count_corpus, words_13a
from annotated_transformer.evaluation.chrf import chrf_of_counts, count_characters
from annotated_transformer.evaluation.significance import Counted

BLEU_PROTOCOLS = ("cased", "lower-tokenised")
PROTOCOLS = (*BLEU_PROTOCOLS, "chrf", "exact-match")  # scores of what a search found
PROTOCOL_NAMES = {
    "cased": "BLEU, cased, detokenised",
    "lower-tokenised": "BLEU, lower-cased, tokenised",
    "chrf": "chrF",
    "exact-match": "exact match, %",
    "perplexity": "perplexity",  # of a model, not of a search: likelihood.py measures it
}


@dataclass(frozen=True)
class Score:
    """One figure for a whole corpus, from 0 to 100, and how it was computed."""

    name: str
    value: float
    signature: str


@dataclass(frozen=True)
class TriedSearch:
    """A length penalty and a limit of length, and the score that a search with them had."""

    alpha: float
    score: float
    max_extra: int = MAX_EXTRA  # what records have that do not say


def score_corpus(
    hypotheses: Sequence[str],
    references: Sequence[str],
    protocols: Sequence[str] = PROTOCOLS,
    language: str = "de",
) -> list[Score]:
    """Score one translation a line against one reference a line, once for each protocol.

    Args:
        hypotheses: translations, plain (detokenised) text.
        references: as many, plain text.
        protocols: names out of PROTOCOLS.
        language: of the references, such as "de"; Moses has rules for each.

    Raises:
        CallError: if the line counts differ, if there is no line, if a protocol is unknown.
    """
    check_line_counts(hypotheses, references)
    scorers = {
        "cased": cased_bleu,
        "lower-tokenised": lambda ours, theirs: lower_tokenised_bleu(ours, theirs, language),
        "chrf": chrf,
        "exact-match": exact_match,
    }
    unknown = [protocol for protocol in protocols if protocol not in scorers]
    if unknown:
        raise _unknown(unknown[0])
    return [scorers[protocol](hypotheses, references) for protocol in protocols]


def cased_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """BLEU as sacreBLEU defines it: mixed case, its own 13a tokenisation of detokenised text."""
    metric = BLEU(tokenize="13a")
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Score("cased", value, str(metric.get_signature()))


def lower_tokenised_bleu(
    hypotheses: Sequence[str], references: Sequence[str], language: str = "de"
) -> Score:
    """BLEU of the Multi30k literature: both sides lower-cased, normalised, tokenised by Moses."""
    prepare = moses_preparation(language)
    metric = BLEU(lowercase=True, tokenize="none", force=True)  # the words are separated already
    value = metric.corpus_score(
        [prepare(line) for line in hypotheses], [[prepare(line) for line in references]]
    ).score
    tokeniser = f"moses-{language}-normalised-sacremoses-{version('sacremoses')}"
    return Score("lower-tokenised", value, signature_of(metric, tok=tokeniser))


def signature_of(metric: BLEU, **prepared: str) -> str:
    """sacreBLEU's signature, with what was prepared before sacreBLEU saw the text.

    Args:
        prepared: fields of the signature to say otherwise, such as tok="spaces".

    Raises:
        WorkError: if the signature of this release has no such field.
    """
    signature = str(metric.get_signature())
    fields = dict(field.partition(":")[::2] for field in signature.split("|"))
    if missing := prepared.keys() - fields.keys():
        raise WorkError(
            f"sacreBLEU {version('sacrebleu')} signs with {signature!r}, which has no field "
            f"{', '.join(sorted(missing))}: install the release of requirements-lock.txt."
        )
    return "|".join(f"{name}:{value}" for name, value in {**fields, **prepared}.items())


def without_versions(signature: str) -> str:
    """A signature with a star for what a newer release of a scorer changes in it."""
    return re.sub(r"(version:|sacremoses-)[0-9.a-z]+", r"\1*", signature)


def chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """chrF2: the F-score of character n-grams up to 6, recall weighing twice precision."""
    metric = CHRF()
    value = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Score("chrf", value, str(metric.get_signature()))


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """The percentage of lines that equal their reference, runs of spaces counting as one.

    A pair of two empty lines tells nothing about a translator: it is left out of the count, and the
    signature says how many there were. An empty line against one that is not counts as a miss.

    Raises:
        CallError: if the line counts differ, if there is no line, if every pair is empty.
    """
    check_line_counts(hypotheses, references)
    counts = count_matches(hypotheses, references).sum(0)  # (2,)
    pairs = int(counts[1])
    if not pairs:
        raise CallError(
            f"all {len(references)} translations and their references are empty: there is no "
            "match to count; give at least one line with text."
        )
    signature = "nrefs:1|case:mixed|whole-lines"
    if skipped := len(references) - pairs:
        signature += f"|empty-pairs-skipped:{skipped}"
    return Score("exact-match", float(match_of_counts(counts)), signature)


def count_sentences(
    hypotheses: Sequence[str], references: Sequence[str], protocol: str, language: str = "de"
) -> Counted:
    """What each sentence adds to a score of `score_corpus`, for `significance` to draw from.

    Raises:
        CallError: if the line counts differ, if there is no line, if the protocol is unknown.
    """
    check_line_counts(hypotheses, references)
    if protocol in BLEU_PROTOCOLS:
        words = words_13a if protocol == "cased" else moses_preparation(language).words
        counts = count_corpus(list(map(words, hypotheses)), list(map(words, references)))
        return Counted(counts, partial(bleu_of_counts, smoothing="exp"))
    if protocol == "chrf":
        return Counted(count_characters(hypotheses, references), chrf_of_counts)
    if protocol == "exact-match":
        return Counted(count_matches(hypotheses, references), match_of_counts)
    raise _unknown(protocol)


def count_matches(hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[Any]:
    """1 where a line equals its reference, and 1 where either has text: (sentences, 2)."""
    words = [
        (ours.split(), theirs.split()) for ours, theirs in zip(hypotheses, references, strict=True)
    ]
    rows = [(ours == theirs != [], bool(ours or theirs)) for ours, theirs in words]
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def match_of_counts(sums: NDArray[Any]) -> NDArray[Any]:
    """Percentages (...) of the sums (..., 2); 0 where no pair has text."""
    return 100 * sums[..., 0] / np.maximum(sums[..., 1], 1)


class MosesPreparation:
    """Lower-case, normalise punctuation, tokenise: one line of text to words between spaces.

    It keeps what it has made of the last lines: many translators have the same references.
    """

    def __init__(self, language: str = "de") -> None:
        self.normaliser = MosesPunctNormalizer(lang=language)
        self.tokeniser = MosesTokenizer(lang=language)
        self._kept = lru_cache(maxsize=10_000)(self._prepare)

    def __call__(self, line: str) -> str:
        return self._kept(line)

    def _prepare(self, line: str) -> str:
        normalised = self.normaliser.normalize(line.lower())
        return str(self.tokeniser.tokenize(normalised, return_str=True))

    def words(self, line: str) -> list[str]:
        """The words of a line, as a scorer that lower-cases counts them."""
        return self(line).lower().split()


moses_preparation = cache(MosesPreparation)  # reading a language's rules takes longer than a line


def _unknown(protocol: str) -> CallError:
    return CallError(
        f"there is no scoring protocol {protocol!r}; choose from {', '.join(PROTOCOLS)}."
    )


def check_line_counts(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Raises CallError if the line counts differ, if there is no line."""
    if len(hypotheses) != len(references):
        raise CallError(
            f"there are {len(hypotheses)} translations and {len(references)} references; "
            "each line needs exactly one reference, so the two must be equally long."
        )
    if not references:
        raise CallError("there is nothing to score; give at least one line and its reference.")


def other_limit(max_extra: int | None) -> str:
    """ ", at most source + 10 tokens"; "" for the paper's limit, and for None: no search."""
    return "" if max_extra in (None, MAX_EXTRA) else f", {limit_in_words(max_extra)}"


def limit_in_words(max_extra: int | None) -> str:
    """How long a translation may become."""
    return f"at most source + {max_extra} tokens"


def searches_in_words(tried: Iterable[TriedSearch]) -> str:
    """Length penalties with their scores: "0.4: 30.12, 0.6: 30.34".

    They are grouped by max_extra, which is named unless it is the paper's alone.
    """
    groups: dict[int, list[str]] = {}
    for one in tried:
        groups.setdefault(one.max_extra, []).append(f"{one.alpha}: {one.score:.2f}")
    if list(groups) == [MAX_EXTRA]:
        return ", ".join(groups[MAX_EXTRA])
    return "; ".join(
        f"{limit_in_words(max_extra)}, {', '.join(scores)}" for max_extra, scores in groups.items()
    )
