"""Measure Multi30k and write the record: see the package's docstring."""

import argparse
import platform
from importlib.metadata import version
from pathlib import Path

from annotated_transformer.data import load_corpus
from annotated_transformer.experiments.corpora_measured import RECORD, measure_corpus
from annotated_transformer.experiments.records import write_so_far

COMMAND = "python -m annotated_transformer.experiments.corpora_measured --data-dir data/multi30k"


def main() -> None:
    """Write the record of the corpus in a folder of text files, or fetched into the cache."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder with train.en, train.de and so on")
    parser.add_argument("--output", type=Path, default=RECORD)
    given = parser.parse_args()
    figures = measure_corpus(load_corpus("multi30k", data_dir=given.data_dir))
    software = {"python": platform.python_version(), "tokenizers": version("tokenizers")}
    record = {"command": COMMAND, "software": software, **figures}
    write_so_far(given.output, record)
    print(f"{given.output} written")


if __name__ == "__main__":
    main()
