"""The pages of the recorded runs, one a corpus, every figure from results/."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Any

from annotated_transformer.evaluation.scoring import (
    BLEU_PROTOCOLS,
    PROTOCOL_NAMES,
    other_limit,
    searches_in_words,
)
from annotated_transformer.evidence.ledger.curve import Dots, Line, draw_curve, draw_dots
from annotated_transformer.evidence.ledger.page_parts import (
    GENERATED,
    capital,
    list_table_head,
    listed,
    plain,
    wrap_command,
)
from annotated_transformer.evidence.ledger.recipes import (
    by_recipe,
    departures,
    of_all_seeds,
    validation_bleu,
)
from annotated_transformer.evidence.ledger.recorded_runs import RecordedRun, RecordedScore, Tuning


@dataclass(frozen=True)
class RunPage:
    """A page of recorded runs.

    Attributes:
        name: its file in book/, without ".md".
        corpus: that the runs were trained on.
        introduction: its beginning.
        published: who has the score in print that its picture marks, and that score; None if no
            published score compares.
    """

    name: str
    corpus: str
    introduction: str
    published: tuple[str, float] | None = None


MULTI30K = RunPage(
    "multi30k_run",
    "multi30k",
    """\
# A real translator: the recorded runs

Transformers of this package, trained from English to German on Multi30k (29,000 captions of
photographs): small ones on a processor, whole, and two on a GPU that was taken away before they had
ended. Everything below comes from the records in `results/`: the commands, the curves, the scores,
the translations with their mistakes. What those on a processor took in operations:
[the speed run](speed_run.md). The score in print that the picture marks is that of a model of the
small ones' size {cite}`wu2021`, by its authors' script: a beam of 5, without choosing a length
penalty. Ours are by the search that was best on the validation split, of eight or more, and the
two on a GPU by the paper's.
""",
    ("Transformer-Tiny, Wu and others (2021)", 41.02),
)
TATOEBA = RunPage(
    "tatoeba_run",
    "tatoeba",
    """\
# A base model on a GPU: the recorded run

A model of the paper's base size, trained on one GPU from English to German on Tatoeba (165,000
pairs of short everyday sentences): a smaller vocabulary, smaller batches and a tenth of the paper's
steps. Everything below comes from the record in `results/`: the commands, the curve, the scores,
the translations with their mistakes.
[Chapter 10](../notebooks/10_base_model.ipynb) says what makes such a run fast.
""",
)
PAGES = (MULTI30K, TATOEBA)

HOW_TO_READ = """\
```{admonition} How to read the scores
:class: note
A BLEU score means nothing without the way its text was prepared: the signature of each stands in
a fold below it. Scores of Multi30k in print are often of lower-cased, tokenised text; the cased
score of the same translations answers another question, how close they are to plain German text.
The two are not comparable with each other, nor with the paper's scores on newstest2014: captions
and everyday sentences are short and alike.
```
"""

SPREAD = """\
Runs of the same settings with other seeds stand together; their parts are in the order of the
seeds. How far they lie apart is what chance alone does. Most groups differ in several settings at
once, and where one alone differs, one seed each decides little:
[chapter 8](../notebooks/08_training.ipynb) says how much two runs of one kind may differ. Processor
time is that of shared machines and went up by more than a half between runs of the same step:
operations compare better.
"""

READ_FIRST = """\
**If you read about one, read about the first**, *{title}*: on the validation split it has
{first:.2f}{of_seeds}, the next {second:.2f}{apart}. Its part follows the scores below; the others,
what led to it and what went less well, come after it.
"""

CHOSEN = """\
How the settings were chosen, and which scores whoever chose them knew, stands in a fold below.
"""

NO_RUNS = """\
No run on this corpus has been recorded yet. To make one:

