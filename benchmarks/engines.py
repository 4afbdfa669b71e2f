"""What `--engine ctranslate2` costs beside CTranslate2 called by hand, and sizes of all forms.

    python benchmarks/engines.py --run-dir runs/first --input lines.en --rounds 5

The same sentences, from text to text, in turn in one process; processor time.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import ctranslate2
import torch
from tokenizers import Tokenizer

from annotated_transformer.evaluation.translation import nbest_translations
from annotated_transformer.sharing import Translator
from annotated_transformer.sharing.ctranslate2_engine import CTranslate2Engine
from annotated_transformer.sharing.elsewhere import FORMS, export


def by_hand(folder: Path, precision: str, lines: list[str], beam: int) -> Callable[[], list[str]]:
    """As the card of an exported folder has it."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    threads = torch.get_num_threads()
    translator = ctranslate2.Translator(
        str(folder), compute_type=precision, inter_threads=1, intra_threads=threads
    )

    def translate() -> list[str]:
        pieces = [one.tokens for one in tokenizer.encode_batch(lines)]
        found = translator.translate_batch(
            pieces, beam_size=beam, max_batch_size=2048, batch_type="tokens"
        )
        rows = [[tokenizer.token_to_id(piece) for piece in one.hypotheses[0]] for one in found]
        return [tokenizer.decode(row) for row in rows]

    return translate


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("--input", type=Path, required=True, help="a sentence a line")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lines = arguments.input.read_text("utf-8").splitlines()[: arguments.sentences]
    translator = Translator.from_folder(arguments.run_dir)
    model, vocabulary, beam = translator.transformer, translator.vocabulary, arguments.beam
    with tempfile.TemporaryDirectory() as work:
        ways: dict[str, Callable[[], object]] = {
            "this package": lambda: nbest_translations(model, vocabulary, lines, beam_size=beam)
        }
        for form in FORMS:
            folder = Path(work) / form
            export(translator, folder, form)
            size = sum(file.stat().st_size for file in folder.iterdir())
            print(f"{form}: {size / 1e6:.1f} MB")
            if form.startswith("ctranslate2"):
                precision = "int8" if form.endswith("int8") else "float32"
                engine = CTranslate2Engine(model, vocabulary, precision)
                ways[f"--engine {form}"] = lambda engine=engine: engine(lines, beam_size=beam)
                ways[f"{form} by hand"] = by_hand(folder, precision, lines, beam)
        spent: dict[str, list[float]] = {name: [] for name in ways}
        for round_ in range(arguments.rounds + 1):
            for name, way in ways.items():
                began = time.process_time()
                way()
                if round_:  # the first warms up
                    spent[name].append(time.process_time() - began)
    print(f"torch {torch.__version__}, 1 thread, {len(lines)} sentences, beam {beam}")
    for name, seconds in spent.items():
        print(f"{name}: {len(lines) / statistics.median(seconds):.0f} sentences a second")
    for form in ("ctranslate2", "ctranslate2-int8"):
        pairs = zip(spent[f"--engine {form}"], spent[f"{form} by hand"], strict=True)
        ratios = [engine / hand for engine, hand in pairs]
        print(
            f"--engine {form} over the same by hand: {statistics.median(ratios):.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()
