"""Exercises that show listings with one fault each, to be named by the letters of a table.

Which faults appear, in which order and under which letters is drawn per learner.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import ClassVar, Self

from annotated_transformer.exercises.exercise import Candidate, Mistake


@dataclass(frozen=True)
class Fault:
    """name, and what the table of letters says. body: the listing. absent: what stands in a
    listing without this fault. look: where to look in the listing that has it.
    """

    name: str
    described: str
    body: tuple[str, ...]
    absent: str
    look: str


@dataclass(frozen=True)
class Draw:
    """table: the faults by letter, A first. shown: the faults that the listings have.

    A subclass says what its listings are called (a number is added) and what they are given.
    """

    listing: ClassVar[str]
    arguments: ClassVar[str]

    table: tuple[Fault, ...]
    shown: tuple[Fault, ...]

    @classmethod
    def of_places(cls, faults: Sequence[Fault], table: Sequence[int], shown: Sequence[int]) -> Self:
        """The faults at these places."""
        return cls(tuple(faults[i] for i in table), tuple(faults[i] for i in shown))

    @classmethod
    def of_seed(cls, faults: Sequence[Fault], shown: int, seed: int) -> Self:
        """All faults under other letters, and `shown` of them in listings."""
        draw = random.Random(seed)
        return cls(tuple(draw.sample(faults, len(faults))), tuple(draw.sample(faults, shown)))

    @classmethod
    def key(cls, position: int) -> str:
        return f"{cls.listing}_{position + 1}"

    def letter(self, fault: Fault) -> str:
        return ascii_uppercase[self.table.index(fault)]

    def answers(self) -> dict[str, str]:
        return {self.key(i): self.letter(fault) for i, fault in enumerate(self.shown)}

    def listings(self) -> str:
        """The faulty functions as Python source."""
        return "\n\n".join(
            "\n".join((f"def {self.key(position)}({self.arguments}):", *fault.body))
            for position, fault in enumerate(self.shown)
        )

    def table_and_listings(self) -> str:
        """How a statement ends."""
        table = "\n".join(f"{self.letter(fault)}: {fault.described}" for fault in self.table)
        return f"{table}\n\n{self.listings()}"

    def wrong_letters(self, sentence: Callable[[str, Fault, Fault], str]) -> Iterator[Mistake]:
        """Every wrong letter for every listing.

        Args:
            sentence: what to say for a listing's key, its fault, and the fault that was named.
                Where to look is added.
        """
        for position, fault in enumerate(self.shown):
            for other in self.table:
                if other is fault:
                    continue
                key = self.key(position)
                yield Mistake(
                    f"{key}-is-not-{other.name}",
                    says({key: self.letter(other)}),
                    f"{sentence(key, fault, other)} {fault.look}",
                )

    def starter(self) -> str:
        """The stub of the notebook's cell."""
        keys = "".join(f'        "{self.key(i)}": ...,\n' for i in range(len(self.shown)))
        return f"def answer():\n    return {{\n{keys}    }}"


def says(answers: dict[str, str]) -> Candidate:
    return lambda: dict(answers)
