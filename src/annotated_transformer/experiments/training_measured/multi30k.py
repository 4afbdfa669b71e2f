"""What chapter 8 reads of the recorded Multi30k run: curve, scores, translations.

`results/` is not part of the installed package, so `multi30k.json` beside this module repeats what
the chapter shows; a test holds the two together.
`python -m annotated_transformer.experiments.training_measured.multi30k`, in the repository's root,
makes it anew.
"""

import json
from pathlib import Path
from typing import Any

EXTRACT = Path(__file__).resolve().parent / "multi30k.json"
RUN = Path("results") / "multi30k_tiny_postnorm"
EVERY = 1_000  # steps between the training losses that are kept


def extract(folder: Path) -> dict[str, Any]:
    """What the chapter shows of a recorded run, from its folder in `results/`."""

    def read(name: str) -> Any:
        return json.loads((folder / name).read_text("utf-8"))

    run = read("run.json")
    lines = [
        json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()
    ]
    training = run["configuration"]["training"]
    return {
        "name": run["name"],
        "command": run["command"],
        "cost": run["cost"],
        "recipe": {
            name: training[name]
            for name in ("epochs", "max_tokens", "label_smoothing", "warmup", "learning_rate")
        },
        "dropout": run["configuration"]["model"]["dropout"],
        "train": [
            {"step": line["step"], "loss": line["loss"]}
            for line in lines
            if line["event"] == "train" and (line["step"] == 50 or line["step"] % EVERY == 0)
        ],
        "valid": [
            {name: line[name] for name in ("step", "epoch", "loss", "perplexity")}
            for line in lines
            if line["event"] == "valid"
        ],
        "scores": read("scores.json"),
        "examples": read("examples.json")["examples"],
    }


def load_extract() -> dict[str, Any]:
    """The recorded run as the chapter reads it."""
    found: dict[str, Any] = json.loads(EXTRACT.read_text(encoding="utf-8"))
    return found


def make_extract(folder: Path = RUN, path: Path = EXTRACT) -> None:
    """Write the extract anew."""
    text = json.dumps(extract(folder), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    make_extract()
