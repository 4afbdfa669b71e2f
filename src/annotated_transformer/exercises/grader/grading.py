"""`grade`: one candidate against one exercise, from the isolated run to the report."""

import difflib
import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import ParamSpec, TypeVar

import torch

from annotated_transformer.exercises.catalogue import find, ids
from annotated_transformer.exercises.exercise import Candidate, Exercise, Report
from annotated_transformer.exercises.grader import ladder, verdicts
from annotated_transformer.exercises.grader.answers import (
    about_kind,
    diagnose_answer,
    wrong_answers,
)
from annotated_transformer.exercises.grader.compare import Tolerance
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.diagnosis import diagnose
from annotated_transformer.exercises.grader.ladder import Finding, Trial
from annotated_transformer.exercises.grader.mechanisms import mechanism
from annotated_transformer.exercises.grader.outcomes import (
    Outcome,
    cases_of,
    make_call,
    outcome_of,
    read_outcome,
)
from annotated_transformer.exercises.grader.pristine import pristine
from annotated_transformer.exercises.grader.sandbox import Run, interrupts_wait, run_isolated
from annotated_transformer.exercises.grader.stubs import is_stub, is_unchanged
from annotated_transformer.exercises.reports.showing import show_call, show_value, write_report

# What any exercise can get wrong, named where the bank has no entry of its own for it.
GENERAL_MISTAKES = {
    "type": ("other-type",),
    "dtype": ("other-dtype",),
    "untouched": ("input-changed",),
}
# The libraries' own functions and torch's settings belong to the whole process.
_ONE_CHECK_AT_A_TIME = threading.RLock()
_LOG = logging.getLogger(__name__)
_P = ParamSpec("_P")
_T = TypeVar("_T")
NO_REASON = "This is not the value."
MAX_ID = 80  # characters of an id that is none
MAX_PRINTED = 4000  # characters that a report keeps
_BOUND = " A sentence may never end by itself: after `max_len` new tokens it is ended."
RUNGS_THAT_COMPARE = ("shape", "finite", "invariant", "values", "other")


def grade(
    exercise_id: str,
    candidate: Candidate,
    *,
    seed: int = 0,
    limits: Limits | None = None,
    method: str | None = None,
) -> Report:
    """Check `candidate` and say what is wrong with it. Never raises for what the candidate does.

    exercise_id: as in the catalogue; for an unknown one the report names the nearest. seed: of the
    learner, for exercises whose letters and sizes are drawn; 0 is the exercise as printed. limits:
    of the isolated run, 5 seconds for all cases together unless given. method: see `run_isolated`.
    """
    with _ONE_CHECK_AT_A_TIME:
        exercise = find(exercise_id, seed)
    if exercise is None:
        return unknown(exercise_id, candidate)
    return grade_exercise(exercise, candidate, limits=limits, method=method)


def grade_exercise(
    exercise: Exercise,
    candidate: Candidate,
    *,
    limits: Limits | None = None,
    method: str | None = None,
) -> Report:
    """`grade` for an exercise that need not be in the catalogue."""
    limits = limits or Limits()
    if is_stub(candidate) or is_unchanged(candidate, exercise.starter):
        return not_attempted(exercise)
    if not callable(candidate):
        return not_callable(exercise, type(candidate).__name__)
    with _ONE_CHECK_AT_A_TIME:
        run = run_isolated(exercise, candidate, limits, method)
        with interrupts_wait(), pristine():
            return judge(exercise, run, limits)


def judge(exercise: Exercise, run: Run, limits: Limits) -> Report:
    """The report on a run. Everything that decides is computed here, in the parent."""
    trials, damaged = _trials(exercise, run)
    if trials and all(_left_open(trial.got) for trial in trials):
        return not_attempted(exercise)
    if run.end == "finished" and not damaged and len(trials) == len(cases_of(exercise)):
        if exercise.asks_for_answers and trials[0].got.failure is None:
            return _judge_answers(exercise, trials[0], run)
        if exercise.kind == "test":
            return _judge_test(exercise, trials, run)
        finding = ladder.climb(trials)
        if finding is None:
            return _passed(exercise, trials)
    else:
        finding = ladder.climb(trials) if not damaged else None
        finding = _end_finding(exercise, run, limits, finding)
    return _failed(exercise, finding, trials, run)


