"""`own_parts`: the functions of a Transformer that the reader wrote, the book's where one lacks."""

from collections.abc import Mapping
from pathlib import Path

from annotated_transformer.errors import CallError
from annotated_transformer.exercises.catalogue import catalogue, chapter_of
from annotated_transformer.exercises.exercise import Candidate, Exercise, Report
from annotated_transformer.exercises.grader.grading import grade
from annotated_transformer.exercises.learner.own_code import UnreadableError, cells_of, own_code

PARTS = (  # what `assemble` needs, in the order of the book
    "masks.padding",
    "masks.target",
    "attention.scaled_dot_product",
    "multihead.split_heads",
    "multihead.merge_heads",
    "multihead.attention",
    "positional.sinusoidal",
    "encoder.feed_forward",
    "encoder.embed",
    "encoder.layer_norm",
    "encoder.layer",
    "decoder.layer",
    "model.tied_logits",
)
REASON = 240  # characters of what the check found, in the table


class Parts(dict[str, Candidate]):
    """A function for each exercise of PARTS; `whose` says where each comes from."""

    def __init__(self) -> None:
        super().__init__()
        self.whose: dict[str, str] = {}

    @property
    def yours(self) -> list[str]:
        """The exercises whose function is the reader's own."""
        return [part for part, whose in self.whose.items() if whose.startswith("yours")]

    def table(self) -> str:
        """One line an exercise: whose function it is."""
        width = max(map(len, self.whose))
        lines = [f"{part:{width}}  {whose}" for part, whose in self.whose.items()]
        counted = f"yours: {len(self.yours)} of {len(self)}, the book's: "
        return "\n".join([*lines, f"{counted}{len(self) - len(self.yours)}"])


def own_parts(here: Mapping[str, Candidate] | None = None, folder: str | Path = ".") -> Parts:
    """The parts of a Transformer: your function where it passes its check, else the book's.

    Your solutions are looked for in the chapters' notebooks in `folder`, as they were last saved:
    `02_attention.ipynb`, or a copy whose name holds that name ("Copy of 02_attention.ipynb"). The
    notebooks are read and never written. **What they hold is code, and it is run**: of each
    solved exercise the function, with the imports, functions and constants of the same notebook
    that it uses. It is checked as `check` does, in a process of its own with limits on time and
    memory, and only where it passes does it come into this one. So point `folder` at notebooks of
    your own, as you would only open such ones and run their cells. Nothing is recorded.

    Prints whose function each part is. Whatever a notebook holds, nothing is raised.

    Args:
        here: functions of the present notebook, which may not be saved yet, by exercise:
            `{"decoder.layer": decoder_layer}`. They come before those of the files.
        folder: where the notebooks lie.

    Raises:
        CallError: if `here` names an exercise that is not one of PARTS.
    """
    if unknown := set(here or {}) - set(PARTS):
        raise CallError(
            f"No part of the model: {', '.join(sorted(unknown))}. The parts are {', '.join(PARTS)}."
        )
    parts = Parts()
    for part in PARTS:
        exercise = catalogue()[part]
        if here is not None and part in here:
            function, whose = _given(exercise, here[part])
        else:
            function, whose = _from_notebook(exercise, Path(folder))
        parts[part], parts.whose[part] = function or exercise.reference, whose
    print(parts.table())
    return parts


def _given(exercise: Exercise, candidate: Candidate) -> tuple[Candidate | None, str]:
    """A function of the present notebook, and whose the part is; None in its place: the book's."""
    report = grade(exercise.id, candidate)
    if report.passed:
        return candidate, "yours, from this notebook"
    if not report.attempted:
        return None, "the book's: not solved yet in this notebook"
    return None, f"the book's: yours in this notebook does not pass yet{_reason(report)}"


def _from_notebook(exercise: Exercise, folder: Path) -> tuple[Candidate | None, str]:
    """As `_given`, for a function of the chapter's notebook in `folder`."""
    chapter = chapter_of(exercise.id)
    path = _notebook(chapter, folder)
    if path is None:
        return None, f"the book's: no {chapter}.ipynb here"
    try:
        cells = cells_of(path)
    except UnreadableError:
        return None, f"the book's: {path.name} cannot be read as a notebook"
    try:
        code = own_code(exercise, cells, path.name)
    except UnreadableError:
        return None, f"the book's: yours in {path.name} is not Python yet"
    report = None if code is None else grade(exercise.id, code)
    if code is None or report is None or not report.attempted:
        return None, f"the book's: not solved yet in {path.name}"
    if report.passed:
        try:
            return code.function(), f"yours, from {path.name}"
        except KeyboardInterrupt:
            raise
        except BaseException:  # it behaves otherwise here than it did while it was checked
            pass
    return None, f"the book's: yours in {path.name} does not pass yet{_reason(report)}"


def _reason(report: Report) -> str:
    """What the check found, on the same line: a missing import is told from a wrong answer."""
    first, *_ = [*report.finding.splitlines(), ""]
    first = first.encode("utf-8", "backslashreplace").decode()  # half a character stops `print`
    return f": {first[:REASON]}{'…' if first[REASON:] else ''}" if first else ""


def _notebook(chapter: str, folder: Path) -> Path | None:
    """The notebook of a chapter: by its own name, else the copy that was saved last."""
    try:
        exact = folder / f"{chapter}.ipynb"
        if exact.exists():
            return exact
        copies = [path for path in folder.glob(f"*{chapter}*.ipynb") if path.is_file()]
        return max(copies, key=lambda path: path.stat().st_mtime, default=None)
    except (OSError, ValueError):
        return None
