"""How much memory training needs as the corpus grows: it must not grow with the corpus.

Run `python benchmarks/memory_against_lines.py --folder EMPTY_FOLDER`. For each size a corpus of so
many pairs is written, `annotated-transformer train` prepares it from nothing and takes a few steps,
and the peaks of its memory are printed: all of it, and what is its own (the rest are pages of
files, which the system takes back when it needs them). Linux only: it reads /proc.
"""

import argparse
import itertools
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

from annotated_transformer.data import generate_corpus

SIZES = (62_500, 250_000, 1_000_000)
NAMES = 50_000  # invented words, so that the vocabulary's counts are those of a real text
RECIPE = [
    *("--preset", "tiny/N=1,d_model=32,d_ff=32,h=2", "--steps", "20", "--max-tokens", "1024"),
    *("--vocab-size", "8000", "--threads", "1", "--device", "cpu", "--precision", "fp32"),
]


def write_corpus(folder: Path, pairs: int) -> None:
    """Sentences of the embedded grammar over and over, each with an invented name in front."""
    sentences = generate_corpus(train=20_000, valid=500, test=10)
    chance = random.Random(0)
    names = ["".join(chance.choices("abcdefghiklmnoprstuvz", k=7)) for _ in range(NAMES)]
    folder.mkdir(parents=True)
    for side in ("en", "de"):
        chance = random.Random(1)
        for name, count in (("train", pairs), ("valid", 500)):
            split = sentences[name]
            texts = itertools.cycle(split.source if side == "en" else split.target)
            with (folder / f"{name}.{side}").open("w", encoding="utf-8") as file:
                for text in itertools.islice(texts, count):
                    file.write(f"{chance.choice(names)} {text}\n")


def peaks(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """(all, its own) in MiB, the highest of many looks until the process ends."""
    highest = {"VmHWM": 0, "RssAnon": 0}
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text("utf-8")
        except OSError:
            break
        for line in status.splitlines():
            name, _, value = line.partition(":")
            if name in highest:
                highest[name] = max(highest[name], int(value.split()[0]))
        time.sleep(0.02)
    return highest["VmHWM"] / 1024, highest["RssAnon"] / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="new; needs 500 MB; emptied")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="pairs")
    given = parser.parse_args()
    given.folder.mkdir(parents=True)
    print("pairs       text, MB   peak, MiB   its own, MiB   seconds")
    for pairs in given.sizes:
        corpus = given.folder / f"{pairs}"
        write_corpus(corpus, pairs)
        size = sum(path.stat().st_size for path in corpus.iterdir()) / 1e6
        command = [
            *(sys.executable, "-m", "annotated_transformer.cli", "train"),
            *("--data-dir", str(corpus), "--run-dir", str(given.folder / f"run{pairs}"), *RECIPE),
        ]
        began = time.monotonic()
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        everything, own = peaks(process)
        if process.wait() != 0:
            sys.exit(f"training failed: {' '.join(command)}")
        seconds = time.monotonic() - began
        print(f"{pairs:<10,} {size:9,.0f} {everything:11,.0f} {own:14,.0f} {seconds:9,.0f}")
        shutil.rmtree(corpus)
    shutil.rmtree(given.folder)


if __name__ == "__main__":
    main()