def _trials(exercise: Exercise, run: Run) -> tuple[list[Trial], bool]:
    """Each finished case beside the reference's outcome in the dtype that the candidate took."""
    trials: list[Trial] = []
    for index, case in enumerate(cases_of(exercise)):
        if index not in run.outcomes:
            continue
        try:
            got = read_outcome(run.outcomes[index])
            default = str(case.dtype or got.dtype).removeprefix("torch.")
            if got.dtype not in (default, "float64", "float32"):
                raise ValueError("damaged value: a dtype that was not given")
        except ValueError:
            return trials, True
        expected = outcome_of(exercise, index, exercise.reference, got.dtype)
        trials.append(Trial(exercise, index, case, expected, got))
    return trials, False


def _left_open(outcome: Outcome) -> bool:
    """The candidate says itself that it is not written: `...` or NotImplementedError."""
    if outcome.failure is not None:
        return outcome.failure.class_name == "NotImplementedError" and not outcome.failure.message
    value = outcome.value
    if isinstance(value, dict) and value:
        return all(item is None or item is Ellipsis for item in value.values())
    return value is Ellipsis


def _end_finding(exercise: Exercise, run: Run, limits: Limits, earlier: Finding | None) -> Finding:
    """What to say of a run that did not reach its last frame."""
    if run.end in ("finished", "damaged"):
        sentence = (
            "What came back from the run could not be read: it wrote more than a result, or it "
            "replaced library functions. Return the result and change nothing else."
        )
        return Finding("returns", sentence)
    if earlier is not None and earlier.rung != "values":
        return earlier
    case = cases_of(exercise)[min(run.current, len(cases_of(exercise)) - 1)]
    sentences = {
        "time": f"Your code had not returned after {limits.seconds:g} seconds. Is there a loop "
        f"whose end is never reached?{_BOUND if 'max_len' in exercise.signature else ''}",
        "exited": "Your code ended the whole Python process instead of returning a result.",
        "killed": "Your code was stopped by the system, most likely for its use of memory or time.",
        "crashed": "Your code crashed Python itself. Very deep recursion does that, or a call into "
        "compiled code with arguments it does not expect.",
        "unsendable": f"Your function cannot be copied to a process of its own: {run.printed}",
    }
    return Finding("returns", f"On {case.name}: {sentences[run.end]}")


def _judge_answers(exercise: Exercise, trial: Trial, run: Run) -> Report:
    """The report on a dictionary of named answers: every wrong key with its own sentence."""
    expected, got = trial.expected.value, trial.got.value
    if not isinstance(got, dict):
        finding = ladder.structure(trial) or Finding("type", "Return a dict.", trial)
        return _failed(exercise, finding, [], run)
    wrong = wrong_answers(expected, got)
    if not wrong:
        return _passed(exercise, [trial])
    open_keys = [key for key in wrong if got.get(key) in (None, Ellipsis)]
    sentences, names = [], []
    for key in wrong:
        if key in open_keys:
            sentences.append(f"{key!r} has no answer yet.")
            continue
        mistake = _explained(diagnose_answer, exercise, key, got[key])
        names += [mistake.name] if mistake else []
        text = mistake.sentence if mistake else None
        text = text or _explained(about_kind, exercise, key, expected[key], got[key]) or NO_REASON
        sentences.append(f"{key!r} = {show_value(got[key])}: {text}")
    if surplus := [repr(key) for key in got if key not in expected]:
        sentences.append(f"Not asked for: {', '.join(surplus)[:200]}.")
    right = len(expected) - len(wrong)
    are = "is" if right == 1 else "are"
    finding = Finding("values", f"{right} of {len(expected)} answers {are} right.", trial)
    report = _failed(exercise, finding, [], run)
    report = replace(
        report,
        case=None,
        given=None,
        got={key: got.get(key) for key in wrong},
        diagnosis="\n".join(sentences),
        mistakes=tuple(dict.fromkeys(names)),
        share=right / len(expected),
    )
    return write_report(report)


def _judge_test(exercise: Exercise, trials: list[Trial], run: Run) -> Report:
    """The report on a test: all wrong forms that slip through it, or a right one it refuses."""
    finding = verdicts.finding_of(trials)
    if finding is None:
        wrong = verdicts.wrong_forms(trials)
        sentence = (
            f"It lets {len(trials) - wrong} right forms through and refuses {wrong} wrong ones."
        )
        return write_report(replace(_passed(exercise, trials), finding=sentence))
    assert finding.trial is not None
    diagnosis, names = _explained(verdicts.explained, exercise, trials) or ("", ())
    report = replace(
        _failed(exercise, finding, [], run),
        given=verdicts.source_of(exercise, finding.trial) or None,
        diagnosis=diagnosis or None,
        mistakes=names,
        share=verdicts.share_of(trials),
    )
    return write_report(report)


