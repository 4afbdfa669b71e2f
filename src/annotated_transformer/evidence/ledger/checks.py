"""`annotated-transformer ledger check`: everything that must hold for the ledger to be believed."""

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.scoring import BLEU_PROTOCOLS
from annotated_transformer.evidence.ablation.plan import PROGRAM, Plan, load_plan, plan_names
from annotated_transformer.evidence.ablation.study import Study
from annotated_transformer.evidence.ledger import speed_page
from annotated_transformer.evidence.ledger.cells import NOTEBOOKS, LedgerCell, find_ledger_cells
from annotated_transformer.evidence.ledger.facts import load_facts
from annotated_transformer.evidence.ledger.filled import problems_of_filled
from annotated_transformer.evidence.ledger.ledger_page import make_ledger_page
from annotated_transformer.evidence.ledger.outcomes import study_of
from annotated_transformer.evidence.ledger.recipes import by_recipe, of_all_seeds
from annotated_transformer.evidence.ledger.recorded_runs import (
    RESULTS,
    ReadCommand,
    RecordedRun,
    load_run_record,
    load_run_records,
    problems_of_run,
)
from annotated_transformer.evidence.ledger.rescoring import (
    TRANSLATIONS,
    is_at_hand,
    problems_of_scores,
)
from annotated_transformer.evidence.ledger.rows import Row, Treatment
from annotated_transformer.evidence.ledger.rows_experiments import CONSEQUENCES, SECTIONS, all_rows
from annotated_transformer.evidence.ledger.run_page import PAGES, make_run_page
from annotated_transformer.evidence.ledger.study_page import (
    make_study_page,
    problems_of_study,
    study_page,
)

ABLATIONS = "ablations"  # in results/: one folder a plan, in it one a run


@dataclass(frozen=True)
class Repository:
    """Where the ledger's parts are: the root of a clone."""

    root: Path

    @property
    def results(self) -> Path:
        return self.root / RESULTS

    @property
    def ablations(self) -> Path:
        return self.results / ABLATIONS

    @property
    def notebooks(self) -> Path:
        return self.root / NOTEBOOKS

    @property
    def book(self) -> Path:
        return self.root / "book"

    @property
    def outcomes(self) -> Path:
        return self.root / "src" / "annotated_transformer" / "evidence" / "ablation" / "outcomes"


def find_repository(start: Path | None = None) -> Repository:
    """The clone that holds `start` (the current folder by default).

    Raises:
        CallError: if there is none: the pages are part of the repository, not of the package.
    """
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if (folder / "book").is_dir() and (folder / "pyproject.toml").is_file():
            return Repository(folder)
    raise CallError(
        f"{start} is not in a clone of the repository (no folder above it has book/ and "
        "pyproject.toml): the ledger's pages are built there."
    )


def make_outcomes(repository: Repository) -> dict[Path, str]:
    """The figures of studies that the package carries: path to text.

    The ledger reads them from there, so they are to be written before its page is made.
    """
    return {
        repository.outcomes / f"{study.plan.name}.json": study.as_json()
        for study in studies_of(repository)
    }


def make_pages(repository: Repository) -> dict[Path, str]:
    """The generated pages: path to text."""
    runs = load_run_records(repository.results)
    cells = find_ledger_cells(repository.notebooks)
    return {
        repository.book / "ledger.md": make_ledger_page(SECTIONS, CONSEQUENCES, cells, runs),
        **{repository.book / f"{page.name}.md": make_run_page(runs, page) for page in PAGES},
        repository.book / f"{speed_page.NAME}.md": speed_page.make_speed_page(runs),
        **{
            repository.book / f"{study_page(study.plan)}.md": make_study_page(study)
            for study in studies_of(repository)
        },
    }


def studies_of(repository: Repository) -> list[Study]:
    """Every plan with what its recorded runs gave."""
    return [
        study_of(plan, of_plan, repository.ablations / plan.name)
        for plan, of_plan in load_studies(repository)
    ]


