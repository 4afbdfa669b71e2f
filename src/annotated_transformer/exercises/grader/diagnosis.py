"""Which named mistake explains a candidate: the bank is run on the same cases and compared."""

import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from annotated_transformer.exercises.bank import together
from annotated_transformer.exercises.exercise import Candidate, Exercise, Mistake
from annotated_transformer.exercises.grader.compare import Tolerance, pairs, same, structure_problem
from annotated_transformer.exercises.grader.effects import fitting_pairs
from annotated_transformer.exercises.grader.ladder import Finding, Trial, climb, describe
from annotated_transformer.exercises.grader.outcomes import Outcome, outcome_of
from annotated_transformer.exercises.grader.values import Array
from annotated_transformer.exercises.grader.wordings import same_accident, same_to_the_number

Part = Callable[[Outcome, Outcome, Tolerance], bool]
Place = tuple[int, int]  # of a case, and of a part of its outcome
MOST_TRIED = 1_000  # results of pairs that are looked at in one check
SECONDS_FOR_PAIRS = 5.0  # of processor time: a brake for what is slower than all that is known
MOST_FITTED = 3  # wrong cases on which effects are added
TELLING = 16  # cases on which two mistakes are looked for; what both give is compared on all
PRAISE = re.compile(r"^(The [\w ]+?) (?:is|are)(?: turned)? right(?:ly)?,? but (?:(?:it|they) )?")
LOOSE = Tolerance(1e-4)  # for a candidate that lost precision on top of its mistake


@dataclass(frozen=True)
class Diagnosis:
    """The named mistakes, what to say of them, and what to show beside it: it explains that."""

    mistakes: tuple[Mistake, ...]
    text: str
    finding: Finding


@dataclass(frozen=True)
class Match:
    """How well a mistake explains a candidate that it does not equal on every case.

    explains: the cases of the wrong results that it shares; evidence: how many of them are values
    rather than exceptions; unexplained: wrong results it does not share; contradicted: right
    results where the mistake would have given a wrong one.
    """

    mistake: Mistake
    explains: frozenset[int]
    evidence: int
    unexplained: int
    contradicted: int

    @property
    def explained(self) -> int:
        """How many wrong results it shares."""
        return len(self.explains)

    @property
    def convincing(self) -> bool:
        """The mistake together with another one: shared wrong values, not too much besides."""
        enough = 3 * self.explained > self.unexplained and self.explained >= self.contradicted
        return self.evidence > 0 and enough

    @property
    def text(self) -> str:
        """The sentence, with what is said around it where it explains only a part."""
        wrong = self.explained + self.unexplained
        sentence = self.mistake.sentence
        if self.unexplained:
            sentence = _without_praise(sentence)
        if self.contradicted == 0 and self.explained >= 4 * self.unexplained:
            rest = f" On {self.unexplained} of {wrong} inputs the result is wrong in another way."
            return sentence + (rest if self.unexplained else "")
        where = f"on {self.explained} of {wrong} inputs the result is that of this mistake"
        where += ", on others it is right where that would be wrong" if self.contradicted else ""
        share = "In part" if 5 * self.explained >= 3 * wrong else "Perhaps"
        return f"{share}: {where}. {sentence}"

    @property
    def score(self) -> int:
        """Higher explains better."""
        return 2 * self.explained - 2 * self.contradicted - self.unexplained


# What the mistakes of an exercise do: the same at each check of it, and kept until another comes.
# By mistake, case, dtype, and whether gradients were asked for.
_LAST: list[tuple[Exercise, dict[tuple[int, int, str, bool], Outcome]]] = []


def _known_of(exercise: Exercise) -> dict[tuple[int, int, str, bool], Outcome]:
    if not _LAST or _LAST[0][0] is not exercise:
        _LAST[:] = [(exercise, {})]
    return _LAST[0][1]


