"""How good the model is on the validation pairs, in the middle of training."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from annotated_transformer.data import EncodedSplit, Split, Vocabulary
from annotated_transformer.evaluation.likelihood import split_likelihood
from annotated_transformer.evaluation.scoring import cased_bleu
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.training.settings import TrainingConfig
from annotated_transformer.training.step import matrix_precision
from annotated_transformer.transformer import Transformer

BleuMeter = Callable[[Transformer], float]


def measure_validation(
    model: Transformer, valid: EncodedSplit, settings: TrainingConfig, bleu: BleuMeter | None
) -> dict[str, float]:
    """The loss and perplexity of the unsmoothed likelihood; BLEU too if the run is judged by it.

    The loss is not a number if the run has diverged. What is compiled for training is left alone:
    batches of other shapes would be compiled for anew.
    """
    with as_it_is_written(settings):
        return _measure(model, valid, settings, bleu)


def as_it_is_written(settings: TrainingConfig) -> AbstractContextManager[Any]:
    """Inside, the model runs without what torch.compile made of it."""
    if not settings.compile:
        return nullcontext()
    stance: AbstractContextManager[Any] = torch.compiler.set_stance("force_eager")
    return stance


def _measure(
    model: Transformer, valid: EncodedSplit, settings: TrainingConfig, bleu: BleuMeter | None
) -> dict[str, float]:
    with matrix_precision(settings, model.device):
        measured = split_likelihood(model, valid, settings.max_tokens)
    values = {"loss": round(measured.loss, 6), "perplexity": round(measured.perplexity, 4)}
    if bleu is not None and settings.stop_by == "bleu" and math.isfinite(measured.loss):
        with matrix_precision(settings, model.device):
            values["bleu"] = round(bleu(model), 4)
    return values


def greedy_bleu(split: Split, vocabulary: Vocabulary, settings: TrainingConfig) -> BleuMeter:
    """A function that gives a model's BLEU on a split: greedy search, 13a, the text's own case.

    A model of lower-cased text is held against lower-cased references.
    """
    references = [line.lower() if settings.lowercase else line for line in split.target]

    @torch.inference_mode()
    def bleu(model: Transformer) -> float:
        translations = translate_sentences(
            model, vocabulary, split.source, beam_size=1, batch_tokens=settings.max_tokens
        )
        return cased_bleu(translations, references).value

    return bleu
