"""What holds on real text too; needs `make test DATA_DIR=FOLDER` and is skipped without."""

from pathlib import Path

import pytest

from annotated_transformer.data import ParallelCorpus, Vocabulary, load_corpus


@pytest.fixture(scope="module")
def multi30k(corpora_dir: Path) -> ParallelCorpus:
    folder = corpora_dir / "multi30k"
    if not folder.is_dir():
        pytest.skip("there is no multi30k in the folder given by --data-dir")
    return load_corpus("multi30k", data_dir=folder)


def test_multi30k_has_its_published_sizes(multi30k: ParallelCorpus) -> None:
    sizes = {name: len(split.source) for name, split in multi30k.splits.items()}
    assert sizes["train"] == 29_000
    assert sizes["valid"] == 1_014
    assert sizes["test_2016_flickr"] == 1_000
    assert all(len(s.source) == len(s.target) for s in multi30k.splits.values())


def test_every_caption_survives_the_vocabulary(multi30k: ParallelCorpus) -> None:
    train = multi30k["train"]
    vocabulary = Vocabulary.train(train.source[:3000] + train.target[:3000], 2000)
    for text in multi30k["valid"].source + multi30k["valid"].target:
        assert vocabulary.decode(vocabulary.encode(text)) == " ".join(text.split())
