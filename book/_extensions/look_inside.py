"""The translator in the page: what it computes with, and the places where it is shown.

`{look-inside}` is the whole of it, and without JavaScript a picture of it. In a chapter the line
`<!-- look-inside: s=The+sad+novel+is+long.&step=4 | What to see. -->` is a place that opens when it
is asked for; JupyterLab and Colab show nothing. What such a line may say: viewOf in look_inside.js.
"""

import base64
import html
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from annotated_transformer.data.grammar import TRAVELLING_SENTENCE, generate_corpus
from annotated_transformer.evaluation.translation import cross_attention, nbest_translations
from annotated_transformer.shipped import FOLDER, load_shipped
from front_page import HEAD, LAYER, piece_text

PAGE = "book/look_inside"
NUMBERS = "translator_numbers.js"  # beside translator.js, which reads it
SENTENCES = 200  # of the grammar's test split, with their alignments
SIZES = ("vocab_size", "d_model", "d_ff", "num_heads", "num_layers", "layer_norm_eps")
PLACE = re.compile(r"<!--\s*look-inside:\s*(?P<view>\S+)\s+\|\s+(?P<why>.+?)\s*-->", re.DOTALL)
MAY_SAY = {"s", "beam", "p", "kind", "head", "step", "row", "off"}


def numbers_script() -> str:
    """The model in 16 bits, its vocabulary, and sentences with their alignments, as a script."""
    model, _ = load_shipped()
    tensors = dict(model.named_parameters())  # the tied table once
    halves = [tensor.detach().numpy().astype("<f2").tobytes() for tensor in tensors.values()]
    split = generate_corpus(train=1).splits["test"].first(SENTENCES)
    told = {
        "config": {name: getattr(model.config, name) for name in SIZES},
        "vocabulary": merges_and_pieces(),
        "tensors": [[name, tensor.numel()] for name, tensor in tensors.items()],
        "numbers": base64.b64encode(b"".join(halves)).decode(),
        "sentences": [*zip(split.source, split.target, split.alignments or (), strict=True)],
    }
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return f"globalThis.BOOK_TRANSLATOR={text};\n"


def merges_and_pieces() -> dict[str, Any]:
    """The vocabulary in short: the pieces that are no merge, and which two ids each merge joins.

    Raises:
        ValueError: if the pieces are not the characters and then one a merge, in order.
    """
    bpe = json.loads((FOLDER / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    ids, merges = bpe["vocab"], bpe["merges"]
    pieces = sorted(ids, key=ids.__getitem__)
    first = len(pieces) - len(merges)
    if [left + right for left, right in merges] != pieces[first:]:
        raise ValueError("the pieces of the shipped vocabulary are not in the order of its merges")
    joined = np.array([[ids[left], ids[right]] for left, right in merges], dtype="<u2")
    return {"pieces": pieces[:first], "merges": base64.b64encode(joined.tobytes()).decode()}


def whole() -> str:
    """The page's own place for it: the travelling sentence, with the weights of one head."""
    sentence = TRAVELLING_SENTENCE.source
    model, vocabulary = load_shipped()
    [[translation]] = nbest_translations(model, vocabulary, [sentence], beam_size=1)
    attention = cross_attention(model, vocabulary, sentence, translation)
    weights = attention.weights[LAYER - 1][HEAD - 1]
    head = "".join(
        f'<th scope="col"><span>{piece_text(piece)}</span></th>' for piece in attention.source
    )
    rows = "".join(
        f'<tr><th scope="row"><span>{piece_text(piece)}</span></th>'
        + "".join(f'<td style="--weight:{w:.3f}"><span>{w:.2f}</span></td>' for w in row)
        + "</tr>"
        for piece, row in zip(attention.target, weights, strict=True)
    )
    wanted = [*vocabulary.encode(TRAVELLING_SENTENCE.target), vocabulary.eos_id]
    pairs = zip(translation.tokens[1:], wanted, strict=False)
    step = next((step for step, (ours, right) in enumerate(pairs, start=1) if ours != right), 1)
    view = urlencode({"s": sentence, "head": f"{LAYER}.{HEAD}", "step": step})
    return (
        f'<div class="look look-whole" data-view="{html.escape(view)}">'
        f'<p lang="en">{html.escape(sentence)}</p>'
        f'<p class="look-text" lang="de">{html.escape(translation.text)}</p>'
        f"<p>Which pieces of the source head {HEAD} of layer {LAYER} looks at, as it writes each "
        "piece of the translation:</p>"
        f'<div class="look-weights"><table><thead><tr><td></td>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        "<noscript><p>To write a sentence of your own, let this page run JavaScript.</p></noscript>"
        "</div>"
    )


def place(view: str, why: str, page: str) -> str:
    """A place in a chapter; page.js makes the button that opens it.

    Raises:
        ExtensionError: if it says what `viewOf` does not read.
    """
    said = dict(parse_qsl(view))
    if not said.get("s") or not said.keys() <= MAY_SAY:
        raise ExtensionError(
            f"look-inside: {view!r} was given; it says s=, the sentence, and of {sorted(MAY_SAY)} "
            "what it needs."
        )
    address, shown = html.escape(f"{page}#{view}"), html.escape(said["s"])
    return (
        f'<div class="look" data-view="{html.escape(view)}" data-page="{html.escape(page)}">'
        f'<p><a href="{address}">Look inside a translation</a> of “{shown}”: '
        f"{html.escape(why)}</p></div>"
    )


class LookInside(SphinxDirective):
    """`{look-inside}`: all of it."""

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", whole(), format="html")]


class Places(SphinxPostTransform):
    """Make a place of each comment that asks for one."""

    default_priority = 500
    formats = ("html",)

    def run(self, **_: Any) -> None:
        page = self.app.builder.get_relative_uri(self.env.docname, PAGE)
        for node in [*self.document.findall(nodes.raw), *self.document.findall(nodes.comment)]:
            found = PLACE.search(node.astext())
            if found:
                node.replace_self(
                    nodes.raw("", place(found["view"], found["why"], page), format="html")
                )


def add_style(app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any) -> None:
    """Its style sheet, on the pages that have a place for it."""
    if '<div class="look' in context.get("body", ""):
        app.add_css_file("look_inside.css")


def write_numbers(app: Sphinx, exception: Exception | None) -> None:
    """Put the numbers beside the program that reads them."""
    if exception is None and app.builder.name == "html":
        target = Path(app.outdir) / "_static" / NUMBERS
        target.write_text(numbers_script(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("look-inside", LookInside)
    app.add_post_transform(Places)
    app.connect("html-page-context", add_style)
    app.connect("build-finished", write_numbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
