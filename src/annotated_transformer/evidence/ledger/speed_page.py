"""book/speed_run.md: who reaches 41.0 BLEU on Multi30k with the least work, from results/."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from annotated_transformer.config import TransformerConfig
from annotated_transformer.errors import WorkError
from annotated_transformer.evidence.ledger.curve import draw_points
from annotated_transformer.evidence.ledger.operations import (
    ONE_PASS,
    operations_of_a_pass,
    training_operations,
)
from annotated_transformer.evidence.ledger.page_parts import (
    GENERATED,
    capital,
    list_table_head,
    list_table_row,
    listed,
    signed,
)
from annotated_transformer.evidence.ledger.recipes import by_recipe, changes, departures
from annotated_transformer.evidence.ledger.recorded_runs import RecordedRun
from annotated_transformer.evidence.ledger.run_page import MULTI30K, folded, time_of

NAME = "speed_run"
SPLIT, PROTOCOL = "test_2016_flickr", "lower-tokenised"
GOAL, SEEDS = 41.0, [0, 1, 2]
BEAM, LESS = 5, 0.03  # the largest beam; what a record takes less than another
PIECES = 10_000
YARDSTICK = "multi30k_tiny_postnorm_rdrop_84"  # whose operations are 100 %
PETA = 1e15

STEPS = (  # of the way, each in words, by a run of the recipe before it and one of that after it
    (
        "A higher rate that falls to zero, more dropout, bf16",
        "speed_run_paper_s0",
        "multi30k_tiny_postnorm",
    ),
    ("R-Drop and smaller branches", "multi30k_tiny_postnorm", "multi30k_tiny_postnorm_rdrop"),
    ("More passes", "multi30k_tiny_postnorm_rdrop", "multi30k_tiny_postnorm_rdrop_84"),
    ("Rotations (RoPE) and AdamW", "multi30k_tiny_postnorm_rdrop", "speed_run_rotations_s0"),
)

INTRODUCTION = f"""\
# The speed run: {GOAL} BLEU for the least work

How little work makes a translator of captions that is about as good as a published one of its size?
Transformer-Tiny has 41.02, by its authors' script with a beam of 5 {{cite}}`wu2021`; the goal here
is {GOAL}. What counts is how many operations the training takes; who needs fewest holds the record.
"""

START = """\
**Where to begin.** `bash recipes/multi30k_speed_cpu.sh 0` trains seed 0 of the recipe with
rotations and AdamW, `bash recipes/multi30k_tiny_cpu.sh` the one with R-Drop, post-norm and 84
epochs. One pass of the second's model through the pairs is {one_pass:.4f} · 10¹⁵ operations, twice
that with R-Drop.
"""

RULES = f"""\
## The rules

1. **Task.** English to German, from the 29,000 training pairs of Multi30k and nothing else. Text
   that a model wrote counts as other text, unless the training of that model is on the clock too.
   No training on valid or test. One model; the mean of checkpoints of its own training is one.
2. **Goal.** BLEU of {GOAL} or more on `{SPLIT}`, lower-cased and tokenised, as the mean of the
   seeds 0, 1 and 2, one training each, of one commit with nothing changed on top of it. Further
   seeds are shown and do not count.
