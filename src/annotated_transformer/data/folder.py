"""Read a folder of plain UTF-8 parallel text: `train.en train.de valid.en valid.de ...`.

A file `SPLIT.LANGUAGE` holds one sentence a line; line n of both languages is one pair. The split
`valid` may also be called `val` or `dev`; every other name is kept (test, test_2016_flickr, ...).
Each file may be gzipped (`train.en.gz`).
"""

import logging
import os
from pathlib import Path

from annotated_transformer.data.corpus import ParallelCorpus, Split
from annotated_transformer.data.text_file import StoredSentences, TextFile, inspect
from annotated_transformer.errors import CallError, WorkError

logger = logging.getLogger(__name__)

VALIDATION_NAMES = ("valid", "val", "dev")
FIRST_SPLITS: tuple[str, ...] = ("train", "valid", "test")
# Text of more bytes than this stays on the disk: as strings and lists of ids it would take about
# forty times its size in memory.
HELD_BYTES = 16_000_000


def find_splits(directory: Path, source: str, target: str) -> dict[str, tuple[Path, Path]]:
    """The pairs of files in a folder: split name -> (source file, target file), train first.

    Raises:
        CallError: no such folder, no pair of files in these languages, a file whose other language
            is missing, or two files that are both the validation split.
    """
    if not directory.is_dir():
        raise CallError(
            f"{directory} is not a folder; expected one that holds train.{source}, train.{target} "
            f"and so on"
        )
    if source == target:
        raise CallError(f"source and target are both {source!r}; expected two languages")
    found: dict[str, dict[str, Path]] = {}
    for path in text_files(directory):
        stem, _, language = path.name.removesuffix(".gz").rpartition(".")
        if language in (source, target):
            name = "valid" if stem in VALIDATION_NAMES else stem
            files = found.setdefault(name, {})
            if language in files:
                raise CallError(
                    f"{directory} holds {files[language].name} and {path.name}, which are both the "
                    f"validation split; keep one"
                )
            files[language] = path
    if not found:
        raise CallError(
            f"{directory} holds no file SPLIT.{source} or SPLIT.{target} (such as train.{source}); "
            f"it holds {describe(directory)}"
        )
    for name, files in found.items():
        for language in (source, target):
            if language not in files:
                (present,) = files.values()
                stem = present.name.removesuffix(".gz").rpartition(".")[0]
                raise CallError(
                    f"{directory} holds {present.name} and no {stem}.{language}: the split "
                    f"{name} lacks the language {language!r}"
                )
    first = [name for name in FIRST_SPLITS if name in found]
    names = first + [name for name in found if name not in first]
    return {name: (found[name][source], found[name][target]) for name in names}


def text_files(directory: Path) -> list[Path]:
    """The files of a folder by name; of a file and its .gz, as `gunzip -k` leaves them, the file.

    Raises:
        WorkError: the folder cannot be read.
    """
    try:
        paths = sorted(path for path in directory.iterdir() if path.is_file())
    except OSError as error:
        raise WorkError(f"{directory} cannot be read: {error.strerror}") from error
    names = {path.name for path in paths}
    return [path for path in paths if path.name.removesuffix(".gz") not in names - {path.name}]


def describe(directory: Path) -> str:
    """The first few names in a folder, for a message."""
    names = sorted(path.name for path in directory.iterdir() if not path.name.startswith("."))
    if not names:
        return "nothing"
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def pair_lines(
    name: str, source: TextFile, target: TextFile, held_bytes: int = HELD_BYTES
) -> tuple[Split, int]:
    """Two files as one split, and the number of pairs dropped for an empty side.

    Only training drops them: a pair with an empty side teaches nothing. In every other split an
    empty line stays, so that hypotheses stay in step with references; it is translated like any
    other sentence and scored against what stands beside it.

    Args:
        held_bytes: the sentences are held in memory if neither file is larger.

    Raises:
        WorkError: the files have unequal numbers of lines.
    """
    if source.lines != target.lines:
        raise WorkError(
            f"{source.path} has {source.lines} lines and {target.path} has {target.lines}; "
            f"expected as many, since line n of one translates line n of the other"
        )
    empty = {
        number
        for number, pair in enumerate(zip(source, target, strict=True))
        if not (pair[0].strip() and pair[1].strip())
    }
    if len(empty) == source.lines:
        raise WorkError(f"{source.path} and {target.path} hold no pair with text on both sides")
    dropped = empty if name == "train" else set()
    sides = StoredSentences(source, dropped), StoredSentences(target, dropped)
    if max(source.bytes, target.bytes) > held_bytes:
        return Split(*sides), len(dropped)
    return Split(list(sides[0]), list(sides[1])), len(dropped)


def read_folder(
    directory: Path | str,
    source: str = "en",
    target: str = "de",
    name: str = "folder",
    held_bytes: int = HELD_BYTES,
) -> ParallelCorpus:
    """Every split of a folder of parallel text.

    Dropped pairs are reported as a warning and in `origin`.

    Args:
        held_bytes: splits of larger files are read from the disk each time (`StoredSentences`).

    Raises:
        CallError, WorkError: see `find_splits`, `inspect`, `pair_lines`.
    """
    splits: dict[str, Split] = {}
    files: dict[str, dict[str, str | int]] = {}
    dropped = 0
    for split_name, paths in find_splits(Path(directory), source, target).items():
        source_file, target_file = (inspect(path) for path in paths)
        splits[split_name], count = pair_lines(split_name, source_file, target_file, held_bytes)
        dropped += count
        if count:
            logger.warning(
                "%s and %s: %d of %d pairs have an empty side and were left out of training",
                source_file.path.name,
                target_file.path.name,
                count,
                source_file.lines,
            )
        for file in (source_file, target_file):
            text_name = file.path.name.removesuffix(".gz")
            files[text_name] = {"sha256": file.sha256, "lines": file.lines}
    origin = {"files": files, "dropped_pairs": dropped}
    return ParallelCorpus(name, source, target, splits, origin)


def write_folder(corpus: ParallelCorpus, directory: Path | str) -> None:
    """Write every split as `SPLIT.LANGUAGE`, so that `read_folder` gives it back.

    Raises:
        CallError: both languages have one name (the copy task), so that their files would be one;
            or a file is there with other content.
        WorkError: the folder does not take the files.
    """
    languages = (corpus.source_language, corpus.target_language)
    if languages[0] == languages[1]:
        raise CallError(f"the corpus {corpus.name} has one language and cannot be two files")
    directory = Path(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, split in corpus.splits.items():
            for language, lines in zip(languages, (split.source, split.target), strict=True):
                text = "".join(line + "\n" for line in lines)
                put_new(directory / f"{name}.{language}", text.encode("utf-8"))
    except OSError as error:
        raise WorkError(f"{directory} cannot be written: {error.strerror}") from error


def put_new(path: Path, content: bytes) -> None:
    """Write a file in one step, unless it is there with this content.

    Raises:
        CallError: it is there with another.
    """
    if path.exists():
        if path.read_bytes() == content:
            return
        raise CallError(
            f"{path} is there with other content and nothing is overwritten; name another folder, "
            f"or move the file away"
        )
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)