def load_studies(repository: Repository) -> list[tuple[Plan, list[RecordedRun]]]:
    """Every plan with the runs of it that are recorded."""
    plans = map(load_plan, plan_names())
    return [(plan, load_run_records(repository.ablations / plan.name)) for plan in plans]


def check_repository(
    repository: Repository,
    read: ReadCommand,
    corpora: Path | None = None,
) -> list[str]:
    """Everything that is wrong, a sentence each; an empty list if nothing is.

    Args:
        read: a command line, as the program does.
        corpora: a folder of real corpora, one folder each; the recorded translations of those
            that are there are scored again. Those of the grammar always are.

    Raises:
        CallError: if none of them is there.
    """
    runs = load_run_records(repository.results)
    named = sorted({run.data["name"] for run in runs if not is_at_hand(run)})
    if corpora is not None and named and not any((corpora / name).is_dir() for name in named):
        raise CallError(
            f"--data-dir {corpora} holds no folder {' or '.join(named)}: name the folder that they "
            "lie in."
        )
    cells = find_ledger_cells(repository.notebooks)
    rows = all_rows()
    problems = problems_of_rows(rows, load_facts())
    problems += problems_of_findings(rows)
    problems += problems_of_cells(rows, cells, load_facts())
    problems += problems_of_tests(rows, repository.root)
    for run in runs:
        problems += problems_of_run(run, read)
        problems += problems_of_scores(run, repository.results / run.name, corpora)
    for plan, study in load_studies(repository):
        problems += problems_of_study(plan, study)
        for run in study:
            where = f"results/{ABLATIONS}/{plan.name}/{run.name}"
            problems += problems_of_run(run, read, where)
            folder = repository.ablations / plan.name / run.name
            problems += problems_of_scores(run, folder, corpora)
            problems += problems_of_filled(run, folder, corpora)
    problems += problems_of_scores_in_prose(repository, runs)
    if not problems:  # a page made from wrong data would only repeat the message
        problems += problems_of_pages(make_outcomes(repository) | make_pages(repository))
    return problems


def scored_again(repository: Repository, corpora: Path | None = None) -> str:
    """How many records were scored again, and why the others were not."""
    folders = [path.parent for path in repository.results.rglob("run.json")]
    keeping = [load_run_record(folder) for folder in folders if any(folder.glob(TRANSLATIONS))]
    missing = Counter(run.data["name"] for run in keeping if not is_at_hand(run, corpora))
    others = ", ".join(f"{number} on {name}" for name, number in sorted(missing.items()))
    return (
        f"Of {len(folders)} records {len(keeping) - missing.total()} were scored again"
        + (f", {others} not for want of the corpus (--data-dir)" if others else "")
        + f"; {len(folders) - len(keeping)} keep no translations."
    )


def problems_of_rows(rows: Sequence[Row], facts: Collection[str]) -> list[str]:
    """Every fact has exactly one row, and every row names facts that exist."""
    counts = Counter(fact for row in rows for fact in row.facts)
    problems = [
        f"The fact {fact} of the paper has no row: add one to rows_model.py or rows_experiments.py."
        for fact in facts
        if fact not in counts
    ]
    problems += [f"A row names {fact}, which is no fact." for fact in counts if fact not in facts]
    problems += [f"{fact} stands in {n} rows: keep one." for fact, n in counts.items() if n > 1]
    for row in rows:
        name = row.facts[0] if row.facts else "a row without facts"
        if row.treatment is Treatment.NOT_DONE and not (row.missing and row.reason):
            problems.append(f"{name} is not done and does not say what it would take, or why.")
        if row.treatment is not Treatment.NOT_DONE and row.reason:
            problems.append(f"{name} is done and has a reason why it is not.")
        if row.treatment is not Treatment.NOT_DONE and not (row.ours or row.chapter):
            problems.append(
                f"{name} is said to be {row.treatment.value}, and neither a function nor a chapter "
                "gives our figure."
            )
    return problems