3. **Choosing.** Settings and search are chosen on valid: the score is that of the search that was
   best there (`evaluate --alpha-from valid`, this package's search, a beam of {BEAM} at most).
   Whoever chose by test scores holds no record; whoever knew some says so, and the record keeps the
   sentence. Settings taken over from an entry below are no choice of yours; the record names them.
4. **The clock** is counted: the multiplications and additions in the model's matrix products,
   forward and backward, over the real tokens of all passes. R-Drop passes every sentence twice and
   pays twice. Whatever else is trained on the way counts, and so does a product that is written in
   another way: a commit that computes more in a step adds it to `operations.py`, with a test.
   What is no matrix product is free (norms, softmax, rotations, Adam), and so are padding,
   validation, search, and a training that was begun anew. Muon multiplies matrices in its own step,
   which is not counted yet, so that it cannot take part; neither can other vocabularies than
   {PIECES:,} pieces with capitals, or 5,000 without, until a pass with them is counted there.
5. **Anybody's machine.** It must fit into two cores and 24 GB. Where it ran does not matter.
6. **By how much.** A new record takes at least {100 * LESS:.0f} % less than the last; what is
   nearer holds it beside the other. Whoever accepts it trains one seed again. Three seeds decide
   little{{apart}}: a recipe whose true mean is a little under {GOAL} passes now and then. Tuning
   costs nothing here, which is not fair either.
"""

RECORDS_FIRST = "Records first, then what was best on valid."
BEST_FIRST = "What was best on valid comes first."
BELOW = """\
Departures are named options: dropout, warm-up and batches (the paper's: 0.1, 4,000 steps, 25,000
tokens a side) stand with the commands. The recipe with R-Drop, post-norm and 84 epochs is 100 %.
Compare operations: a time is that of the machine and of this package's code on the day (of several
seeds the median), so that less work may have taken longer.
R-Drop passes each sentence twice and draws the two answers together; `init_gain` is what the
starting values of the branches' matrices are multiplied with (0.5 on each of two in a row: the
branch begins at a quarter of its size), byte dropout rounds its probability to a 256th
([chapter 8](../notebooks/08_training.ipynb)); rotations, RoPE, stand in place of the sinusoids, and
AdamW shrinks the weights by itself ([chapter 15](../notebooks/15_after_the_paper.ipynb)).
Commands, commits, curves, searches and translations stand with
[the recorded runs](multi30k_run.md).
"""

BOUGHT = """\
A row is a recipe and the one that was made of it, with every setting of the training that changed,
by the names of the options; code, machine and the choice of the search may have changed too. Where
several settings changed at once, nobody knows which of them did it, and a difference that is
smaller than seeds of one recipe lie apart may be chance. Rotations are no matrix product and cost
nothing on this clock, but a step takes longer with them.
[Chapter 15](../notebooks/15_after_the_paper.ipynb) changes one part at a time, in a smaller model,
and measures its time.
"""

SUBMIT = """\
## How to submit

Train the three seeds at a commit that everybody can fetch. Score and record each there, on the
machine that trained it (a seed that the recipe trained lies in `runs/multi30k_speed_cpu_s0`):

```text
annotated-transformer evaluate --run-dir runs/mine_s0 --split test_2016_flickr \\
    --beam 5 --alpha-from valid --max-extra 5 10 20 50 \\
    --format json --output mine_s0.txt > mine_s0.json
annotated-transformer ledger record --run-dir runs/mine_s0 --name speed_run_mine_s0 \\
    --title "What is new in it" --command "annotated-transformer train ..." \\
    --evaluation-command "annotated-transformer evaluate ..." \\
    --scores mine_s0.json --translations test_2016_flickr=mine_s0.txt \\
    --settings-chosen "How, on valid, and what was known of the test set"
```

and the same for the seeds 1 and 2. Then `annotated-transformer ledger build` writes the pages, and
`annotated-transformer ledger check --data-dir FOLDER_OF_CORPORA` scores the translations again.
Send the folders of `results/`, the pages, and a recipe (`recipes/`) as a pull request. What is new
in the code has an option of its own, so that older entries stay what they were.
"""


@dataclass(frozen=True)
class Entry:
    """Runs that differ in their seed alone.

    Attributes:
        runs: by their seeds.
        scores: BLEU of each, by the search that was best on the validation split.
        operations: of one training, the mean over them.
    """

    runs: Sequence[RecordedRun]
    scores: Sequence[float]
    operations: float

    @property
    def counting(self) -> list[tuple[RecordedRun, float]]:
        """The trainings of the seeds that count, each with its score."""
        both = zip(self.runs, self.scores, strict=True)
        return [(run, score) for run, score in both if run.seeds["training"] in SEEDS]

    @property
    def score(self) -> float:
        """The mean over the seeds that count, or over all while one of these is missing."""
        counting = [score for _, score in self.counting]
        return mean(counting if self.has_the_seeds else self.scores)

    @property
    def has_the_seeds(self) -> bool:
        """Whether each seed that counts has one training, all known to be by one commit's code."""
        seeds = sorted(run.seeds["training"] for run, _ in self.counting)
        versions = [run.code_version for run, _ in self.counting]
        known = all(code["commit"] and code.get("changed") is False for code in versions)
        return seeds == SEEDS and known and len({code["commit"] for code in versions}) == 1

    @property
    def holds(self) -> bool:
        """Whether it is a record, or was one."""
        return self.has_the_seeds and self.score >= GOAL


