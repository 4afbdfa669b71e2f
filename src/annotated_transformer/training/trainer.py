"""The training loop (section 5): batches by tokens, Adam, the schedule, label smoothing.

A run is a function of its configuration and its data: killed or asked to stop at any moment and
resumed, it takes the same steps and ends with the same bits (on a CPU with the same number of
threads).
"""

import math
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.data import EncodedSplit, make_batch, token_batches
from annotated_transformer.errors import WorkError
from annotated_transformer.likelihood import split_likelihood, teacher_forced
from annotated_transformer.training.byte_dropout import use_byte_dropout
from annotated_transformer.training.checkpoints import (
    Checkpoint,
    latest_checkpoint,
    list_checkpoints,
    load_checkpoint,
    save_checkpoint,
    save_stop,
)
from annotated_transformer.training.label_smoothing import projected_label_smoothing_loss
from annotated_transformer.training.progress import Progress
from annotated_transformer.training.run_directory import (
    RunConfig,
    RunDirectory,
    average_checkpoints,
    model_weights,
    process_cpu_seconds,
    set_model_weights,
)
from annotated_transformer.training.schedule import LearningRateSchedule
from annotated_transformer.transformer import Transformer

LOG_EVERY = 50  # steps


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
        wall_seconds: of the run up to the last resume.
        cpu_seconds: likewise, of the whole processes.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    loss: float = 0.0
    target_tokens: int = 0
    tokens: int = 0
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0


