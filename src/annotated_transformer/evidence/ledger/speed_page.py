"""book/speed_run.md: who reaches 41.0 BLEU on Multi30k with the least work, from results/."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

from annotated_transformer.evidence.ledger.curve import draw_points
from annotated_transformer.evidence.ledger.operations import training_operations
from annotated_transformer.evidence.ledger.recorded_runs import RecordedRun
from annotated_transformer.evidence.ledger.run_page import (
    by_settings,
    capital,
    departures,
    validation_bleu,
)

NAME = "speed_run"
CORPUS, SPLIT, PROTOCOL = "multi30k", "test_2016_flickr", "lower-tokenised"
GOAL, SEEDS = 41.0, (0, 1, 2)
YARDSTICK = "multi30k_tiny_postnorm_rdrop_84"  # whose operations are 1
PETA = 1e15

RULES = f"""\
# The speed run: {GOAL} BLEU for the least work

How little work makes a translator of captions as good as the best small one in print?
Transformer-Tiny has 41.02 (Wu and others, 2021, "Good for Misconceived Reasons"). The goal here is
{GOAL}, and what counts is how many operations the training takes. Whoever needs fewer holds the
record.

## The rules

1. **Task.** English to German, the 29,000 training pairs of Multi30k and nothing else: no other
   text, no weights that anything else has trained. One model; the mean of its own checkpoints is
   one model.
2. **Goal.** BLEU of {GOAL} or more on `{SPLIT}`, lower-cased and tokenised, as the mean of the
   seeds 0, 1 and 2. No seed is left out.
3. **Choosing.** Settings and search are chosen on the validation split (`evaluate --alpha-from
   valid`). The test set is scored when nothing is left to choose; whoever knew a score of it
   before says so, and the record keeps the sentence.
4. **The clock** is counted, not timed: the multiplications and additions in the model's matrix
   products, forward and backward, over the real tokens of all passes. R-Drop passes every sentence
   twice and pays twice. Padding, validation and search are free, and so is the optimizer as long as
   it multiplies no matrices (Muon does, and is not counted yet). Processor time stands beside it;
   it depends on the machine: the same training took 118 minutes on one and 208 on another.
5. **Anybody's machine.** Two cores, 24 GB, no GPU.
6. **Again.** Each entry is a record in `results/`: commit, command, curve, translations. `ledger
   check` scores the translations once more.
"""

BELOW = """\
Per cent are of the recipe with R-Drop and 84 passes, the best before the speed run began. Commands,
commits, curves, searches and translations of each stand with [the recorded runs](multi30k_run.md).
"""

SUBMIT = """\
## How to submit

Train the three seeds at a commit of yours that everybody can fetch, then

```text
annotated-transformer evaluate --run-dir runs/mine_s0 --split test_2016_flickr \\
    --beam 5 --alpha-from valid --max-extra 5 10 20 50 \\
    --format json --output mine_s0.txt > mine_s0.json
annotated-transformer ledger record --run-dir runs/mine_s0 --name multi30k_mine_s0 \\
    --title "What is new in it" --command "annotated-transformer train ..." \\
    --evaluation-command "annotated-transformer evaluate ..." \\
    --scores mine_s0.json --translations test_2016_flickr=mine_s0.txt \\
    --settings-chosen "How, on valid, and what was known of the test set"
annotated-transformer ledger build
annotated-transformer ledger check --data-dir FOLDER_OF_CORPORA
```