```text
annotated-transformer train --preset tiny --data {corpus} --run-dir runs/{corpus}
```
"""


def make_run_page(runs: Sequence[RecordedRun], page: RunPage = MULTI30K) -> str:
    """The page in MyST Markdown: the runs in a picture, then a part for each, the best first.

    The best is the one with the highest BLEU on the validation split, not on a test split: whoever
    picks by the test picks the luckiest there.
    """
    groups = by_recipe([run for run in runs if run.data["name"] == page.corpus])
    ours = [run for group in groups for run in group]
    parts = [
        GENERATED,
        "",
        page.introduction,
    ]
    if not ours:
        parts.append(NO_RUNS.format(corpus=page.corpus))
    if len(ours) == 1:
        parts.append(HOW_TO_READ)
    if len(ours) > 1:
        chosen = _settings_chosen(ours)
        parts += ["## The runs side by side", "", *_picture(groups, page), *_read_first(groups)]
        parts += [HOW_TO_READ, SPREAD]
        parts += [CHOSEN] if chosen else []
        parts += folded("Every score with its search and its signature", _comparison(groups))
        parts += chosen
    for place, group in enumerate(groups):
        first, *others = group
        parts += _run_part(first, alone=len(ours) == 1, read_first=place == 0, seeds=_seeds(group))
        for run in others:
            parts += _seed_part(run)
    return "\n".join(parts).rstrip() + "\n"


def _read_first(groups: Sequence[Sequence[RecordedRun]]) -> list[str]:
    """Which recipe to read about, and by how much it leads where it was ranked."""
    scores = [[validation_bleu(run) for run in group] for group in groups]
    known = [[one for one in group if one is not None] for group in scores]
    if len(known) < 2 or not (known[0] and known[1]):
        return []
    first, second = mean(known[0]), mean(known[1])
    spread = max(max(group) - min(group) for group in known if group)
    return [
        READ_FIRST.format(
            title=capital(groups[0][0].title),
            first=first,
            second=second,
            of_seeds=f" (the mean of {len(known[0])} seeds)" if len(known[0]) > 1 else "",
            apart=f"; seeds of one recipe lie {spread:.2f} apart, so that chance alone can do this"
            if spread > first - second
            else "",
        )
    ]


def _scores_on(split: str, group: Sequence[RecordedRun]) -> list[float]:
    """BLEU of the seeds of a recipe, lower-cased and tokenised, of those that have it."""
    found = (run.score(split, "lower-tokenised") for run in group)
    return [one.value for one in found if one is not None]


def _seeds(group: Sequence[RecordedRun]) -> list[str]:
    """What all seeds of a recipe have; nothing of a single run."""
    first = group[0]
    split = next(iter(tests_of(first)), "")
    scores = _scores_on(split, group)
    if len(scores) < 2:
        return []
    return [
        f"{len(scores)} seeds, {PROTOCOL_NAMES['lower-tokenised']}: **{mean(scores):.2f}** on "
        f"{split} in the mean ({listed(scores)}). What follows is seed "
        f"{first.seeds['training']}'s; the others stand below it.",
        "",
    ]


def _run_part(run: RecordedRun, alone: bool, read_first: bool, seeds: list[str]) -> list[str]:
    """All about a run.

    Args:
        alone: whether it says how its settings were chosen, which stands above several.
        read_first: whether its translations are open.
        seeds: lines about all seeds of its recipe.
    """
    parts = _beginning(run, f"## {capital(run.title)}", seeds)
    if alone and run.settings_chosen:
        parts += [run.settings_chosen, ""]
    if run.metrics:
        parts += ["### Curve", "", _curve(run), ""]
    if run.examples and read_first:
        parts += ["### Translations", "", _examples(run), ""]
    parts += ["### What went badly", ""]
    parts += [f"- {sentence}" for sentence in run.what_went_badly] or ["Nothing was noted."]
    parts.append("")
    if run.examples and not read_first:
        parts += folded("Translations, and what is wrong with them", _examples(run))
    parts += _scores_and_commands(run)
    return parts


def _beginning(run: RecordedRun, heading: str, seeds: Sequence[str] = ()) -> list[str]:
    """A run's heading, what all seeds have, how it ended if not well, and its headline."""
    parts = [heading, "", *seeds]
    if run.status != "finished":
        was = "was " if run.status == "interrupted" else ""
        parts += [f"**This run {was}{run.status}.** It is kept as it is.", ""]
    return [*parts, _headline(run), ""]