def _explained(explain: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T | None:
    """What `explain` finds. A failure of its own costs the learner the reason, not the report."""
    try:
        return explain(*args, **kwargs)
    except Exception:
        _LOG.debug("%s failed", explain, exc_info=True)
        return None


def _failed(exercise: Exercise, finding: Finding, trials: list[Trial], run: Run) -> Report:
    found = _explained(diagnose, trials, finding) if trials else None
    if found is not None:
        finding = found.finding
    diagnosis = _explained(mechanism, finding, trials) if found is None else found.text
    names = tuple(mistake.name for mistake in found.mistakes) if found else ()
    trial = finding.trial
    given = None
    compared = finding.rung in RUNGS_THAT_COMPARE
    if trial is not None and not exercise.asks_for_answers:
        given = show_call(exercise, make_call(exercise, trial.index, _dtype(trial)))
    return write_report(
        Report(
            exercise_id=exercise.id,
            passed=False,
            message="",
            title=exercise.title,
            rung=finding.rung,
            case=trial.case.name if trial else None,
            finding=finding.sentence,
            given=given,
            expected=finding.expected if compared else None,
            got=finding.got if compared else None,
            tolerance=trial.tolerance if trial else Tolerance(),
            diagnosis=diagnosis,
            mistakes=names or GENERAL_MISTAKES.get(finding.rung, ()),
            next_hint=f'hint("{exercise.id}") gives a hint.',
            printed=run.printed_on(trial.index if trial else run.current)[:MAX_PRINTED],
        )
    )


def _dtype(trial: Trial) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, trial.got.dtype)
    return dtype


def _passed(exercise: Exercise, trials: list[Trial]) -> Report:
    notes = []
    if any(trial.case.dtype is None and trial.got.dtype != "float64" for trial in trials):
        notes.append(
            "Checked in float32, because it does not take float64 inputs: create new tensors with "
            "the dtype of the input (`torch.zeros_like(x)`, `x.new_zeros(...)`)."
        )
    if any(trial.got.in_numpy for trial in trials):
        notes.append(ladder.IN_NUMPY)
    for trial in trials:
        if not trial.got.in_numpy and (finding := ladder.gradient_finding(trial)):
            notes.append(finding.sentence)
            break
    number = len(trials)
    what = f"on {number} inputs" if number > 1 else "on one input"
    if exercise.asks_for_answers:
        asked = len(trials[0].expected.value)
        what = "in both answers" if asked == 2 else f"in all {asked} answers"
    return write_report(
        Report(
            exercise_id=exercise.id,
            passed=True,
            message="",
            title=exercise.title,
            rung="passed",
            share=1.0,
            finding=f"Right {what}.",
            notes=tuple(notes),
            next_hint=f'solution("{exercise.id}") shows the reference and why it is so.',
        )
    )


def not_attempted(exercise: Exercise) -> Report:
    """The report on a starter as it was given, empty or with a fault to be found."""
    what = "write your code in place of `...`" if "..." in exercise.starter else "change its lines"
    return write_report(
        Report(
            exercise_id=exercise.id,
            passed=False,
            message="",
            title=exercise.title,
            attempted=False,
            rung="not attempted",
            finding=f"Not attempted yet: {what} and run the cell again.",
            next_hint=f'hint("{exercise.id}") gives a hint.',
        )
    )


def not_callable(exercise: Exercise, class_name: str) -> Report:
    """The report on a candidate that is no function but an object of this class."""
    finding = Finding(
        "callable",
        f"Expected a function, got an object of class {class_name}. Pass the function itself, "
        f'without calling it: check("{exercise.id}", my_function).',
    )
    return _failed(exercise, finding, [], Run())


def unknown(exercise_id: object, candidate: object = None) -> Report:
    """The report where there is no such exercise: it names the nearest."""
    if isinstance(exercise_id, str):
        text = exercise_id if len(exercise_id) <= MAX_ID else exercise_id[:MAX_ID] + "…"
        close = difflib.get_close_matches(text, ids(), n=3, cutoff=0.4)
        nearest = f" Did you mean {' or '.join(close)}?" if close else ""
        sentence = f"There is no exercise {text!r}.{nearest} progress() lists them all."
    elif isinstance(candidate, str) and callable(exercise_id):
        text = ""
        sentence = (
            "The arguments stand the other way round: the id of the exercise comes first, then "
            f'your function: check("{candidate.strip()[:MAX_ID]}", my_function).'
        )
    else:
        text = ""
        sentence = (
            f"The id of an exercise is a string, such as {ids()[0]!r}; this is an object of class "
            f"{type(exercise_id).__name__}. progress() lists them all."
        )
    report = Report(text, False, "", rung="unknown exercise", finding=sentence, attempted=False)
    return write_report(report)
