"""The tree of a beam search, to walk through: one row a step, one place for each kept hypothesis.

Every node is a radio button of the browser's own, so arrow keys, a mouse and a finger choose it and
a screen reader names it; style sheets alone draw the chosen beginning. No script: without one, as
with one, the whole tree is there. The same output at every run.
"""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from IPython.display import display

from annotated_transformer.decoding.beam_steps import SearchStep
from annotated_transformer.figures.style import PALETTE

ROW, NODE = 56, 40  # pixels from row to row, and the height of a node

HOW = (
    "Left: the step. Thick frame: the best sentence. Double frame and ■: ended, with its score. "
    "Filled: what you have chosen; arrow keys choose the next."
)

STYLE = "".join(
    [
        "<style>.at-beam{border:0;margin:0 auto 1em;padding:0;max-width:40em;min-width:0;",
        "--at-page:var(--pst-color-background,var(--jp-layout-color0,Canvas));",
        "--at-chosen:color-mix(in srgb,var(--at-query) 25%,var(--at-page));",
        *(f"--at-{role}:{light};" for role, (light, _) in PALETTE.items()),
        "}html[data-theme=dark] .at-beam,html[theme=dark] .at-beam,",
        "body[data-jp-theme-light=false] .at-beam{",
        *(f"--at-{role}:{dark};" for role, (_, dark) in PALETTE.items()),
        "}.at-beam legend{font-size:14px;padding:0}",
        ".at-beam-tree{position:relative;margin-left:1.7em}",
        ".at-beam .at-step{position:absolute;left:-2.2em;width:1.8em;text-align:right;",
        f"font-size:12px;line-height:{NODE}px;opacity:.75}}",
        ".at-beam svg{position:absolute;inset:0;width:100%;height:100%}",
        ".at-beam path{fill:none;stroke:currentColor;stroke-opacity:.45;stroke-width:1.2;",
        "vector-effect:non-scaling-stroke}",
        ".at-beam path.at-won{stroke:var(--at-decoder);stroke-opacity:1;stroke-width:3}",
        f".at-beam label{{position:absolute;height:{NODE}px;box-sizing:border-box;margin:0;",
        "padding:1px 2px;border:1px solid var(--at-mask);border-radius:6px;cursor:pointer;",
        "text-align:center;font-size:13px;line-height:16px;overflow:hidden;white-space:nowrap;",
        "background:var(--at-page)}",
        ".at-beam label>span{display:block;overflow:hidden;text-overflow:ellipsis}",
        ".at-beam label.at-won{border:3px solid var(--at-decoder);padding:0}",
        ".at-beam label.at-ended{border-style:double;border-width:4px;padding:0}",
        ".at-beam input{position:absolute;top:0;opacity:0;width:1px;height:1px;margin:0;",
        "scroll-margin:9em 0}.at-beam .at-beam-how{font-size:13px;margin:.2em 0 .6em}",
        ".at-beam label:hover,.at-beam label:focus-within{",
        "outline:3px solid var(--at-query);outline-offset:1px}",
        ".at-beam .at-spoken{position:absolute;width:1px;height:1px;clip-path:inset(50%)}",
        # What is told of a node stays in view only if no box around the figure scrolls by itself.
        "div:has(>.at-beam){overflow:visible!important}",
        ".at-beam label.at-all{position:static;display:inline-block;height:auto;border:0;",
        "padding:.3em 0;font-size:14px;line-height:1.5}.at-beam .at-all input{position:static;",
        "opacity:1;width:1em;height:1em;vertical-align:-.1em;margin:0 .5em 0 0}",
        ".at-beam-told{position:sticky;bottom:0;min-height:4.6em;padding:.3em 0;font-size:14px;",
        "border-top:1px solid var(--at-mask);",
        "background:var(--at-page)}",
        ".at-beam-told p{display:none;margin:0}</style>",
    ]
)


@dataclass(frozen=True)
class BeamNode:
    """One hypothesis that was kept at one step.

    Attributes:
        step: how many pieces it has, from 1.
        piece: its last one.
        total: its log-probability.
        parent: the place, in the list of nodes, of the hypothesis it extends; None at the begin.
        score: what it is ranked by, where it has ended; None while it is alive.
    """

    step: int
    piece: str
    total: float
    parent: int | None
    score: float | None = None


