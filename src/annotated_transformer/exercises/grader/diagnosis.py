"""Which named mistake explains a candidate: the bank is run on the same cases and compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from annotated_transformer.exercises.exercise import Exercise, Mistake
from annotated_transformer.exercises.grader.accidents import remark_on
from annotated_transformer.exercises.grader.compare import (
    Tolerance,
    as_number,
    close_numbers,
    is_number,
    kind_of,
    same,
)
from annotated_transformer.exercises.grader.ladder import ANSWER_TOLERANCE, Finding, Trial
from annotated_transformer.exercises.grader.outcomes import Outcome, outcome_of
from annotated_transformer.exercises.grader.regularities import regularity_everywhere
from annotated_transformer.exercises.grader.values import Array, to_plain

Part = Callable[[Outcome, Outcome, Tolerance], bool]
LOOSE = Tolerance(1e-4)  # for a candidate that lost precision on top of its mistake


@dataclass(frozen=True)
class Match:
    """How well a mistake explains a candidate that it does not equal on every case.

    explained: wrong results that it shares; evidence: those among them that are values rather than
    exceptions; unexplained: wrong results it does not share; contradicted: right results where the
    mistake would have given a wrong one.
    """

    mistake: Mistake
    explained: int
    evidence: int
    unexplained: int
    contradicted: int

    @property
    def convincing(self) -> bool:
        """The mistake together with another one: shared wrong values, not too much besides."""
        enough = 3 * self.explained > self.unexplained and self.explained >= self.contradicted
        return self.evidence > 0 and enough

    @property
    def remark(self) -> str:
        """What is said before the sentence of a mistake that explains only a part."""
        wrong = self.explained + self.unexplained
        if self.unexplained == self.contradicted == 0:
            return ""
        where = f"on {self.explained} of {wrong} inputs the result is that of this mistake"
        where += (
            ", on others it is right where that would be wrong. " if self.contradicted else ". "
        )
        return f"In part: {where}" if 5 * self.explained >= 3 * wrong else f"Perhaps: {where}"

    @property
    def score(self) -> int:
        """Higher explains better."""
        return 2 * self.explained - 2 * self.contradicted - self.unexplained


class _Bank:
    """The outcomes of the named mistakes on the candidate's cases, each computed when asked for."""

    def __init__(self, exercise: Exercise, trials: Sequence[Trial]) -> None:
        self.exercise, self.trials = exercise, trials
        self.known: dict[tuple[int, int], Outcome] = {}

    def outcome(self, mistake: int, trial: Trial) -> Outcome:
        key = mistake, trial.index
        if key not in self.known:
            function = self.exercise.mistakes[mistake].implementation
            self.known[key] = outcome_of(self.exercise, trial.index, function, trial.got.dtype)
        return self.known[key]

    def shares(self, mistake: int, trial: Trial) -> bool:
        """The mistake does on this case all that the candidate does."""
        outcome = self.outcome(mistake, trial)
        return all(part(outcome, trial.got, trial.tolerance) for part in PARTS)

    def match(self, mistake: int) -> Match:
        explained = evidence = unexplained = contradicted = 0
        for trial in self.trials:
            if _deviation(trial) is None:
                contradicted += not self.shares(mistake, trial)
            elif self.shares_deviation(mistake, trial):
                explained += 1
                evidence += trial.got.failure is None
            else:
                unexplained += 1
        found = self.exercise.mistakes[mistake]
        return Match(found, explained, evidence, unexplained, contradicted)

    def shares_deviation(self, mistake: int, trial: Trial) -> bool:
        """The mistake has on this case the same wrong result as the candidate, or side effect."""
        part = _deviation(trial)
        return part is not None and part(self.outcome(mistake, trial), trial.got, trial.tolerance)


def diagnose(exercise: Exercise, trials: Sequence[Trial]) -> tuple[Mistake, str] | None:
    """The bank entry that explains the candidate best, and a remark where it does so in part.

    First the entries that do exactly what the candidate does, which are few after one case that is
    wrong; only where there is none, those that share some of the wrong values.
    """
    wrong = [trial for trial in trials if _deviation(trial)]
    right = [trial for trial in trials if not _deviation(trial)]
    if not wrong:
        return None
    bank = _Bank(exercise, trials)
    alike = list(range(len(exercise.mistakes)))
    for trial in (*wrong, *right):
        alike = [mistake for mistake in alike if bank.shares(mistake, trial)]
    if alike:
        return exercise.mistakes[alike[0]], ""
    near = [
        mistake
        for mistake in range(len(exercise.mistakes))
        if any(bank.shares_deviation(mistake, t) for t in wrong if t.got.failure is None)
    ]
    convincing = [match for match in map(bank.match, near) if match.convincing]
    if not convincing:
        return None
    best = max(convincing, key=lambda match: match.score)
    return best.mistake, best.remark


def _deviation(trial: Trial) -> Part | None:
    """The first part in which the candidate differs from the reference, None where it is right."""
    for part in PARTS:
        if not part(trial.expected, trial.got, trial.tolerance):
            return part
    return None


def same_result(one: Outcome, other: Outcome, tolerance: Tolerance) -> bool:
    """Equal values, or exceptions of one class; a usual accident equals only its like."""
    if one.failure is not None or other.failure is not None:
        return (
            one.failure is not None
            and other.failure is not None
            and one.failure.class_name == other.failure.class_name
            and remark_on(one.failure) == remark_on(other.failure)
        )
    return same(one.value, other.value, tolerance) or (
        _dtype_apart(one, other) and same(one.value, other.value, LOOSE, any_float=True)
    )


