"""What stands behind a claim of the interview: the text and outputs that its evidence leads to."""

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from annotated_transformer.evidence.ledger.facts import load_facts
from annotated_transformer.interview.bank import Evidence, value_of
from interview import works
from lanes import source_of
from numbers_in_prose import CITED, NO_PROSE, REFERENCE, is_rounded, measured, numbers_in, outputs

ROOT = Path(__file__).resolve().parents[2]
HEADING = re.compile(r"^(#{2,4}) (.+)$", re.MULTILINE)


@cache
def sections(chapter: str) -> dict[str, str]:
    """The text and outputs below each heading of a chapter, by the heading; deeper ones too."""
    (path,) = (ROOT / "notebooks").glob(f"{chapter}_*.ipynb")
    found: dict[str, str] = {}
    open_ones: list[tuple[int, str]] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = source_of(cell)
        if cell["cell_type"] == "markdown":
            for marks, heading in HEADING.findall(source):
                open_ones = [(depth, name) for depth, name in open_ones if depth < len(marks)]
                open_ones.append((len(marks), heading.strip()))
                found.setdefault(heading.strip(), "")
        for _, name in open_ones:
            found[name] += f"\n{source}\n" + " ".join(outputs(cell))
    return found


def is_there(evidence: Evidence) -> bool:
    """Whether there is such a section, fact, work or sum."""
    if evidence.kind == "chapter":
        return evidence.target in sections(evidence.chapter)
    if evidence.kind == "fact":
        return evidence.target in load_facts()
    if evidence.kind == "cite":
        return evidence.target in works()
    return True


def strays(text: str, evidence: Iterable[Evidence], given: str = "") -> list[str]:
    """The numbers of a text that its evidence does not hold, rounded as they are written.

    Args:
        given: the task, whose numbers need none.
    """
    pool: list[float] = [*numbers_in(given)]
    for one in evidence:
        if one.kind == "chapter":
            pool += numbers_in(sections(one.chapter)[one.target].replace("_", ""))
        elif one.kind == "fact":
            fact = load_facts()[one.target]
            pool += numbers_in(f"{fact.says} {fact.note} {fact.value}")
        elif one.kind == "sum":
            pool.append(value_of(one.target))
    readable = REFERENCE.sub(" ", NO_PROSE.sub(" ", CITED.sub(" ", text)))
    return [
        f"{number}: {around}"
        for number, share, around in measured(readable)
        if not any(is_rounded(number, value, share) for value in pool)
    ]