def reason_against(run: RecordedRun) -> str:
    """Why a run cannot take part; "" if it can."""
    if run.chosen_score(SPLIT, PROTOCOL, BEAM) is None:
        return f"nothing says that its search was chosen on valid, with a beam of {BEAM} at most"
    if run.code_version.get("changed"):
        return "it was trained by code that is no commit's"
    try:
        training_operations(run)
    except WorkError as error:
        return str(error)
    return ""


def entries_of(runs: Sequence[RecordedRun]) -> tuple[list[Entry], list[str]]:
    """What was tried: records, cheapest first, then the others, best on the validation split first.

    And the runs that cannot take part, each with its reason.
    """
    ours = [run for run in runs if run.data["name"] == MULTI30K.corpus and run.status != "failed"]
    judged = [(run, reason_against(run)) for run in ours]
    left_out = [
        f"{run.title}, seed {run.seeds['training']}: {reason}{_best_of(run)}"
        for run, reason in judged
        if reason
    ]
    taking_part = [run for run, reason in judged if not reason]
    entries = [entry_of(group) for group in by_recipe(taking_part)]
    records = sorted((one for one in entries if one.holds), key=lambda one: one.operations)
    return [*records, *(one for one in entries if not one.holds)], left_out


def entry_of(group: Sequence[RecordedRun]) -> Entry:
    """Runs of one recipe, all of which can take part."""
    chosen = [run.chosen_score(SPLIT, PROTOCOL, BEAM) for run in group]
    scores = [one.value for one in chosen if one is not None]
    return Entry(group, scores, mean(map(training_operations, group)))


def _best_of(run: RecordedRun) -> str:
    """What stands beside the reason why a run cannot take part: its best score, and its work."""
    found = [one.value for one in run.scores if (one.split, one.protocol) == (SPLIT, PROTOCOL)]
    if not found:
        return ""
    try:
        took = f" for {training_operations(run) / PETA:.2f} · 10¹⁵ operations"
    except WorkError:
        took = ""
    return f" (at best {max(found):.2f}{took})"


def make_speed_page(runs: Sequence[RecordedRun]) -> str:
    """The page in MyST Markdown."""
    entries, left_out = entries_of(runs)
    parts = [GENERATED, "", INTRODUCTION]
    if entries:
        parts += [_standing(entries), "", *_settings_chosen(entries), *_picture(entries)]
    tiny = TransformerConfig.preset("tiny", PIECES)
    one_pass = operations_of_a_pass(tiny, ONE_PASS[MULTI30K.corpus, PIECES, False])
    parts += [START.format(one_pass=one_pass / PETA), RULES.format(apart=_apart(entries))]
    if entries:
        parts += ["## What was tried", "", *_table(entries)]
    if left_out:
        parts += [f"Not in the table: {'; '.join(left_out)}.", ""]
    parts += _steps(entries)
    return "\n".join([*parts, SUBMIT]).rstrip() + "\n"


def _apart(entries: Sequence[Entry]) -> str:
    """How far seeds of one recipe have come apart."""
    spread = max((max(one.scores) - min(one.scores) for one in entries), default=0.0)
    return f", because seeds of one recipe below lie {spread:.1f} apart" if spread else ""


def _standing(entries: Sequence[Entry]) -> str:
    """Who holds the record."""
    first = entries[0]
    if not first.holds:
        return (
            "**No recipe holds the record yet**: none has the seeds 0, 1 and 2, of one commit, and "
            f"a mean of {GOAL} or more.{_within_reach(entries)}"
        )
    return (
        f"**The record: {_petas(first)} operations** (recipe 1 below), with a mean of "
        f"{first.score:.2f} over three seeds: {listed(score for _, score in first.counting)}."
        f"{_beside(entries)}"
    )


def _settings_chosen(entries: Sequence[Entry]) -> list[str]:
    """What whoever set the record says of its settings, as rule 3 asks."""
    said = entries[0].runs[0].settings_chosen if entries[0].holds else ""
    return folded("How its settings were chosen, and what was known then", said) if said else []


def _beside(entries: Sequence[Entry]) -> str:
    """Which recipes share the record with the cheapest: they were not beaten by enough."""
    enough = entries[0].operations / (1 - LESS)
    shared = [
        f"Recipe {number} takes hardly more and holds it too (rule 6)."
        for number, one in enumerate(entries[1:], 2)
        if one.holds and one.operations < enough
    ]
    return "".join(f" {sentence}" for sentence in shared)


