"""Making a record (results/NAME) out of a run directory and what `evaluate` printed."""

import json
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PureWindowsPath  # whose names also end at a slash
from typing import Any, get_type_hints

import torch

from annotated_transformer.after.build import build_transformer
from annotated_transformer.after.config import config_from_dict
from annotated_transformer.config import ALPHA, MAX_EXTRA
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.evaluation.scoring import Score, TriedSearch
from annotated_transformer.evidence.ledger.machine import code_version, hardware, software
from annotated_transformer.evidence.ledger.recorded_runs import (
    Example,
    ReadCommand,
    RecordedRun,
    RecordedScore,
    Tuning,
    load_run_record,
    problems_of_run,
)
from annotated_transformer.evidence.ledger.rescoring import read_lines
from annotated_transformer.training.run_directory import RunDirectory
from annotated_transformer.training.run_files import checked, read_object

TUNING_PROTOCOL = "lower-tokenised"  # by which `evaluate --alpha-from` compares alphas
ADVICE = "Give the folder or file of a real run."
NO_REPORT = "It is not what `evaluate --format json` prints of a run: give that."
REPORT = {  # what a record needs of it
    "run_dir": str | None,
    "split": str,
    "scores": list,
    "beam": int | None,
    "alpha": float | None,
    "alpha_chosen_on": str | None,
    "max_extra": int | None,
    "tuning": list | None,
    "perplexity": float,
}
EXAMPLES = 6  # few: the corpora may not be handed on, and a handful of sentences is enough to see


@dataclass(frozen=True)
class Request:
    """What `annotated-transformer ledger record` was asked.

    Attributes:
        run_dir: the training's folder.
        folder: where the record goes, results/NAME.
        title: for a reader.
        command: the training command, without paths of one machine.
        score_files: what `evaluate --format json` printed, one file a call.
        evaluation_commands: the commands that printed them.
        alpha_chosen_on: where the length penalty was chosen, if the score files do not say.
        translations: our translations, one a line, by split ("valid"), or by split and search
            ("valid.beam4") where the record has others of the split.
        sources: the source text by split, to show a handful of sentences.
        status: how the run ended.
        badly: sentences about what went badly.
        settings_chosen: how the settings were chosen, and what was known of the scores then.
        commit: the commit that trained it, where it is not the one checked out now.
        code: what `code_version` gave when the training began, where that was written down.
    """

    run_dir: Path
    folder: Path
    title: str
    command: str
    score_files: Sequence[Path] = ()
    evaluation_commands: Sequence[str] = ()
    alpha_chosen_on: str = ""
    translations: dict[str, Path] = field(default_factory=dict)
    sources: dict[str, Path] = field(default_factory=dict)
    status: str = "finished"
    badly: Sequence[str] = ()
    settings_chosen: str = ""
    commit: str = ""
    code: dict[str, Any] | None = None


def record_run(request: Request, read: ReadCommand) -> RecordedRun:
    """Write the record, check it, and return it. Nothing is left behind if it is not sound.

    Raises:
        CallError: if the record exists, the run directory or the command is not usable, or the
            scores are another run's.
        WorkError: if a file is damaged, or what was made fails the checks of `problems_of_run`.
    """
    if request.folder.exists():
        raise CallError(
            f"{request.folder} exists and a record is never overwritten: choose another --name."
        )
    for command in (request.command, *request.evaluation_commands):
        refuse_absolute_paths(command)
    configuration = read_object(request.run_dir / "config.json", ADVICE)
    metrics = request.run_dir / "metrics.jsonl"
    if not metrics.exists():
        raise CallError(f"{metrics} is missing: a record needs the curve of the run.")
    request.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=request.folder.parent, prefix=".partial-") as made:
        folder = Path(made) / request.folder.name
        folder.mkdir()
        shutil.copyfile(metrics, folder / "metrics.jsonl")
        _write(folder / "run.json", _describe(request, configuration))
        reports = [read_report(file, request) for file in request.score_files]
        scores = [one for report in reports for one in scores_of(report, request.alpha_chosen_on)]
        once = dict.fromkeys(scores)  # several searches of one model share its perplexity
        _write(folder / "scores.json", [asdict(score) for score in once])
        if tuning := [asdict(one) for one in map(tuning_of, reports) if one is not None]:
            _write(folder / "tuning.json", tuning)
        _write_translations(request, folder)
        run = load_run_record(folder)
        if problems := problems_of_run(run, read):
            raise WorkError("The record is not sound and was not kept. " + " ".join(problems))
        folder.rename(request.folder)  # whole or not at all
    return run


