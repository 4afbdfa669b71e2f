"""Bring the chapters in step with the catalogue, the bank of questions, and what is in their lanes.

    python tools/refresh_chapters.py

Text, stub and solution of an exercise are taken from `annotated_transformer.exercises`, the box "In
an interview" from `annotated_transformer.interview`; minutes, tags and folds follow from the
headings (book/_extensions/lanes.py). Stored outputs stay.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book" / "_extensions"))

import lanes  # noqa: E402
from annotated_transformer.exercises.catalogue import minutes_of_exercises  # noqa: E402
from annotated_transformer.exercises.notebooks import refreshed  # noqa: E402
from annotated_transformer.interview.boxes import with_box  # noqa: E402


def in_step(notebook: dict[str, Any], chapter: str) -> dict[str, Any]:
    """The chapter, two digits, with exercises, box, minutes, tags and folds as they have to be."""
    fresh = with_box(refreshed(notebook), chapter)
    lanes.write_lanes(fresh, minutes_of_exercises())
    return fresh


def main() -> None:
    """Rewrite the chapters that differ, and say which."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        now = json.loads(path.read_text(encoding="utf-8"))
        fresh = in_step(now, path.name[:2])
        if fresh != now:
            text = json.dumps(fresh, indent=1, ensure_ascii=False, sort_keys=True)
            path.write_text(text + "\n", encoding="utf-8")
        print(f"{path.name}: {'refreshed' if fresh != now else 'in step'}")


if __name__ == "__main__":
    main()