class Trainer:
    """One run: its model, its optimizer, its place in the data."""

    def __init__(
        self,
        directory: RunDirectory,
        config: RunConfig,
        train: EncodedSplit,
        valid: EncodedSplit,
        device: torch.device,
        progress: Progress,
    ) -> None:
        self.directory = directory
        self.config = config
        self.settings = config.training
        self.train_split = train
        self.valid_split = valid
        self.device = device
        self.progress = progress
        torch.manual_seed(self.settings.seed)
        self.model = Transformer(config.model).to(device)
        if self.settings.byte_dropout:
            use_byte_dropout(self.model)
        if self.settings.compile:
            self.model.encoder.compile()
            self.model.decoder.compile()
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=0.0,
            betas=self.settings.betas,
            eps=self.settings.adam_eps,
            fused=True,
        )
        self.schedule = LearningRateSchedule(
            config.model.d_model,
            self.settings.warmup,
            self.settings.learning_rate,
            self.settings.decay,
        )
        self.state = RunState()
        self.stop_asked: str | None = None
        self._began_wall = time.monotonic()

    def batches(self, epoch: int) -> list[list[int]]:
        """The batches of an epoch, in order: a function of the seed and the epoch alone."""
        return token_batches(
            self.train_split.lengths,
            self.settings.max_tokens,
            seed=self.settings.seed,
            epoch=epoch,
        )

    def planned_steps(self) -> int | None:
        """How many steps the run will take; None if only the clock knows."""
        if self.settings.steps is not None:
            return self.settings.steps
        if self.settings.epochs is not None:
            return self.settings.epochs * len(self.batches(0))
        return None

    def run(self) -> bool:
        """Train to the end.

        Returns:
            Whether the end was reached; False if the run was asked to stop. Either way the last
            step is in a checkpoint; that of a stop is for resuming only, because the mean of the
            last checkpoints would otherwise depend on when somebody stopped.
        """
        planned = self.planned_steps()
        self.progress.begin(self.state.step, planned, self.settings.minutes)
        self.model.train()
        with self._stopping_cleanly():
            while True:
                batches = self.batches(self.state.epoch)
                while self.state.batch < len(batches) and self._done(planned) < 1:
                    self._step(batches[self.state.batch], self._done(planned))
                    if self._checkpoint_is_due(len(batches)):
                        self._save()
                    if self.stop_asked:
                        save_stop(self.directory.checkpoints, self._checkpoint())
                        return False
                if self.state.batch == len(batches):
                    self._end_epoch()
                if self._done(planned) >= 1:
                    break
        self._save()
        available = len(list_checkpoints(self.directory.checkpoints))
        average_checkpoints(self.directory, min(self.settings.average, available))
        self.progress.end()
        return True

    def _checkpoint_is_due(self, batches: int) -> bool:
        """Whether the step just taken gets a checkpoint that is kept and may be averaged."""
        every = self.settings.checkpoint_every
        return self.state.batch == batches if every is None else self.state.step % every == 0

    def _end_epoch(self) -> None:
        """Validate, which a run resumed at this very step may have done already, and go on."""
        step = self.state.step
        lines = self.directory.read_metrics()
        if not any(line["event"] == "valid" and line["step"] == step for line in lines):
            self._validate()
        self.state.epoch += 1
        self.state.batch = 0

    def _done(self, planned: int | None) -> float:
        """Share of the run that is done; 1 or more ends it."""
        if planned is not None:
            return self.state.step / planned
        assert self.settings.minutes is not None
        return self._wall_seconds() / (60 * self.settings.minutes)

    def _step(self, indices: list[int], done: float) -> None:
        """One optimizer step on one batch."""
        batch = make_batch(self.train_split, indices, self.config.model.pad_id)
        rate = self.schedule.rate(self.state.step + 1, done)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        with self._autocast():
            hidden, answers = teacher_forced(self.model, batch)  # (tokens, d_model), (tokens,)
        if self.settings.precision == "bf16":
            hidden = hidden.bfloat16()
        loss = projected_label_smoothing_loss(
            hidden, self.model.projection.weight, answers, self.settings.label_smoothing
        )
        tokens = answers.numel()
        if not math.isfinite(float(loss.detach())):
            raise self._diverged()
        mean_loss = loss / tokens
        mean_loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.state.step += 1
        self.state.batch += 1
        self.state.loss += float(loss.detach())
        self.state.target_tokens += tokens
        self.state.tokens += tokens + int((batch.src != self.config.model.pad_id).sum())
        if self.state.step % LOG_EVERY == 0:
            self._log(rate)

    def _autocast(self) -> torch.autocast:
        """Matrix products in bfloat16 inside, where the settings ask for it."""
        wanted = self.settings.precision == "bf16"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=wanted)

    def _validate(self) -> None:
        """Loss and perplexity on the validation pairs, from the unsmoothed likelihood."""
        with self._autocast():
            measured = split_likelihood(self.model, self.valid_split, self.settings.max_tokens)
        if not math.isfinite(measured.loss):
            raise self._diverged()
        values = {
            "event": "valid",
            "step": self.state.step,
            "epoch": self.state.epoch + 1,  # passes done
            "loss": round(measured.loss, 6),
            "perplexity": round(measured.perplexity, 4),
            "wall_seconds": round(self._wall_seconds(), 2),
            "cpu_seconds": round(self._cpu_seconds(), 2),
        }
        self.directory.append_metrics(values)
        self.progress.validated(self.state.epoch + 1, measured.loss, measured.perplexity)

    def _log(self, rate: float) -> None:
        """One line of metrics and one of progress, over the steps since the last."""
        state = self.state
        loss = state.loss / state.target_tokens
        speed = self.progress.logged(state.step, loss, state.tokens, rate)
        self.directory.append_metrics(
            {
                "event": "train",
                "step": state.step,
                "epoch": state.epoch,
                "loss": round(loss, 6),
                "tokens": state.tokens,
                "tokens_per_second": round(speed, 1),
                "learning_rate": rate,
                "wall_seconds": round(self._wall_seconds(), 2),
                "cpu_seconds": round(self._cpu_seconds(), 2),
            }
        )
        state.loss, state.target_tokens, state.tokens = 0.0, 0, 0

    def _diverged(self) -> WorkError:
        return WorkError(
            f"The loss is no longer a number after step {self.state.step}: the run has diverged. "
            "Checkpoints written before are intact. Begin again with a lower --learning-rate or a "
            "longer --warmup."
        )

    def _wall_seconds(self) -> float:
        return self.state.wall_seconds + time.monotonic() - self._began_wall

    def _cpu_seconds(self) -> float:
        return self.state.cpu_seconds + process_cpu_seconds()

    def _save(self) -> None:
        """Write a checkpoint that is kept and may be averaged."""
        save_checkpoint(self.directory.checkpoints, self._checkpoint(), self.settings.keep)

    def _checkpoint(self) -> Checkpoint:
        """This very moment. Raises WorkError if the weights have stopped being numbers."""
        if not all(parameter.isfinite().all() for parameter in self.model.parameters()):
            raise self._diverged()
        tensors = {f"model/{name}": value for name, value in model_weights(self.model).items()}
        for name, parameter in self.model.named_parameters():
            for key, value in self.optimizer.state.get(parameter, {}).items():
                tensors[f"optimizer/{key}/{name}"] = value
        tensors["random/cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["random/cuda"] = torch.cuda.get_rng_state(self.device)
        values: dict[str, Any] = {
            **vars(self.state),
            "wall_seconds": self._wall_seconds(),
            "cpu_seconds": self._cpu_seconds(),
        }
        return Checkpoint(tensors, values)

    def resume(self) -> int:
        """Take up the last checkpoint, if there is one.

        Returns:
            The step it was written at; 0 if there is none.

        Raises:
            WorkError: if the checkpoint is damaged or another model's.
        """
        path = latest_checkpoint(self.directory.checkpoints)
        if path is None:
            self.directory.forget_metrics_after(0)
            return 0
        checkpoint = load_checkpoint(path)
        groups: dict[str, dict[str, Tensor]] = {"model": {}, "optimizer": {}, "random": {}}
        for name, tensor in checkpoint.tensors.items():
            group, _, key = name.partition("/")
            groups.setdefault(group, {})[key] = tensor
        set_model_weights(self.model, groups["model"], path)
        parameters = dict(self.model.named_parameters())
        for name, tensor in groups["optimizer"].items():
            key, _, parameter_name = name.partition("/")
            parameter = parameters[parameter_name]
            place = "cpu" if key == "step" and self.device.type == "cpu" else self.device
            self.optimizer.state[parameter][key] = tensor.to(place)
        torch.set_rng_state(groups["random"]["cpu"])
        if self.device.type == "cuda" and "cuda" in groups["random"]:
            torch.cuda.set_rng_state(groups["random"]["cuda"], self.device)
        self.state = RunState(**checkpoint.state)
        self._began_wall = time.monotonic()
        self.directory.forget_metrics_after(self.state.step)
        return self.state.step

    @contextmanager
    def _stopping_cleanly(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM end the run after the step at hand, with a checkpoint."""

        def ask_to_stop(number: int, frame: FrameType | None) -> None:
            self.stop_asked = signal.Signals(number).name

        numbers = (signal.SIGINT, signal.SIGTERM)
        try:
            before = {number: signal.signal(number, ask_to_stop) for number in numbers}
        except ValueError:  # not in the main thread: whoever runs us handles the signals
            before = {}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
