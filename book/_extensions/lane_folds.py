"""The lanes of a chapter as folds on the site.

The heading of a lane is the summary of its fold. A link into it opens it, and so does the printer,
which is page.js's part; it ends with the way back to the core. Its address stands in the notebook.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

import lanes
from lanes import LANE


def in_a_lane(node: nodes.Node) -> bool:
    """Whether it stands in a section that `Lanes` has marked."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, nodes.section) and "lane" in node["classes"]:
            return True
    return False


class Lanes(SphinxTransform):
    """Mark the sections that are lanes."""

    default_priority = 390  # before the first use of a term is looked for

    def apply(self, **_: Any) -> None:
        env = self.document.settings.env
        path = Path(env.doc2path(env.docname))
        if path.suffix != ".ipynb":
            return
        addresses = lanes.addresses(json.loads(path.read_text(encoding="utf-8"))["cells"])
        found = [s for s in self.document.findall(nodes.section) if LANE.fullmatch(s[0].astext())]
        for section, address in zip(found, addresses, strict=True):
            section["classes"] += ["lane", f"lane-{address.partition('-')[0]}"]
            section["ids"] = [address]
            self.document.note_explicit_target(section)


class LanesAsFolds(SphinxPostTransform):
    """Make a fold of each lane: its heading is the summary, its end leads back to the core."""

    default_priority = 500
    formats = ("html",)

    def run(self, **_: Any) -> None:
        for section in self.document.findall(nodes.section):
            if "lane" in section["classes"]:
                _fold(section)


def _fold(section: nodes.section) -> None:
    title = section[0]
    lane, minutes, result = title[0].astext().split(" · ", 2)  # what follows may be a formula
    label = nodes.inline("", f"{lane} · {minutes}", classes=["lane-label"])
    title[0:1] = [label, nodes.Text(" "), nodes.Text(result)]
    section.insert(0, _html('<details class="lane-fold"><summary>'))
    section.insert(2, _html("</summary>"))
    core = next((s for s in _following(section) if "lane" not in s["classes"]), None)
    if core is not None:
        link = nodes.reference("", f"Back to the core: {core[0].astext()}", internal=True)
        link["refuri"] = f"#{core['ids'][0]}"
        own = nodes.reference("", "Link to this lane", internal=True)
        own["refuri"] = f"#{section['ids'][0]}"
        section += nodes.paragraph("", "", link, nodes.Text(" · "), own, classes=["lane-end"])
    section += _html("</details>")


def _following(section: nodes.section) -> Iterator[nodes.section]:
    siblings = section.parent.children
    for node in siblings[siblings.index(section) + 1 :]:
        if isinstance(node, nodes.section):
            yield node


def _html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(Lanes)
    app.add_post_transform(LanesAsFolds)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
