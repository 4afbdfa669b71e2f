"""What empty translations cost: a search's output with another's lines in place of the empty ones.

A record may hold `filled.json`, the score of such an output, made from two files of translations
that lie beside it. It says of a loss whether the empty lines are the loss.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from annotated_transformer.data import ParallelCorpus
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.scoring import score_corpus, without_versions
from annotated_transformer.evidence.ledger.recorded_runs import ADVICE, RecordedRun
from annotated_transformer.evidence.ledger.rescoring import corpus_of, read_lines
from annotated_transformer.training.run_files import read_object

FILLED = "filled.json"


def filled(ours: Sequence[str], others: Sequence[str]) -> list[str]:
    """Translations, each that has no word replaced by the one in the same line of the others."""
    return [line if line.split() else other for line, other in zip(ours, others, strict=True)]


def filled_score(folder: Path) -> float | None:
    """The score that a record's `filled.json` states; None if it has none."""
    file = folder / FILLED
    return read_filled(file)["value"] if file.exists() else None


def read_filled(file: Path) -> dict[str, Any]:
    """The contents of `filled.json`. Raises WorkError if it is damaged."""
    kinds = dict.fromkeys(("split", "translations", "empty_from", "protocol", "signature"), str)
    return read_object(file, ADVICE, {**kinds, "value": float})


def score_filled(folder: Path, said: dict[str, Any], corpus: ParallelCorpus) -> dict[str, Any]:
    """What `filled.json` should hold.

    Args:
        folder: the record's.
        said: the file's contents, of which these are read: `split`; `translations` and
            `empty_from`, names of files beside it; `protocol`.
        corpus: with the references.

    Raises:
        CallError: if a file is missing, or they have not one line a reference.
        WorkError: if a file is not UTF-8.
    """
    try:
        ours, others = (read_lines(folder / said[name]) for name in ("translations", "empty_from"))
        lines = filled(ours, others)
    except ValueError as error:
        raise CallError(f"{FILLED} names two files of as many lines: {error}.") from error
    references = corpus[said["split"]].target
    [score] = score_corpus(lines, references, [said["protocol"]], corpus.target_language)
    return {**said, "value": round(score.value, 2), "signature": score.signature}


def problems_of_filled(run: RecordedRun, folder: Path, corpora: Path | None = None) -> list[str]:
    """What the translations do not give again, a sentence each; as `problems_of_scores`."""
    if not (folder / FILLED).exists() or (corpus := corpus_of(run, corpora)) is None:
        return []
    said = read_filled(folder / FILLED)
    where = f"results/{run.name}: {FILLED}"
    try:
        again = score_filled(folder, said, corpus)
    except CallError as error:
        return [f"{where} cannot be computed again: {error}"]
    problems = []
    if said["value"] != again["value"]:
        problems.append(
            f"{where} says {said['value']}, and its translations give {again['value']}."
        )
    if without_versions(said["signature"]) != without_versions(again["signature"]):
        problems.append(f"{where} has not the signature {again['signature']!r}.")
    return problems