def show_beam_tree(
    nodes: Sequence[BeamNode], label: str, name: str = "beam", folded: int = 0
) -> dict[str, int]:
    """Show the tree; choosing a node marks the beginning that leads to it.

    Args:
        nodes: step after step, at each the best first; a parent before its children.
        label: what the figure shows, for a person who cannot see it.
        name: of this figure, if a page shows more than one.
        folded: so many steps, the first, are shown only once a box above the tree is ticked.

    Returns:
        "steps", "nodes" and "ended": how many there are; "winner": the place of the best that has
        ended.

    Raises:
        ValueError: if no node has ended, or a parent comes after its child.
    """
    winner = best_ended(nodes)
    bundle = {
        "text/html": tree_markup(nodes, label, name, folded),
        "text/plain": "\n".join([label, *(told(nodes, place) for place in range(len(nodes)))]),
    }
    display(bundle, raw=True)  # type: ignore[no-untyped-call]
    return {
        "steps": nodes[-1].step,
        "nodes": len(nodes),
        "ended": sum(node.score is not None for node in nodes),
        "winner": winner,
    }


def nodes_of(
    steps: Sequence[SearchStep], pieces: Callable[[Sequence[int]], Sequence[str]]
) -> list[BeamNode]:
    """The tree of one sentence's search, from what `beam_search(..., watch=...)` told.

    Args:
        steps: of one sentence, in order.
        pieces: the text of each token, as `Vocabulary.pieces` gives it.
    """
    nodes: list[BeamNode] = []
    places: dict[tuple[int, ...], int] = {}  # of the hypotheses that have a node
    for step in steps:
        kept = [extension for extension in step.considered if extension.fate != "pruned"]
        for extension in sorted(kept, key=lambda extension: -extension.log_probability):
            places[extension.tokens] = len(nodes)
            nodes.append(
                BeamNode(
                    step.length,
                    pieces(extension.tokens[-1:])[0],
                    extension.log_probability,
                    places.get(extension.tokens[:-1]),
                    extension.score if extension.fate == "ended" else None,
                )
            )
    return nodes


def best_ended(nodes: Sequence[BeamNode]) -> int:
    """The place of the hypothesis that has ended with the best score, the first of equals."""
    for place, node in enumerate(nodes):
        if node.parent is not None and node.parent >= place:
            raise ValueError(f"node {place} comes before its parent {node.parent}; list it after.")
    ended = {place: node.score for place, node in enumerate(nodes) if node.score is not None}
    if not ended:
        raise ValueError("no hypothesis has ended: give at least one node a score.")
    return max(ended, key=lambda place: ended[place])


def path_to(nodes: Sequence[BeamNode], place: int) -> list[int]:
    """The places from the first piece to this one."""
    path: list[int] = []
    at: int | None = place
    while at is not None:
        path.insert(0, at)
        at = nodes[at].parent
    return path


def told(nodes: Sequence[BeamNode], place: int) -> str:
    """A hypothesis in a sentence."""
    node = nodes[place]
    rank = 1 + sum(other.step == node.step for other in nodes[:place])
    words = " ".join(nodes[at].piece for at in path_to(nodes, place))
    end = "alive" if node.score is None else f"ended, score {node.score:.3f}"
    if node.score is not None and place == best_ended(nodes):
        end += ", the best"
    return f"Step {node.step}, place {rank}: {words}. ln P {node.total:.2f}, {end}."


