"""What the records of a plan's runs gave, as chapters and pages read it (`ablation/study.py`)."""

from collections.abc import Callable, Sequence
from pathlib import Path

from annotated_transformer.evaluation.causes_in_texts import repeats
from annotated_transformer.evidence.ablation.plan import Plan, Task
from annotated_transformer.evidence.ablation.study import Outcome, Study
from annotated_transformer.evidence.ledger.filled import filled_score
from annotated_transformer.evidence.ledger.recorded_runs import RecordedRun
from annotated_transformer.evidence.ledger.rescoring import corpus_of, read_lines

BLEU = "cased"  # sacreBLEU's default


def study_of(plan: Plan, runs: Sequence[RecordedRun], records: Path | None = None) -> Study:
    """What the recorded runs gave, those left out that are not in the plan.

    Args:
        records: the plan's folder in results/, if the translations there are to be read too.
    """
    by_name = {run.name: run for run in runs}
    tasks = [task for task in plan.choose(None, None) if task.name in by_name]
    outcomes = tuple(outcome_of(task, by_name[task.name], records) for task in tasks)
    return Study(plan, outcomes, *(signatures(plan, runs, name) for name in (plan.protocol, BLEU)))


def signatures(plan: Plan, runs: Sequence[RecordedRun], protocol: str) -> tuple[str, ...]:
    """Of a protocol's scores on the split that the plan scores."""
    scores = [run.score(plan.split, protocol) for run in runs]
    return tuple(sorted({score.signature for score in scores if score}))


def outcome_of(task: Task, run: RecordedRun, records: Path | None = None) -> Outcome:
    """The figures of a record by which the rows of its plan are compared."""
    plan, validated = task.plan, run.events("valid")
    perplexity = run.score(plan.split, "perplexity")
    scores, bleu = (
        {beam: score.value for beam in task.beams if (score := run.score(plan.split, name, beam))}
        for name in (plan.protocol, BLEU)
    )
    kept = kept_translations(task, run, records) if records else []
    return Outcome(
        row=task.row.name,
        seed=task.seed,
        finished=run.status == "finished",
        scores=scores,
        loss=validated[-1]["loss"] if validated else None,
        perplexity=perplexity.value if perplexity else None,
        minutes=round(run.cost["process_cpu_seconds"] / 60, 2),
        commit=run.code_version["commit"],
        changed=run.code_version.get("changed", False),
        processor=run.hardware.get("processor", ""),
        right="".join("01"[ours == reference] for ours, reference in kept),
        bleu=bleu,
        curve=tuple((event["step"], event["loss"]) for event in validated),
        different=len({ours for ours, _ in kept}),
        begun_right=sum(ours.split()[:1] == theirs.split()[:1] for ours, theirs in kept),
        empty=count_kept(task, records, lambda words: not words) if records else {},
        loops=count_kept(task, records, repeats) if records else {},
        filled=filled_score(records / task.name) if records else None,
    )


def kept_lines(task: Task, records: Path, beam: int) -> list[str] | None:
    """The translations of a search, one a line; None if they are not kept."""
    kept = records / task.name / f"translations.{task.kept_as(beam)}.txt"
    return read_lines(kept) if kept.exists() else None


def count_kept(task: Task, records: Path, is_so: Callable[[list[str]], bool]) -> dict[int, int]:
    """Of each search whose translations are kept, how many of them are so, by their words."""
    return {
        beam: sum(is_so(line.split()) for line in lines)
        for beam in task.beams
        if (lines := kept_lines(task, records, beam)) is not None
    }


def kept_translations(task: Task, run: RecordedRun, records: Path) -> list[tuple[str, str]]:
    """The kept translations of the compared search, each with its reference.

    Empty where none are kept, where the plan compares by another score than exact match, and where
    the references are not generated here.
    """
    plan, ours = task.plan, kept_lines(task, records, task.plan.beam)
    if plan.protocol != "exact-match" or ours is None or (corpus := corpus_of(run)) is None:
        return []
    return list(zip(ours, corpus[plan.split].target, strict=True))
