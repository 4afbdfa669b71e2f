"""Multi30k, task 1: 29,000 captions of photographs in English, German and French.

Elliott, Frank, Sima'an and Specia (2016). The text is fetched from its authors' repository, at one
commit, and never redistributed here: that repository states no licence for it.
"""

import gzip
import json
import shutil
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from annotated_transformer.data.corpus import ParallelCorpus
from annotated_transformer.data.folder import read_folder
from annotated_transformer.data.published import Published, Source, get, say_origin
from annotated_transformer.errors import CallError

TERMS = (
    "no licence is stated (github.com/multi30k/dataset): for research and teaching; cite Elliott "
    "et al. 2016"
)


@cache
def pinned_facts() -> dict[str, Any]:
    """Commit, address, and each file's checksum, packed and unpacked."""
    text = (resources.files("annotated_transformer.data") / "multi30k.json").read_text("utf-8")
    facts: dict[str, Any] = json.loads(text)
    return facts


def multi30k(languages: Sequence[str] = ("en", "de")) -> Published:
    """The corpus in these languages. Raises CallError for one that is not published."""
    facts = pinned_facts()
    known = list(dict.fromkeys(language_of(file["path"]) for file in facts["files"]))
    for language in languages:
        if language not in known:
            raise CallError(
                f"multi30k is not published in {language!r}; it is in {', '.join(known)}"
            )
    files = [file for file in facts["files"] if language_of(file["path"]) in languages]
    return Published(
        name="multi30k",
        version=facts["commit"][:12],
        terms=TERMS,
        sources=tuple(
            Source(facts["base_url"] + file["path"], file["bytes"], file["sha256"])
            for file in files
        ),
        texts={file["path"].removesuffix(".gz"): file["sha256_unpacked"] for file in files},
        make=unpack_all,
    )


def language_of(path: str) -> str:
    """Two letters: en of train.en.gz."""
    return path.removesuffix(".gz").rpartition(".")[2]


def unpack_all(fetched: Path, made: Path) -> None:
    """Unpack every .gz file."""
    for packed in fetched.glob("*.gz"):
        with gzip.open(packed) as source, (made / packed.name.removesuffix(".gz")).open("wb") as to:
            shutil.copyfileobj(source, to)


def load_multi30k(
    data_dir: Path | str | None = None, source: str = "en", target: str = "de"
) -> ParallelCorpus:
    """Multi30k from a folder of its text files, or fetched into the cache.

    `origin["published"]` says whether every file read has a published checksum.
    """
    corpus = multi30k((source, target))
    folder = Path(data_dir) if data_dir else get(corpus)
    parallel = say_origin(read_folder(folder, source, target, name="multi30k"), corpus)
    parallel.origin["commit"] = pinned_facts()["commit"]
    return parallel
