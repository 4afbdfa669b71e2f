"""What the front page shows and no text could keep true: made from the package at each build.

`hero`: the book's travelling sentence, piece by piece, by the model that comes with the package.
`architecture`: Figure 1 as a table of contents. `failing-cell`: an exercise in the middle of
failing, as the check answers it. `findings`: what chapters have found, with their pictures, small.
`proof`: what the ledger has done about the paper's facts.
`reading-times`: the chapters and their minutes.
"""

import ast
import base64
import html
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import lanes
import solve_here
from annotated_transformer.data import TRAVELLING_SENTENCE
from annotated_transformer.evaluation.translation import source_ids, translate_sentences
from annotated_transformer.evidence.ledger.rows import Treatment, facts_by_treatment
from annotated_transformer.evidence.ledger.rows_experiments import all_rows
from annotated_transformer.exercises.catalogue import find, minutes_of_exercises
from annotated_transformer.exercises.grader.grading import grade_exercise
from annotated_transformer.exercises.notebooks import as_written, check_call
from annotated_transformer.exercises.reports.card import report_card
from annotated_transformer.figures.architecture import architecture_markup
from annotated_transformer.inspection import recording_attention
from annotated_transformer.shipped import load_shipped
from annotated_transformer.transformer import evaluation_mode

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
LAYER, HEAD = 2, 2  # of cross-attention: the one that chapter 3 counts to be aligned best
SHOWN = 3  # of the next pieces
FAILING = ("encoder.layer_norm", "unbiased")  # the exercise, and what the learner believed
THUMBNAIL, COLOURS = 400, 32  # pixels on the longer side


@dataclass(frozen=True)
class Finding:
    """What a chapter has found.

    Attributes:
        chapter: its notebook.
        section: its heading; the first picture below is shown.
        says: the finding in a sentence.
    """

    chapter: str
    section: str
    says: str

    @property
    def anchor(self) -> str:
        """Of the section on the page."""
        return nodes.make_id(self.section)


FINDINGS = (
    Finding(
        "03_multi_head",
        "How many heads?",
        "Eight heads are not the best number: in the paper's Table 3, 8 and 16 tie.",
    ),
    Finding(
        "06_decoder",
        "Trained with and without",
        "Leave out the mask or the shift, and the loss falls beautifully: the model cheats.",
    ),
    Finding(
        "04_positional_encoding",
        "Past the trained length",
        "Sinusoids do not save a trained model: a sentence that begins a few places later is lost.",
    ),
    Finding(
        "10_base_model",
        "The ladder: one change at a time",
        "One change at a time, a training step on a GPU comes down to a ninth of its time.",
    ),
)


TRY = (  # of the grammar's test split; the model translates each as the grammar does
    "He runs into the forest.",
    "Today the father finds a dress.",
    "The neighbour looks after a girl.",
)


def sentence_steps() -> dict[str, Any]:
    """Of the travelling sentence: its pieces; at each step the weights and the likeliest pieces.

    The decoder is given the right pieces before each (teacher forcing), so every step shows what
    the model thinks there and not what follows from an earlier mistake.
    """
    model, vocabulary = load_shipped()
    pair = TRAVELLING_SENTENCE
    src = torch.tensor(source_ids(vocabulary, [pair.source]))
    target = [vocabulary.bos_id, *vocabulary.encode(pair.target), vocabulary.eos_id]
    with torch.no_grad(), evaluation_mode(model), recording_attention(model) as recorded:
        logits = model(src, torch.tensor([target[:-1]]))[0]  # (n_tgt, vocabulary)
    weights = recorded[f"decoder.layers.{LAYER - 1}.cross_attention"][0, HEAD - 1]  # (n_tgt, n_src)
    steps = []
    for row, weight, wanted in zip(logits.softmax(-1), weights, target[1:], strict=True):
        best = row.topk(SHOWN)
        pieces = [vocabulary.pieces([piece])[0] for piece in best.indices.tolist()]
        steps.append(
            {
                "weights": [*map(_rounded, weight.tolist())],
                "next": vocabulary.pieces([wanted])[0],
                "likeliest": [*zip(pieces, map(_rounded, best.values.tolist()), strict=True)],
            }
        )
    greedy, beam = (
        translate_sentences(model, vocabulary, [pair.source], beam_size=size)[0] for size in (1, 4)
    )
    return {
        "source": vocabulary.pieces(src[0].tolist()),
        "target": vocabulary.pieces(target[1:]),
        "steps": steps,
        "greedy": greedy,
        "beam": beam,
    }


