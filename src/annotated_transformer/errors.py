"""Errors that a user can mend: a sentence says what was given, what was expected, what to do."""


class UserError(Exception):
    """Base of the errors whose message is shown to the user as it stands, without a traceback."""

    exit_status = 1

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in a notebook instead of a traceback: the sentence."""
        return [f"{type(self).__name__}: {self}"]


class CallError(UserError):
    """The call was wrong (an unknown name, a missing file, options that contradict each other)."""

    exit_status = 2


class WorkError(UserError):
    """The call was right and the work failed (a damaged file, a full disk, no network)."""

    exit_status = 1
