"""Multi30k, task 1: 29,000 captions of photographs in English, German and French.

Elliott, Frank, Sima'an and Specia (2016). The text is fetched from its authors' repository, at one
commit, and never redistributed here: that repository states no licence for it.
"""

import gzip
import json
import logging
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import platformdirs

from annotated_transformer.data.corpus import ParallelCorpus
from annotated_transformer.data.download import NoNetworkError, download, sha256_of
from annotated_transformer.data.folder import read_folder
from annotated_transformer.errors import CallError, WorkError

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PinnedFile:
    """One published file: its compressed name and checksum, and those of the text inside."""

    path: str
    bytes: int
    sha256: str
    lines: int
    sha256_unpacked: str
    bytes_unpacked: int

    @property
    def text_name(self) -> str:
        """The name without .gz, such as train.en."""
        return self.path.removesuffix(".gz")

    @property
    def language(self) -> str:
        """Two letters, such as en."""
        return self.text_name.rpartition(".")[2]


@dataclass(frozen=True)
class Manifest:
    """Where the corpus lies, at which commit, and which bytes it is made of."""

    commit: str
    base_url: str
    files: tuple[PinnedFile, ...]

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages published, in the order of the manifest."""
        return tuple(dict.fromkeys(file.language for file in self.files))

    def of(self, languages: Sequence[str]) -> list[PinnedFile]:
        """The files in these languages. Raises CallError for one that is not published."""
        for language in languages:
            if language not in self.languages:
                raise CallError(
                    f"multi30k is not published in {language!r}; "
                    f"it is in {', '.join(self.languages)}"
                )
        return [file for file in self.files if file.language in languages]


@cache
def manifest() -> Manifest:
    """The pinned facts, from multi30k.json beside this module."""
    text = (resources.files("annotated_transformer.data") / "multi30k.json").read_text("utf-8")
    facts = json.loads(text)
    files = tuple(PinnedFile(**entry) for entry in facts["files"])
    return Manifest(facts["commit"], facts["base_url"], files)


def cache_folder(pinned: Manifest | None = None) -> Path:
    """Where fetched files are kept: this user's cache, one folder a commit."""
    commit = (pinned or manifest()).commit[:12]
    return platformdirs.user_cache_path("annotated-transformer") / f"multi30k-{commit}"


def get_multi30k(
    directory: Path | None = None,
    languages: Sequence[str] = ("en", "de"),
    pinned: Manifest | None = None,
    timeout: float = 30.0,
) -> Path:
    """Fetch the files of these languages, check them, unpack them. Returns their folder.

    Files that are there with the right checksum are not fetched again.

    Raises:
        NoNetworkError: no network; the message says what works without one.
        WorkError, CallError: see `download` and `Manifest.of`.
    """
    pinned = pinned or manifest()
    directory = directory or cache_folder(pinned)
    for file in pinned.of(languages):
        text = directory / file.text_name
        if text.is_file() and sha256_of(text) == file.sha256_unpacked:
            continue
        logger.info("fetching %s (%d bytes)", file.path, file.bytes)
        try:
            packed = download(
                pinned.base_url + file.path, directory / file.path, file.sha256, timeout=timeout
            )
        except NoNetworkError as error:
            raise NoNetworkError(
                f"multi30k cannot be fetched without a network ({error}); give the folder of a "
                f"copy with --data-dir, or use the embedded corpus with --data grammar"
            ) from error
        unpack(packed, text, file.sha256_unpacked)
        packed.unlink()
    return directory


def unpack(packed: Path, text: Path, sha256: str) -> None:
    """Unpack a gzip file to `text`, in one step and only with the right checksum."""
    part = text.with_name(text.name + ".part")
    try:
        part.write_bytes(gzip.decompress(packed.read_bytes()))
        if sha256_of(part) != sha256:
            raise WorkError(f"{packed} unpacks to something else than the published text")
        os.replace(part, text)
    except (OSError, EOFError, zlib.error) as error:
        raise WorkError(f"{packed} cannot be unpacked to {text}: {error}") from error


def verify_multi30k(
    directory: Path | None = None,
    languages: Sequence[str] = ("en", "de"),
    pinned: Manifest | None = None,
) -> dict[str, str]:
    """Compare each file of a folder with the published checksum.

    Returns:
        Text file name -> "ok", "missing" or "differs".
    """
    pinned = pinned or manifest()
    directory = directory or cache_folder(pinned)
    verdicts: dict[str, str] = {}
    for file in pinned.of(languages):
        text = directory / file.text_name
        if not text.is_file():
            verdicts[file.text_name] = "missing"
        else:
            same = sha256_of(text) == file.sha256_unpacked
            verdicts[file.text_name] = "ok" if same else "differs"
    return verdicts


def load_multi30k(
    data_dir: Path | str | None = None, source: str = "en", target: str = "de"
) -> ParallelCorpus:
    """Multi30k from a folder of its text files, or fetched into the cache.

    `origin["published"]` says whether every file read has a published checksum.
    """
    manifest().of([source, target])
    folder = Path(data_dir) if data_dir else get_multi30k(languages=(source, target))
    corpus = read_folder(folder, source, target, name="multi30k")
    published = {file.text_name: file.sha256_unpacked for file in manifest().files}
    files = corpus.origin["files"]
    corpus.origin["commit"] = manifest().commit
    corpus.origin["published"] = all(
        published.get(name) == facts["sha256"] for name, facts in files.items()
    )
    return corpus
