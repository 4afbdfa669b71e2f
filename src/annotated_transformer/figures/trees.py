"""Constituency trees as boxes in boxes, which wrap on a narrow screen and are read as text."""

import html
from collections import Counter
from collections.abc import Iterator, Sequence

from IPython.display import display

from annotated_transformer.data.trees import ESCAPED, Tree
from annotated_transformer.evaluation.brackets import brackets_of_phrases
from annotated_transformer.figures.style import PALETTE

STYLE = "".join(
    [
        "<style>.at-tree{line-height:1.9;font-size:14px;margin:.3em 0 1em;",
        f"--at-wrong:{PALETTE['key'][0]}}}",
        "html[data-theme=dark] .at-tree,html[theme=dark] .at-tree,",
        f"body[data-jp-theme-light=false] .at-tree{{--at-wrong:{PALETTE['key'][1]}}}",
        ".at-tree span{display:inline-block;border:1px solid;border-radius:6px;",
        "padding:0 .3em 2px;margin:2px 1px;vertical-align:middle}",
        ".at-tree span b{font-size:11px;opacity:.8;margin-right:.3em}",
        ".at-tree span.at-wrong{border:2px dashed var(--at-wrong)}",
        ".at-tree span.at-wrong>b{color:var(--at-wrong);opacity:1}",
        ".at-tree p{margin:0}</style>",
    ]
)


def show_trees(trees: Sequence[tuple[str, Tree]], gold: Tree | None = None) -> dict[str, int]:
    """Show trees of one sentence, one below the other, each phrase a box with its label.

    Args:
        trees: of each what stands above it, and the tree; its root is not drawn.
        gold: the right tree. Phrases whose bracket it lacks have a dashed frame and an ✗.

    Returns:
        name -> how many brackets it lacks.
    """
    markup, text, wrong = [STYLE], [], {}
    for name, tree in trees:
        flags = _is_right(tree, tree if gold is None else gold)
        wrong[name] = flags.count(False)
        inside = _boxes(tree, iter(flags))
        label = html.escape(name)
        markup.append(f'<div class="at-tree"><p><strong>{label}</strong></p>{inside}</div>')
        text.append(f"{name}: {_in_text(tree, iter(flags))}")
    bundle = {"text/html": "".join(markup), "text/plain": "\n".join(text)}
    display(bundle, raw=True)  # type: ignore[no-untyped-call]
    return wrong


def _is_right(tree: Tree, gold: Tree) -> list[bool]:
    """Of each phrase, from the root down, whether the other tree has its bracket (too)."""
    left = Counter(brackets_of_phrases(gold)[0])
    flags = []
    for bracket in brackets_of_phrases(tree)[0]:
        flags.append(bracket is None or left[bracket] > 0)
        left[bracket] -= 1
    return flags


def _boxes(tree: Tree, flags: Iterator[bool], is_root: bool = True) -> str:
    if tree.is_tag:
        word = str(tree.children[0])
        return html.escape(ESCAPED.get(word, word)) + " "
    is_right = next(flags)
    parts = (part for part in tree.children if isinstance(part, Tree))
    inside = "".join(_boxes(part, flags, False) for part in parts)
    if is_root:
        return inside
    label = html.escape(tree.category)
    if is_right:
        return f"<span><b>{label}</b>{inside}</span>"
    return f'<span class="at-wrong"><b>✗ {label}</b>{inside}</span>'


def _in_text(tree: Tree, flags: Iterator[bool]) -> str:
    if tree.is_tag:
        return str(tree.children[0])
    mark = "" if next(flags) else "✗"
    parts = (part for part in tree.children if isinstance(part, Tree))
    return f"({mark}{tree.category} {' '.join(_in_text(part, flags) for part in parts)})"
