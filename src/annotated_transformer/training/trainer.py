"""The training loop (section 5): batches by tokens, Adam, the schedule, label smoothing.

A run is a function of its configuration and its data, unless its length is given in minutes: killed
or asked to stop at any moment and resumed, it takes the same steps and ends with the same bits (on
a CPU with the same number of threads).
"""

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from annotated_transformer.after.build import build_transformer
from annotated_transformer.after.config import LaterConfig
from annotated_transformer.after.optimizers import MuonAndAdam
from annotated_transformer.after.schedules import LaterSchedule
from annotated_transformer.data import EncodedSplit
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.fast.attach import use_fast_paths
from annotated_transformer.fast.byte_dropout import use_byte_dropout
from annotated_transformer.fast.compiling import compile_layers
from annotated_transformer.training.checkpoints import (
    ADVICE,
    Checkpoint,
    latest_checkpoint,
    list_checkpoints,
    load_checkpoint,
    save_checkpoint,
    save_stop,
)
from annotated_transformer.training.distributed import ALONE, Workers
from annotated_transformer.training.gradients import StepGradients
from annotated_transformer.training.initial_gain import shrink_branches
from annotated_transformer.training.journal import DIVERGED, Journal, process_cpu_seconds
from annotated_transformer.training.planning import EpochPlans
from annotated_transformer.training.progress import Progress
from annotated_transformer.training.run_directory import (
    RunConfig,
    RunDirectory,
    average_checkpoints,
    model_weights,
)
from annotated_transformer.training.run_files import damaged
from annotated_transformer.training.schedule import LearningRateSchedule
from annotated_transformer.training.settings import TrainingConfig
from annotated_transformer.training.signals import asking_to_stop
from annotated_transformer.training.snapshot import RunState, restore_snapshot, take_snapshot
from annotated_transformer.training.step import (
    Part,
    count_tokens,
    parts_of_step,
    steps_of_epoch,
    sum_of,
    update,
)
from annotated_transformer.training.stopping import (
    best_validation,
    has_stalled,
    save_best,
    use_best,
)
from annotated_transformer.training.validation import BleuMeter, measure_validation
from annotated_transformer.transformer import Transformer


def build_model(config: RunConfig, device: torch.device) -> Transformer:
    """The model of a run with its starting values, which follow from the seed.

    Raises:
        CallError: if it is one that is imported and not trained.
    """
    if isinstance(config.model, LaterConfig) and config.model.output_bias:
        raise CallError(
            "output_bias is of models that were imported: the loss of a training has no place for "
            "it. Leave it out."
        )
    torch.manual_seed(config.training.seed)
    model = build_transformer(config.model).to(device)
    if config.training.init_gain != 1:
        shrink_branches(model, config.training.init_gain)
    if config.training.precision == "bf16" or config.training.share_rows:
        use_fast_paths(model)
    if config.training.byte_dropout:
        use_byte_dropout(model)
    if config.training.compile:
        compile_layers(model, one_shape=config.training.share_rows)
    return model


def build_optimizer(model: Transformer, settings: TrainingConfig) -> torch.optim.Optimizer:
    """Adam as in section 5.3; AdamW, which also shrinks every matrix, or Muon, if it is asked."""
    adam: dict[str, Any] = {
        "lr": 0.0,
        "betas": settings.betas,
        "eps": settings.adam_eps,
        "fused": True,
    }
    if settings.optimizer == "muon":
        return MuonAndAdam(model, settings.weight_decay, **adam)
    if not settings.weight_decay:
        return torch.optim.Adam(model.parameters(), **adam)
    matrices = [weight for weight in model.parameters() if weight.dim() > 1]
    others = [weight for weight in model.parameters() if weight.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, **adam)


def build_schedule(settings: TrainingConfig, d_model: int) -> LearningRateSchedule | LaterSchedule:
    """Equation 3 with its named departures, or a later shape with the same peak."""
    papers = LearningRateSchedule(d_model, settings.warmup, settings.learning_rate, settings.decay)
    if settings.schedule == "paper":
        return papers
    peak = papers.rate(settings.warmup)
    return LaterSchedule(settings.schedule, peak, settings.warmup, settings.decay)


