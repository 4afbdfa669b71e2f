"""Read a folder of plain UTF-8 parallel text: `train.en train.de valid.en valid.de ...`.

A file `SPLIT.LANGUAGE` holds one sentence a line; line n of both languages is one pair. The split
`valid` may also be called `val` or `dev`; every other name is kept (test, test_2016_flickr, ...).
"""

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path

from annotated_transformer.data.corpus import ParallelCorpus, Split
from annotated_transformer.errors import CallError, WorkError

logger = logging.getLogger(__name__)

VALIDATION_NAMES = ("valid", "val", "dev")
FIRST_SPLITS: tuple[str, ...] = ("train", "valid", "test")


@dataclass(frozen=True)
class TextFile:
    """One file of sentences: its lines, and the SHA-256 of its bytes."""

    path: Path
    lines: list[str]
    sha256: str


def read_lines(path: Path) -> TextFile:
    r"""Read one file of sentences.

    Lines end at \n alone: `str.splitlines` would also split at U+2028, U+0085 or a form feed, which
    occur inside sentences of real corpora and would shift every later pair. A \r before the \n
    (Windows) is taken off, and so is a byte order mark.

    Raises:
        WorkError: the file is empty, or is not UTF-8 (with the line and the byte).
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise WorkError(f"{path} cannot be read: {error.strerror}") from error
    if not raw.strip():
        raise WorkError(f"{path} is empty; expected one sentence a line")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise WorkError(
            f"{path} is not UTF-8: byte 0x{raw[error.start]:02x} at offset {error.start}, in line "
            f"{line}; convert the file, for example with iconv -f LATIN1 -t UTF-8"
        ) from error
    lines = text.removesuffix("\n").split("\n")
    return TextFile(
        path, [line.removesuffix("\r") for line in lines], hashlib.sha256(raw).hexdigest()
    )


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
    for path in sorted(directory.iterdir()):
        language = path.suffix.removeprefix(".")
        if path.is_file() and language in (source, target):
            name = "valid" if path.stem in VALIDATION_NAMES else path.stem
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
                raise CallError(
                    f"{directory} holds {present.name} and no {present.stem}.{language}: the split "
                    f"{name} lacks the language {language!r}"
                )
    first = [name for name in FIRST_SPLITS if name in found]
    names = first + [name for name in found if name not in first]
    return {name: (found[name][source], found[name][target]) for name in names}


def describe(directory: Path) -> str:
    """The first few names in a folder, for a message."""
    names = sorted(path.name for path in directory.iterdir())
    if not names:
        return "nothing"
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def pair_lines(name: str, source: TextFile, target: TextFile) -> tuple[Split, int]:
    """Two files as one split, and the number of pairs dropped for an empty side.

    Only training drops them: a pair with an empty side teaches nothing. In every other split an
    empty line stays, so that hypotheses stay in step with references; it is translated like any
    other sentence and scored against what stands beside it.

    Raises:
        WorkError: the files have unequal numbers of lines.
    """
    if len(source.lines) != len(target.lines):
        raise WorkError(
            f"{source.path} has {len(source.lines)} lines and {target.path} has "
            f"{len(target.lines)}; expected as many, since line n of one translates line n of the "
            f"other"
        )
    pairs = list(zip(source.lines, target.lines, strict=True))
    kept = [pair for pair in pairs if pair[0].strip() and pair[1].strip()]
    if not kept:
        raise WorkError(f"{source.path} and {target.path} hold no pair with text on both sides")
    if name != "train":
        return Split(source.lines, target.lines), 0
    return Split([pair[0] for pair in kept], [pair[1] for pair in kept]), len(pairs) - len(kept)


def read_folder(
    directory: Path | str, source: str = "en", target: str = "de", name: str = "folder"
) -> ParallelCorpus:
    """Every split of a folder of parallel text.

    Dropped pairs are reported as a warning and in `origin`.

    Raises:
        CallError, WorkError: see `find_splits`, `read_lines`, `pair_lines`.
    """
    splits: dict[str, Split] = {}
    files: dict[str, dict[str, str | int]] = {}
    dropped = 0
    for split_name, paths in find_splits(Path(directory), source, target).items():
        source_file, target_file = (read_lines(path) for path in paths)
        splits[split_name], count = pair_lines(split_name, source_file, target_file)
        dropped += count
        if count:
            logger.warning(
                "%s and %s: %d of %d pairs have an empty side and were left out of training",
                source_file.path.name,
                target_file.path.name,
                count,
                len(source_file.lines),
            )
        for file in (source_file, target_file):
            files[file.path.name] = {"sha256": file.sha256, "lines": len(file.lines)}
    origin = {"files": files, "dropped_pairs": dropped}
    return ParallelCorpus(name, source, target, splits, origin)


def write_folder(corpus: ParallelCorpus, directory: Path | str) -> None:
    """Write every split as `SPLIT.LANGUAGE`, so that `read_folder` gives it back.

    Raises:
        CallError: both languages have one name (the copy task), so that their files would be one.
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
                (directory / f"{name}.{language}").write_bytes(text.encode("utf-8"))
    except OSError as error:
        raise WorkError(f"{directory} cannot be written: {error.strerror}") from error
