"""WMT 2014, English-German and English-French: what the paper trained and scored on (section 5.1).

Fetched are the organisers' own archives from statmt.org. They have lain there since the shared
tasks of 2013 and 2014, recipes of every toolkit name these addresses, and they are plain text in
tar files, so that nothing but the standard library is needed to read them in years to come. (The
same text on the Hugging Face hub is a conversion, once a script and now Parquet, which needs a
library.) The checksums are those that TensorFlow Datasets publishes for these archives.

- train: Europarl v7, Common Crawl, News Commentary v9; for French also the UN corpus and the
  10^9 corpus. About 4.5 million and 36 million pairs, says the paper.
- valid: newstest2013. test: newstest2014, all 3,003 sentences, as sacreBLEU's wmt14/full: the text
  between the <seg> marks, which is how sacreBLEU reads it.

Nobody has published checksums of the text inside, so `data get` records them when it has unpacked
archives that were right, and `data verify` compares with that record.
"""

import gzip
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from annotated_transformer.data.corpus import ParallelCorpus
from annotated_transformer.data.folder import read_folder
from annotated_transformer.data.published import (
    RECORD,
    Published,
    Source,
    read_record,
    say_origin,
)
from annotated_transformer.errors import CallError, WorkError

TERMS = "released for research by the organisers of WMT (statmt.org/wmt14); no licence is stated"


@dataclass(frozen=True)
class Archive:
    """One archive of the organisers.

    Attributes:
        source: where it lies.
        split: what its text belongs to.
        member: name of the files inside; {pair} is de-en or fr-en, {language} a language.
        languages: the other languages of English for which it is used.
    """

    source: Source
    split: str
    member: str
    languages: tuple[str, ...] = ("de", "fr")


DEV = Source(
    "https://data.statmt.org/wmt19/translation-task/dev.tgz",
    38_654_961,
    "7a7deccf82ebb05ba508dba5eb21356492224e8f630ec4f992132b029b4b25e7",
)
ARCHIVES = (
    Archive(
        Source(
            "https://www.statmt.org/wmt13/training-parallel-europarl-v7.tgz",
            657_632_379,
            "0224c7c710c8a063dfd893b0cc0830202d61f4c75c17eb8e31836103d27d96e7",
        ),
        "train",
        "training/europarl-v7.{pair}.{language}",
    ),
    Archive(
        Source(
            "https://www.statmt.org/wmt13/training-parallel-commoncrawl.tgz",
            918_311_367,
            "c7a74e2ea01ac6c920123108627e35278d4ccb5701e15428ffa34de86fa3a9e5",
        ),
        "train",
        "commoncrawl.{pair}.{language}",
    ),
    Archive(
        Source(
            "https://www.statmt.org/wmt14/training-parallel-nc-v9.tgz",
            80_418_416,
            "cb8953f292298e6877ae433c98912b927cb0766b303f4540512ddd286c748485",
        ),
        "train",
        "training/news-commentary-v9.{pair}.{language}",
    ),
    Archive(
        Source(
            "https://www.statmt.org/wmt13/training-parallel-un.tgz",
            2_365_634_246,
            "29141b5c1eba149a94f7a59d3b1a834b2e47fe0f8758d68dcd77a3d3f497ee47",
        ),
        "train",
        "un/undoc.2000.{pair}.{language}",
        ("fr",),
    ),
    Archive(
        Source(
            "https://www.statmt.org/wmt10/training-giga-fren.tar",
            2_595_102_720,
            "3ff8319f6919393520559bfbc7ad6a747ec81b3abc7be9993b338d4b017b4d9a",
        ),
        "train",
        "giga-fren.release2.fixed.{language}.gz",
        ("fr",),
    ),
    Archive(DEV, "valid", "dev/newstest2013.{language}"),
    Archive(DEV, "test", "dev/newstest2014-{pair_joined}-{role}.{language}.sgm"),
)


