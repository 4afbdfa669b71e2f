"""The table that is printed after the tests: how each exercise's check fared against its bank."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence

COLUMNS = ("accepted", "rejected", "named")


def mutation_table(observed: Iterable[tuple[str, str, float]]) -> list[str]:
    """Lines of a table from (exercise, "accepted" | "rejected" | "named" | "seconds", value)."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for exercise, what, value in observed:
        found[exercise][what].append(float(value))
    if not found:
        return []
    width = max(map(len, found))
    head = ("right accepted", "wrong rejected", "diagnosis right", "slowest")
    lines = [f"{'exercise'.ljust(width)}  {'  '.join(head)}"]
    for exercise, values in sorted(found.items()):
        lines.append(_line(exercise.ljust(width), [values[c] for c in COLUMNS], values["seconds"]))
    everything = [[v for values in found.values() for v in values[c]] for c in COLUMNS]
    seconds = [v for values in found.values() for v in values["seconds"]]
    lines.append(_line(f"{len(found)} exercises".ljust(width), everything, seconds))
    if seconds:
        lines.append(f"a check took {statistics.median(seconds):.2f} s in the median")
    return lines


def _line(name: str, counts: Sequence[Sequence[float]], seconds: Sequence[float]) -> str:
    shown = [f"{int(sum(count))} of {len(count)}" for count in counts]
    widths = (14, 14, 15)
    cells = [text.rjust(width) for text, width in zip(shown, widths, strict=True)]
    slowest = f"{max(seconds):.2f} s" if seconds else ""
    return "  ".join([name, *cells, slowest.rjust(7)])
