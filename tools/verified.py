"""Write down which chapters ran strictly, when and with what: results/verified.json.

`make test-notebooks RECORD=1` calls this when all chapters have passed. Each one's page says it.
"""

import json
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book" / "_extensions"))

from last_verified import RECORD, content_of  # noqa: E402


def main() -> None:
    """Record every chapter as it lies here."""
    record = {
        path.stem: {
            "content": content_of(json.loads(path.read_text(encoding="utf-8"))),
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "torch": torch.__version__.split("+")[0],
            "python": platform.python_version(),
            "system": f"{platform.system()} on {platform.machine()}",
        }
        for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
    }
    RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{RECORD.relative_to(ROOT)}: {len(record)} chapters")


if __name__ == "__main__":
    main()
