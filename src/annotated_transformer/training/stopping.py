"""Which validation was the best, when to stop looking for a better one, and the best's weights.

All of it follows from the lines of metrics.jsonl, so a resumed run decides as an uninterrupted one.
"""

from typing import Any

import torch

from annotated_transformer.errors import CallError
from annotated_transformer.training.checkpoints import load_tensors
from annotated_transformer.training.made_from import MadeFrom
from annotated_transformer.training.run_directory import MODEL_FORMAT, RunDirectory, save_weights
from annotated_transformer.training.settings import Measure

Metrics = dict[str, Any]


def best_validation(lines: list[Metrics], measure: Measure) -> Metrics | None:
    """The validation with the lowest loss or the highest BLEU, the first of equals."""
    validations = [line for line in lines if line["event"] == "valid" and measure in line]
    if not validations:
        return None
    sign = 1 if measure == "loss" else -1
    return min(validations, key=lambda line: sign * line[measure])


def has_stalled(lines: list[Metrics], measure: Measure, stop_after: int | None) -> bool:
    """Whether the last `stop_after` validations brought nothing better; never if it is None."""
    best = best_validation(lines, measure)
    if stop_after is None or best is None:
        return False
    since = [line for line in lines if line["event"] == "valid" and line["step"] > best["step"]]
    return len(since) >= stop_after


def save_best(
    directory: RunDirectory, weights: dict[str, torch.Tensor], validation: Metrics, measure: Measure
) -> None:
    """Keep the weights of a validation as the best so far."""
    made_from = MadeFrom((validation["step"],), best=f"{measure} {validation[measure]}")
    save_weights(directory.best_file, weights, made_from)


def use_best(directory: RunDirectory) -> MadeFrom:
    """Make model.safetensors the weights of the best validation.

    Returns:
        Which those are.

    Raises:
        CallError: if the run keeps none.
    """
    if not directory.best_file.exists():
        raise CallError(
            f"{directory.path} has no {directory.best_file.name}: only a run begun with --final "
            "best or --stop-after keeps the weights of its best validation."
        )
    advice = "Restore it, or take the mean of the checkpoints."
    weights, about = load_tensors(directory.best_file, MODEL_FORMAT, advice)
    made_from = MadeFrom.read(about.get("made_from", ""), directory.best_file, advice)
    directory.save_model(weights, made_from)
    return made_from
