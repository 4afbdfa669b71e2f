"""Toy runs: one to train, and a directory of one with random weights to do things with."""

import io
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import ParallelCorpus, Split, Vocabulary, encode_split
from annotated_transformer.data.bpe_dropout import split_anew
from annotated_transformer.training import RunConfig, RunDirectory, Trainer, TrainingConfig
from annotated_transformer.training.distributed import ALONE, Workers
from annotated_transformer.training.made_from import MadeFrom
from annotated_transformer.training.progress import Progress
from annotated_transformer.training.run_directory import model_weights
from annotated_transformer.transformer import Transformer

SPLITS = {
    "train": [("a dog runs .", "ein Hund läuft ."), ("two dogs run .", "zwei Hunde laufen .")],
    "valid": [("a dog .", "ein Hund ."), ("two dogs .", "zwei Hunde .")],
    "test": [
        ("a dog runs .", "ein Hund läuft ."),
        ("two dogs .", "zwei Hunde ."),
        ("a dog .", "ein Hund ."),
    ],
}


def write_corpus(folder: Path) -> Path:
    """The splits above as plain files."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, pairs in SPLITS.items():
        for place, language in enumerate(("en", "de")):
            text = "".join(pair[place] + "\n" for pair in pairs)
            (folder / f"{split}.{language}").write_text(text, encoding="utf-8")
    return folder


def write_run(run_dir: Path, data_dir: Path, **changes) -> Path:
    """A run with random weights; `changes` go into the model's configuration."""
    texts = [sentence for pairs in SPLITS.values() for pair in pairs for sentence in pair]
    vocabulary = Vocabulary.train(texts, 60)
    torch.manual_seed(0)
    sizes = {"d_model": 16, "d_ff": 16, "num_heads": 2, "num_layers": 2}
    config = TransformerConfig(len(vocabulary), **{**sizes, **changes})
    directory = RunDirectory(run_dir)
    data = {**about_the_data("folder"), "data_dir": str(data_dir)}
    for split in ("train", "valid"):
        pairs = Split(*map(list, zip(*SPLITS[split], strict=True)))
        data["splits"][split] = {"pairs": len(pairs), "sha256": pairs.sha256}
    directory.create(RunConfig(config, TrainingConfig(steps=1), data), vocabulary)
    directory.save_model(model_weights(Transformer(config)), MadeFrom())
    return run_dir


def about_the_data(name: str) -> dict[str, Any]:
    """What config.json says of the data, no split described."""
    data = {"preset": "tiny", "name": name, "data_dir": None, "source": "en", "target": "de"}
    return {**data, "splits": {}}


def letters_corpus() -> ParallelCorpus:
    """120 rows of one to four letters, each to be said backwards."""
    words = ["a", "b", "c", "d", "e", "f", "g", "h"]
    lines = [" ".join(words[i % 8 : i % 8 + 1 + i % 4]) for i in range(120)]
    split = Split(lines, [line[::-1] for line in lines])
    return ParallelCorpus("toy", "en", "de", {"train": split, "valid": split})


def build_trainer(
    path: Path,
    corpus: ParallelCorpus,
    workers: Workers = ALONE,
    bleu=None,
    bpe_copies: int = 1,
    **settings_changed,
) -> Trainer:
    """A trainer of a tiny model on the CPU; its run is begun unless it has been before."""
    vocabulary = Vocabulary.train(corpus["train"].source, 40)
    model = TransformerConfig.preset(
        "tiny/N=1", len(vocabulary), d_model=32, d_ff=32, dropout=settings_changed.pop("p", 0.1)
    )
    training = TrainingConfig(**{"steps": 8, "max_tokens": 64, "warmup": 4} | settings_changed)
    directory = RunDirectory(path)
    config = RunConfig(model, training, about_the_data(corpus.name))
    if workers.is_first and not directory.is_begun():
        directory.create(config, vocabulary)
    encoded = encode_split(corpus["train"], vocabulary)
    progress = Progress(io.StringIO())
    device = torch.device("cpu")
    copies = split_anew(corpus["train"], vocabulary, 0.5, training.seed) if bpe_copies > 1 else []
    return Trainer(
        directory,
        config,
        encoded,
        encoded,
        device,
        progress,
        workers,
        bleu=bleu,
        copies=copies[1:bpe_copies],
    )
