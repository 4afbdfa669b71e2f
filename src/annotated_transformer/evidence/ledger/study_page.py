"""book/PLAN_study.md: the runs of a plan beside each other, their figures from results/."""

import textwrap
from collections.abc import Mapping, Sequence
from statistics import mean

from annotated_transformer.evidence.ablation.differences import Effect
from annotated_transformer.evidence.ablation.intervals import pooled_deviation
from annotated_transformer.evidence.ablation.judgement import failures_of, judge, name_of
from annotated_transformer.evidence.ablation.plan import BASE, Plan, Row, Task
from annotated_transformer.evidence.ablation.study import Outcome, Study
from annotated_transformer.evidence.ledger.page_parts import (
    GENERATED,
    capital,
    list_table_head,
    signed,
    wrap_command,
)
from annotated_transformer.evidence.ledger.recorded_runs import RecordedRun
from annotated_transformer.evidence.table3 import table_3_row

ONE_MACHINE = 1.25  # minutes of one row that lie further apart were not taken on one machine
READING = (
    "**How to read it.** Every row is the base with the change that it names; its expectation was "
    "written before it was run. {judged}The score is {score}, so no search had to be tuned, and no "
    "test set was looked at. The difference is to the mean of the base. {interval} A difference "
    "smaller than that may be chance; and of the rows that make no difference, one in twenty will "
    "look larger."
)

JUDGED = (
    "What it says in figures is judged: *held* if the mean lies in its range, *open* if only a "
    "part of the interval does, *wrong* if neither does. "
)

SCORES = {
    "lower-tokenised": "BLEU of {search} translations of the validation set, lower-cased and "
    "tokenised",
    "exact-match": "the percentage of {search} translations of the validation set that are, letter "
    "for letter, their reference",
}

ONE_SPREAD = (
    '"±" is half a 95 % interval: rows with several seeds tell how much a seed alone changes, and '
    "the same spread is assumed everywhere."
)
OWN_SPREADS = (
    "\"±\" is half a 95 % interval, by Welch's formula: the row's own seeds and those of the base "
    "tell how much a seed alone changes, and so few make it wide."
)

SOME_OWN_SPREADS = (
    '"±" is half a 95 % interval. Where a row has several seeds it is Welch\'s, from its own '
    "spread and that of the base; where it has one, the rows with several tell how much a seed "
    "alone changes."
)

LOSSES = """\
The loss is that of the last weights on the validation set, in nats per piece, not smoothed. Where
the pieces are others (vocabulary, BPE dropout, lower case), losses cannot be compared.
"""

PERPLEXITIES = """\
The perplexity is that of the references of the same sentences, per piece, from the likelihood
without label smoothing. The paper's figures are those of its Table 3, from another corpus and
with other pieces: what can be compared is the direction of a difference, not a figure.
"""


EMPTY = """\
"Empty" counts the translations of each seed that have no word, where translations are kept and some
have none.
"""


def study_page(plan: Plan) -> str:
    """The page's name, without its ending."""
    return f"{plan.name}_study"


def make_study_page(study: Study) -> str:
    """The page in MyST Markdown."""
    plan = study.plan
    parts = [
        GENERATED,
        "",
        f"# {plan.title}",
        "",
        plan.question,
        "",
        *([plan.chosen, ""] if plan.chosen else []),
        "```text",
        wrap_command(plan.choose([BASE], 1)[0].commands()[0]),
        "```",
        "",
        "All rows, two at a time:",
        "",
        "```text",
        f"annotated-transformer ablate --plan {plan.name} --jobs 2",
        "```",
        "",
    ]
    if BASE not in study.scores(plan.beam):
        parts += ["None of these runs has been recorded yet; this is the plan.", ""]
        return "\n".join([*parts, _plan_table(plan, plan.rows)]).rstrip() + "\n"
    score = SCORES[plan.protocol].format(search=search_of(plan.beam))
    interval = _interval(study)
    judged = JUDGED if any(row.ranges for row in plan.rows) else ""
    reading = READING.format(score=score, interval=interval, judged=judged)
    parts += [
        textwrap.fill(reading, 100, break_on_hyphens=False),
        "",
        _spread(study),
        "",
        _table(study),
        "",
        PERPLEXITIES if mirrors_table3(plan) else LOSSES,
    ]
    if any(any(outcome.empty.values()) for outcome in study.outcomes):
        parts += [EMPTY]
    parts += [_signatures(study), "", _commits(study), "", *_waiting(study)]
    return "\n".join(parts).rstrip() + "\n"


