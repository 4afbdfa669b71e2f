"""Scores in a text, for tests of pages and chapters: whose they are and how they were made."""

import re

from annotated_transformer.evidence.ledger.checks import SCORE
from annotated_transformer.evidence.ledger.facts import load_facts


def papers_numbers() -> set[str]:
    """Every number with decimals that the paper's facts give."""
    printed = " ".join(f"{fact.says} {fact.note}" for fact in load_facts().values())
    return set(re.findall(r"\d{1,2}\.\d{1,2}", printed))


def blocks(text: str) -> list[str]:
    """What must stand together: rows of tables, and elsewhere paragraphs."""
    parts = re.split(r"\n(?=\* - )|\n```", text)
    return [
        block
        for part in parts
        for block in ([part] if part.startswith("* - ") else re.split(r"\n\s*\n", part))
    ]


def unsigned_scores(text: str, papers: set[str]) -> list[str]:
    """BLEU scores that are not the paper's and do not stand beside a signature."""
    return [
        score
        for block in blocks(text)
        if "version:" not in block
        for score in (match.group(1) or match.group(2) for match in SCORE.finditer(block))
        if score not in papers
    ]
