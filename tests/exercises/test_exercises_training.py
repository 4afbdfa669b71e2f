"""The training exercises against torch's losses and optimizers, the paper, and loops that run."""

import contextlib
import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer.exercises.content import training
from annotated_transformer.exercises.content.training import find_bug as loops
from annotated_transformer.exercises.content.training.accumulated_loss import accumulated_loss
from annotated_transformer.exercises.content.training.adam_step import adam_step
from annotated_transformer.exercises.content.training.label_smoothing_loss import (
    label_smoothing_loss,
)
from annotated_transformer.exercises.content.training.noam_rate import noam_rate
from annotated_transformer.exercises.content.training.shift_targets import shift_targets
from annotated_transformer.exercises.content.training.smoothing_floor import smoothing_floor
from annotated_transformer.exercises.exercise import Exercise

SEEDS = (0, 1, 2, 3, 17)
EXERCISES = [one for one in training.EXERCISES if one.kind != "test"]


def test_every_exercise_of_the_topic_is_there() -> None:
    assert [exercise.id for exercise in EXERCISES] == [
        "training.shift_targets",
        "training.label_smoothing_loss",
        "training.smoothing_floor",
        "training.noam_rate",
        "training.adam_step",
        "training.accumulated_loss",
        "training.find_bug",
    ]


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_banks_and_alternatives_are_rich(exercise: Exercise) -> None:
    assert len(exercise.mistakes) >= 30
    assert len(exercise.alternatives) >= (2 if exercise.kind == "debug" else 3)
    for mistake in exercise.mistakes:
        assert mistake.sentence[-1] in ".?)", mistake.name
        assert len(mistake.sentence.split()) <= 90, mistake.name


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=5, max_size=5), min_size=1, max_size=4))
def test_each_input_token_stands_before_its_label(rows: list[list[int]]) -> None:
    given_tokens, labels = shift_targets(torch.tensor(rows))
    for row, before, after in zip(rows, given_tokens.tolist(), labels.tolist(), strict=True):
        assert list(zip(before, after, strict=True)) == list(pairwise(row))


@settings(deadline=None)
@given(st.integers(0, 500), st.integers(3, 9), st.floats(0, 0.9), st.integers(0, 2))
def test_the_smoothed_loss_is_torch_cross_entropy_against_probabilities(
    seed: int, vocab_size: int, eps: float, pad_id: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(3, 4, vocab_size, generator=generator, dtype=torch.float64)
    target = torch.randint(vocab_size, (3, 4), generator=generator)
    target[0, 0] = (pad_id + 1) % vocab_size
    rows, probabilities = [], []
    for position, right in zip(logits.reshape(-1, vocab_size), target.flatten(), strict=True):
        if right == pad_id:
            continue
        q = [eps / (vocab_size - 2)] * vocab_size
        q[pad_id], q[int(right)] = 0.0, 1 - eps
        assert math.isclose(sum(q), 1.0)
        rows.append(position)
        probabilities.append(q)
    theirs = F.cross_entropy(torch.stack(rows), torch.tensor(probabilities, dtype=torch.float64))
    torch.testing.assert_close(label_smoothing_loss(logits, target, eps, pad_id), theirs)


def test_without_smoothing_it_is_the_plain_loss() -> None:
    logits = torch.randn(2, 5, 7, generator=torch.Generator().manual_seed(3))
    target = torch.tensor([[3, 5, 6, 2, 0], [4, 2, 0, 0, 0]])
    theirs = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)
    torch.testing.assert_close(label_smoothing_loss(logits, target, 0.0), theirs)


@pytest.mark.parametrize(("vocab_size", "eps"), [(3, 0.5), (6, 0.1), (20, 0.3)])
def test_no_logits_come_below_the_floor_and_the_best_reach_it(vocab_size: int, eps: float) -> None:
    logits = torch.zeros(1, 1, vocab_size, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([[2]])
    optimizer = torch.optim.LBFGS([logits], max_iter=500, tolerance_change=1e-14)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = label_smoothing_loss(logits, target, eps)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    reached = label_smoothing_loss(logits, target, eps).item()
    floor = smoothing_floor(vocab_size, eps)
    assert floor - 1e-9 <= reached <= floor + 1e-3


def test_the_floor_of_the_paper() -> None:
    assert smoothing_floor(37_000, 0.1) == pytest.approx(1.3769, abs=5e-5)
    assert math.exp(smoothing_floor(37_000, 0.1)) == pytest.approx(3.963, abs=5e-4)


def test_the_rates_of_the_base_model() -> None:
    rates = {1: 1.747e-07, 4_000: 6.988e-04, 10_000: 4.419e-04, 50_000: 1.976e-04}
    for step, rate in rates.items():
        assert noam_rate(step, 512, 4000) == pytest.approx(rate, rel=5e-4)
    assert noam_rate(0, 512, 4000) == noam_rate(1, 512, 4000)


def test_a_scheduler_of_torch_can_use_the_rate() -> None:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: noam_rate(n + 1, 64, 5))
    rates = []
    for _ in range(12):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates.index(max(rates)) == 4  # step 5, the end of the warm-up
    assert rates[:5] == pytest.approx([(n + 1) * rates[0] for n in range(5)])


