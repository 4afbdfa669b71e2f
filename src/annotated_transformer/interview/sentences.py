"""What popular summaries say and what is true instead, read from the page of errata."""

import re
from dataclasses import dataclass

_ENTRY = re.compile(r"^“(?P<claim>.+)”\n: (?P<truth>.+)\n: \*Evidence:\*", re.MULTILINE)


@dataclass(frozen=True)
class Sentence:
    """A claim that is wrong or half true.

    Attributes:
        claim: as it is met.
        truth: what is so.
        section: of the page, by its heading.
    """

    claim: str
    truth: str
    section: str


def read_sentences(page: str) -> list[Sentence]:
    """The sentences of the page of errata, in its order.

    Args:
        page: its text, Markdown.
    """
    found = []
    for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        heading = part.partition("\n")[0].strip()
        found += [
            Sentence(_plain(entry["claim"]), _plain(entry["truth"]), heading)
            for entry in _ENTRY.finditer(part)
        ]
    return found


def _plain(text: str) -> str:
    """Without roles and links, which mean nothing outside the page."""
    text = re.sub(r" ?\{cite\}`[^`]*`", "", text)
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