def wmt14(other: str = "de") -> Published:
    """The corpus of English and another language. Raises CallError for one it does not have."""
    if other not in ("de", "fr"):
        raise CallError(f"wmt14 is English with de or fr here; {other!r} was asked for")
    return published_from(other, ARCHIVES)


def published_from(other: str, archives: tuple[Archive, ...]) -> Published:
    """The corpus made from these archives, as far as they hold the language."""
    used = tuple(archive for archive in archives if other in archive.languages)
    names = [
        f"{split}.{language}" for split in ("train", "valid", "test") for language in ("en", other)
    ]

    def make(fetched: Path, made: Path) -> None:
        for archive in used:
            unpack(archive, other, fetched, made)

    return Published(
        name=f"wmt14-en-{other}",
        version="1",
        terms=TERMS,
        sources=tuple(dict.fromkeys(archive.source for archive in used)),
        texts=dict.fromkeys(names),
        make=make,
    )


def unpack(archive: Archive, other: str, fetched: Path, made: Path) -> None:
    """Append the two texts of an archive to those of its split, a line at a time.

    Raises:
        WorkError: a text is not there, or the two have unequal numbers of lines.
    """
    wanted = {member_of(archive, other, language): language for language in ("en", other)}
    lines: dict[str, int] = {}
    path = fetched / archive.source.name
    with tarfile.open(path, "r|*") as tar:
        for member in tar:
            name = member.name.removeprefix("./")
            content = tar.extractfile(member) if name in wanted else None
            if content is not None:
                language = wanted[name]
                with content, (made / f"{archive.split}.{language}").open("ab") as text:
                    lines[language] = append_lines(name, content, text)
    if set(lines) != set(wanted.values()) or len(set(lines.values())) != 1:
        raise WorkError(
            f"{path.name} should hold {' and '.join(wanted)} with as many lines, and holds "
            f"{lines or 'neither'}: report this, and give a copy with --data-dir"
        )


def member_of(archive: Archive, other: str, language: str) -> str:
    """The name of one language's file inside an archive."""
    return archive.member.format(
        pair=f"{other}-en",
        pair_joined=f"{other}en",
        role="ref" if language == "en" else "src",
        language=language,
    )


def append_lines(name: str, content: IO[bytes], text: IO[bytes]) -> int:
    """Append the sentences of a member, each ended by a newline. Returns how many."""
    lines = 0
    for line in sentences_of(name, content):
        text.write(line.removesuffix(b"\n") + b"\n")
        lines += 1
    return lines


def sentences_of(name: str, content: IO[bytes]) -> Iterator[bytes]:
    """Lines of a text, of a gzipped text, or of the <seg> marks of an SGM file."""
    if name.endswith(".gz"):
        with gzip.open(content) as unpacked:
            yield from unpacked
    elif name.endswith(".sgm"):
        for line in content:
            if match := re.match(rb"<seg [^>]*>(.*)</seg>", line.strip()):
                yield b" ".join(match[1].split())
    else:
        yield from content


def load_wmt14(
    data_dir: Path | str | None = None, source: str = "en", target: str = "de"
) -> ParallelCorpus:
    """WMT 2014 from a folder, or from the cache once `data get wmt14` has filled it.

    Gigabytes are not fetched unasked.

    Raises:
        CallError: another pair of languages was asked for, or it has not been fetched.
    """
    corpus = wmt14(other_language(source, target))
    folder = Path(data_dir) if data_dir else corpus.folder
    if data_dir is None and not read_record(folder / RECORD):
        raise CallError(
            f"{corpus.name} has not been fetched; first run: annotated-transformer data get wmt14 "
            f"--source {source} --target {target} ({corpus.megabytes:,} MB), or give the folder of "
            f"a copy with --data-dir"
        )
    return say_origin(read_folder(folder, source, target, name="wmt14"), corpus)


def other_language(source: str, target: str) -> str:
    """The one that is not English. Raises CallError where English is not one of two."""
    others = [language for language in (source, target) if language != "en"]
    if len(others) != 1:
        raise CallError(f"wmt14 is between English and another language, not {source} to {target}")
    return others[0]
