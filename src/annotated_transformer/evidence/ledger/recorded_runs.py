"""Recorded runs: what a training really gave, kept with everything needed to judge and repeat it.

A record is a folder results/NAME; `results/README.md` describes its files. This module reads and
checks them; `recording.py` makes them.
"""

import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from annotated_transformer.config import MAX_EXTRA
from annotated_transformer.errors import WorkError
from annotated_transformer.evaluation.scoring import (
    BLEU_PROTOCOLS,
    PROTOCOLS,
    TriedSearch,
    other_limit,
)
from annotated_transformer.evidence.ledger import STATUSES
from annotated_transformer.training.run_directory import RunConfig
from annotated_transformer.training.run_files import (
    checked,
    damaged,
    read_list,
    read_metrics,
    read_object,
)

Row = TypeVar("Row")
# A command line to what it begins to train, or None. Raises ValueError if it cannot be read.
ReadCommand = Callable[[str], RunConfig | None]
OF_MACHINE_AND_CORPUS = ("precision", "threads", "vocab_size")  # decided by these if not by option
RESULTS = Path("results")
ADVICE = "Restore it: see results/README.md."


@dataclass(frozen=True)
class RecordedScore:
    """One figure of a run.

    Attributes:
        split: the test set.
        protocol: how the text was prepared and scored: "cased", "lower-tokenised", "chrf",
            "exact-match" or "perplexity".
        value: the figure.
        signature: sacreBLEU's signature, or how the figure is counted.
        beam: the beam size; None for what needs no search.
        alpha: the length penalty; likewise.
        alpha_chosen_on: where alpha was chosen: a split's name, or "the paper".
        max_extra: tokens that a translation could have more than its source; None for what needs
            no search, and in records that do not say: the paper's.
    """

    split: str
    protocol: str
    value: float
    signature: str
    beam: int | None = None
    alpha: float | None = None
    alpha_chosen_on: str = ""
    max_extra: int | None = None

    @property
    def limit(self) -> int:
        """`max_extra`, and the paper's where the record does not say."""
        return MAX_EXTRA if self.max_extra is None else self.max_extra


@dataclass(frozen=True)
class Tuning:
    """The searches between which one was chosen, for the scores of one test set.

    Attributes:
        split: the test set that the chosen search is for.
        beam: the beam size of all of them.
        chosen_on: the split on which they were compared.
        protocol: how they were scored there.
        tried: every length penalty of the grid, with each limit, and its score.
    """

    split: str
    beam: int
    chosen_on: str
    protocol: str
    tried: tuple[TriedSearch, ...]

    @property
    def best(self) -> tuple[TriedSearch, ...]:
        """The search with the highest score; several, if their recorded scores are equal."""
        highest = max(one.score for one in self.tried)
        return tuple(one for one in self.tried if one.score == highest)

    def chose(self, score: RecordedScore) -> bool:
        """Whether a score of this beam is by one of the best: greedily only their limit matters."""
        return any(
            score.limit == one.max_extra and score.alpha in (None, one.alpha) for one in self.best
        )


@dataclass(frozen=True)
class Example:
    """One translation of ours with its source, and what is wrong with it, in words."""

    line: int
    source: str
    ours: str
    note: str = ""


