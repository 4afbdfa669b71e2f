"""BLEU forensics: one file of translations, scored under every protocol that is in use.

Nothing about the translations changes from line to line of the result, only how the text is cut
into words before n-grams are counted. The paper names no tool for its Table 2. Its authors' own
library, tensor2tensor, has `get_ende_bleu.sh`, which splits hyphenated compounds; that is the
protocol `moses-compounds`.

Moses is here its translation to Python, sacremoses, which cuts nearly alike, and not to the letter.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Literal

from sacrebleu.metrics.bleu import BLEU
from sacremoses import MosesTokenizer

from annotated_transformer.evaluation.scoring import (
    Score,
    check_line_counts,
    lower_tokenised_bleu,
    signature_of,
)

Case = Literal["mixed", "lc", "lc-ascii"]
Cutter = Callable[[str], str]  # a line -> its words between spaces


@dataclass(frozen=True)
class Protocol:
    """How text is prepared and counted, and by whom.

    tokens: "13a" or "intl" (sacreBLEU's own), "moses", "moses-compounds" or "spaces".
    case: "mixed" leaves letters as they are, "lc" makes them small, "lc-ascii" only A to Z.
    smoothing: "exp" or "none", of precisions that are 0; at the size of a test set none is.
    used_by: one sentence.
    """

    name: str
    tokens: str
    case: Case
    smoothing: str
    used_by: str


@dataclass(frozen=True)
class ProtocolScore(Score):
    """A score, and who reports such scores."""

    used_by: str


PROTOCOLS_IN_USE = (
    Protocol(
        "13a",
        "13a",
        "mixed",
        "exp",
        "sacreBLEU's default, after mteval-v13a.pl, the scorer of WMT.",
    ),
    Protocol(
        "13a-lower",
        "13a",
        "lc",
        "exp",
        "sacreBLEU with --lowercase: capital letters do not count.",
    ),
    Protocol(
        "intl",
        "intl",
        "mixed",
        "exp",
        "sacreBLEU with --tokenize intl, after mteval-v14.pl: punctuation outside ASCII, such as "
        "„ and “, stands alone too.",
    ),
    Protocol(
        "intl-lower",
        "intl",
        "lc",
        "exp",
        "sacreBLEU with --tokenize intl --lowercase.",
    ),
    Protocol(
        "moses",
        "moses",
        "mixed",
        "none",
        "multi-bleu.perl on text tokenised by Moses: the tokenised BLEU of papers before "
        "sacreBLEU (2018), and of some since.",
    ),
    Protocol(
        "moses-lower",
        "moses",
        "lc-ascii",
        "none",
        "multi-bleu.perl -lc on text tokenised by Moses; the script reads bytes, so only A to Z "
        "are made small, and Ä stays.",
    ),
    Protocol(
        "moses-compounds",
        "moses-compounds",
        "mixed",
        "none",
        "get_ende_bleu.sh of tensor2tensor, the library of the paper's authors, and "
        "compound_split_bleu.sh of fairseq: a-b becomes a ##AT##-##AT## b, so that its "
        "parts and the hyphen are words.",
    ),
    Protocol(
        "spaces",
        "spaces",
        "mixed",
        "none",
        "A BLEU function that is given line.split() of plain text: a word with a comma behind it "
        "is another word than without.",
    ),
)
LOWER_TOKENISED_USED_BY = (
    "The literature on Multi30k: lower case, punctuation normalised, tokenised by Moses."
)


def score_under_every_protocol(
    hypotheses: Sequence[str], references: Sequence[str], language: str = "de"
) -> list[ProtocolScore]:
    """Score one output under each of PROTOCOLS_IN_USE, then as "lower-tokenised".

    Args:
        hypotheses: translations, plain (detokenised) text.
        references: as many, plain text.
        language: of both, such as "de"; Moses has rules for each.

    Raises:
        CallError: if the line counts differ, if there is no line.
    """
    check_line_counts(hypotheses, references)
    scores = [
        score_under(protocol, hypotheses, references, language) for protocol in PROTOCOLS_IN_USE
    ]
    of_captions = lower_tokenised_bleu(hypotheses, references, language)
    return [
        *scores,
        ProtocolScore(
            of_captions.name, of_captions.value, of_captions.signature, LOWER_TOKENISED_USED_BY
        ),
    ]


def score_under(
    protocol: Protocol, hypotheses: Sequence[str], references: Sequence[str], language: str
) -> ProtocolScore:
    """The text prepared as the protocol says, then counted by sacreBLEU."""
    by_sacrebleu = protocol.tokens in ("13a", "intl")
    prepare = str if by_sacrebleu else cutter(protocol.tokens, language)
    if protocol.case == "lc-ascii":
        prepare = partial(in_turn, prepare, lower_ascii)
    metric = BLEU(
        lowercase=protocol.case == "lc",
        tokenize=protocol.tokens if by_sacrebleu else "none",  # the words are separated already
        smooth_method=protocol.smoothing,
        force=True,
    )
    value = metric.corpus_score(list(map(prepare, hypotheses)), [list(map(prepare, references))])
    prepared = {} if by_sacrebleu else {"tok": token_signature(protocol, language)}
    if protocol.case == "lc-ascii":
        prepared["case"] = "lc-ascii"
    signature = signature_of(metric, **prepared)
    return ProtocolScore(protocol.name, value.score, signature, protocol.used_by)


def cutter(tokens: str, language: str) -> Cutter:
    """What separates the words of a line by spaces, for the tokens of a `Protocol`."""
    if tokens == "spaces":
        return str
    moses = partial(MosesTokenizer(lang=language).tokenize, return_str=True)
    return partial(in_turn, moses, split_compounds) if tokens == "moses-compounds" else moses


def in_turn(first: Cutter, second: Cutter, line: str) -> str:
    """What the second makes of what the first makes of a line."""
    return second(first(line))


def split_compounds(line: str) -> str:
    """A hyphen inside a word becomes a word: a-b to a ##AT##-##AT## b.

    As in the scripts, a character that was used for one hyphen is not used for the next: a-b-c
    becomes a ##AT##-##AT## b-c.
    """
    return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", line)


def lower_ascii(line: str) -> str:
    """Make A to Z small and leave every other letter, as Perl does with bytes."""
    return re.sub(r"[A-Z]+", lambda match: match[0].lower(), line)


def token_signature(protocol: Protocol, language: str) -> str:
    """What stands behind tok: in the signature."""
    if protocol.tokens == "spaces":
        return "spaces"
    compounds = "-compounds-split" if protocol.tokens == "moses-compounds" else ""
    return f"moses-{language}{compounds}-sacremoses-{version('sacremoses')}"