def _rounded(share: float) -> float:
    return round(share, 3)


def wrong_step(data: dict[str, Any]) -> int:
    """The first step at which the likeliest piece is not the right one; else the last."""
    for number, step in enumerate(data["steps"]):
        if step["likeliest"][0][0] != step["next"]:
            return number
    return len(data["steps"]) - 1


def piece_text(piece: str) -> str:
    """A piece as it is read: a word's first piece has its blank, the end its name."""
    return "(end)" if piece == "</s>" else html.escape(piece.replace("▁", " ").strip() or "(space)")


def hero_markup(data: dict[str, Any]) -> str:
    """The hero as it stands without JavaScript, at the step where greedy search goes wrong."""
    at = wrong_step(data)
    step = data["steps"][at]
    source = " ".join(
        f'<span class="hero-piece" style="--weight:{weight}">{piece_text(piece)}</span>'
        for piece, weight in zip(data["source"], step["weights"], strict=True)
    )
    written = html.escape("".join(data["target"][:at]).replace("▁", " ").strip())
    likeliest = "".join(
        f'<li><span class="hero-word">{piece_text(piece)}</span>'
        f'<span class="hero-bar" style="--share:{share}"></span>'
        f'<span class="hero-share">{share:.2f}</span></li>'
        for piece, share in step["likeliest"]
    )
    says = (
        f"Greedy search takes the likelier <i>{piece_text(step['likeliest'][0][0])}</i>"
        f" and writes “{html.escape(data['greedy'])}” Beam search does not: "
        f"“{html.escape(data['beam'])}”"
    )
    tries = " ".join(
        f'<button type="button" class="hero-try" lang="en">{sentence}</button>' for sentence in TRY
    )
    told = {**data, "at": at, "layer": LAYER - 1, "head": HEAD - 1}
    shown = json.dumps(told, ensure_ascii=False).replace("<", "\\u003c")
    return (
        '<div class="hero" role="group" aria-label="A translation, piece by piece">'
        f'<p class="hero-source" lang="en">{source}</p>'
        '<label class="hero-step"><span>Step</span><input type="range" min="1" '
        f'max="{len(data["steps"])}" value="{at + 1}" disabled><output>{at + 1}</output></label>'
        f'<p class="hero-target" lang="de"><span class="hero-written">{written}</span> '
        '<span class="hero-next" aria-hidden="true">…</span></p>'
        f'<ol class="hero-likeliest" lang="de" aria-label="likeliest next pieces">{likeliest}</ol>'
        f'<p class="hero-says" aria-live="polite">{says} '
        '<a href="../notebooks/09_decoding.html#what-a-search-can-repair">Why?</a></p>'
        '<form class="hero-own" hidden><label>'
        "<span>A sentence of your own (for the first, 0.7 MB are loaded)</span>"
        '<input type="text" lang="en" maxlength="400" autocomplete="off" required></label>'
        "<button>Translate</button><p>It knows a small grammar, and makes something of anything "
        f"else. It can do these: {tries}</p></form>"
        '<p><a class="hero-inside" href="look_inside.html">Look inside: every head, every step</a>'
        "</p>"
        f'<script type="application/json">{shown}</script></div>'
    )


def findings() -> str:
    """Each finding as a link with the first picture of its section, small."""
    return f'<ul class="findings">{"".join(map(_finding, FINDINGS))}</ul>'


def _finding(finding: Finding) -> str:
    picture = base64.b64encode(thumbnail(finding)).decode()
    shows = html.escape(figure_cell(finding)["metadata"]["mystnb"]["image"]["alt"])
    return (
        f'<li><a href="../notebooks/{finding.chapter}.html#{finding.anchor}">'
        f'<img alt="{shows}" src="data:image/png;base64,{picture}">'
        f"<span>{html.escape(finding.says)}</span></a></li>"
    )