def _dtype_apart(one: Outcome, other: Outcome) -> bool:
    """Single tensors of two floating dtypes: the precision is lost on top of the mistake."""
    a, b = one.value, other.value
    return isinstance(a, Array) and isinstance(b, Array) and a.dtype != b.dtype


def same_inputs_after(one: Outcome, other: Outcome, tolerance: Tolerance) -> bool:
    """Both left the inputs in the same state, or both raised."""
    if one.failure is not None or other.failure is not None:
        return one.failure is not None and other.failure is not None
    return same(one.after, other.after, tolerance)


def same_gradients(one: Outcome, other: Outcome, tolerance: Tolerance) -> bool:
    """Equal gradients, or the same kind of failure of autograd; or both raised before it."""
    if one.failure is not None or other.failure is not None:
        return one.failure is not None and other.failure is not None
    if one.left_torch or other.left_torch:
        return True
    if one.gradient_failure is not None or other.gradient_failure is not None:
        return (
            one.gradient_failure is not None
            and other.gradient_failure is not None
            and one.gradient_failure.class_name == other.gradient_failure.class_name
        )
    loose = Tolerance(tolerance.relative * 10, tolerance.absolute)
    return same(one.gradients, other.gradients, loose, any_float=True)


PARTS: tuple[Part, ...] = (same_result, same_inputs_after, same_gradients)


def wrong_answers(
    exercise: Exercise, expected: dict[object, object], got: dict[object, object]
) -> list[object]:
    """The keys of an answer that are wrong or missing, in the order of the reference."""
    return [key for key in expected if key not in got or not same_answer(expected[key], got[key])]


def same_answer(expected: Any, got: Any) -> bool:
    """Numbers within 1 %, whole ones too; shapes exactly; words whatever their case and spaces."""
    got = as_number(got)
    if is_number(expected) and is_number(got):
        return close_numbers(expected, got, ANSWER_TOLERANCE)
    return same(_plain_words(expected), _plain_words(got), ANSWER_TOLERANCE)


def _plain_words(answer: Any) -> Any:
    if isinstance(answer, str):
        return " ".join(answer.split()).casefold()
    if isinstance(answer, (list, tuple)):
        return [_plain_words(item) for item in answer]
    return answer


def diagnose_answer(exercise: Exercise, key: object, got: object) -> Mistake | None:
    """The bank entry that gives this wrong value for this key, of several the nearest."""
    found: list[tuple[float, int]] = []
    for number, mistake in enumerate(exercise.mistakes):
        wrong = to_plain(mistake.implementation())
        if key in wrong and same_answer(wrong[key], got):
            near = as_number(got)
            plain = is_number(wrong[key]) and is_number(near)
            found.append((abs(wrong[key] - near) if plain else 0.0, number))
    return exercise.mistakes[min(found)[1]] if found else None


def about_kind(exercise: Exercise, key: object, expected: Any, got: Any) -> str:
    """What to say to a wrong value that the bank does not know: its kind, where that is wrong."""
    got = as_number(got)
    letters = _letters(exercise, key, expected)
    if len(letters) > 2 and _plain_words(got) not in map(_plain_words, letters):
        return f"Asked for is one of the letters {', '.join(letters)}, alone."
    sizes = isinstance(expected, (tuple, list)) and isinstance(got, (tuple, list))
    if sizes and len(expected) != len(got):
        axes = ", one an axis" if exercise.kind == "shape" else ""
        return f"This has {len(got)} parts; the answer has {len(expected)}{axes}."
    for name, belongs in _KINDS:
        if belongs(expected) and not belongs(got):
            quoted = ", without quotes" if isinstance(got, str) else ""
            return f"This is {kind_of(got)}; asked for is {name}{quoted}."
    return "This is not the value."


def _letters(exercise: Exercise, key: object, expected: Any) -> list[str]:
    """The letters that may be answered, from the answer and the bank; none if it is no letter."""
    known = [to_plain(mistake.implementation()).get(key) for mistake in exercise.mistakes]
    given = {value for value in [expected, *known] if isinstance(value, str)}
    return sorted(given) if all(len(value) == 1 for value in given) else []


_KINDS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("a number", is_number),
    ("a string", lambda value: isinstance(value, str)),
    ("a tuple or a list", lambda value: isinstance(value, (tuple, list))),
    ("True or False", lambda value: isinstance(value, bool)),
)


def mechanism(finding: Finding, trials: Sequence[Trial]) -> str | None:
    """What a usual exception means, or what the input isolates and how the numbers differ."""
    trial = finding.trial
    if trial is not None and trial.got.failure is not None:
        return remark_on(trial.got.failure)
    if finding.rung == "dtype":
        return _about_dtype(str(finding.expected))
    sentences = []
    if trial is not None and finding.rung in ("values", "invariant", "finite"):
        sound = [
            other.case.isolates
            for other in trials
            if other.case.isolates
            and other.index != trial.index
            and same_result(other.expected, other.got, other.tolerance)
        ]
        if trial.case.isolates:
            sentences.append(f"This input isolates {trial.case.isolates.rstrip('.')}.")
        if sound:
            parts = [part.split(":")[0] for part in dict.fromkeys(sound)]
            sentences.append(f"Already right: {'; '.join(parts)}.")
        if regularity := regularity_everywhere(finding, trials):
            sentences.append(regularity)
    return " ".join(sentences) or None


def _about_dtype(expected: str) -> str:
    if expected == "bool":
        return "Asked for is a boolean tensor: comparisons give one, or `dtype=torch.bool`."
    return (
        "The result has to have the dtype that the inputs ask for, in every precision: no "
        "`.float()`, and new tensors by `zeros_like(x)` or with `dtype=x.dtype`."
    )
