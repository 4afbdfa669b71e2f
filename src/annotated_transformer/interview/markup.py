"""A sentence of the bank as HTML, for pages and cards."""

import html
import re

from annotated_transformer.figures.quiz import typeset

_CODE = re.compile(r"`([^`]+)`")
_LOGARITHM = re.compile(r"\blog_(\w)\b")
_STRESSED = re.compile(r"(?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?![\w*])")


def as_html(text: str) -> str:
    """Code, stress and symbols as HTML has them."""
    parts = _CODE.split(text)
    for place, part in enumerate(parts):
        if place % 2:
            parts[place] = f"<code>{html.escape(part, quote=False)}</code>"
        else:
            typed = _LOGARITHM.sub(r"log<sub>\1</sub>", typeset(part))
            parts[place] = _STRESSED.sub(r"<em>\1</em>", typed)
    return "".join(parts)
