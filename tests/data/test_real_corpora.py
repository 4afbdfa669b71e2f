"""What holds on real text too; needs `make test DATA_DIR=FOLDER` and is skipped without."""

from pathlib import Path

import pytest

from annotated_transformer.data import ParallelCorpus, Vocabulary, load_corpus
from annotated_transformer.data.published import verify
from annotated_transformer.data.registry import published_corpus
from annotated_transformer.experiments.training_measured.multi30k_runs import LONG, TESTS


def folder_of(corpora_dir: Path, name: str) -> Path:
    """The folder of one corpus; skips the test where there is none."""
    folder = corpora_dir / name
    if not folder.is_dir():
        pytest.skip(f"there is no {name} in the folder given by --data-dir")
    return folder


@pytest.fixture(scope="module")
def multi30k(corpora_dir: Path) -> ParallelCorpus:
    return load_corpus("multi30k", data_dir=folder_of(corpora_dir, "multi30k"))


def test_multi30k_has_its_published_sizes(multi30k: ParallelCorpus) -> None:
    sizes = {name: len(split.source) for name, split in multi30k.splits.items()}
    assert sizes["train"] == 29_000
    assert sizes["valid"] == 1_014
    assert sizes["test_2016_flickr"] == 1_000
    assert all(len(s.source) == len(s.target) for s in multi30k.splits.values())


def test_a_translation_counted_as_long_is_longer_than_every_reference(
    multi30k: ParallelCorpus,
) -> None:
    references = [line for split in TESTS for line in multi30k[split].target]
    assert max(len(line.split()) for line in references) == LONG


def test_every_caption_survives_the_vocabulary(multi30k: ParallelCorpus) -> None:
    train = multi30k["train"]
    vocabulary = Vocabulary.train(train.source[:3000] + train.target[:3000], 2000)
    for text in multi30k["valid"].source + multi30k["valid"].target:
        assert vocabulary.decode(vocabulary.encode(text)) == " ".join(text.split())


@pytest.mark.parametrize(
    ("name", "folder", "least"),
    [("multi30k", "multi30k", 6), ("tatoeba", "tatoeba_en_de", 4), ("gum", "gum_const", 3)],
)
def test_copies_are_the_published_files(
    corpora_dir: Path, name: str, folder: str, least: int
) -> None:
    corpus = published_corpus(name)
    assert corpus is not None
    verdicts = list(verify(corpus, folder_of(corpora_dir, folder)).values())
    assert "differs" not in verdicts
    assert verdicts.count("ok") >= least


def test_tatoeba_has_no_sentence_in_two_splits(corpora_dir: Path) -> None:
    corpus = load_corpus("tatoeba", data_dir=folder_of(corpora_dir, "tatoeba_en_de"))
    assert corpus.origin["published"] is True
    assert (len(corpus["train"]), len(corpus["valid"])) == (164_827, 2_000)
    for side in ("source", "target"):
        train = {line.lower() for line in getattr(corpus["train"], side)}
        assert not train & {line.lower() for line in getattr(corpus["valid"], side)}


def test_gum_has_its_published_sizes(corpora_dir: Path) -> None:
    folder = folder_of(corpora_dir, "gum_const")
    corpus = load_corpus("gum", data_dir=folder, target="tree")
    assert corpus.origin["published"] is True
    assert {name: len(split) for name, split in corpus.splits.items()} == {
        "train": 3_707,
        "valid": 438,
        "test": 491,
    }
    words = {
        name: sum(len(sentence.split(" ")) for sentence in split.source)
        for name, split in corpus.splits.items()
    }
    assert words == {"train": 76_760, "valid": 10_631, "test": 10_972}
    for sentence, row in zip(corpus["test"].source, corpus["test"].target, strict=True):
        numbers = [word for word in row.split() if word.startswith("#")]
        assert numbers == [f"#{place + 1}" for place in range(len(sentence.split()))]


def test_the_wmt_sample_is_read_as_a_folder(corpora_dir: Path) -> None:
    corpus = load_corpus(data_dir=folder_of(corpora_dir, "wmt_sample_en_de"))
    assert {name: len(split) for name, split in corpus.splits.items()} == {
        "newstest2012": 3_000,
        "newstest2014_filtered": 2_737,
        "train10k": 10_000,
    }