def _scores_and_commands(run: RecordedRun) -> list[str]:
    """What only who repeats a run or doubts it needs, in two folds."""
    splits: dict[Tuning, list[str]] = {}  # of the same searches on the same text
    for tuning in run.tuning:
        splits.setdefault(replace(tuning, split=""), []).append(tuning.split)
    tunings = [
        line
        for tuning, names in splits.items()
        for line in ("", _tuning_line(replace(tuning, split=" and ".join(names))))
    ]
    commands = [wrap_command(line) for line in (run.command, *run.evaluation_commands)]
    text = ["```text", *commands, "```", "", _facts_of_run(run)]
    return [
        *folded("Every score with its search and its signature", score_table(run), *tunings),
        *folded("The commands, the machine, the data, the cost", *text),
    ]


def folded(summary: str, *lines: str) -> list[str]:
    """Lines of Markdown, without headings, behind a sentence that opens them."""
    return [f"<details><summary>{summary}</summary>", "", *lines, "", "</details>", ""]


def tests_of(run: RecordedRun) -> list[str]:
    """The splits that it was tested on, as recorded."""
    splits = dict.fromkeys(s.split for s in run.scores if s.protocol in BLEU_PROTOCOLS)
    return [split for split in splits if split != "valid"] or list(splits)


def _headline(run: RecordedRun) -> str:
    """Its cased BLEU on each test split, its size and its cost in a sentence or two."""
    cost = run.cost
    found = [(split, run.score(split, "cased")) for split in tests_of(run)]
    scores = ", ".join(f"**{s.value:.2f}** on {split}" for split, s in found if s is not None)
    clock = "" if run.hardware.get("gpus") else f", {_clock_minutes(run.cost['wall_seconds'])}"
    said = f"BLEU, cased: {scores}. " if scores else ""
    sizes = f"{cost['parameters']:,.0f} parameters, {cost['steps']:,.0f} steps"
    return f"{said}{sizes}, {time_of([run])}{clock}."


def time_of(group: Sequence[RecordedRun]) -> str:
    """What a training took, the median of several: a processor's time, a GPU's by the clock."""
    if len({bool(run.hardware.get("gpus")) for run in group}) > 1:
        return "some on processors, some on a GPU"
    if gpus := group[0].hardware.get("gpus"):
        clock = median(run.cost["wall_seconds"] for run in group)
        return f"{_clock_minutes(clock)} on one {gpus[0]}"
    return _processor_minutes(median(run.cost["process_cpu_seconds"] for run in group))


def _processor_minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes of processor time"


def _clock_minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes by the clock"


def _picture(groups: Sequence[Sequence[RecordedRun]], page: RunPage) -> list[str]:
    """A row for each group of seeds, a dot for each run: BLEU on the first test split."""
    split = next(iter(tests_of(groups[0][0])), "")
    rows = []
    for group in groups:
        if values := _scores_on(split, group):
            rows.append(Dots(capital(group[0].title), values))
    if len(rows) < 2:
        return []
    said = "; ".join(f"{row.name}: {listed(row.values)}" for row in rows)
    what = f"{PROTOCOL_NAMES['lower-tokenised']}, on {split}"
    name, goal = page.published or ("", None)
    line, told = "", ""
    if name:
        line, told = f" The broken line is {goal}, {name}.", f" {name}: {goal}."
    drawing = draw_dots(rows, what, f"{what}, a dot a run. {said}.{told}", goal)
    below = (
        f"{what}. A row for each recipe, the best on the validation split first, those ended "
        f"early last; each dot is a run, the number at the right their mean.{line} Their searches "
        "differ (below)."
    )
    return ["```{raw} html", drawing, "```", "", below, ""]


def _seed_part(run: RecordedRun) -> list[str]:
    """The same settings with another seed: command, cost, scores."""
    parts = _beginning(run, f"### The same with seed {run.seeds['training']}")
    parts += [f"- {sentence}" for sentence in run.what_went_badly]
    return [*parts, "", *_scores_and_commands(run)]


