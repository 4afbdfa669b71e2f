"""What a training run says while it works: one line on standard error."""

import sys
from typing import TextIO


class Progress:
    """Step, loss, tokens per second and time left.

    On a terminal one line is written over and over; elsewhere (a log file) a line is written at
    most every `quiet_seconds`. Seconds are those that the run has taken, stops not counted.
    """

    def __init__(self, stream: TextIO | None = None, quiet_seconds: float = 20.0) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.quiet_seconds = quiet_seconds
        self.on_terminal = self.stream.isatty()
        self.first_step, self.first_second = 0, 0.0
        self.planned: int | None = None
        self.minutes: float | None = None
        self.last_line = -float("inf")

    def begin(self, step: int, planned: int | None, minutes: float | None, seconds: float) -> None:
        """The run begins, or goes on, after `step` steps and so many seconds."""
        self.first_step, self.first_second = step, seconds
        self.planned, self.minutes = planned, minutes

    def logged(self, step: int, loss: float, speed: float, rate: float, seconds: float) -> None:
        """Say how it goes; `speed` in tokens (source and target) a second."""
        if self.on_terminal or seconds - self.last_line >= self.quiet_seconds:
            self.last_line = seconds
            of = f"/{self.planned}" if self.planned else ""
            self._write(
                f"step {step}{of}  loss {loss:.3f}  {speed:,.0f} tokens/s  rate {rate:.2e}  "
                f"{self._time_left(step, seconds)}",
                over=True,
            )

    def validated(
        self, epoch: int, loss: float, perplexity: float, bleu: float | None = None
    ) -> None:
        """Say how the model does on the validation pairs."""
        score = "" if bleu is None else f", BLEU {bleu:.2f}"
        self._write(
            f"epoch {epoch}: validation loss {loss:.3f}, perplexity {perplexity:.2f}{score}"
        )

    def stalled(self, step: int, measure: str, value: float) -> None:
        """Say why the run ends before its time."""
        self._write(f"no validation was better than that of step {step} ({measure} {value:g})")

    def averaged(self, available: int, wanted: int) -> None:
        """Say that the run was too short for all the checkpoints that should be averaged."""
        self._write(
            f"the model is the mean of {available} of the {wanted} checkpoints asked for: "
            "there are no more"
        )

    def warned(self, text: str) -> None:
        """Say that something is not as it should be."""
        self._write(f"warning: {text}")

    def end(self, seconds: float) -> None:
        """The run is done."""
        self._write(f"done in {seconds / 60:.1f} minutes")

    def _time_left(self, step: int, seconds: float) -> str:
        if self.planned:  # at the speed since the run began or was resumed
            share = (self.planned - step) / max(step - self.first_step, 1)
            left = share * (seconds - self.first_second)
        elif self.minutes:
            left = 60 * self.minutes - seconds
        else:
            return ""
        minutes, rest = divmod(int(max(left, 0)), 60)
        return f"{minutes}:{rest:02d} left"

    def _write(self, line: str, over: bool = False) -> None:
        if self.on_terminal:
            self.stream.write(f"\r\x1b[2K{line}" + ("" if over else "\n"))
        else:
            self.stream.write(line + "\n")
        self.stream.flush()