def search_of(beam: int) -> str:
    """How translations were searched, in words."""
    return "greedy" if beam == 1 else f"beam-{beam}"


def seeds_everywhere(scores: Mapping[str, Sequence[float]]) -> bool:
    """Whether every row has several scores, so that each tells its own spread."""
    return len(scores) > 1 and all(len(values) > 1 for values in scores.values())


def mirrors_table3(plan: Plan) -> bool:
    """Whether rows of the plan stand for printed rows of the paper's Table 3."""
    return any(row.table3 for row in plan.rows)


def missing_tasks(study: Study) -> list[Task]:
    """What is planned and has no record."""
    there = {(outcome.row, outcome.seed) for outcome in study.outcomes}
    return [
        task for task in study.plan.choose(None, None) if (task.row.name, task.seed) not in there
    ]


def problems_of_study(plan: Plan, runs: Sequence[RecordedRun]) -> list[str]:
    """Records that are not runs of the plan as it stands, a sentence each."""
    tasks = {task.name: task for task in plan.choose(None, None)}
    problems = []
    for run in runs:
        task = tasks.get(run.name)
        if task is None:
            problems.append(f"results/ablations/{plan.name}/{run.name} is not in the plan.")
        elif run.command != task.commands()[0]:
            problems.append(
                f"results/ablations/{plan.name}/{run.name} was made by another command than the "
                "plan's: change neither after a run."
            )
        elif run.status == "finished":
            problems += [
                f"results/ablations/{plan.name}/{run.name} lacks the planned score of its "
                f"{search_of(beam)} translations."
                for beam in task.beams
                if run.score(plan.split, plan.protocol, beam) is None
            ]
    return problems


def _interval(study: Study) -> str:
    """What "±" stands for, which depends on how many seeds the rows have."""
    scores = study.scores(study.plan.beam)
    if seeds_everywhere(scores):
        return OWN_SPREADS
    several = any(len(values) > 1 for name, values in scores.items() if name != BASE)
    return SOME_OWN_SPREADS if several else ONE_SPREAD


def _spread(study: Study) -> str:
    scores = study.scores(study.plan.beam)
    own = seeds_everywhere(scores)
    spread, freedom = pooled_deviation([scores[BASE]] if own else list(scores.values()))
    if not freedom:
        row = "The base has no" if own else "No row has"
        return f"{row} two seeds yet, so nothing tells how much of a difference is chance."
    if own:
        return (
            f"From seed to seed the base's score has a standard deviation of {spread:.2f} "
            f"({len(scores[BASE])} seeds)."
        )
    several = sum(len(values) > 1 for values in scores.values())
    rows = "1 row" if several == 1 else f"{several} rows"
    return (
        f"From seed to seed the score has a standard deviation of {spread:.2f} ({freedom} degrees "
        f"of freedom, {rows} with several seeds)."
    )


def _table(study: Study) -> str:
    plan = study.plan
    lines = list_table_head("score-table", ["What is changed", *_headings(plan)])
    effects = {beam: study.effects(beam) for beam in (plan.beam, *plan.more_beams)}
    judged = _judged(study)
    for row in plan.rows:
        outcomes = study.of_row(row.name)
        if not outcomes:
            continue
        cells = [
            _scores(row, of_beam.get(row.name), outcomes) + _empty(outcomes, beam)
            for beam, of_beam in effects.items()
        ]
        if mirrors_table3(plan):
            cells += [_figure(study.perplexity(row.name), 2), _of_the_paper(row)]
        else:
            cells += [_figure(study.loss(row.name), 3)]
        cells += [_minutes([one.minutes for one in outcomes], 1 if mirrors_table3(plan) else 0)]
        lines += [f"* - **{capital(row.says)}**", "", f"    *Expected:* {row.expect}"]
        if told := judged.get(row.name):
            lines += ["", f"    *Came out:* {'; '.join(told)}."]
        lines += [f"  - {cell}" for cell in cells]
    return "\n".join([*lines, "```"])


def _judged(study: Study) -> dict[str, list[str]]:
    """How each row's expectation came out, range by range."""
    judged: dict[str, list[str]] = {}
    for one in judge(study):
        name, failures = name_of(one.expected), failures_of(one)
        told = f"{name}: {one.judgement}" if name else one.judgement
        judged.setdefault(one.row.name, []).append(told + (f" ({failures})" if failures else ""))
    return judged


