"""The rows of a ladder: in a file, one line of JSON each, and for people."""

import json
import os
from pathlib import Path
from typing import Any

from annotated_transformer.errors import CallError

Row = dict[str, Any]
PROCESSOR = "processor"  # the rung that a GPU's ladder measures on the CPU
RECORDED = Path(__file__).parent / "recorded"


def read_rows(out: Path | None, head: Row) -> list[Row]:
    """The rows that a file holds already: the head, then the last of each rung.

    Lines that a crash has cut off are left out, and so are rungs that failed: they are tried again.

    Raises:
        CallError: if they are another ladder's.
    """
    if out is None or not out.exists():
        return []
    rows: list[Row] = []
    for line in out.read_text("utf-8", errors="replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):  # the rest of a line may be a number
            rows.append(row)
    if not rows:
        return []
    if differing := [key for key in head if rows[0].get(key) != head[key]]:
        key = differing[0]
        raise CallError(
            f"{out} holds a ladder with {key} {rows[0].get(key)!r}, and this one has "
            f"{head[key]!r}: name another --out."
        )
    by_rung = {row["rung"]: row for row in rows[1:] if "rung" in row and "error" not in row}
    return [rows[0], *by_rung.values()]


def recorded_ladder(name: str = "h200_base") -> dict[str, Row]:
    """A ladder that was measured on a GPU and comes with the package: its rows by rung.

    What all of them share is under "". Rungs that are not there were not measured.
    """
    lines = (RECORDED / f"{name}.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {row.get("rung", ""): row for row in rows}


def recorded_kernels(name: str = "h200_base") -> tuple[float, list[tuple[str, float, int]]]:
    """What a GPU ran in a step of the rung "graph", or nearly so: the file says what differs.

    Returns:
        Milliseconds of the step by the clock, and of each kernel its name, milliseconds a step and
        how often a step it is started.
    """
    found = json.loads((RECORDED / f"{name}_kernels.json").read_text("utf-8"))
    return found["step_milliseconds"], [(k, ms, times) for k, ms, times in found["kernels"]]


def recorded_loss_curves(name: str = "h200") -> dict[str, list[float]]:
    """The loss of each step, in nats a token, of the plain path twice and of the fast path."""
    found = json.loads((RECORDED / f"{name}_loss_curves.json").read_text("utf-8"))
    curves: dict[str, list[float]] = found["curves"]
    return curves


def append_row(out: Path | None, row: Row) -> None:
    """Write a row on a line of its own and see it onto the disk."""
    if out is None:
        return
    with out.open("a+b") as file:
        if file.tell():  # a crash may have cut the last line off
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(row).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def as_text(row: Row) -> str:
    """A row for people."""
    if "rung" not in row:
        return (
            f"{row['name']}, torch {row['torch']}: {row['preset']}, vocabulary "
            f"{row['vocab_size']:,}, {row['max_tokens']:,} tokens a side and step\n"
            f"  ms: of a step, the median (quartiles). tokens/s: both sides, no padding. of peak: "
            f"operations\n  of the model, no padding, over {row['peak'] / 1e9:,.0f} GFLOP/s. "
            "padding: of all positions, both sides.\n"
            f"  {'':10} {'ms':>9} {'':19} {'tokens/s':>10} {'of peak':>7} {'padding':>7}"
        )
    if "error" in row:
        return f"  {row['rung']:10} failed: {row['error'].splitlines()[0]}"
    more = f", {row['memory_gib']} GiB" if "memory_gib" in row else ""
    share = f"{row['share_of_peak']:7.1%}"
    if row["rung"] == PROCESSOR:
        more, share = f"; {share.strip()} of its own {row['peak'] / 1e9:,.0f} GFLOP/s", f"{'':7}"
    quartiles = f"({1000 * row['seconds_low']:,.1f} to {1000 * row['seconds_high']:,.1f})"
    return (
        f"  {row['rung']:10} {1000 * row['seconds']:9,.1f} {quartiles:19} "
        f"{row['tokens_per_second']:10,.0f} {share} {row['padding']:7.1%}   {row['says']}{more}"
    )