def problems_of_findings(rows: Iterable[Row]) -> list[str]:
    """Where our figure differs from the paper's, the row says why."""
    problems = []
    for row in rows:
        if row.ours is not None:
            finding = row.ours()
            if not finding.agrees and not row.because:
                problems.append(
                    f"{row.facts[0]}: ours ({finding.text}) differs from the paper and the row "
                    "does not say why."
                )
    return problems


def problems_of_cells(
    rows: Sequence[Row], cells: Sequence[LedgerCell], facts: Collection[str]
) -> list[str]:
    """Cells name facts that exist and assert something; chapters that rows name have such cells."""
    problems = []
    for cell in cells:
        problems += [
            f"{cell.place} settles {fact!r}, which is no fact of the ledger."
            for fact in cell.facts
            if fact not in facts
        ]
        if not cell.asserts:
            problems.append(
                f"{cell.place} settles {', '.join(cell.facts)} without an assert: what it prints "
                "could be false and nobody would see."
            )
    for row in rows:
        if row.chapter and not any(
            cell.notebook == row.chapter and set(cell.facts) & set(row.facts) for cell in cells
        ):
            problems.append(
                f"{row.facts[0]}: notebooks/{row.chapter}.ipynb has no cell whose metadata names "
                "this fact as its ledger."
            )
    return problems


def problems_of_tests(rows: Iterable[Row], root: Path) -> list[str]:
    """The tests that rows refer to exist."""
    problems = []
    for row in rows:
        if not row.test:
            continue
        name, _, function = row.test.partition("::")
        path = root / name
        if not path.is_file():
            problems.append(f"{row.facts[0]} refers to {name}, which does not exist.")
        elif function and function not in _functions(path):
            problems.append(f"{row.facts[0]} refers to {row.test}, which does not exist.")
    return problems


def _functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def problems_of_pages(pages: dict[Path, str]) -> list[str]:
    """The committed pages say what the data say now."""
    problems = []
    for path, text in pages.items():
        if not path.exists():
            problems.append(f"{path} is missing: run `{PROGRAM} ledger build`.")
        elif path.read_text("utf-8") != text:
            problems.append(f"{path} is out of date: run `{PROGRAM} ledger build`.")
    return problems


# "41.0 BLEU", "BLEU of 41.0", "BLEU **37.4**"
SCORE = re.compile(
    r"(\d{1,2}\.\d{1,2})\W{0,4} BLEU|BLEU(?: of| score of|:)?\W{1,4}(\d{1,2}\.\d{1,2})"
)


def problems_of_scores_in_prose(repository: Repository, runs: Sequence[RecordedRun]) -> list[str]:
    """A BLEU score written in a page is the paper's, a recorded run's or the mean of its seeds."""
    known = [
        value
        for group in by_recipe(runs)
        for run in group
        for one in run.scores
        if one.protocol in BLEU_PROTOCOLS
        for value in (one.value, mean(like.value for like in of_all_seeds(group, one)))
    ]
    allowed = {f"{value:.{digits}f}" for value in known for digits in (1, 2)}
    for fact in load_facts().values():
        allowed |= set(re.findall(r"\d{1,2}\.\d{1,2}", f"{fact.says} {fact.note}"))
    problems = []
    for path in (repository.root / "README.md", *sorted(repository.book.glob("*.md"))):
        if path.exists():
            problems += unsupported_scores(path.name, path.read_text("utf-8"), allowed)
    return problems


def unsupported_scores(name: str, text: str, allowed: Collection[str]) -> list[str]:
    """The BLEU scores in a text that come from nowhere."""
    found = (match.group(1) or match.group(2) for match in SCORE.finditer(text))
    return [
        f"{name} gives {score} BLEU, which is neither the paper's nor a recorded run's."
        for score in found
        if score not in allowed
    ]


def write_pages(pages: dict[Path, str], say: Callable[[str], None]) -> None:
    """Write the pages that changed."""
    for path, text in pages.items():
        if path.exists() and path.read_text("utf-8") == text:
            say(f"{path} is up to date.")
        else:
            path.write_text(text, "utf-8")
            say(f"{path} written.")