def _headings(plan: Plan) -> list[str]:
    """Of the columns behind the first."""
    others = [f"The same, {search_of(beam)}" for beam in plan.more_beams]
    measured = ["Perplexity", "The paper: perplexity; BLEU"] if mirrors_table3(plan) else ["Loss"]
    return ["Score, difference", *others, *measured, "CPU minutes"]


def _scores(row: Row, effect: Effect | None, outcomes: Sequence[Outcome]) -> str:
    """The mean, its difference to the base with the margin, and how many failed.

    Where some failed, the others are a choice of the lucky: they get no difference.
    """
    failed = sum(not outcome.finished for outcome in outcomes)
    told = [f"{failed} of {len(outcomes)} failed"] if failed else []
    if effect is None:
        return told[0] if told else "not scored"
    mean = f"**{effect.mean:.2f}**"
    if len(effect.values) > 1:
        mean += f" ({', '.join(f'{value:.2f}' for value in effect.values)})"
    if failed:
        mean += " where it ended well"
    elif row.change:
        difference = signed(effect.difference, 2)
        if effect.margin is not None:
            difference += f" ± {effect.margin:.2f}" + ("" if effect.decided else ", may be chance")
        mean += f"; {difference}"
    return "; ".join([mean, *told])


def _empty(outcomes: Sequence[Outcome], beam: int) -> str:
    """How many translations of each seed have no word, where they are kept and some have none."""
    empty = [outcome.empty[beam] for outcome in outcomes if beam in outcome.empty]
    return f"; empty: {', '.join(map(str, empty))}" if any(empty) else ""


def _figure(value: float | None, digits: int) -> str:
    return "none" if value is None else f"{value:.{digits}f}"


def _minutes(each: Sequence[float], digits: int) -> str:
    """Their mean; from where to where they go, if they were not taken on one machine."""
    low, high = min(each), max(each)
    if high > ONE_MACHINE * low:
        return f"{_figure(low, digits)} to {_figure(high, digits)}"
    return _figure(mean(each), digits)


def _of_the_paper(row: Row) -> str:
    """What Table 3 prints for the row that this one mirrors, with the differences to its base."""
    if not row.table3:
        return "not there"
    printed = table_3_row(row.table3)
    if row.table3 == BASE:
        return f"{printed.perplexity:.2f}; {printed.bleu}"
    perplexity, bleu = printed.against_base
    return f"{printed.perplexity:.2f} ({signed(perplexity, 2)}); {printed.bleu} ({signed(bleu, 1)})"


def _signatures(study: Study) -> str:
    plan = study.plan
    searches = " and ".join(search_of(beam) for beam in (plan.beam, *plan.more_beams))
    signatures = ", ".join(f"`{one}`" for one in study.signatures)
    return f"All scores on {plan.split}, {searches}: {signatures}"


def _commits(study: Study) -> str:
    """Which code trained which rows, and where: between two more may differ than the change."""
    trained: dict[str, list[str]] = {}
    for outcome in study.outcomes:
        code = f"`{outcome.commit[:7]}`" + (" with changes" if outcome.changed else "")
        where = f", {outcome.processor}" if outcome.processor else ""
        rows = trained.setdefault(code + where, [])
        if outcome.row not in rows:
            rows.append(outcome.row)
    told = [f"{code} ({', '.join(rows)})" for code, rows in trained.items()]
    compare = " Minutes are to be compared only between rows of one of these." if told[1:] else ""
    return f"Trained by the code of commit {'; '.join(told)}.{compare}"


def _waiting(study: Study) -> list[str]:
    """What is planned and has no record: whole rows as the plan has them, and single runs."""
    begun = {outcome.row for outcome in study.outcomes}
    parts = []
    if runs := [f"`{task.name}`" for task in missing_tasks(study) if task.row.name in begun]:
        parts += [f"Runs that are planned and not yet recorded: {', '.join(runs)}.", ""]
    if rows := [row for row in study.plan.rows if row.name not in begun]:
        parts += ["Rows that are planned and not yet recorded:", "", _plan_table(study.plan, rows)]
    return parts


def _plan_table(plan: Plan, rows: Sequence[Row]) -> str:
    paper = ["The paper: perplexity; BLEU"] if mirrors_table3(plan) else []
    lines = list_table_head("score-table", ["What is changed", "Expected", *paper])
    for row in rows:
        seeds = "" if row.seeds == 1 else f" ({row.seeds} seeds)"
        lines += [f"* - {capital(row.says)}{seeds}", f"  - {row.expect}"]
        lines += [f"  - {_of_the_paper(row)}"] if paper else []
    return "\n".join([*lines, "```"])