class Trainer:
    """One run: its model, its optimizer, its place in the data.

    Args:
        directory: where the run lives.
        config: what determines it.
        train: the pairs to learn from.
        valid: the pairs to validate on.
        device: where to compute.
        progress: what is said meanwhile.
        workers: the processes that share the work.
        bleu: BLEU of a model on the validation pairs; only asked for where `stop_by` is "bleu".
        mirror: is given every line of metrics.jsonl.
        copies: the training pairs as ids in other ways, which the epochs after the first take in
            turn; none where each epoch reads `train`.
    """

    def __init__(
        self,
        directory: RunDirectory,
        config: RunConfig,
        train: EncodedSplit,
        valid: EncodedSplit,
        device: torch.device,
        progress: Progress,
        workers: Workers = ALONE,
        bleu: BleuMeter | None = None,
        mirror: Callable[[dict[str, Any]], None] | None = None,
        copies: Sequence[EncodedSplit] = (),
    ) -> None:
        self.directory = directory
        self.config = config
        self.settings = config.training
        self.train_splits = [train, *copies]
        self.valid_split = valid
        self.device = device
        self.progress = progress
        self.workers = workers
        self.bleu = bleu
        self.journal = Journal(directory, progress, workers.is_first, mirror)
        if workers.size > self.settings.accumulate:
            raise CallError(
                f"{workers.size} processes have nothing to share where a step is "
                f"{self.settings.accumulate} x {self.settings.max_tokens} tokens: begin a run with "
                f"--batch-tokens {workers.size * self.settings.max_tokens} or more, or with fewer "
                "--max-tokens."
            )
        if (
            workers.size > 1
            and isinstance(config.model, LaterConfig)
            and config.model.expert_balance
        ):
            raise CallError(
                "expert_balance counts the tokens of one process, and here are "
                f"{workers.size}: train in one process, or with expert_balance = 0."
            )
        self.model = build_model(config, device)
        self.optimizer = build_optimizer(self.model, self.settings)
        self.schedule = build_schedule(self.settings, config.model.d_model)
        self.gradients = StepGradients(
            self.model,
            self.settings,
            longest=max(int(np.max(split.lengths, initial=0)) for split in self.train_splits),
            parts_of_one=-(-self.settings.accumulate // workers.size),
        )
        self.plans = EpochPlans(self.gradients.rule, lambda epoch: self._split_of(epoch).lengths)
        self.following: list[Part] = []  # the parts of the next step
        self.state = RunState()
        self.stalled = False
        self.stop_asked: str | None = None

    @property
    def train_split(self) -> EncodedSplit:
        """The training pairs as this epoch reads them."""
        return self._split_of(self.state.epoch)

    def _split_of(self, epoch: int) -> EncodedSplit:
        return self.train_splits[epoch % len(self.train_splits)]

    def batches(self, epoch: int) -> list[list[int]]:
        """The batches of an epoch, in order: a function of the seed and the epoch alone."""
        return self.plans.batches(epoch)

    def planned_steps(self) -> int | None:
        """How many steps the run will take; None if only the clock knows."""
        if self.settings.steps is not None:
            return self.settings.steps
        if self.settings.epochs is not None:
            accumulate, some = self.settings.accumulate, range(len(self.train_splits))
            steps = [steps_of_epoch(len(self.batches(epoch)), accumulate) for epoch in some]
            return sum(steps[epoch % len(steps)] for epoch in range(self.settings.epochs))
        return None

    def run(self) -> bool:
        """Train to the end.

        Returns:
            Whether the end was reached; False if the run was asked to stop. Either way the last
            step is in a checkpoint; that of a stop is for resuming only, because the mean of the
            last checkpoints would otherwise depend on when somebody stopped.
        """
        planned = self.planned_steps()
        seconds = self.journal.wall_seconds()
        self.progress.begin(self.state.step, planned, self.settings.minutes, seconds)
        self.model.train()
        self._look_whether_stalled()
        with closing(self.gradients), closing(self.plans), asking_to_stop(self._ask_to_stop):
            if self.device.type == "cuda":  # a CPU has no time to spare for another process
                self.plans.plan_ahead()
            while True:
                batches = self.batches(self.state.epoch)
                while self.state.batch < len(batches) and (done := self._done(planned)) < 1:
                    epoch, first = self.state.epoch, self.state.batch
                    parts = parts_of_step(batches, epoch, first, self.settings.accumulate)
                    after = first + len(parts)
                    self.following = parts_of_step(batches, epoch, after, self.settings.accumulate)
                    self._step(parts, done)
                    if self._checkpoint_is_due(len(batches)):
                        self._save()
                    if self._asked_to_stop():
                        self._save_stop()
                        return False
                if self.state.batch == len(batches):
                    self._end_epoch()
                if self._done(planned) >= 1:
                    break
        if self.state.step == 0:
            raise WorkError(
                f"{self.settings.minutes:g} minutes were over before the first step: begin a new "
                "run with more --minutes."
            )
        if self.workers.is_first and not self.journal.has_validated(self.state.step):
            self._validate(self.state.epoch)  # the run ends within an epoch
        self._save()
        if self.workers.is_first:
            self._choose_final_weights()
        self.progress.end(self.journal.wall_seconds())
        return True

    def _ask_to_stop(self, why: str) -> None:
        self.stop_asked = why

    def _checkpoint_is_due(self, batches: int) -> bool:
        """Whether the step just taken gets a checkpoint that is kept and may be averaged."""
        every = self.settings.checkpoint_every
        return self.state.batch == batches if every is None else self.state.step % every == 0

    def _end_epoch(self) -> None:
        """Validate, which a run resumed at this very step may have done already, and go on."""
        if self.workers.is_first and not self.journal.has_validated(self.state.step):
            self._validate(self.state.epoch + 1)
        self._look_whether_stalled()
        self.state.epoch += 1
        self.state.batch = 0

    def _look_whether_stalled(self) -> None:
        """Learn from the first process whether validations have stopped getting better."""
        lines = self.journal.lines()
        stalled = has_stalled(lines, self.settings.stop_by, self.settings.stop_after)
        self.stalled = bool(self.workers.of_first(stalled))
        best = best_validation(lines, self.settings.stop_by)
        if stalled and best is not None:
            self.progress.stalled(best["step"], self.settings.stop_by, best[self.settings.stop_by])

    def _choose_final_weights(self) -> None:
        """Make model.safetensors what the settings ask for."""
        if self.settings.final == "best":
            use_best(self.directory)
            return
        wanted = 1 if self.settings.final == "last" else self.settings.average
        available = len(list_checkpoints(self.directory.checkpoints))
        average_checkpoints(self.directory, min(wanted, available))
        if available < wanted:
            self.progress.averaged(available, wanted)

    def _done(self, planned: int | None) -> float:
        """Share of the run that is done; 1 or more ends it."""
        if self.stalled:
            return 1.0
        if planned is not None:
            return self.state.step / planned
        assert self.settings.minutes is not None
        return self.workers.of_first(self.journal.wall_seconds() / (60 * self.settings.minutes))

    def _step(self, parts: list[Part], done: float) -> None:
        """One optimizer step, on the gradient of all its parts."""
        state, parameters = self.state, list(self.model.parameters())
        rate = self.schedule.rate(state.step + 1, done)
        target_tokens, tokens = count_tokens(self.train_split, parts)
        own = self.workers.share(parts)
        own_losses = self.gradients.start(self.train_split, own, target_tokens)
        self.workers.sum_gradients(parameters)
        clip = self.settings.clip_norm
        norm = update(self.optimizer, parameters, rate, clip)
        state.gradient_norm += norm
        state.clipped += clip is not None and norm > clip
        self.gradients.announce(self.train_split, self.workers.share(self.following))
        own_loss, own_cpu = sum_of(own_losses), process_cpu_seconds()
        loss, cpu_seconds = self.workers.sum_numbers([own_loss, own_cpu])
        self.journal.cpu_of_others = cpu_seconds - own_cpu
        if not math.isfinite(loss):
            raise self._diverged()
        state.step += 1
        state.batch += len(parts)
        state.loss += loss
        state.target_tokens += target_tokens
        state.tokens += tokens
        self.journal.log_if_due(state, rate, clips=self.settings.clip_norm is not None)

    def _asked_to_stop(self) -> bool:
        """Whether any process was asked to, the same answer for all."""
        asked = self.workers.sum_numbers([float(self.stop_asked is not None)])[0] > 0
        if asked and self.stop_asked is None:
            self.stop_asked = "a signal to another process"
        return asked

    def _validate(self, passes: int) -> None:
        """Measure on the validation pairs, and write it down when the best is safe."""
        measured = measure_validation(self.model, self.valid_split, self.settings, self.bleu)
        if not math.isfinite(measured["loss"]):
            raise self._diverged("The loss of the validation")
        values = {"event": "valid", "step": self.state.step, "epoch": passes, **measured}
        if self.settings.keeps_best:
            self._keep_if_best(values)
        self.journal.validated(values)

    def _keep_if_best(self, values: dict[str, Any]) -> None:
        """Keep the weights if this validation is better than all before."""
        measure = self.settings.stop_by
        lines = [*self.journal.lines(), values]
        if best_validation(lines, measure) is values:
            save_best(self.directory, model_weights(self.model), values, measure)

    def _diverged(self, what: str = "The loss") -> WorkError:
        """What to raise when something is no number; the curve says so too."""
        self.journal.record({"event": DIVERGED, "step": self.state.step + 1, "what": what})
        return WorkError(
            f"{what} is no longer a number after step {self.state.step}: the run has diverged. "
            "Checkpoints written before are intact. Begin again with a lower --learning-rate or a "
            "longer --warmup."
        )

    def _save(self) -> None:
        """Write a checkpoint that is kept and may be averaged."""
        if self.workers.is_first:
            save_checkpoint(self.directory.checkpoints, self._checkpoint(), self.settings.keep)

    def _save_stop(self) -> None:
        """Write a checkpoint to resume from; no process ends before it is whole."""
        if self.workers.is_first:
            save_stop(self.directory.checkpoints, self._checkpoint())
        self.workers.wait()

    def _checkpoint(self) -> Checkpoint:
        """This very moment. Raises WorkError if the weights have stopped being numbers."""
        if not all(parameter.isfinite().all() for parameter in self.model.parameters()):
            raise self._diverged("A weight")
        state = {
            **asdict(self.state),
            "wall_seconds": self.journal.wall_seconds(),
            "cpu_seconds": self.journal.cpu_seconds(),
        }
        return take_snapshot(self.model, self.optimizer, state, self.device)

    def resume(self) -> int:
        """Take up the last checkpoint, if there is one.

        Returns:
            The step it was written at; 0 if there is none.

        Raises:
            CallError: if the folder holds a model, but no checkpoint to go on from.
            WorkError: if the checkpoint is damaged or another model's.
        """
        path = latest_checkpoint(self.directory.checkpoints)
        if path is None and self.directory.model_file.exists():
            raise CallError(
                f"{self.directory.path} holds a finished model and no checkpoint to go on from, "
                "and nothing is overwritten: begin a new run with another --run-dir."
            )
        if path is not None:
            checkpoint = load_checkpoint(path)
            self.state = restore_snapshot(checkpoint, path, self.model, self.optimizer, self.device)
            self._refuse_a_place_that_is_none(path)
            self.journal.go_on_from(self.state.wall_seconds, self.state.cpu_seconds)
        if self.workers.is_first:
            self.directory.forget_metrics_after(self.state.step)
        return self.state.step

    def _refuse_a_place_that_is_none(self, origin: Path) -> None:
        """Raises WorkError if no training is ever where a checkpoint says that it was."""
        step, epoch, batch = self.state.step, self.state.epoch, self.state.batch
        if min(step, epoch, batch) < 0 or batch > len(self.batches(epoch)):
            place = f"step {step:,}, batch {batch:,} of epoch {epoch:,}"
            raise damaged(origin, f"the run never comes to its {place}", ADVICE)
