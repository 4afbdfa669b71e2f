"""A run at one moment: everything that decides how it goes on, to a checkpoint and back."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import torch
from torch import Tensor

from annotated_transformer.errors import WorkError
from annotated_transformer.training.checkpoints import ADVICE, Checkpoint
from annotated_transformer.training.run_directory import model_weights, set_model_weights
from annotated_transformer.training.run_files import checked, damaged
from annotated_transformer.transformer import Transformer

MOMENTS = {"step", "exp_avg", "exp_avg_sq"}  # what Adam keeps of a weight


@dataclass
class RunState:
    """How far a run is. Everything here is in the checkpoint.

    Args:
        step: optimizer steps taken.
        epoch: passes begun, from 0.
        batch: batches taken in this epoch.
        loss: sum of the smoothed loss since the last log, in nats.
        target_tokens: target tokens since the last log.
        tokens: source and target tokens since the last log, padding not counted.
        gradient_norm: sum of the gradient's norms before clipping since the last log.
        clipped: steps since the last log whose gradient was shortened.
        best_loss: the lowest loss that was logged, in nats per token.
        alarmed: whether the loss has been said to explode and has not come back since.
        logged_at: wall seconds of the run at the last log.
        wall_seconds: of the run up to the last resume.
        cpu_seconds: likewise, of the whole processes.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    loss: float = 0.0
    target_tokens: int = 0
    tokens: int = 0
    gradient_norm: float = 0.0
    clipped: int = 0
    best_loss: float | None = None
    alarmed: bool = False
    logged_at: float = 0.0
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0


def take_snapshot(
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    state: dict[str, Any],
    device: torch.device,
) -> Checkpoint:
    """This very moment. `state` is that of a `RunState`."""
    tensors = {f"model/{name}": value for name, value in model_weights(model).items()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"optimizer/{key}/{name}"] = value
    tensors["random/cpu"] = torch.get_rng_state()
    if device.type == "cuda":
        tensors["random/cuda"] = torch.cuda.get_rng_state(device)
    return Checkpoint(tensors, state)


def restore_snapshot(
    checkpoint: Checkpoint,
    origin: Path,
    model: Transformer,
    optimizer: torch.optim.Optimizer,
    device: torch.device,
) -> RunState:
    """Put a run back to the moment of a checkpoint, which was read from `origin`.

    Raises:
        WorkError: if the checkpoint is damaged or another model's, or was written by a newer
            version.
    """
    known = get_type_hints(RunState)
    if unknown := sorted(checkpoint.state.keys() - known):
        raise WorkError(
            f"{origin} was written by a newer version of this package: it holds "
            f"{', '.join(unknown)}. Go on with that version."
        )
    state = checked(checkpoint.state, known, f"the state in {origin}", ADVICE, may_lack=known)
    groups: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}, "random": {}}
    for name, tensor in checkpoint.tensors.items():
        group, _, key = name.partition("/")
        groups.setdefault(group, {})[key] = tensor
    set_model_weights(model, groups["model"], origin)
    moments: dict[str, dict[str, Tensor]] = {}
    for name, tensor in groups["optimizer"].items():
        key, _, weight = name.partition("/")
        moments.setdefault(weight, {})[key] = tensor
    parameters = dict(model.named_parameters())
    kept = {
        id(weight): group.get("keeps", MOMENTS)
        for group in optimizer.param_groups
        for weight in group["params"]
    }
    for weight, of_weight in moments.items():
        shape = parameters[weight].shape if weight in parameters else None
        shapes = {tensor.shape for key, tensor in of_weight.items() if key != "step"}
        is_known = of_weight.keys() == kept.get(id(parameters.get(weight)))
        if not is_known or shapes != {shape} or of_weight.get("step", torch.ones(1)).numel() != 1:
            raise damaged(origin, f"its moments of {weight} are not those of a weight", ADVICE)
        for key, tensor in of_weight.items():
            place = "cpu" if key == "step" and device.type == "cpu" else device
            optimizer.state[parameters[weight]][key] = tensor.to(place)
    try:
        torch.set_rng_state(groups["random"]["cpu"])
        if device.type == "cuda" and "cuda" in groups["random"]:
            torch.cuda.set_rng_state(groups["random"]["cuda"], device)
    except (KeyError, TypeError, RuntimeError) as error:
        raise damaged(origin, f"no random numbers follow from it ({error})", ADVICE) from error
    return RunState(**state)