def _within_reach(entries: Sequence[Entry]) -> str:
    """Which recipe could hold it, if its other seeds are as good as the ones that are there."""
    near = [(one.operations, n, one) for n, one in enumerate(entries, 1) if one.score >= GOAL]
    if not near:
        return ""
    _, number, one = min(near)
    seeds = _seeds(one)
    return (
        f" Recipe {number} below has {one.score:.2f} so far ({seeds}): whoever has its three seeds "
        "of one commit may set the first record."
    )


def _picture(entries: Sequence[Entry]) -> list[str]:
    points = [(one.operations / PETA, one.score) for one in entries]
    said = "; ".join(f"{number}: {x:.2f}, {y:.2f}" for number, (x, y) in enumerate(points, 1))
    drawing = draw_points(
        points,
        GOAL,
        "operations of the training, 10¹⁵",
        "BLEU",
        f"BLEU against operations in 10 to the 15, the goal of {GOAL} as a broken line. {said}.",
    )
    below = (
        "Each number is a recipe of the table below, its mean over seeds: operations of the "
        f"training to the right, BLEU upwards, a broken line at {GOAL}. Higher and further left is "
        "better."
    )
    return ["```{raw} html", drawing, "```", "", below, ""]


def _table(entries: Sequence[Entry]) -> list[str]:
    yardstick = next(
        (one.operations for one in entries for run in one.runs if run.name == YARDSTICK), None
    )
    lines = list_table_head("score-table", ["Recipe", "BLEU", "Operations", "Time"])
    for number, one in enumerate(entries, 1):
        first = one.runs[0]
        machines = dict.fromkeys(run.hardware["processor"] for run in one.runs)
        count = len(one.scores)
        seeds = "one seed" if count == 1 else f"{count} seeds: {listed(one.scores)}"
        share = f"; {100 * one.operations / yardstick:.0f} %" if yardstick else ""
        departed = ", ".join(departures(first.configuration)) or "by no named option"
        lines += list_table_row(
            [
                [f"**{number}. {capital(first.title)}**", f"Departs from the paper: {departed}"],
                [f"**{one.score:.2f}**; {seeds}", *_by_the_papers_search(one)],
                [f"{_petas(one)}{share}"],
                [f"{time_of(one.runs)}, {', '.join(machines)}"],
            ]
        )
    order = RECORDS_FIRST if entries[0].holds else BEST_FIRST
    return [*lines, "```", "", order, BELOW]


def _by_the_papers_search(entry: Entry) -> list[str]:
    """What it has where nothing was chosen, if every seed was scored so: shown, and no score."""
    scores = [
        score.value
        for run in entry.runs
        for score in run.scores
        if (score.split, score.protocol, score.alpha_chosen_on) == (SPLIT, PROTOCOL, "the paper")
    ]
    if len(scores) < len(entry.runs):
        return []
    return [f"By the paper's search, which does not count: {listed(scores)}"]


def _steps(entries: Sequence[Entry]) -> list[str]:
    """What each step of the way changed, and what it bought."""
    of_run = {run.name: number for number, one in enumerate(entries) for run in one.runs}
    lines = list_table_head("score-table", ["Step", "What changed", "BLEU", "Operations"])
    steps = [(says, of_run[a], of_run[b]) for says, a, b in STEPS if a in of_run and b in of_run]
    for says, a, b in steps:
        before, after = entries[a], entries[b]
        gained = signed(after.score - before.score, 2)
        lines += list_table_row(
            [
                [f"**{says}**", f"from recipe {a + 1} to {b + 1}"],
                ["; ".join(changes(before.runs[0], after.runs[0]))],
                [f"{gained}; {_seeds(before)}, then {_seeds(after)}"],
                [f"{before.operations / PETA:.2f} → {_petas(after)}"],
            ]
        )
    return ["## What each step bought, or cost", "", BOUGHT, *lines, "```", ""] if steps else []


def _seeds(entry: Entry) -> str:
    """How many trainings its score is the mean of."""
    count = len(entry.counting if entry.has_the_seeds else entry.runs)
    return "one seed" if count == 1 else f"mean of {count} seeds"


def _petas(entry: Entry) -> str:
    return f"{entry.operations / PETA:.2f} · 10¹⁵"
