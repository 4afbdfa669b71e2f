"""Where the weights of a file come from: data in the file, words for people."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotated_transformer.training.run_files import checked

KINDS = {"steps": list, "best": str, "imported": str}
OLDER = re.compile(  # earlier versions wrote the words into the file
    r"mean of the checkpoints of steps (?P<mean>\d+(, \d+)*)"
    r"|the weights of step (?P<step>\d+), (?P<best>.+)"
    r"|imported from the Marian model (?P<imported>.+)"
)


@dataclass(frozen=True)
class MadeFrom:
    """Where weights come from; without any of these it is not known.

    Args:
        steps: of the checkpoints whose mean they are, or of the best validation.
        best: what made that validation the best, such as "loss 1.5"; "" if it is none.
        imported: the name of the Marian model whose they are; "" if they were trained here.
    """

    steps: tuple[int, ...] = ()
    best: str = ""
    imported: str = ""

    def __str__(self) -> str:
        if self.imported:
            return f"imported from the Marian model {self.imported}"
        steps = ", ".join(map(str, self.steps))
        if self.best:
            return f"the weights of step {steps}, {self.best}"
        return f"mean of the checkpoints of steps {steps}" if steps else "not known"

    @classmethod
    def read(cls, value: Any, origin: Path, advice: str) -> "MadeFrom":
        """What a file says of its weights.

        Args:
            value: of JSON.
            origin: the file.
            advice: a sentence that says what to do if it is damaged.

        Raises:
            WorkError: if it is.
        """
        if not isinstance(value, str):
            found = checked(value, KINDS, origin, advice)
            return cls(tuple(found["steps"]), found["best"], found["imported"])
        said = OLDER.fullmatch(value)
        if said is None:
            return cls()
        steps = re.findall(r"\d+", said["mean"] or said["step"] or "")
        return cls(tuple(map(int, steps)), said["best"] or "", said["imported"] or "")
