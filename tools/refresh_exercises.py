"""Bring the exercises that stand in the chapters in step with the catalogue.

    python tools/refresh_exercises.py

Text, stub and solution are taken from `annotated_transformer.exercises`; stored outputs stay, since
the card of an exercise that is not attempted depends on its name and title alone.
"""

import json
from pathlib import Path

from annotated_transformer.exercises.notebooks import refreshed

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"


def main() -> None:
    """Rewrite the chapters that differ, and say which."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        now = json.loads(path.read_text(encoding="utf-8"))
        fresh = refreshed(now)
        if fresh != now:
            text = json.dumps(fresh, indent=1, ensure_ascii=False, sort_keys=True)
            path.write_text(text + "\n", encoding="utf-8")
        print(f"{path.name}: {'refreshed' if fresh != now else 'in step'}")


if __name__ == "__main__":
    main()
