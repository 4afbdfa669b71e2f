"""The recorded Multi30k runs in a line each, as chapter 8 sets them beside each other.

`results/` is not part of the installed package, so `multi30k_runs.json` beside this module repeats
the figures; a test holds the two together.
`python -m annotated_transformer.experiments.training_measured.multi30k_runs`, in the repository's
root, makes it anew.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from annotated_transformer.ledger.recorded_runs import RESULTS, RecordedRun, load_run_records

EXTRACT = Path(__file__).resolve().parent / "multi30k_runs.json"
TESTS = ("test_2016_flickr", "test_2017_flickr")


@dataclass(frozen=True)
class RunLine:
    """A recorded run on Multi30k, and what came of it.

    Attributes:
        name: its folder in `results/`.
        norm: "post", as in the paper, or "pre".
        dropout: P_drop.
        r_drop: the weight of R-Drop; 0 without.
        init_gain: what the branches' starting values were multiplied with; 1 is the package's own.
        pieces: size of the vocabulary.
        seed: what started the random numbers.
        epochs: passes through the training pairs.
        cpu_minutes: processor time of the training.
        loss: plain validation loss after the last epoch, in nats per piece, of weights not yet
            averaged.
        valid: BLEU on the validation set of the search chosen there, beam 5, lower-cased and
            tokenised.
        tests: BLEU of that search on the two test sets, likewise.
    """

    name: str
    norm: str
    dropout: float
    r_drop: float
    init_gain: float
    pieces: int
    seed: int
    epochs: int
    cpu_minutes: float
    loss: float
    valid: float
    tests: dict[str, float]


def line_of(run: RecordedRun) -> RunLine:
    """What the chapter shows of one record."""
    model, recipe = run.configuration["model"], run.configuration["training"]
    scores = {split: run.score(split, "lower-tokenised", beam=5) for split in TESTS}
    return RunLine(
        run.name,
        norm=model["norm"],
        dropout=model["dropout"],
        r_drop=recipe.get("r_drop") or 0.0,
        init_gain=recipe.get("init_gain") or 1.0,
        pieces=model["vocab_size"],
        seed=recipe["seed"],
        epochs=recipe["epochs"],
        cpu_minutes=round(run.cost["process_cpu_seconds"] / 60, 1),
        loss=round(run.events("valid")[-1]["loss"], 3),
        valid=max(one.score for one in run.tuning[0].tried),
        tests={split: score.value for split, score in scores.items() if score},
    )


def extract(results: Path = RESULTS) -> list[RunLine]:
    """Every finished run on Multi30k, those with R-Drop last, otherwise by epochs."""
    runs = (run for run in load_run_records(results) if run.status == "finished")
    lines = [line_of(run) for run in runs if run.data["name"] == "multi30k"]
    return sorted(lines, key=lambda line: (line.r_drop, line.epochs, line.norm, line.seed))


def load_runs() -> list[RunLine]:
    """The recorded runs as the chapter reads them."""
    return [RunLine(**entry) for entry in json.loads(EXTRACT.read_text(encoding="utf-8"))]


def make_extract(results: Path = RESULTS, path: Path = EXTRACT) -> None:
    """Write the extract anew."""
    text = json.dumps([asdict(line) for line in extract(results)], indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    make_extract()
