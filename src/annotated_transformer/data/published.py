"""Corpora that lie at pinned addresses: fetched, checked, made into plain text, checked again.

Nothing here is unpickled or executed: archives are read with the standard library, and only once
their checksum is the published one.
"""

import json
import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from annotated_transformer.data.cache import cache_root, one_at_a_time
from annotated_transformer.data.corpus import ParallelCorpus
from annotated_transformer.data.download import NoNetworkError, download, sha256_of
from annotated_transformer.errors import WorkError

logger = logging.getLogger(__name__)

RECORD = "checksums.json"


@dataclass(frozen=True)
class Source:
    """One file at its address."""

    url: str
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rpartition("/")[2]


@dataclass(frozen=True)
class Published:
    """A corpus, where it lies, and how its text is made from what lies there.

    Attributes:
        name: as `--data` names it, with the languages where they decide what is fetched.
        version: names the folder in the cache; the beginning of a commit, or a year.
        terms: licence and source, one sentence, said when it is fetched.
        sources: the files to fetch.
        texts: the files to make, each with its published checksum; None where nobody published
            one. The first making then records it, for `verify` to compare with.
        make: makes the texts; gets the folder of the fetched files and the folder to write into.
    """

    name: str
    version: str
    terms: str
    sources: tuple[Source, ...]
    texts: Mapping[str, str | None]
    make: Callable[[Path, Path], None]

    @property
    def folder(self) -> Path:
        """Where this user's cache keeps it."""
        return cache_root() / f"{self.name}-{self.version}"

    @property
    def megabytes(self) -> int:
        """What is to be fetched."""
        return sum(source.bytes for source in self.sources) // 1_000_000


def get(corpus: Published, directory: Path | None = None, timeout: float = 30.0) -> Path:
    """Fetch a corpus into the cache or a folder, unless it is there. Returns the folder.

    Two processes share the work: the second waits, and uses what the first fetched. What a broken
    call has fetched lies in `fetched/` and is not fetched again.

    Raises:
        NoNetworkError: no network; the message says what works without one.
        WorkError: a file is there that is not the published one (it is left alone), a download has
            another checksum, or the disk does not take it.
    """
    directory = directory or corpus.folder
    with one_at_a_time(directory, f"fetching {corpus.name}"):
        verdicts = verify(corpus, directory)
        for name, verdict in verdicts.items():
            if verdict not in ("ok", "missing"):
                raise WorkError(
                    f"{directory / name} is not the published file and nothing is overwritten; "
                    f"move it away and fetch again, or name another folder"
                )
        if "missing" in verdicts.values():
            fetch_and_make(corpus, directory, timeout)
    return directory


def fetch_and_make(corpus: Published, directory: Path, timeout: float) -> None:
    """Fetch every source, make the texts, check them, and put those in place that are missing."""
    fetched, made = directory / "fetched", directory / "made"
    for number, source in enumerate(corpus.sources, start=1):
        logger.info("%s: file %d of %d", corpus.name, number, len(corpus.sources))
        try:
            download(source.url, fetched / source.name, source.sha256, timeout=timeout)
        except NoNetworkError as error:
            raise NoNetworkError(
                f"{corpus.name} cannot be fetched without a network ({error}); give the folder of "
                f"a copy with --data-dir, or use the embedded corpus with --data grammar"
            ) from error
    shutil.rmtree(made, ignore_errors=True)
    try:
        made.mkdir()
        corpus.make(fetched, made)
        sums = {name: sha256_of(made / name) for name in corpus.texts}
        for name, expected in corpus.texts.items():
            if expected not in (None, sums[name]):
                raise WorkError(
                    f"{made / name} has SHA-256 {sums[name]} and {expected} was expected, though "
                    f"what was fetched is right: report this, and give a copy with --data-dir"
                )
        (made / RECORD).write_text(json.dumps(sums, indent=1) + "\n", "utf-8")
        for name in (*corpus.texts, RECORD):
            (made / name).replace(directory / name)
        shutil.rmtree(made)
        shutil.rmtree(fetched)
    except OSError as error:
        raise WorkError(
            f"{corpus.name} cannot be written to {directory}: {error.strerror or error}; make "
            f"room, then go on with the same call"
        ) from error


def verify(corpus: Published, directory: Path) -> dict[str, str]:
    """Compare each text with its published checksum, or with the one recorded when it was made.

    Returns:
        File name -> "ok", "missing", "differs", or "unrecorded" where there is no checksum to
        compare with.
    """
    recorded = read_record(directory / RECORD)
    verdicts: dict[str, str] = {}
    for name, published in corpus.texts.items():
        expected = published or recorded.get(name)
        if not (directory / name).is_file():
            verdicts[name] = "missing"
        elif expected is None:
            verdicts[name] = "unrecorded"
        else:
            verdicts[name] = "ok" if sha256_of(directory / name) == expected else "differs"
    return verdicts


def read_record(path: Path) -> dict[str, str]:
    """The checksums written when texts were made; none if there is no such file."""
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise WorkError(
            f"{path} is damaged ({error}); delete the folder and fetch again"
        ) from error


def say_origin(parallel: ParallelCorpus, corpus: Published) -> ParallelCorpus:
    """Add to a corpus's origin its version, and whether every file read is the published one."""
    files = parallel.origin["files"]
    parallel.origin["version"] = corpus.version
    parallel.origin["published"] = all(
        corpus.texts.get(name) == facts["sha256"] for name, facts in files.items()
    )
    return parallel
