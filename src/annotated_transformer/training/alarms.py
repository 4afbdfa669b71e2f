"""When to warn that a run goes wrong, long before its loss is no number any more."""

EXPLODED = 1.0  # nats per token above the best of the run; a healthy run rises by a few hundredths


def has_exploded(loss: float, best: float | None) -> bool:
    """Whether the mean loss of some steps is far above the best that so many steps had before."""
    return best is not None and loss > best + EXPLODED


def explosion(step: int, loss: float, best: float) -> str:
    """The warning."""
    return (
        f"at step {step} the loss is {loss:.3f} nats per token, and it had been {best:.3f}: the "
        "run may be diverging. It goes on. If the loss does not come back, begin again with a "
        "lower --learning-rate, a longer --warmup or --clip-norm 1."
    )