@dataclass(frozen=True)
class RecordedRun:
    """One folder of results/; the fields are run.json's, with the other files beside them.

    Attributes:
        name: the folder's name.
        title: for a reader.
        status: "finished", "interrupted" or "failed". Failures are kept.
        command: the command that made it, as it was typed.
        configuration: config.json of the run: model, training.
        seeds: every seed by what it fixes.
        data: the corpus: name, files with their SHA-256 and numbers of lines.
        code_version: commit, and whether files were changed on top of it.
        hardware: processor, cores, memory.
        software: versions by name.
        cost: process_cpu_seconds, wall_seconds, steps, parameters.
        what_went_badly: sentences.
        metrics: the curve, one dictionary a line of metrics.jsonl.
        scores: from scores.json.
        examples: from examples.json, a handful.
        examples_chosen: how they were chosen.
        evaluation_commands: the commands that gave the scores.
        settings_chosen: how the settings were chosen, for beside the scores; "" if nothing is said.
        tuning: from tuning.json, how each length penalty was chosen. Older records lack it.
    """

    name: str
    title: str
    status: str
    command: str
    configuration: dict[str, Any]
    seeds: dict[str, int]
    data: dict[str, Any]
    code_version: dict[str, Any]
    hardware: dict[str, Any]
    software: dict[str, str]
    cost: dict[str, float]
    what_went_badly: list[str]
    evaluation_commands: list[str]
    settings_chosen: str = ""
    metrics: tuple[dict[str, Any], ...] = ()
    scores: tuple[RecordedScore, ...] = ()
    examples: tuple[Example, ...] = ()
    examples_chosen: str = ""
    tuning: tuple[Tuning, ...] = ()

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The lines of the curve of one kind: "train" or "valid"."""
        return [line for line in self.metrics if line.get("event") == kind]

    def score(self, split: str, protocol: str, beam: int | None = None) -> RecordedScore | None:
        """The figure of one test set and protocol: by the search that was chosen, else the first.

        With `beam`, that of this search alone.
        """
        found = (
            score
            for score in self.scores
            if (score.split, score.protocol) == (split, protocol) and beam in (None, score.beam)
        )
        chosen = self.chosen_score(split, protocol) if beam is None else None
        return chosen or next(found, None)

    def chosen_score(
        self, split: str, protocol: str, largest_beam: float = math.inf
    ) -> RecordedScore | None:
        """The figure of a test set by the search, of such a beam, that was best on valid.

        None if nothing says how a search was chosen there, or two equally good ones were scored.
        """
        tunings = [
            one
            for one in self.tuning
            if (one.split, one.chosen_on) == (split, "valid") and one.beam <= largest_beam
        ]
        if not tunings:
            return None
        tuning = max(tunings, key=lambda one: one.best[0].score)
        found = [
            score
            for score in self.scores
            if (score.split, score.protocol, score.beam) == (split, protocol, tuning.beam)
            and tuning.chose(score)
        ]
        return found[0] if len(found) == 1 else None


OPTIONAL_FIELDS = ("settings_chosen",)
KINDS = {  # the fields of run.json
    **dict.fromkeys(("name", "title", "status", "command", "settings_chosen"), str),
    **dict.fromkeys(("configuration", "seeds", "data", "code_version"), dict),
    **dict.fromkeys(("hardware", "software", "cost"), dict),
    **dict.fromkeys(("what_went_badly", "evaluation_commands"), list),
}
WITHIN: dict[str, dict[str, Any]] = {  # what the pages read in some of them
    "configuration": {"model": dict, "training": dict},
    "seeds": {"training": int},
    "data": {"name": str},
}


def load_run_record(folder: Path) -> RecordedRun:
    """Read one record.

    Raises:
        CallError: if there is no run.json.
        WorkError: if a file is damaged, run.json lacks a field, or names another folder.
    """
    path = folder / "run.json"
    values = checked(read_object(path, ADVICE), KINDS, path, ADVICE, OPTIONAL_FIELDS)
    for name, kinds in WITHIN.items():
        checked(values[name], kinds, f"{name} in {path}", ADVICE)
    if unknown := sorted(set(values) - set(KINDS)):
        raise WorkError(f"{path} has unknown fields: {', '.join(unknown)}.")
    if values["name"] != folder.name:
        raise WorkError(f"{path} is the record {values['name']!r}: its folder must have its name.")
    examples: dict[str, Any] = {"chosen": "", "examples": []}
    if (shown := folder / "examples.json").exists():
        examples = read_object(shown, ADVICE, {"chosen": str, "examples": list})
    return RecordedRun(
        **values,
        metrics=tuple(read_metrics(folder / "metrics.jsonl")),
        scores=_rows(RecordedScore, _list_in(folder / "scores.json"), folder / "scores.json"),
        examples=_rows(Example, examples["examples"], shown),
        examples_chosen=examples["chosen"],
        tuning=_tunings(folder / "tuning.json"),
    )


def load_run_records(results: Path = RESULTS) -> list[RecordedRun]:
    """Every record, by name."""
    return [load_run_record(path.parent) for path in sorted(results.glob("*/run.json"))]


def problems_of_run(run: RecordedRun, read: ReadCommand, where: str = "") -> list[str]:
    """What is wrong with a record, a sentence each.

    Args:
        read: a command line, as the program does.
        where: the record's folder for the messages; results/NAME by default.
    """
    where = where or f"results/{run.name}"
    problems = []
    if run.status not in STATUSES:
        problems.append(f"{where}: the status {run.status!r} is none of {', '.join(STATUSES)}.")
    recorded = run.data | run.configuration["model"] | run.configuration["training"]
    for command in (run.command, *run.evaluation_commands):
        try:
            config = read(command)
        except ValueError as error:
            problems.append(f"{where}: the command {command!r} is no longer understood ({error}).")
            continue
        if config is None:
            continue
        asked = config.data | config.model.to_dict() | config.training.to_dict()
        for name in OF_MACHINE_AND_CORPUS:
            if f"--{name.replace('_', '-')}" not in command:
                del asked[name]
        problems += [
            f"{where}: {name} is {recorded[name]!r}, and the command trains with {value!r}."
            for name, value in asked.items()
            if recorded.get(name, value) != value
        ]
    if run.status != "finished" and not run.what_went_badly:
        problems.append(f"{where} is {run.status} and does not say what went badly.")
    if run.status == "finished":
        if not run.metrics:
            problems.append(f"{where} has no curve: metrics.jsonl is missing or empty.")
        if not run.scores:
            problems.append(f"{where} has no scores: scores.json is missing or empty.")
    if not run.code_version.get("commit"):
        problems.append(f"{where}: code_version does not name the commit.")
    if not _checksums(run.data):
        problems.append(f"{where}: data names no file with its sha256 and no seed of its making.")
    for key in ("process_cpu_seconds", "wall_seconds"):
        if run.status == "finished" and not run.cost.get(key):
            problems.append(f"{where}: cost does not say {key}.")
    problems += [problem for score in run.scores for problem in _score_problems(where, score)]
    problems += [problem for tuning in run.tuning for problem in _tuning_problems(run, tuning)]
    return problems


def _tuning_problems(run: RecordedRun, tuning: Tuning) -> list[str]:
    name = f"results/{run.name}: the length penalty for {tuning.split}, beam {tuning.beam},"
    used = [
        score for score in run.scores if (score.split, score.beam) == (tuning.split, tuning.beam)
    ]
    if not used:
        return [f"{name} was chosen for scores that are not in scores.json."]
    best = _in_words(tuning.best[0].alpha, tuning.best[0].max_extra)
    others = [_in_words(one.alpha, one.limit) for one in used if not tuning.chose(one)]
    return [
        f"{name} is {other}, but {best} scored best on {tuning.chosen_on}."
        for other in dict.fromkeys(others)
    ]


def _in_words(alpha: float | None, max_extra: int) -> str:
    """ "1.6", "1.6, at most source + 10 tokens", "greedy"."""
    return ("greedy" if alpha is None else str(alpha)) + other_limit(max_extra)


def _score_problems(where: str, score: RecordedScore) -> list[str]:
    name = f"{where}: the {score.protocol} score of {score.split}"
    problems = []
    if score.protocol not in (*PROTOCOLS, "perplexity"):
        problems.append(f"{name}: there is no such protocol.")
    if not score.signature:
        problems.append(f"{name} has no signature.")
    if score.protocol in BLEU_PROTOCOLS and "version:" not in score.signature:
        problems.append(f"{name}: its signature {score.signature!r} is not sacreBLEU's.")
    if score.protocol in PROTOCOLS:
        if score.beam is None:
            problems.append(f"{name} does not say with which beam.")
        elif score.beam > 1 and not score.alpha_chosen_on:
            problems.append(f"{name} does not say where its length penalty was chosen.")
    if score.alpha_chosen_on == score.split:
        problems.append(f"{name}: its length penalty was chosen on the test set itself.")
    return problems


def _checksums(data: dict[str, Any]) -> bool:
    """Whether `data` holds a checksum, at any depth, or the seed of a generated corpus."""
    if any(key in data for key in ("sha256", "seed")):
        return True
    return any(_checksums(value) for value in data.values() if isinstance(value, dict))


def _list_in(path: Path) -> list[Any]:
    """The entries of a file that not every record has."""
    return read_list(path, ADVICE) if path.exists() else []


def _row(kind: type[Row], entry: Any, path: Path, **made: Any) -> Row:
    """An entry of a file as what it describes.

    Args:
        made: fields that are no plain data any more.

    Raises:
        WorkError: if one is missing, unknown or of another type.
    """
    known = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
    kinds = {name: hint for name, hint in get_type_hints(kind).items() if name not in made}
    may_lack = [name for name, default in known.items() if default is not MISSING]
    checked(entry, kinds, path, ADVICE, may_lack)
    if unknown := sorted(set(entry) - set(known)):
        raise damaged(path, f"there is no field {', '.join(unknown)}", ADVICE)
    return kind(**{**entry, **made})


def _rows(kind: type[Row], entries: list[Any], path: Path) -> tuple[Row, ...]:
    return tuple(_row(kind, entry, path) for entry in entries)


def _tunings(path: Path) -> tuple[Tuning, ...]:
    """What tuning.json says, each with at least one search that was tried."""
    tunings = []
    for entry in _list_in(path):
        tried = checked(entry, {"tried": list}, path, ADVICE)["tried"]
        if not tried:
            raise damaged(path, "tried is empty, and nothing is chosen among none", ADVICE)
        tunings.append(_row(Tuning, entry, path, tried=_rows(TriedSearch, tried, path)))
    return tuple(tunings)