def _code_line(run: RecordedRun) -> str:
    """Which code trained and scored."""
    scored = run.code_version.get("scored_at", "")
    later = run.code_version.get("scored_later", {})
    return (
        f"- Code: trained at commit `{run.code_version['commit'][:12]}`"
        + (" with changes on top" if run.code_version.get("changed") else "")
        + (", as stated by whoever recorded it" if run.code_version.get("stated") else "")
        + (f"; scored at commit `{scored[:12]}`" if scored else "")
        + "".join(f", {split} at commit `{commit[:12]}`" for split, commit in later.items())
    )


def _facts_of_run(run: RecordedRun) -> str:
    """Size, seeds, data, machine, cost: one line each."""
    model, training = run.configuration["model"], run.configuration["training"]
    hardware, cost = run.hardware, run.cost
    departed = ", ".join(departures(run.configuration)) or "none"
    lines = [
        f"- Model: {cost['parameters']:,.0f} parameters; N = {model['num_layers']}, "
        f"d_model = {model['d_model']}, d_ff = {model['d_ff']}, h = {model['num_heads']}, "
        f"{model['norm']}-norm, P_drop = {model['dropout']}, vocabulary {model['vocab_size']:,}",
        f"- Training: {cost['steps']:,.0f} steps of at most "
        f"{training['max_tokens']:,} tokens a side, warm-up {training['warmup']:,} steps, "
        f"ε_ls = {training['label_smoothing']}, "
        f"mean of the last {_averaged(run)} checkpoints, {training['precision']}, "
        f"seed {run.seeds['training']}",
        f"- Departures from the paper by a named option: {departed}",
        "- Cost of training, scoring not counted: "
        f"{_processor_minutes(cost['process_cpu_seconds'])}, "
        f"{_clock_minutes(cost['wall_seconds'])}",
        f"- Machine: {hardware['processor']}, {hardware['cores']} cores, "
        f"{hardware.get('memory_gib', '?')} GiB of memory"
        + "".join(f", {gpu}" for gpu in hardware.get("gpus", [])),
        f"- Software: {', '.join(f'{name} {number}' for name, number in run.software.items())}",
        _code_line(run),
        f"- Data: {_data_line(run.data)}",
    ]
    return "\n".join(lines)


def _averaged(run: RecordedRun) -> int:
    """How many checkpoints the weights are the mean of: a command may have made it anew."""
    anew = re.findall(r"transformer average .*--last (\d+)", "\n".join(run.evaluation_commands))
    return int(anew[-1]) if anew else run.configuration["training"]["average"]


def _data_line(data: dict[str, Any]) -> str:
    """The corpus and its files with the beginnings of their checksums."""
    files = find_files(data.get("origin", {})) or find_files(data)
    named = ", ".join(f"{name} {entry['sha256'][:8]}…" for name, entry in sorted(files.items()))
    return f"{data.get('name', 'unnamed')}; SHA-256 of {named or 'in run.json'}"


