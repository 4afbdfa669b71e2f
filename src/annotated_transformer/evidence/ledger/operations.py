"""The operations that a recorded training took: the clock of the speed run.

Counted are the multiplications and additions in the model's matrix products, forward and backward,
over the tokens of the corpus: padding is not, nor are validation, search, the loss and Adam. So the
figure is the same on every machine. It is that of `benchmark.counting`, for models with later parts
too.
"""

from dataclasses import astuple
from functools import cache

import numpy as np
import torch

from annotated_transformer.after.build import build_transformer
from annotated_transformer.after.config import config_from_dict
from annotated_transformer.benchmark.counting import FORWARD_AND_BACKWARD, Sizes, sizes_of
from annotated_transformer.benchmark.products import multiply_adds
from annotated_transformer.config import TransformerConfig
from annotated_transformer.errors import WorkError
from annotated_transformer.evidence.ledger.recorded_runs import RecordedRun
from annotated_transformer.training.settings import TrainingConfig

# One pass over the training sentences: (corpus, vocabulary, lower-cased) -> how many positions, as
# `benchmark.counting.real_sizes` counts them. A test encodes the corpora again.
ONE_PASS = {
    ("multi30k", 10_000, False): Sizes(435_232, 445_421, 7_145_008, 7_632_353, 7_286_994),
    ("multi30k", 5_000, True): Sizes(456_287, 474_936, 7_900_591, 8_722_418, 8_190_685),
}
COUNTED = "adam"  # what another optimizer multiplies in its step is not counted
# (source, target) positions of a sentence: one more than there are coefficients.
LENGTHS = ((4, 4), (8, 4), (4, 8), (8, 8), (12, 4), (4, 12))


def training_operations(run: RecordedRun) -> float:
    """Of a whole training. Longer rows, as BPE dropout makes them, count in proportion.

    Raises:
        WorkError: it is not known what a pass over its corpus takes, or what its optimizer does.
    """
    config = config_from_dict(run.configuration["model"])
    training = TrainingConfig.from_dict(run.configuration["training"])
    case = "lower-cased" if training.lowercase else "cased"
    key = (run.data["name"], config.vocab_size, training.lowercase)
    if key not in ONE_PASS or training.pairs is not None:
        raise WorkError(
            f"a pass over {run.data['name']} with {config.vocab_size:,} pieces, {case}, "
            f"{'all' if training.pairs is None else 'some'} pairs, is not counted"
        )
    if training.optimizer != COUNTED:
        raise WorkError(f"what {training.optimizer} multiplies in its step is not counted")
    sizes = ONE_PASS[key]
    if not (lines := run.events("train")):
        raise WorkError("its curve has no line of the training")
    tokens = sum(line["tokens"] for line in lines) * run.cost["steps"] / lines[-1]["step"]
    passes = tokens / (sizes.source + sizes.target) * (2 if training.r_drop else 1)
    return passes * operations_of_a_pass(config, sizes)


def operations_of_a_pass(config: TransformerConfig, sizes: Sizes) -> float:
    """Forward and backward, each sentence once. Raises as `multiply_adds_of`."""
    return FORWARD_AND_BACKWARD * 2 * multiply_adds_of(config, sizes)


@cache
def multiply_adds_of(config: TransformerConfig, sizes: Sizes) -> float:
    """Of one pass forward, sentence by sentence, whatever parts the model has.

    They are a sum of two lengths, their squares and their product, each so many times: how many is
    read off a few sentences.

    Raises:
        WorkError: they are no such sum.
    """
    model = build_transformer(config).eval()
    counts = np.array(
        [
            multiply_adds(
                model,
                torch.full((1, n_src), config.eos_id),
                torch.full((1, n_tgt), config.eos_id),
            )
            for n_src, n_tgt in LENGTHS
        ],
        float,
    )
    terms = np.array([astuple(sizes_of([lengths])) for lengths in LENGTHS], float)
    each, *_ = np.linalg.lstsq(terms, counts, rcond=None)
    if not np.allclose(terms @ each, counts, rtol=1e-6):
        raise WorkError(f"the operations of {config} do not follow from the lengths alone")
    return float(each @ np.array(astuple(sizes), float))
