"""Two small trained models that come with the book: a translator, to look inside, and a parser.

The translator is the paper's model (post-norm, tied, sinusoids) at d_model 64, with 2 layers a side
and 4 heads, trained on the embedded grammar corpus. How it was trained and what it scores is
recorded in results/grammar_shipped; the files beside this one are that run's own.

In `parser` lies the run of a parser, for chapter 14: `Parser.load(PARSER)`. It has learned from
trees of GUM and from silver (`experiments.parsing_measured`), and its weights are kept in 16 bits.
"""

from functools import cache
from pathlib import Path

from annotated_transformer.data import Vocabulary
from annotated_transformer.training import load_run
from annotated_transformer.transformer import Transformer

FOLDER = Path(__file__).resolve().parent
PARSER = FOLDER / "parser"


def load_shipped() -> tuple[Transformer, Vocabulary]:
    """The translator and its vocabulary.

    Each call gives a model of its own, so that one may be changed without harm to the next; the
    vocabulary is one for all calls.

    Returns:
        translator: in evaluation mode, float32, on the CPU.
        vocabulary: of both languages.
    """
    translator, _, _ = load_run(FOLDER)
    return translator, load_vocabulary()


@cache
def load_vocabulary() -> Vocabulary:
    """The vocabulary alone."""
    return Vocabulary.load(FOLDER / "tokenizer.json")
