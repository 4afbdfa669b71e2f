"""The recorded Multi30k runs in a line each, as chapter 8 sets them beside each other.

`results/` is not part of the installed package, so `multi30k_runs.json` beside this module repeats
the figures; a test holds the two together.
`python -m annotated_transformer.experiments.training_measured.multi30k_runs`, in the repository's
root, makes it anew.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from annotated_transformer.config import TransformerConfig
from annotated_transformer.evaluation.scoring import TriedSearch
from annotated_transformer.evidence.ledger.recorded_runs import (
    RESULTS,
    RecordedRun,
    load_run_records,
)
from annotated_transformer.training.settings import TrainingConfig

EXTRACT = Path(__file__).resolve().parent / "multi30k_runs.json"
SPEED_RUN = "speed_run_"  # its entries come and go, and the chapter is not about them
TESTS = ("test_2016_flickr", "test_2017_flickr")
LONG = 39  # words of the longest reference of the two test sets


@dataclass(frozen=True)
class RunLine:
    """A recorded run on Multi30k, and what came of it.

    Attributes:
        name: its folder in `results/`.
        norm: "post", as in the paper, or "pre".
        dropout: P_drop.
        init_gain: what the branches' starting values were multiplied with; 1 is the package's own.
        learning_rate: the peak; None: that of the paper's formula.
        r_drop: the weight of R-Drop; 0 without.
        epochs: passes through the training pairs; None where steps or minutes were set.
        seed: what started the random numbers.
        cpu_minutes: processor time of the training.
        loss: plain validation loss after the last epoch, in nats per piece, of weights not yet
            averaged.
        alpha: the length penalty of the search, beam 5, that was best on the validation set.
        max_extra: the tokens that it let a translation have more than its source.
        valid: BLEU of that search there, lower-cased and tokenised: the best of all tried.
        tests: BLEU of that search on the two test sets, likewise.
        long: how many of its translations of the two have more words than any reference.
        signature: sacreBLEU's, of these scores.
    """

    name: str
    norm: str
    dropout: float
    init_gain: float
    learning_rate: float | None
    r_drop: float
    epochs: int | None
    seed: int
    cpu_minutes: float
    loss: float
    alpha: float
    max_extra: int
    valid: float
    tests: dict[str, float]
    long: int
    signature: str


def line_of(run: RecordedRun, translations: dict[str, list[str]]) -> RunLine:
    """What the chapter shows of one record.

    Args:
        run: finished, and scored on both test sets by a search chosen on the validation set.
        translations: of each test set, that were scored.

    Raises:
        ValueError: if it does not say how its search was chosen, or scores two equally good ones.
    """
    if not run.tuning:
        raise ValueError(f"{run.name} has no tuning.json: nothing says how its search was chosen.")
    tuning = run.tuning[0]
    best: dict[tuple[float | None, int], TriedSearch] = {
        (one.alpha, one.max_extra): one for one in tuning.best
    }
    found = {
        (score.split, search): score
        for score in run.scores
        if (score.protocol, score.beam) == (tuning.protocol, tuning.beam)
        and (search := best.get((score.alpha, score.limit)))
    }
    searches = {search for _, search in found}  # of several equally good ones, one was taken
    if len(searches) != 1:
        raise ValueError(f"{run.name} has scores of {len(searches)} best searches, 1 is expected.")
    (chosen,) = searches
    model = TransformerConfig.from_dict(run.configuration["model"])
    recipe = TrainingConfig.from_dict(run.configuration["training"])  # fills what is not named
    return RunLine(
        run.name,
        norm=model.norm,
        dropout=model.dropout,
        init_gain=recipe.init_gain,
        learning_rate=recipe.learning_rate,
        r_drop=recipe.r_drop,
        epochs=recipe.epochs,
        seed=recipe.seed,
        cpu_minutes=round(run.cost["process_cpu_seconds"] / 60, 1),
        loss=round(run.events("valid")[-1]["loss"], 3),
        alpha=chosen.alpha,
        max_extra=chosen.max_extra,
        valid=chosen.score,
        tests={split: found[split, chosen].value for split in TESTS},
        long=sum(len(line.split()) > LONG for split in TESTS for line in translations[split]),
        signature=found[TESTS[0], chosen].signature,
    )


def extract(results: Path = RESULTS) -> list[RunLine]:
    """The finished runs on Multi30k, those with R-Drop last, otherwise by epochs."""
    lines = []
    for run in load_run_records(results):
        if run.name.startswith(SPEED_RUN):
            continue
        if run.status == "finished" and run.data["name"] == "multi30k":
            translations = {
                split: (results / run.name / f"translations.{split}.txt")
                .read_text("utf-8")
                .splitlines()
                for split in TESTS
            }
            lines.append(line_of(run, translations))
    return sorted(lines, key=lambda line: (line.r_drop, line.epochs or 0, line.norm, line.seed))


def load_runs() -> list[RunLine]:
    """The recorded runs as the chapter reads them."""
    return [RunLine(**entry) for entry in json.loads(EXTRACT.read_text(encoding="utf-8"))]


def make_extract(results: Path = RESULTS, path: Path = EXTRACT) -> None:
    """Write the extract anew."""
    text = json.dumps([asdict(line) for line in extract(results)], indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    make_extract()
