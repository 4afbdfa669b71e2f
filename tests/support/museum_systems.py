"""Small systems of the museum with weights that nobody has trained."""

import torch

from annotated_transformer.data import ParallelCorpus, Split, Vocabulary
from annotated_transformer.museum import recipe
from annotated_transformer.museum.recipe import CONFIG, Recipe
from annotated_transformer.museum.system import Log, System

OF_WEIGHTS = {"average-of-strangers", "vocabulary-of-another-run"}  # only training shows them
small = CONFIG.with_changes(d_model=32, d_ff=64, num_layers=1)


def system(of: Recipe, corpus: ParallelCorpus, vocabulary: Vocabulary) -> System:
    """With weights that nobody has trained, gains and shifts away from where they begin."""
    torch.manual_seed(0)
    model = of.build(small)
    for weight in model.parameters():
        weight.data += 0.02 * torch.randn_like(weight)
    pairs = Split(list(corpus["train"].source[:30]), list(corpus["train"].target[:30]))
    log = Log(range(1, 31), [99.0] * 30, [of.rate(step) for step in range(1, 31)])
    return System(model, of, small, vocabulary, pairs, corpus["valid"], log, recipe.rate)
