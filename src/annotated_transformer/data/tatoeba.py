"""Tatoeba, English-German: 169,813 pairs of short everyday sentences, translated by volunteers.

Fetched is the export of 2018-05-13 that manythings.org made for Anki, from a repository that keeps
it at one commit: manythings.org itself replaces its file by newer ones, so that no checksum of it
would last. CC BY 2.0; attribution: manythings.org/anki and tatoeba.org.

The export has no splits, and many sentences have several translations, so a random choice of pairs
would put one and the same sentence into training and test. Ours are made so that it cannot:

1. Pairs that share an English or a German sentence, upper and lower case aside, are linked, and all
   that are linked, over however many steps, form one group.
2. Groups of at most three pairs are ordered by the SHA-256 of the first pair's English sentence.
   The first pairs of the first 2,000 are the test split, those of the next 2,000 the validation
   split; what else these groups hold is left out.
3. All other pairs are for training, in the order of the export: 164,827.

No English and no German sentence is in two splits, and no seed is involved. BLEU here does not
compare with that of WMT.
"""

import hashlib
import re
import zipfile
from collections import defaultdict
from pathlib import Path

from annotated_transformer.data.corpus import ParallelCorpus
from annotated_transformer.data.folder import read_folder
from annotated_transformer.data.published import Published, Source, get, say_origin
from annotated_transformer.errors import CallError

COMMIT = "de48b7027f7318d77010a6e08ed928c10748c23d"
TERMS = "CC BY 2.0; attribution: www.manythings.org/anki and tatoeba.org"
HELD_OUT = 2000  # pairs of each held-out split
LARGEST_GROUP = 3  # pairs of a group that may be held out
ZERO_WIDTH = re.compile("[\u200b-\u200f\u2060\ufeff]")
TEXTS = {
    "train.en": "374b50672d3b7acd81fe5cee9e35972373e3fe8fde538ddcaf9f5390ebc0cfac",
    "train.de": "239c9de7a88815dde119daa9a06e1d6b43076e05d44c18818a2ebb214226419b",
    "valid.en": "5b6e177b17c0a99d589858dc99c5298b798004f621629eecd87d9f83306ecaca",
    "valid.de": "08d5c5d2ad90f84bd99c9487010675a915fa0e5fac13efcc599504b26b127eda",
    "test.en": "a3c917db370bc3ed20710e359bd926418dd017a5b577abb6b60cf7746e0bf5d4",
    "test.de": "134cb3d10dec1433dcf842034b02e72d6540e636517eaab07a9b8a74a9a6f518",
}
Pair = tuple[str, str]


def tatoeba() -> Published:
    """The corpus and where it lies."""
    return Published(
        name="tatoeba",
        version=COMMIT[:12],
        terms=TERMS,
        sources=(
            Source(
                f"https://raw.githubusercontent.com/rioyshky/translation/{COMMIT}/deu-eng.zip",
                4_012_023,
                "b7688f84f99fa33c17397c14d8bd9cef1fdeb2ee0bf50074767023aee8926e28",
            ),
        ),
        texts=TEXTS,
        make=make_texts,
    )


def make_texts(fetched: Path, made: Path) -> None:
    """Read the export, split it, write the splits."""
    with zipfile.ZipFile(fetched / "deu-eng.zip") as archive:
        text = archive.read("deu.txt").decode("utf-8")
    for name, pairs in split_pairs(read_pairs(text)).items():
        for language, side in (("en", 0), ("de", 1)):
            lines = "".join(pair[side] + "\n" for pair in pairs)
            (made / f"{name}.{language}").write_bytes(lines.encode("utf-8"))


def read_pairs(text: str) -> list[Pair]:
    """The distinct pairs of an export, a pair a line, English and German parted by a tab."""
    rows = (line.split("\t") for line in text.split("\n") if line)
    return list(dict.fromkeys((tidy(row[0]), tidy(row[1])) for row in rows))


def tidy(sentence: str) -> str:
    """Without zero-width characters, and with one plain space where there is any white space."""
    return " ".join(ZERO_WIDTH.sub("", sentence).split())


def split_pairs(pairs: list[Pair], held_out: int = HELD_OUT) -> dict[str, list[Pair]]:
    """Train, valid and test, no sentence in two of them: as the head of this module says."""
    small = [group for group in linked_groups(pairs) if len(group) <= LARGEST_GROUP]
    small.sort(key=lambda group: hashlib.sha256(pairs[group[0]][0].encode()).hexdigest())
    test, valid = small[:held_out], small[held_out : 2 * held_out]
    taken = {index for group in test + valid for index in group}
    return {
        "train": [pair for index, pair in enumerate(pairs) if index not in taken],
        "valid": [pairs[group[0]] for group in valid],
        "test": [pairs[group[0]] for group in test],
    }


def linked_groups(pairs: list[Pair]) -> list[list[int]]:
    """Indices of pairs that share a sentence on either side, over however many steps."""
    pairs_with: dict[tuple[int, str], list[int]] = defaultdict(list)
    for index, pair in enumerate(pairs):
        for side in (0, 1):
            pairs_with[side, pair[side].lower()].append(index)
    groups: list[list[int]] = []
    seen: set[int] = set()
    for first in range(len(pairs)):
        if first in seen:
            continue
        seen.add(first)
        group = [first]
        for index in group:  # grows as it is gone through
            for side in (0, 1):
                for linked in pairs_with.pop((side, pairs[index][side].lower()), []):
                    if linked not in seen:
                        seen.add(linked)
                        group.append(linked)
        groups.append(sorted(group))
    return groups


def load_tatoeba(
    data_dir: Path | str | None = None, source: str = "en", target: str = "de"
) -> ParallelCorpus:
    """Tatoeba from a folder of its text files, or fetched into the cache, in either direction."""
    if {source, target} != {"en", "de"}:
        raise CallError(
            f"the corpus 'tatoeba' is English and German; {source} to {target} was asked for"
        )
    folder = Path(data_dir) if data_dir else get(tatoeba())
    return say_origin(read_folder(folder, source, target, name="tatoeba"), tatoeba())