class _Bank:
    """The outcomes of the named mistakes on the candidate's cases, each computed when asked for."""

    def __init__(self, exercise: Exercise, trials: Sequence[Trial]) -> None:
        self.exercise, self.trials = exercise, trials
        self.known = _known_of(exercise)
        self.right = {t.index for t in trials if same_result(t.expected, t.got, t.tolerance)}
        wrong = [trial for trial in trials if trial.index not in self.right][: TELLING * 2 // 3]
        right = [trial for trial in trials if trial.index in self.right]
        self.telling = [*wrong, *right[: TELLING - len(wrong)]]
        self.places: dict[int, tuple[set[Place], set[Place]]] = {}

    def outcome(self, mistake: int, trial: Trial, gradients: bool = False) -> Outcome:
        number, dtype = trial.index, trial.got.dtype
        gradients = gradients and trial.case.gradient != "ignored"
        key = mistake, number, dtype, gradients
        if key not in self.known:
            function = self.exercise.mistakes[mistake].implementation
            self.known[key] = outcome_of(self.exercise, number, function, dtype, gradients)
        return self.known[key]

    def shares(self, mistake: int, trial: Trial) -> bool:
        """The mistake does on this case all that the candidate does."""
        return _same_outcome(partial(self.outcome, mistake, trial), trial)

    def does_the_same(self, function: Candidate, trial: Trial) -> bool:
        """`shares` for a function that is no entry."""
        run = partial(outcome_of, self.exercise, trial.index, function, trial.got.dtype)
        return _same_outcome(run, trial)

    def match(self, mistake: int) -> Match:
        evidence = unexplained = contradicted = 0
        explains = set()
        for trial in self.trials:
            if _deviation(trial) is None:
                contradicted += not self.shares(mistake, trial)
            elif self.shares_deviation(mistake, trial):
                explains.add(trial.index)
                evidence += trial.got.failure is None
            else:
                unexplained += 1
        found = self.exercise.mistakes[mistake]
        return Match(found, frozenset(explains), evidence, unexplained, contradicted)

    def raises_the_same(self, mistake: int) -> bool:
        """Every exception is the candidate's to the number: all there is where nothing returns."""
        for trial in self.trials:
            one, other = self.outcome(mistake, trial).failure, trial.got.failure
            if one is None or other is None or not same_to_the_number(one, other):
                return False
        return True

    def alike(self, mistake: int) -> tuple[set[Place], set[Place]]:
        """The places where the mistake does what the candidate does; where it does no harm."""
        if mistake not in self.places:
            self.places[mistake] = self._alike(mistake)
        return self.places[mistake]

    def _alike(self, mistake: int) -> tuple[set[Place], set[Place]]:
        shared: set[Place] = set()
        harmless: set[Place] = set()
        for trial in self.telling:
            # Of a wrong value the gradients are wrong too, and tell nothing more.
            outcome = self.outcome(mistake, trial, gradients=trial.index in self.right)
            parts = PARTS[1:] if trial.index in self.right else (same_inputs_after,)
            for places, other in ((shared, trial.got), (harmless, trial.expected)):
                equal = [
                    *_equal_values(trial, outcome, other),
                    *(part(outcome, other, trial.tolerance) for part in parts),
                ]
                places.update((trial.index, part) for part, same in enumerate(equal) if same)
        return shared, harmless

    def shares_part(self, mistake: int, trials: Sequence[Trial], places: set[Place]) -> bool:
        """The mistake returns at one of these places what the candidate does."""
        return any(
            same and (trial.index, part) in places
            for trial in trials
            for part, same in enumerate(
                _equal_values(trial, self.outcome(mistake, trial), trial.got)
            )
        )

    def shares_deviation(self, mistake: int, trial: Trial) -> bool:
        """The mistake has on this case the same wrong result as the candidate, or side effect."""
        part = _deviation(trial)
        if part is None:
            return False
        return part(
            self.outcome(mistake, trial, part is same_gradients), trial.got, trial.tolerance
        )


def diagnose(trials: Sequence[Trial], shown: Finding) -> Diagnosis | None:
    """The bank entries that explain the candidate best, and what to say of them.

    First one that does exactly what the candidate does, of which few are left after one case that
    is wrong; where there is none, two that do so when made together; then two of which each is seen
    where the other does no harm; else one that shares some of the wrong values, of equally good
    ones one that explains what was found first. Where every wrong case ends in an exception, one
    that raises the same and on no case that is right: what is wrong behind it has not been reached.
    """
    wrong = [trial for trial in trials if _deviation(trial)]
    right = [trial for trial in trials if not _deviation(trial)]
    if not wrong:
        return None
    bank = _Bank(trials[0].exercise, trials)
    named = bank.exercise.mistakes
    alike = list(range(len(named)))
    for trial in (*wrong, *right):
        alike = [mistake for mistake in alike if bank.shares(mistake, trial)]
    if not any(trial.got.failure is None for trial in trials):
        alike = [mistake for mistake in alike if bank.raises_the_same(mistake)]
    if alike:
        return Diagnosis((named[alike[0]],), named[alike[0]].sentence, shown)
    if all(_deviation(trial) is same_gradients for trial in wrong):
        return None  # the card says what cuts a result off; no line of the bank is about it
    if all(trial.got.failure for trial in wrong):
        return _raised_alike(bank, wrong, right, shown)  # what follows wants a wrong value
    if _like_no_other(bank, wrong):
        return None
    telling = [trial for trial in bank.telling if _deviation(trial)]
    if both := _made_together(bank, telling, shown):
        return both
    if two := _two_at_once(bank, telling, shown):
        return two
    near = [
        mistake
        for mistake in range(len(named))
        if any(bank.shares_deviation(mistake, t) for t in telling if t.got.failure is None)
    ]
    convincing = [match for match in map(bank.match, near) if match.convincing]
    if not convincing:
        return None
    number = shown.trial.index if shown.trial else -1
    best = max(convincing, key=lambda match: (match.score, number in match.explains))
    finding, rest = _shown_among(trials, shown, best.explains)
    return Diagnosis((best.mistake,), best.text + rest, finding)


def _made_together(bank: _Bank, wrong: Sequence[Trial], shown: Finding) -> Diagnosis | None:
    """Two mistakes that, made together, do exactly what the candidate does.

    First come pairs whose effects add up or multiply to the candidate's. Where one of two does no
    harm the other is seen alone: the rest come in the order of how often that is so, less how often
    it is not, until `MOST_TRIED` results have been looked at.
    """
    begun, tried = time.thread_time(), 0
    places = _wrong_places(wrong)
    everyone = range(len(bank.exercise.mistakes))
    seen = [bank.alike(mistake) for mistake in everyone]
    fitting = np.zeros((len(seen), len(seen)), int)
    for trial in wrong[:MOST_FITTED]:
        alone = [bank.outcome(mistake, trial) for mistake in everyone]
        fitting += fitting_pairs(trial.expected, trial.got, alone)

    def doubt(pair: tuple[int, int]) -> tuple[int, int]:
        (shared, harmless), (shared_too, harmless_too) = seen[pair[0]], seen[pair[1]]
        odd = len(harmless - shared_too) + len(harmless_too - shared)
        return -int(fitting[pair]), odd - len(places & (harmless ^ harmless_too))

    for one, other in sorted(combinations(everyone, 2), key=doubt):
        function = together(bank.exercise.mistakes[one], bank.exercise.mistakes[other])
        if function is None:
            continue
        of_one = {number for number, _ in seen[one][1] | seen[other][1]}  # the rest is of both
        for trial in sorted(bank.trials, key=lambda trial: trial.index in of_one):
            tried += 1
            if not bank.does_the_same(function, trial):
                break
        else:
            shared = [seen[mistake][0] & places for mistake in (one, other)]
            return _said_of(bank, (one, other), shared, places, shown, surely=True)
        if tried > MOST_TRIED or time.thread_time() - begun > SECONDS_FOR_PAIRS:
            return None
    return None


def _same_outcome(run: Callable[[bool], Outcome], trial: Trial) -> bool:
    """Whether `run(gradients)` does what the candidate does; gradients are asked for at the end."""
    plain, got, tolerance = run(False), trial.got, trial.tolerance
    if not (same_result(plain, got, tolerance) and same_inputs_after(plain, got, tolerance)):
        return False
    return same_gradients(run(True), got, tolerance)


def _raised_alike(
    bank: _Bank, wrong: Sequence[Trial], right: Sequence[Trial], shown: Finding
) -> Diagnosis | None:
    """The mistake that raises what the candidate raises first, and on most of the cases."""

    def shared(mistake: int) -> int:
        return sum(_same_exception(bank.outcome(mistake, trial), trial.got) for trial in wrong)

    number = shown.trial.index if shown.trial else wrong[0].index
    first = next((trial for trial in wrong if trial.index == number), wrong[0])
    raising = [
        mistake
        for mistake in range(len(bank.exercise.mistakes))
        if _same_exception(bank.outcome(mistake, first), first.got)
        and not any(bank.outcome(mistake, trial).failure for trial in right)
    ]
    if not raising:
        return None
    found = bank.exercise.mistakes[max(raising, key=shared)]
    return Diagnosis((found,), found.sentence, shown)


def _same_exception(one: Outcome, other: Outcome) -> bool:
    return (
        one.failure is not None
        and other.failure is not None
        and same_to_the_number(one.failure, other.failure)
    )


def _like_no_other(bank: _Bank, wrong: Sequence[Trial]) -> bool:
    """Wrong in type or arity on every case, and on the first as no named mistake is.

    The card says what was expected; to run the whole bank on all cases would only take seconds.
    """
    problems = [
        structure_problem(t.expected.value, t.got.value) for t in wrong if not t.got.failure
    ]
    if not all(problems):
        return False
    first = next(trial for trial in wrong if not trial.got.failure)
    outcomes = (bank.outcome(mistake, first) for mistake in range(len(bank.exercise.mistakes)))
    return not any(
        structure_problem(first.expected.value, outcome.value) == problems[0]
        for outcome in outcomes
        if not outcome.failure
    )


def _shown_among(
    trials: Sequence[Trial], first: Finding, explained: Collection[int]
) -> tuple[Finding, str]:
    """What to show beside a sentence: an explained input. And an exception that it leaves open."""
    if first.trial is None or first.trial.index in explained:
        return first, ""
    found = climb(
        replace(trial, case=replace(trial.case, stage="main"))
        for trial in trials
        if trial.index in explained
    )
    if found is None:
        return first, ""
    raised = first.trial.got.failure
    return found, f" On {first.trial.case.name} it raised {describe(raised)}" if raised else ""


def _wrong_places(wrong: Sequence[Trial]) -> set[Place]:
    """The values that are not what they should be."""
    return {
        (trial.index, part)
        for trial in wrong
        for part, same in enumerate(_equal_values(trial, trial.got, trial.expected))
        if not same
    }


def _two_at_once(bank: _Bank, wrong: Sequence[Trial], shown: Finding) -> Diagnosis | None:
    """Two mistakes of which one alone is seen wherever the other makes no difference.

    Each must be seen alone at least once, one of them in a value. Of several such pairs the one
    that is put to the test at most places. Where both make a difference the result may be any: what
    neither explains is no proof against them, but then the text says "Perhaps".
    """
    places = _wrong_places(wrong)
    raised = {trial.index for trial in wrong if trial.got.failure}
    seen = {
        mistake: bank.alike(mistake)
        for mistake in range(len(bank.exercise.mistakes))
        if bank.shares_part(mistake, wrong, places)
    }
    best: tuple[int, tuple[int, int]] | None = None
    for one, other in combinations(seen, 2):
        (shared, harmless), (shared_too, harmless_too) = seen[one], seen[other]
        alone, alone_too = harmless_too & places, harmless & places
        in_a_value = any(number not in raised for number, _ in alone | alone_too)
        if alone and alone_too and in_a_value:
            tested = len(harmless) + len(harmless_too)
            fits = harmless_too <= shared and harmless <= shared_too
            if fits and (best is None or tested > best[0]):
                best = tested, (one, other)
    if best is None:
        return None
    return _said_of(
        bank, best[1], [seen[mistake][0] & places for mistake in best[1]], places, shown
    )


def _said_of(
    bank: _Bank,
    two: Sequence[int],
    shared: Sequence[set[Place]],
    places: set[Place],
    shown: Finding,
    surely: bool = False,
) -> Diagnosis:
    """Both sentences, that of the mistake which is at work on the shown input first.

    surely: both were made together and did what the candidate does.
    """
    left = set() if surely else {number for number, _ in places - shared[0] - shared[1]}
    finding, rest = _shown_among(bank.trials, shown, {number for number, _ in places} - left)
    place = _place_of(finding, places)
    turned = place not in shared[0] and place in shared[1]
    first, second = (bank.exercise.mistakes[m] for m in (reversed(two) if turned else two))
    perhaps = "Perhaps two mistakes at once. " if left else ""
    text = f"{perhaps}{_without_praise(first.sentence)}{_besides(first, second)}{rest}"
    return Diagnosis((first, second), text, finding)


def _besides(first: Mistake, second: Mistake) -> str:
    """What the second mistake's sentences add to those of the first."""
    known, said = (re.split(r"(?<=[.?!]) ", one.sentence) for one in (first, second))
    rest = " ".join(sentence for sentence in said if sentence not in known)
    return f" Besides: {_without_praise(rest)}" if rest else ""


def _without_praise(sentence: str) -> str:
    """A sentence without the praise of all else, which is not true where another mistake is."""
    praise = PRAISE.match(sentence)
    if praise is None:
        return sentence
    rest = sentence[praise.end() :]
    if praise[0].endswith(("it ", "they ")):  # who is praised is spoken of
        return f"{praise[1]} {rest}"
    return rest[0].upper() + rest[1:]


def _place_of(finding: Finding, places: set[Place]) -> Place | None:
    """The place that a finding speaks of, of those that are wrong."""
    if finding.trial is None:
        return None
    own = sorted(place for place in places if place[0] == finding.trial.index)
    expected = finding.trial.expected.value
    paths = [pair.path for pair in pairs(expected, expected)]
    named = [place for place in own if finding.path and paths[place[1]] == finding.path]
    return next(iter((*named, *own)), None)


def _equal_values(trial: Trial, one: Outcome, other: Outcome) -> list[bool]:
    """Of each of the values returned: is it equal in two outcomes?"""
    expected, tolerance = trial.expected.value, trial.tolerance
    if any(o.failure or structure_problem(expected, o.value) for o in (one, other, trial.got)):
        return [same_result(one, other, tolerance)] * len(list(pairs(expected, expected)))
    return [same(p.expected, p.got, tolerance) for p in pairs(one.value, other.value)]


def _deviation(trial: Trial) -> Part | None:
    """The first part in which the candidate differs from the reference, None where it is right."""
    for part in PARTS:
        if not part(trial.expected, trial.got, trial.tolerance):
            return part
    return None


def same_result(one: Outcome, other: Outcome, tolerance: Tolerance) -> bool:
    """Equal values, or exceptions that tell of the same accident."""
    if one.failure is not None or other.failure is not None:
        return (
            one.failure is not None
            and other.failure is not None
            and same_accident(one.failure, other.failure)
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
