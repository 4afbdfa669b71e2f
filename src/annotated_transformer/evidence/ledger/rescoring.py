"""Scoring recorded translations again: a figure that was changed by hand does not pass."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from annotated_transformer.data import ParallelCorpus, load_corpus
from annotated_transformer.data.grammar import generate_corpus
from annotated_transformer.data.text_file import raw_lines
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.evaluation.scoring import PROTOCOLS, score_corpus, without_versions
from annotated_transformer.evidence.ledger.recorded_runs import ADVICE, RecordedRun
from annotated_transformer.training.run_files import damaged

TRANSLATIONS = "translations.*.txt"  # in a record's folder


def problems_of_scores(run: RecordedRun, folder: Path, corpora: Path | None = None) -> list[str]:
    """What the recorded translations do not give again, a sentence each.

    Only scores whose translations lie in the record's folder can be checked, and only where the
    references are: those of the grammar are generated here, those of other corpora read.

    Args:
        folder: the record's, results/NAME.
        corpora: a folder of real corpora, one folder each (multi30k, ...).
    """
    kept = sorted(folder.glob(TRANSLATIONS))
    if not kept or (corpus := corpus_of(run, corpora)) is None:
        return []
    return [problem for path in kept for problem in _problems_of_split(run, path, corpus)]


def corpus_of(run: RecordedRun, corpora: Path | None = None) -> ParallelCorpus | None:
    """The corpus that a run was scored on; None if it is not at hand.

    Raises:
        WorkError: if the corpus at hand is not the record's.
    """
    name, origin = run.data["name"], run.data.get("origin", {})
    if name == "grammar":
        sizes = {split: origin[split] for split in ("valid", "test") if split in origin}
        # The test pairs do not depend on how many training pairs are drawn after them.
        return _generated(origin.get("seed", 0), tuple(sizes.items()))
    if corpora is None or not is_at_hand(run, corpora):
        return None
    corpus = load_corpus(
        name, data_dir=corpora / name, source=run.data["source"], target=run.data["target"]
    )
    theirs, ours = origin.get("files", {}), corpus.origin.get("files", {})
    for file in sorted(theirs.keys() & ours.keys()):
        if theirs[file]["sha256"] != ours[file]["sha256"]:
            raise WorkError(f"{corpora / name / file} is not the file that results/{run.name} saw.")
    return corpus


def is_at_hand(run: RecordedRun, corpora: Path | None = None) -> bool:
    """Whether there is a corpus to score a record's translations on."""
    name = run.data["name"]
    return name == "grammar" or (corpora is not None and (corpora / name).is_dir())


@cache
def _generated(seed: int, sizes: tuple[tuple[str, int], ...]) -> ParallelCorpus:
    """The runs of a study share one corpus."""
    return generate_corpus(seed, train=1, **dict(sizes))


def _problems_of_split(run: RecordedRun, path: Path, corpus: ParallelCorpus) -> Iterator[str]:
    name = path.name.removeprefix("translations.").removesuffix(".txt")
    split, _, search = name.partition(".")  # "valid", or "valid.beam4" where the search is named
    where = f"results/{run.name}: {name}"
    recorded = [
        score
        for score in run.scores
        if score.split == split and search in ("", f"beam{score.beam}")
    ]
    protocols = [p for p in PROTOCOLS if any(score.protocol == p for score in recorded)]
    if not protocols:
        yield f"{where} has translations and no score."
        return
    ours = read_lines(path)
    try:
        again = score_corpus(ours, corpus[split].target, protocols, corpus.target_language)
    except CallError as error:
        yield f"{where} cannot be scored again: {error}"
        return
    for score in again:
        # A file that names no search is that of the chosen one, or, if none was, of any.
        chosen = None if search else run.chosen_score(split, score.name)
        its = [chosen] if chosen else [one for one in recorded if one.protocol == score.name]
        values = {one.value: one.signature for one in its}
        value = round(score.value, 2)
        if value not in values:
            said = " and ".join(f"{one:.2f}" for one in values)
            yield f"{where}: its {score.name} score is {said}, and its translations give {value}."
        elif without_versions(values[value]) != without_versions(score.signature):
            yield f"{where}: its {score.name} score has not the signature {score.signature!r}."


def read_lines(path: Path) -> list[str]:
    """The lines of a file, empty ones too, as those of a corpus: a line feed alone ends one.

    Raises:
        CallError: if it is not there.
        WorkError: if it cannot be read, or is not UTF-8.
    """
    if not path.exists():
        raise CallError(f"there is no file {path}: name one of translations, one a line.")
    lines = [raw.removesuffix(b"\n").removesuffix(b"\r") for raw in raw_lines(path)]
    try:
        return [line.decode("utf-8") for line in lines]
    except UnicodeDecodeError as error:
        raise damaged(path, "it is not UTF-8", ADVICE) from error