def refuse_absolute_paths(command: str) -> None:
    """A recorded command must mean the same on another machine.

    Raises:
        CallError: if a word of it is an absolute path, or a quotation mark is not closed.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise CallError(f"The command {command!r} cannot be read: {error}.") from error
    for word in words:
        if Path(word.split("=")[-1]).is_absolute():
            raise CallError(
                f"The command holds {word!r}, a path of this machine: write it relative to the "
                "repository, so that a reader can repeat it."
            )


def _describe(request: Request, configuration: dict[str, Any]) -> dict[str, Any]:
    """The contents of run.json."""
    lines = RunDirectory(request.run_dir).read_metrics()
    last = lines[-1] if lines else {}
    training = configuration.get("training", {})
    return {
        "name": request.folder.name,
        "title": request.title,
        "status": request.status,
        "command": request.command,
        "evaluation_commands": list(request.evaluation_commands),
        "configuration": {
            "model": configuration.get("model", {}),
            "training": training,
        },
        "seeds": {"training": training.get("seed", 0)},
        "data": without_local_paths(configuration.get("data", {})),
        "code_version": request.code or code_version(request.commit),
        "hardware": hardware(),
        "software": software(),
        "cost": {
            "process_cpu_seconds": last.get("cpu_seconds", 0.0),
            "wall_seconds": last.get("wall_seconds", 0.0),
            "steps": last.get("step", 0),
            "parameters": count_parameters(configuration.get("model", {})),
        },
        "what_went_badly": list(request.badly),
        "settings_chosen": request.settings_chosen,
    }


def count_parameters(model: dict[str, Any]) -> int:
    """Parameters of the model that config.json describes."""
    with torch.device("meta"):
        return build_transformer(config_from_dict(model)).num_parameters()


def without_local_paths(values: Any) -> Any:
    """A copy of plain data in which no string is an absolute path of this machine."""
    if isinstance(values, dict):
        return {
            key: without_local_paths(value)
            for key, value in values.items()
            if not (isinstance(value, str) and Path(value).is_absolute())
        }
    if isinstance(values, list):
        return [without_local_paths(value) for value in values]
    return values


def read_report(file: Path, request: Request) -> dict[str, Any]:
    """What `evaluate --format json` printed of the run that is recorded.

    Raises:
        CallError: if it is not there, or scores something else.
        WorkError: if it lacks what a record needs.
    """
    report = read_object(file, NO_REPORT, REPORT, may_lack=set(REPORT) - {"split", "scores"})
    for score in report["scores"]:
        checked(score, get_type_hints(Score), f"a score in {file}", NO_REPORT)
    if tried := report.get("tuning"):
        checked(report, {"beam": int, "alpha_chosen_on": str}, file, NO_REPORT)
        for one in tried:
            kinds = get_type_hints(TriedSearch)
            checked(one, kinds, f"a search in {file}", NO_REPORT, may_lack=("max_extra",))
    if report.get("run_dir", "") is None:
        raise CallError(
            f"{file} scores a file of translations (--hypotheses), which any model may have "
            "written: give what `evaluate --run-dir` prints of the run that is recorded."
        )
    names = {request.run_dir.name, request.run_dir.resolve().name, ".", ""}
    if (scored := report.get("run_dir")) and PureWindowsPath(scored).name not in names:
        raise CallError(
            f"{file} has the scores of {scored}, and {request.run_dir} is recorded: give its own."
        )
    return report


def scores_of(report: dict[str, Any], alpha_chosen_on: str) -> list[RecordedScore]:
    """The figures of a report, and the perplexity if it has one.

    Args:
        alpha_chosen_on: where the search was chosen, if the report does not say; else "".
    """
    split, beam, alpha = report["split"], report.get("beam"), report.get("alpha")
    chosen = alpha_chosen_on or report.get("alpha_chosen_on") or ""
    extra = report.get("max_extra")
    if not chosen and alpha == ALPHA and extra in (None, MAX_EXTRA):
        chosen = "the paper"
    if not beam or beam == 1:
        alpha, chosen = None, ""
    scores = [
        RecordedScore(
            split,
            entry["name"],
            round(entry["value"], 2),
            entry["signature"],
            beam,
            alpha,
            chosen,
            extra,
        )
        for entry in report["scores"]
    ]
    if "perplexity" in report:
        signature = "per token of the model's own vocabulary, from the unsmoothed likelihood"
        scores.append(RecordedScore(split, "perplexity", round(report["perplexity"], 2), signature))
    return scores


def tuning_of(report: dict[str, Any]) -> Tuning | None:
    """The searches between which the report's was chosen; None if it was given."""
    if not report.get("tuning"):
        return None
    tried = tuple(
        TriedSearch(one["alpha"], round(one["score"], 2), one.get("max_extra", MAX_EXTRA))
        for one in report["tuning"]
    )
    return Tuning(
        report["split"], report["beam"], report["alpha_chosen_on"], TUNING_PROTOCOL, tried
    )


def choose_lines(count: int, wanted: int = EXAMPLES) -> list[int]:
    """Lines spread evenly over a file, counted from 1: nobody picks the flattering ones."""
    wanted = min(count, wanted)
    return [1 + index * count // wanted for index in range(wanted)]


def _write_translations(request: Request, folder: Path) -> None:
    examples: list[Example] = []
    for split, path in request.translations.items():
        ours = read_lines(path)
        target = folder / f"translations.{split}.txt"
        target.write_text("\n".join(ours) + "\n", "utf-8")
        if split in request.sources and not examples:
            sources = read_lines(request.sources[split])
            if len(sources) != len(ours):
                raise CallError(
                    f"{request.sources[split]} has {len(sources)} lines and {path} has "
                    f"{len(ours)}: line n of one must be the source of line n of the other."
                )
            examples = [Example(n, sources[n - 1], ours[n - 1]) for n in choose_lines(len(ours))]
            chosen = f"{len(examples)} lines of {split}, evenly spaced, chosen before reading them"
    if examples:
        values = {"chosen": chosen, "examples": [asdict(example) for example in examples]}
        _write(folder / "examples.json", values)


def _write(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", "utf-8")