@settings(deadline=None)
@given(st.integers(0, 100), st.floats(0.1, 0.99), st.floats(0.1, 0.999), st.floats(1e-9, 0.1))
def test_several_steps_are_those_of_torch_adam(
    seed: int, beta_1: float, beta_2: float, eps: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(2, 3, generator=generator, dtype=torch.float64)
    theirs = start.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([theirs], lr=0.1, betas=(beta_1, beta_2), eps=eps)
    param, m, v = start, torch.zeros_like(start), torch.zeros_like(start)
    for step in range(1, 6):
        grad = torch.randn(2, 3, generator=generator, dtype=torch.float64)
        theirs.grad = grad
        optimizer.step()
        param, m, v = adam_step(param, grad, m, v, step, 0.1, (beta_1, beta_2), eps)
        torch.testing.assert_close(param, theirs.detach())
    torch.testing.assert_close(m, optimizer.state[theirs]["exp_avg"])
    torch.testing.assert_close(v, optimizer.state[theirs]["exp_avg_sq"])


@settings(deadline=None)
@given(st.integers(0, 100), st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_micro_batches_give_the_loss_of_the_whole_batch(seed: int, sizes: list[int]) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(sum(sizes), 5, 8, generator=generator, dtype=torch.float64)
    target = torch.randint(8, (sum(sizes), 5), generator=generator)
    target[:, 0] = 3
    theirs = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)
    ours = accumulated_loss(list(logits.split(sizes)), list(target.split(sizes)))
    torch.testing.assert_close(ours, theirs)


class _Recorder:
    """Stands for model, optimizer, schedule and loss, and writes down what is done to each."""

    def __init__(self, name: str, events: list[str]) -> None:
        self.name, self.events = name, events

    def __getattr__(self, method: str) -> Any:
        return lambda **options: self.events.append(f"{self.name}.{method}")

    def __call__(self, *arguments: object) -> "_Recorder":
        self.events.append(self.name)
        return _Recorder("loss", self.events)

    def __radd__(self, other: object) -> int:
        return 0


def _run(listing: str, name: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens in two epochs of three batches and two that are held out."""
    events: list[str] = []

    @contextlib.contextmanager
    def no_grad() -> Iterator[None]:
        events.append("no_grad")
        yield
        events.append("grad")

    monkeypatch.setattr(torch, "no_grad", no_grad)
    space: dict[str, Any] = {"torch": torch, "loss_of": _Recorder("loss_of", events)}
    space["print"] = lambda *arguments: None
    exec(compile(listing, "listing", "exec"), space)
    parts = [_Recorder(part, events) for part in ("model", "optimizer", "schedule")]
    space[name](*parts, [("x", "y")] * 3, [("x", "y")] * 2, 2)
    return [event for event in events if event not in ("loss_of", "loss.item")]


def _fault(events: list[str]) -> str:
    """What is wrong with a loop, from what it did and in which order."""
    counts = {event: events.count(event) for event in set(events)}
    steps, trained = counts.get("optimizer.step", 0), counts.get("schedule.step", 0)
    if "no_grad" not in counts:
        return "trains-on-held-out"
    if counts["model.train"] == 1:
        return "eval-kept"
    if "optimizer.zero_grad" not in counts:
        return "never-zeroed"
    if steps == 0:
        return "no-step"
    if steps == 12:
        return "steps-twice"
    if counts["loss.backward"] == 12:
        return "backward-twice"
    if trained == 2:
        return "schedule-per-epoch"
    if events.index("schedule.step") < events.index("optimizer.step"):
        return "schedule-before-step"
    if events.index("loss.backward") < events.index("optimizer.zero_grad"):
        return "zeroed-too-late"
    batch = ["optimizer.zero_grad", "model", "loss.backward", "optimizer.step", "schedule.step"]
    measured = ["model.eval", "no_grad", "model", "model", "grad"]
    assert events == 2 * ["model.train", *3 * batch, *measured]
    return "nothing"


@pytest.mark.parametrize("fault", loops.FAULTS, ids=lambda fault: fault.name)
def test_each_loop_does_what_its_letter_says(
    fault: loops.Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = loops.Draw(loops.FAULTS, (fault,))
    assert _fault(_run(loops.listings(draw), "loop_1", monkeypatch)) == fault.name


@pytest.mark.parametrize("seed", SEEDS)
def test_the_letters_of_a_draw_are_those_of_its_listings(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercise = loops.vary(seed)
    table, _, code = exercise.statement.partition("\n\n")[2].partition("\n\n")
    described = dict(line.split(": ", 1) for line in table.splitlines())
    names = {fault.described: fault.name for fault in loops.FAULTS}
    for key, letter in exercise.reference().items():
        found = _fault(_run(code, key, monkeypatch))
        assert names[described[letter]] == found
    assert exercise.statement == loops.vary(seed).statement