def find_files(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Every entry, at any depth, that has a sha256: its name to the entry."""
    found = {}
    for key, value in data.items():
        if isinstance(value, dict):
            if isinstance(value.get("sha256"), str):
                found[key] = value
            else:
                found |= find_files(value)
    return found


def score_table(run: RecordedRun) -> str:
    """Every score with its search and its signature."""
    lines = list_table_head("score-table", ["Score", "How"])
    for score in run.scores:
        name = PROTOCOL_NAMES.get(score.protocol, score.protocol)
        lines += [
            f"* - **{score.value:.2f}** {name}",
            "",
            f"    on {score.split}",
            f"  - {_search(score)}`{score.signature}`",
        ]
    return "\n".join([*lines, "```"])


def _search(score: RecordedScore) -> str:
    """Beam, alpha and where alpha was chosen, before the signature; "" without a search."""
    if score.beam is None or score.protocol == "perplexity":
        return ""
    limit = other_limit(score.max_extra)
    if score.beam == 1:
        return f"greedy{limit}; "
    chosen = f", chosen on {score.alpha_chosen_on}" if score.alpha_chosen_on else ""
    if score.alpha_chosen_on == "the paper":
        chosen = ", the paper's"
    return f"beam {score.beam}, α = {score.alpha}{limit}{chosen}; "


def _tuning_line(tuning: Tuning) -> str:
    """Every length penalty that was tried, with its score; by limit, if several were."""
    tried = searches_in_words(tuning.tried)
    return (
        f"Length penalties tried on {tuning.chosen_on} with beam {tuning.beam} for "
        f"{tuning.split}, α: {PROTOCOL_NAMES[tuning.protocol]}: {tried}."
    )


def _settings_chosen(runs: Sequence[RecordedRun]) -> list[str]:
    """How the settings were chosen, once where several runs say the same, else for each by name."""
    titles: dict[str, list[str]] = {}
    for run in runs:
        if run.settings_chosen:
            titles.setdefault(run.settings_chosen, []).append(capital(run.title))
    if not titles:
        return []
    if len(titles) == 1 and len(*titles.values()) == len(runs):
        lines = list(titles)
    else:
        named = ((said, "; ".join(dict.fromkeys(names))) for said, names in titles.items())
        lines = [f"- *{names}.* {said}" for said, names in named]
    return folded("How the settings were chosen", *lines)


def _comparison(groups: Sequence[Sequence[RecordedRun]]) -> str:
    """The BLEU of every group on every test set, with signatures; of several seeds the mean."""
    lines = list_table_head("score-table", ["Run", "Score"])
    for group in groups:
        first = group[0]
        seeds = "" if len(group) == 1 else f", median of {len(group)} seeds"
        known = [one for one in map(validation_bleu, group) if one is not None]
        in_the_mean = " in the mean" if len(known) > 1 else ""
        on_valid = f"; {mean(known):.2f} on valid{in_the_mean}" if known else ""
        lines += [
            f"* - {capital(first.title)}",
            "",
            f"    {time_of(group)}{seeds}{on_valid}",
        ]
        scores = [score for score in first.scores if score.protocol in BLEU_PROTOCOLS]
        told = [_group_score(group, score) for score in scores]
        told = told or [f"none: the run {first.status}"]
        lines.append(f"  - {told[0]}")
        for paragraph in told[1:]:
            lines += ["", f"    {paragraph}"]
    return "\n".join([*lines, "```"])


def _group_score(group: Sequence[RecordedRun], score: RecordedScore) -> str:
    """One test set under one protocol: the figure, or the mean of all seeds' and each of them."""
    found = of_all_seeds(group, score)
    what = f"{PROTOCOL_NAMES[score.protocol]}, on {score.split}"
    searches = sorted({_search(one) for one in found})
    how = f"{''.join(searches)}`{score.signature}`"
    if len(found) == 1:
        return f"**{score.value:.2f}** {what}: {how}"
    values = [one.value for one in found]
    return f"**{mean(values):.2f}** {what}, mean of {listed(values)}: {how}"


def _curve(run: RecordedRun) -> str:
    """The loss of training and validation against the step."""
    lines = [
        Line(kind, name, [(line["step"], line["loss"]) for line in run.events(event)])
        for kind, name, event in (
            ("training", "training, label-smoothed", "train"),
            ("validation", "validation, not smoothed", "valid"),
        )
        if run.events(event)
    ]
    ends = "; ".join(
        f"{line.name}: from {line.points[0][1]:.2f} at step {line.points[0][0]:,.0f} to "
        f"{line.points[-1][1]:.2f} at step {line.points[-1][0]:,.0f}"
        for line in lines
    )
    drawing = draw_curve(lines, "step", "loss, nats per token", f"Loss of {run.title}. {ends}.")
    return f"```{{raw}} html\n{drawing}\n```\n\nLoss in nats per token. {capital(ends)}."


def _examples(run: RecordedRun) -> str:
    """Source, our translation, and what is wrong with it."""
    lines = [f"Chosen: {run.examples_chosen}. Line numbers are those of the test set.", ""]
    for example in run.examples:
        lines += [
            f"Line {example.line}",
            f": {plain(example.source)}",
            f": **{plain(example.ours)}**",
        ]
        if example.note:
            lines.append(f": {example.note}")
        lines.append("")
    return "\n".join(lines).rstrip()
