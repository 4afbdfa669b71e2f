"""The one door through which the files of a run are read: text, JSON, lines of JSON.

Whatever is wrong with a file, an error says in a sentence which file it is, what is wrong with it
and what to do.
"""

import json
import math
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from annotated_transformer.errors import CallError, WorkError

NOTHING: Mapping[str, Any] = {}
MOST_DIGITS = 19  # of a whole number: what 64 bits hold
# The fields of a line of metrics.jsonl that are read again, and of one about a validation.
LINE = {"event": str, "step": int, "cpu_seconds": float, "wall_seconds": float}
VALIDATION = {"epoch": int, "loss": float, "perplexity": float, "bleu": float}


def read_text(path: Path, advice: str) -> str:
    """The text of a file in UTF-8.

    Args:
        advice: a sentence that says what to do if it cannot be read; likewise below.

    Raises:
        CallError: if it is not there.
        WorkError: if it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text("utf-8")
    except FileNotFoundError as error:
        raise CallError(f"{path} is missing. {advice}") from error
    except UnicodeDecodeError as error:
        raise damaged(path, f"its byte {error.start + 1:,} is not UTF-8", advice) from error
    except OSError as error:
        raise WorkError(f"{path} cannot be read: {error.strerror}. {advice}") from error


def read_json(path: Path, advice: str) -> Any:
    """The value in a file of JSON. Raises as `read_text` and `parse_json` do."""
    return parse_json(read_text(path, advice), path, advice)


def read_json_lines(path: Path, advice: str) -> list[Any]:
    """The value in each line of a file; one at the end that a crash has cut off is left out.

    Raises as `read_text` and `parse_json` do, and names the line.
    """
    *whole, last = read_text(path, advice).split("\n")
    values = [
        parse_json(line, f"line {number} of {path}", advice) for number, line in enumerate(whole, 1)
    ]
    with suppress(WorkError):  # it has not got its newline
        values.append(parse_json(last, path, advice))
    return values


def read_object(
    path: Path, advice: str, kinds: Mapping[str, Any] = NOTHING, may_lack: Collection[str] = ()
) -> dict[str, Any]:
    """The object in a file of JSON. Raises as `read_json` and `checked` do."""
    return checked(read_json(path, advice), kinds, path, advice, may_lack)


def read_list(path: Path, advice: str) -> list[Any]:
    """The list in a file of JSON. Raises as `read_json` does, or WorkError if it is none."""
    values = read_json(path, advice)
    if not isinstance(values, list):
        raise damaged(path, f"a list is expected, and {_short(values)} stands there", advice)
    return values


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Every line of metrics.jsonl; none where it is not there, none that a crash has cut off.

    Raises:
        WorkError: if it is damaged otherwise.
    """
    if not path.exists():
        return []
    advice = "Restore it, or remove that line: only the curve of the training stands there."
    lines = read_json_lines(path, advice)
    for number, line in enumerate(lines, 1):
        where = f"line {number} of {path}"
        checked(line, LINE, where, advice, may_lack=("cpu_seconds", "wall_seconds"))
        if line["event"] == "valid":
            checked(line, VALIDATION, where, advice, may_lack=("bleu",))
    return lines


def parse_json(text: str, origin: Path | str, advice: str) -> Any:
    """The value that a text is. `origin` is where it stands.

    Raises:
        WorkError: if it is not JSON, or holds a whole number that 64 bits do not hold.
    """
    try:
        return json.loads(text, parse_int=_whole_number)
    except (ValueError, RecursionError) as error:
        raise damaged(origin, f"it is not JSON ({error})", advice) from error


def checked(
    values: Any,
    kinds: Mapping[str, Any],
    origin: Path | str,
    advice: str,
    may_lack: Collection[str] = (),
) -> dict[str, Any]:
    """The same values, if they are an object with the fields that are expected.

    Args:
        values: of JSON.
        kinds: by the name of a field its type, as annotations write it. Of texts of which only some
            are allowed (Literal) no more is asked than that they are texts.
        origin: where they stand.
        may_lack: the fields that may be missing. There may be others too.

    Raises:
        WorkError: if they are not.
    """
    if not isinstance(values, dict):
        raise damaged(origin, f"an object is expected, and {_short(values)} stands there", advice)
    for name, kind in kinds.items():
        if name not in values:
            if name not in may_lack:
                raise damaged(origin, f"{name} is missing", advice)
        elif not _is(values[name], kind):
            expected = kind.__name__ if isinstance(kind, type) else kind
            problem = f"{name} is {_short(values[name])}, and {expected} is expected"
            raise damaged(origin, problem, advice)
    return values


def damaged(origin: Path | str, problem: str, advice: str) -> WorkError:
    """What to raise when a file is not as it was written."""
    return WorkError(f"{origin} is damaged or not ours: {problem}. {advice}")


def _whole_number(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise ValueError(f"the number {digits[:MOST_DIGITS]}... is too large")
    return int(digits)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def _is(value: Any, kind: Any) -> bool:
    """Whether a value of JSON, in which tuples are lists, is of a type."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return any(_is(value, part) for part in parts)
    if origin is tuple:
        return isinstance(value, list) and len(value) == len(parts) and all(map(_is, value, parts))
    if origin is Literal:
        return isinstance(value, str)
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, int | float) and math.isfinite(value)
    return isinstance(value, kind)
