"""What a training run says while it works: one line on standard error."""

import sys
import time
from typing import TextIO


class Progress:
    """Step, loss, tokens per second and time left.

    On a terminal one line is written over and over; elsewhere (a log file) a line is written at
    most every `quiet_seconds`.
    """

    def __init__(self, stream: TextIO | None = None, quiet_seconds: float = 20.0) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.quiet_seconds = quiet_seconds
        self.on_terminal = self.stream.isatty()
        self.first_step = 0
        self.planned: int | None = None
        self.minutes: float | None = None
        self.began = self.last_log = time.monotonic()
        self.last_line = -float("inf")

    def begin(self, step: int, planned: int | None, minutes: float | None) -> None:
        """The run begins, or goes on, after `step` steps."""
        self.first_step, self.planned, self.minutes = step, planned, minutes
        self.began = self.last_log = time.monotonic()

    def logged(self, step: int, loss: float, positions: int, rate: float) -> float:
        """Say how it goes since the last call. Returns tokens (source and target) a second."""
        now = time.monotonic()
        speed = positions / max(now - self.last_log, 1e-9)
        self.last_log = now
        if self.on_terminal or now - self.last_line >= self.quiet_seconds:
            self.last_line = now
            of = f"/{self.planned}" if self.planned else ""
            self._write(
                f"step {step}{of}  loss {loss:.3f}  {speed:,.0f} tokens/s  rate {rate:.2e}  "
                f"{self._time_left(step, now)}",
                over=True,
            )
        return speed

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

    def warned(self, text: str) -> None:
        """Say that something is not as it should be."""
        self._write(f"warning: {text}")

    def end(self) -> None:
        """The run is done."""
        self._write(f"done in {(time.monotonic() - self.began) / 60:.1f} minutes")

    def _time_left(self, step: int, now: float) -> str:
        if self.planned:
            share = (self.planned - step) / max(step - self.first_step, 1)
            seconds = share * (now - self.began)
        elif self.minutes:
            seconds = 60 * self.minutes - (now - self.began)
        else:
            return ""
        minutes, seconds = divmod(int(max(seconds, 0)), 60)
        return f"{minutes}:{seconds:02d} left"

    def _write(self, line: str, over: bool = False) -> None:
        if self.on_terminal:
            self.stream.write(f"\r\x1b[2K{line}" + ("" if over else "\n"))
        else:
            self.stream.write(line + "\n")
        self.stream.flush()