and the same for the seeds 1 and 2. Send the three folders of `results/` and this page as a pull
request, with a recipe (`recipes/`) that anybody can run.
"""


@dataclass(frozen=True)
class Entry:
    """Runs that differ in their seed alone.

    Attributes:
        runs: by their seeds.
        scores: BLEU of each.
        operations: of one training, the mean over them.
    """

    runs: Sequence[RecordedRun]
    scores: Sequence[float]
    operations: float

    @property
    def holds(self) -> bool:
        """Whether it has the seeds and reaches the goal."""
        seeds = {run.seeds["training"] for run in self.runs}
        return seeds >= set(SEEDS) and mean(self.scores) >= GOAL


def entries_of(runs: Sequence[RecordedRun]) -> list[Entry]:
    """What was tried on a processor: those that hold, cheapest first, then the others, best first.

    The best of these is the one with the highest BLEU on the validation split.
    """
    ours = [
        run
        for run in runs
        if run.data["name"] == CORPUS
        and run.status == "finished"
        and not run.hardware.get("gpus")
        and run.score(SPLIT, PROTOCOL) is not None
    ]
    ours.sort(key=lambda run: -(validation_bleu(run) or 0.0))
    entries = []
    for group in by_settings(ours):
        counted = [training_operations(run) for run in group]
        operations = [one for one in counted if one is not None]
        scores = [one.value for run in group if (one := run.score(SPLIT, PROTOCOL))]
        if len(operations) == len(group):
            entries.append(Entry(group, scores, mean(operations)))
    records = sorted((one for one in entries if one.holds), key=lambda one: one.operations)
    return [*records, *(one for one in entries if not one.holds)]


def make_speed_page(runs: Sequence[RecordedRun]) -> str:
    """The page in MyST Markdown."""
    entries = entries_of(runs)
    parts = [
        "<!-- Generated by `annotated-transformer ledger build`: change results/, not this. -->",
        "",
        RULES,
    ]
    if entries:
        parts += [
            "## What was tried",
            "",
            *_picture(entries),
            _standing(entries),
            "",
            *_table(entries),
        ]
    return "\n".join([*parts, SUBMIT]).rstrip() + "\n"


def _standing(entries: Sequence[Entry]) -> str:
    """Who holds the record."""
    records = [(number, one) for number, one in enumerate(entries, 1) if one.holds]
    if not records:
        return (
            f"**No recipe holds a record yet**: none has the seeds 0, 1 and 2 with a mean of "
            f"{GOAL} or more."
        )
    number, first = records[0]
    return (
        f"**Number {number} holds the record**: {mean(first.scores):.2f} BLEU for "
        f"{_petas(first)} operations, the mean of {len(first.scores)} seeds."
    )


def _picture(entries: Sequence[Entry]) -> list[str]:
    points = [(one.operations / PETA, mean(one.scores)) for one in entries]
    said = "; ".join(f"{number}: {x:.2f}, {y:.2f}" for number, (x, y) in enumerate(points, 1))
    drawing = draw_points(
        points,
        GOAL,
        "operations of the training, 10¹⁵",
        "BLEU",
        f"BLEU against operations in 10 to the 15, the goal of {GOAL} as a broken line. {said}.",
    )
    below = (
        "Each number is a recipe of the table, its mean over seeds: operations of the training to "
        f"the right, BLEU upwards, a broken line at {GOAL}. Higher and further left is better."
    )
    return ["```{raw} html", drawing, "```", "", below, ""]


def _table(entries: Sequence[Entry]) -> list[str]:
    yardstick = next(
        (one.operations for one in entries for run in one.runs if run.name == YARDSTICK), None
    )
    lines = ["```{list-table}", ":header-rows: 1", ":class: score-table", ""]
    lines += ["* - Recipe", "  - BLEU", "  - Operations", "  - Processor time"]
    for number, one in enumerate(entries, 1):
        first = one.runs[0]
        minutes = median(run.cost["process_cpu_seconds"] for run in one.runs) / 60
        each = ", ".join(f"{score:.2f}" for score in one.scores)
        seeds = "one seed" if len(one.scores) == 1 else f"{len(one.scores)} seeds: {each}"
        share = f"; {100 * one.operations / yardstick:.0f} %" if yardstick else ""
        departed = ", ".join(departures(first.configuration)) or "nowhere"
        lines += [
            f"* - **{number}. {capital(first.title)}**",
            "",
            f"    Departs from the paper: {departed}",
            f"  - **{mean(one.scores):.2f}**; {seeds}",
            f"  - {_petas(one)}{share}",
            f"  - {minutes:.0f} minutes, {first.hardware['processor']}",
        ]
    return [*lines, "```", "", BELOW, ""]


def _petas(entry: Entry) -> str:
    return f"{entry.operations / PETA:.2f} · 10¹⁵"
