"""A run directory with a toy translator, for tests of what is done with a trained model."""

from pathlib import Path

import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import Vocabulary
from annotated_transformer.training import RunConfig, RunDirectory, TrainingConfig
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
    data = {"name": "folder", "data_dir": str(data_dir), "source": "en", "target": "de"}
    directory.create(RunConfig(config, TrainingConfig(steps=1), data), vocabulary)
    directory.save_model(model_weights(Transformer(config)), "chance")
    return run_dir
