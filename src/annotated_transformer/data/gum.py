"""GUM: 4,636 English sentences with their constituency trees, for section 6.3.

The Georgetown University Multilayer corpus (Zeldes 2017, Language Resources and Evaluation 51(3)),
at one commit. The paper parses the Penn Treebank, which costs money and may not be passed on; of
GUM the genres whose texts are openly licensed are taken: academic, bio, court, interview, news and
voyage, in GUM's own training, dev and test documents. Its trees are the output of a parser that was
given tags by people (GUM's README). F1 here does not compare with Table 4.

Each document is one file; a tree that stands over several lines is put on one, and the documents
of a split are put one behind the other.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from annotated_transformer.data.corpus import ParallelCorpus, Split
from annotated_transformer.data.published import Published, Source, get, say_origin
from annotated_transformer.data.text_file import inspect
from annotated_transformer.data.trees import ANY_TAG, Tree, linearise, read_trees
from annotated_transformer.data.word_classes import known_words, numbers_of, tokens_of
from annotated_transformer.errors import CallError, WorkError

TERMS = (
    "annotations CC BY 4.0, texts CC BY 4.0, CC BY 2.5 (news, interview) or CC BY-SA 3.0 (bio, "
    "voyage); cite Zeldes 2017"
)
SPLITS = {"train": "train", "valid": "dev", "test": "test"}  # ours and GUM's
TREES, WORDS, TAGS = "tree", "words", "xx"  # forms of rows, each a "language" to write


@cache
def pinned_facts() -> dict[str, Any]:
    """Commit, address, documents of each split with the number of their trees, checksums."""
    text = (resources.files("annotated_transformer.data") / "gum.json").read_text("utf-8")
    facts: dict[str, Any] = json.loads(text)
    return facts


def gum() -> Published:
    """The corpus and where it lies."""
    facts = pinned_facts()
    return Published(
        name="gum",
        version=facts["commit"][:12],
        terms=TERMS,
        sources=tuple(
            Source(f"{facts['base_url']}{file['document']}.ptb", file["bytes"], file["sha256"])
            for documents in facts["documents"].values()
            for file in documents
        ),
        texts=facts["texts"],
        make=join_documents,
    )


def join_documents(fetched: Path, made: Path) -> None:
    """One file a split, one tree a line.

    Raises:
        WorkError: a document has not as many trees as it should.
    """
    for split, documents in pinned_facts()["documents"].items():
        trees: list[str] = []
        for file in documents:
            found = list(one_a_line((fetched / f"{file['document']}.ptb").read_text("utf-8")))
            if len(found) != file["trees"]:
                raise WorkError(
                    f"{file['document']} has {len(found)} trees, and {file['trees']} are expected"
                )
            trees += found
        text = "".join(tree + "\n" for tree in trees)
        (made / f"{split}.ptb").write_bytes(text.encode("utf-8"))


def document_sizes(split: str) -> list[int]:
    """How many trees each document of GUM's "train", "dev" or "test" has, in the split's order."""
    return [document["trees"] for document in pinned_facts()["documents"][split]]


def one_a_line(text: str) -> Iterator[str]:
    """The trees of a text, each on one line whatever number it stood on."""
    tree: list[str] = []
    depth = 0
    for line in text.split("\n"):
        depth += line.count("(") - line.count(")")
        if line.strip():
            tree.append(line.strip())
        if tree and depth == 0:
            yield " ".join(tree)
            tree = []


def load_gum(
    data_dir: Path | str | None = None, source: str = "en", target: str = TREES
) -> ParallelCorpus:
    """Sentences and their trees as rows (`trees.linearise`), for a model of sequences.

    The source has a token for each word (`word_classes.tokens_of`). The target is the form of the
    rows, which have in the place of a word its number in the sentence with "tree"; its token of the
    source with "words"; XX with "xx", as in Vinyals et al.

    Raises:
        CallError: other languages than these were asked for.
        WorkError: a file holds something that is no tree.
    """
    if source != "en" or target not in (TREES, WORDS, TAGS):
        raise CallError(
            f"the corpus 'gum' is English sentences with their trees; {source} to {target} was "
            f"asked for: give --source en --target {TREES}"
        )
    folder = Path(data_dir) if data_dir else get(gum())
    found = read_splits(folder)
    known = known_words(found["train"][0])
    splits = {split: as_rows(trees, known, target) for split, (trees, _) in found.items()}
    origin = {"files": {f"{SPLITS[split]}.ptb": facts for split, (_, facts) in found.items()}}
    return say_origin(
        ParallelCorpus("gum", source, target, splits, origin, whole_words=True), gum()
    )


def as_rows(trees: Sequence[Tree], known: Collection[str], form: str = TREES) -> Split:
    """Sentences as tokens and their trees as rows of this form (`load_gum`)."""
    sources = [tokens_of(list(tree.words()), known) for tree in trees]
    return Split(
        [" ".join(source) for source in sources],
        [
            linearise(tree, word_tokens(source, form))
            for tree, source in zip(trees, sources, strict=True)
        ],
    )


def word_tokens(source: Sequence[str], form: str) -> list[str]:
    """What stands for each word in a row of this form (`load_gum`).

    Args:
        source: the tokens that stand for them in the source.
    """
    if form == WORDS:
        return list(source)
    return numbers_of(source) if form == TREES else [ANY_TAG] * len(source)


def read_splits(folder: Path) -> dict[str, tuple[list[Tree], dict[str, str | int]]]:
    """Split -> its trees, and checksum and number of lines of its file."""
    found: dict[str, tuple[list[Tree], dict[str, str | int]]] = {}
    for split, name in SPLITS.items():
        path = folder / f"{name}.ptb"
        if not path.is_file():
            raise WorkError(
                f"{folder} holds no {path.name}; expected train.ptb, dev.ptb and test.ptb, one "
                f"tree a line, as `annotated-transformer data get gum` leaves them"
            )
        file = inspect(path)
        trees = read_trees(iter(file), str(path))
        found[split] = (trees, {"sha256": file.sha256, "lines": file.lines})
    return found
