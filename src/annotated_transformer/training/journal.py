"""What a run writes down as it goes: losses, validations, warnings, and what it has cost so far."""

import os
import time
from collections.abc import Callable
from typing import Any

from annotated_transformer.training.alarms import explosion, has_exploded
from annotated_transformer.training.progress import Progress
from annotated_transformer.training.run_directory import RunDirectory
from annotated_transformer.training.snapshot import RunState

Metrics = dict[str, Any]
LOG_EVERY = 50  # steps
DIVERGED = "diverged"  # the event of a run whose loss is no number any more


class Journal:
    """metrics.jsonl, the line on standard error, and a mirror such as TensorBoard.

    Args:
        directory: of the run.
        progress: what is said.
        writes: whether this process writes; of several, one does.
        mirror: is given every line of metrics.jsonl.
    """

    def __init__(
        self,
        directory: RunDirectory,
        progress: Progress,
        writes: bool = True,
        mirror: Callable[[Metrics], None] | None = None,
    ) -> None:
        self.directory = directory
        self.progress = progress
        self.writes = writes
        self.mirror = mirror
        self.cpu_of_others = 0.0  # seconds, of the other processes since the last resume
        self.go_on_from(0.0, 0.0)

    def go_on_from(self, wall_seconds: float, cpu_seconds: float) -> None:
        """The run had cost so much before this process took it up."""
        self._wall_before, self._cpu_before = wall_seconds, cpu_seconds
        self._began = time.monotonic()

    def wall_seconds(self) -> float:
        """Of the run, stops not counted."""
        return self._wall_before + time.monotonic() - self._began

    def cpu_seconds(self) -> float:
        """Of all processes of the run."""
        return self._cpu_before + process_cpu_seconds() + self.cpu_of_others

    def lines(self) -> list[Metrics]:
        """Everything written so far; nothing in a process that does not write."""
        return self.directory.read_metrics() if self.writes else []

    def has_validated(self, step: int) -> bool:
        """Whether the weights of a step have been validated."""
        return any(line["event"] == "valid" and line["step"] == step for line in self.lines())

    def record(self, values: Metrics) -> None:
        """Write one line."""
        if not self.writes:
            return
        costs = {
            "wall_seconds": round(self.wall_seconds(), 2),
            "cpu_seconds": round(self.cpu_seconds(), 2),
        }
        self.directory.append_metrics({**values, **costs})
        if self.mirror is not None:
            self.mirror({**values, **costs})

    def validated(self, values: Metrics) -> None:
        """Write a validation down and say it."""
        self.record(values)
        self.progress.validated(
            values["epoch"], values["loss"], values["perplexity"], values.get("bleu")
        )

    def warn(self, step: int, about: str, text: str) -> None:
        """Say that something is not as it should be, and write it down."""
        self.progress.warned(text)
        self.record({"event": "warning", "step": step, "about": about, "text": text})

    def log_if_due(self, state: RunState, rate: float, clips: bool) -> None:
        """Every `LOG_EVERY` steps: one line over the steps since the last, which begin anew."""
        if state.step % LOG_EVERY != 0:
            return
        loss = state.loss / state.target_tokens
        self._watch(state, loss)
        now = self.wall_seconds()
        speed = state.tokens / max(now - state.logged_at, 1e-9)
        self.progress.logged(state.step, loss, speed, rate, now)
        values = {
            "event": "train",
            "step": state.step,
            "epoch": state.epoch,
            "loss": round(loss, 6),
            "tokens": state.tokens,
            "tokens_per_second": round(speed, 1),
            "learning_rate": rate,
        }
        if clips:
            values["gradient_norm"] = round(state.gradient_norm / LOG_EVERY, 6)
            values["clipped"] = state.clipped / LOG_EVERY
        self.record(values)
        state.loss, state.target_tokens, state.tokens = 0.0, 0, 0
        state.gradient_norm, state.clipped = 0.0, 0
        state.logged_at = now

    def _watch(self, state: RunState, loss: float) -> None:
        """Warn once of a loss that explodes, and again only after it has come back."""
        exploded = has_exploded(loss, state.best_loss)
        if exploded and not state.alarmed and state.best_loss is not None:
            self.warn(state.step, "loss", explosion(state.step, loss, state.best_loss))
        state.alarmed = exploded
        state.best_loss = loss if state.best_loss is None else min(loss, state.best_loss)


def process_cpu_seconds() -> float:
    """CPU time of this process, all threads together."""
    times = os.times()
    return times.user + times.system