def tree_markup(nodes: Sequence[BeamNode], label: str, name: str = "beam", folded: int = 0) -> str:
    """The tree as HTML: style sheets, the lines (SVG), the nodes, and what is told of each."""
    winner = best_ended(nodes)
    won = set(path_to(nodes, winner))
    own = f"at-beam-{name}"
    columns = _columns(nodes)
    width = 1 + max(columns)  # places in a row
    height = ROW * nodes[-1].step
    lines, labels, sentences, rules = [], [], [], []
    for place, node in enumerate(nodes):
        x, y = 100 * (columns[place] + 0.5) / width, ROW * (node.step - 1)
        mark = ' class="at-won"' if place in won else ""
        if node.parent is not None:
            above = 100 * (columns[node.parent] + 0.5) / width
            y_above = ROW * (nodes[node.parent].step - 1) + NODE
            lines.append(f'<path id="{own}-e{place}"{mark} d="M{above:g} {y_above}L{x:g} {y}"/>')
        left = 100 * columns[place] / width
        labels.append(_label(nodes, place, own, left, 100 / width, won, node.step <= folded))
        sentences.append(f'<p id="{own}-t{place}">{html.escape(told(nodes, place))}</p>')
        chosen = f"#{own}:has(#{own}-i{place}:checked)"
        path = path_to(nodes, place)
        on_path = ",".join(f"#{own}-l{at}" for at in path)
        edges = ",".join(f"#{own}-e{at}" for at in path)
        rules += [
            f"{chosen} :is({on_path}){{background:var(--at-chosen)}}",
            f"{chosen} :is({edges}){{stroke:var(--at-query);stroke-opacity:1;stroke-width:3}}",
            f"{chosen} #{own}-t{place}{{display:block}}",
        ]
    return "".join(
        [
            STYLE,
            f"<style>{''.join(rules)}</style>",
            f'<fieldset class="at-beam" id="{own}">',
            f"<legend>{html.escape(label)}</legend>",
            f'<p class="at-beam-how">{HOW}</p>',
            _fold(own, folded) if folded else "",
            f'<div class="at-beam-tree" style="height:{height}px">',
            f'<svg aria-hidden="true" viewBox="0 0 100 {height}" preserveAspectRatio="none">',
            *lines,
            "</svg>",
            *(
                f'<span class="at-step" aria-hidden="true" style="top:{ROW * (step - 1)}px">'
                f"{step}</span>"
                for step in range(1, nodes[-1].step + 1)
            ),
            *labels,
            "</div>",
            '<div class="at-beam-told" aria-live="polite">',
            *sentences,
            "</div></fieldset>",
        ]
    )


def _fold(own: str, folded: int) -> str:
    """The box that shows the first steps; until it is ticked no key and no reader meets them."""
    closed, hidden = f"#{own}:not(:has(#{own}-all:checked))", ROW * folded
    steps = "step 1" if folded == 1 else f"steps 1 to {folded}"
    return (
        f"<style>{closed} .at-early{{display:none}}{closed} .at-beam-tree{{"
        f"margin-top:-{hidden}px;clip-path:inset({hidden - 6}px -3em -6px)}}</style>"
        f'<label class="at-all"><input type="checkbox" id="{own}-all">Show {steps} too</label>'
    )


def _columns(nodes: Sequence[BeamNode]) -> list[int]:
    """The place of each node in its row, best first."""
    seen: dict[int, int] = {}
    columns = []
    for node in nodes:
        columns.append(seen.get(node.step, 0))
        seen[node.step] = columns[-1] + 1
    return columns


def _label(
    nodes: Sequence[BeamNode],
    place: int,
    own: str,
    left: float,
    width: float,
    won: set[int],
    early: bool,
) -> str:
    node = nodes[place]
    marks = ["at-won"] * (place in won) + ["at-ended"] * (node.score is not None)
    marks += ["at-early"] * early
    classes = f' class="{" ".join(marks)}"' if marks else ""
    checked = " checked" if place == max(won) else ""
    number = f"{node.total:.2f}" if node.score is None else f"■ {node.score:.2f}"
    return (
        f'<label id="{own}-l{place}"{classes} style="top:{ROW * (node.step - 1)}px;'
        f'left:calc({left:g}% + 3px);width:calc({width:g}% - 6px)">'
        f'<input type="radio" name="{own}" id="{own}-i{place}"{checked}>'
        f"<span>{html.escape(node.piece)}</span><span>{number}</span>"
        f'<span class="at-spoken">{html.escape(told(nodes, place))}</span></label>'
    )
