"""An exception as plain text, with its place in the code that was checked."""

import linecache
import os
import re
from types import CodeType
from typing import Any

import torch

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # exercises/
_TORCH_FOLDER = os.path.dirname(os.path.abspath(torch.__file__))


def describe_failure(error: BaseException) -> dict[str, Any]:
    """Class, message and place of an exception, as plain data, without addresses."""
    try:
        message = str(error)[:2000]
    except BaseException:
        message = "(its message cannot be shown)"
    message = re.sub(r"0x[0-9a-fA-F]{6,}", "0x…", message.strip())
    message = re.sub(r"[\w.]+\.<locals>\.", "", message)
    line, source = _place(error)
    return {
        "class_name": type(error).__name__,
        "message": message.split("\nException raised from")[0][:400],
        "line": line,
        "source": source,
    }


def _place(error: BaseException) -> tuple[int | None, str | None]:
    """Line number within the checked function and the text of the line that raised."""
    trace = error.__traceback__
    frames: list[tuple[CodeType, int]] = []
    while trace is not None and len(frames) < 10_000:
        frames.append((trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    ours = (_PACKAGE_FOLDER, _TORCH_FOLDER)
    inner = [frame for frame in frames if not frame[0].co_filename.startswith(ours)]
    if not inner:
        return None, None
    *outer, (code, number) = [f for f in inner if f[0].co_filename == inner[0][0].co_filename]
    function = code
    for enclosing, _ in reversed(outer):  # a generator expression begins at a line of its own
        if function in enclosing.co_consts:
            function = enclosing
    source = linecache.getline(code.co_filename, number).strip()
    shown = source if len(source) <= 90 else source[:90] + " …"
    return number - function.co_firstlineno + 1, shown or None