def thumbnail(finding: Finding) -> bytes:
    """Its picture as a small PNG of a few colours."""
    (drawn,) = map(drawn_by, filter(drawn_by, figure_cell(finding)["outputs"]))
    picture = Image.open(io.BytesIO(base64.b64decode(drawn))).convert("RGBA")
    picture.thumbnail((THUMBNAIL, THUMBNAIL))
    small = io.BytesIO()
    few = picture.quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
    few.save(small, "png", optimize=True)
    return small.getvalue()


def figure_cell(finding: Finding) -> lanes.Cell:
    """The first cell with a picture below a finding's heading.

    Raises:
        ValueError: if there is none.
    """
    notebook = json.loads((NOTEBOOKS / f"{finding.chapter}.ipynb").read_text(encoding="utf-8"))
    for section in lanes.sections(notebook["cells"]):
        for cell in section.cells if section.heading == finding.section else []:
            if any(map(drawn_by, cell.get("outputs", []))):
                return cell
    raise ValueError(f"{finding.chapter} has no picture below {finding.section!r}")


def drawn_by(output: dict[str, Any]) -> str:
    """The PNG of an output, in base64; "" if it is none."""
    return "".join(output.get("data", {}).get("image/png", ""))


def failing_cell() -> tuple[str, str]:
    """An answer that has a named mistake as a cell, and the report of its check."""
    exercise_id, name = FAILING
    exercise = find(exercise_id)
    (mistake,) = (mistake for mistake in exercise.mistakes if mistake.name == name)
    answer = ast.unparse(ast.parse(as_written(mistake.implementation.text)))  # without comments
    code = f"{answer}\n\n\n{check_call(exercise)}"
    report = replace(grade_exercise(exercise, mistake.implementation), next_hint=None)
    return code, report_card(report).markup  # a call of hint() has no place on a page


def proof() -> str:
    """How many of the paper's facts are treated in which way, as a bar and in words."""
    counts = facts_by_treatment(all_rows())
    bar = "".join(
        f'<span class="proof-{kind.name.lower()}" style="flex-grow:{counts[kind]}"></span>'
        for kind in Treatment
    )
    words = "".join(
        f'<li class="proof-{kind.name.lower()}"><b>{counts[kind]}</b> {kind.value}</li>'
        for kind in Treatment
    )
    total = sum(counts.values())
    return (
        f'<div class="proof"><p><b>{total}</b> facts of the paper, each with a row in the '
        f'<a href="ledger.html">ledger</a></p><div class="proof-bar" aria-hidden="true">{bar}</div>'
        f"<ul>{words}</ul></div>"
    )


def reading_times() -> str:
    """The chapters, with the minutes of core and of everything."""
    exercises = minutes_of_exercises()
    rows = []
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        core, _, everything = lanes.times(notebook["cells"], exercises)
        title = lanes.source_of(notebook["cells"][0]).partition("\n")[0].lstrip("# ")
        name = f"{int(path.stem[:2])}. {html.escape(title)}"
        took = f"<span>{core} min <small>of {everything}</small></span>"
        rows.append(f'<li><a href="../notebooks/{path.stem}.html">{name}</a> {took}</li>')
    return f'<ul class="reading-times">{"".join(rows)}</ul>'


class FailingCell(SphinxDirective):
    """`failing-cell`, built as the cell of a chapter is: the page treats it as one."""

    def run(self) -> list[nodes.Node]:
        code, card = failing_cell()
        return [solve_here.cell(code, nodes.raw("", card, format="html"), classes=["mend"])]


class _Made(SphinxDirective):
    """A directive that puts the HTML of a function where it stands."""

    make: Callable[[], str]

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", type(self).make(), format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    made: dict[str, Callable[[], str]] = {
        "hero": lambda: hero_markup(sentence_steps()),
        "architecture": lambda: architecture_markup(folder="../notebooks/"),
        "findings": findings,
        "proof": proof,
        "reading-times": reading_times,
    }
    for name, make in made.items():
        app.add_directive(name, type("Made", (_Made,), {"make": staticmethod(make)}))
    app.add_directive("failing-cell", FailingCell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
