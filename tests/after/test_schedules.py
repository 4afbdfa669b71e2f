"""Later schedules and optimizers: beside torch's, and in a run."""

import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch

from annotated_transformer.after.schedules import LaterSchedule
from annotated_transformer.cli import main
from annotated_transformer.config import TransformerConfig
from annotated_transformer.evidence.ablation.plan import load_plan
from annotated_transformer.training.run_directory import load_run
from annotated_transformer.training.schedule import LearningRateSchedule
from annotated_transformer.training.settings import TrainingConfig
from annotated_transformer.training.step import update
from annotated_transformer.training.trainer import build_optimizer, build_schedule
from annotated_transformer.transformer import Transformer

STEPS, WARMUP, PEAK = 200, 20, 3e-3


def test_the_cosine_is_torchs() -> None:
    """Without a warm-up, from the first step to the last."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
    theirs = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS)
    ours = LaterSchedule("cosine", PEAK, 1, 0.0)
    for step in range(STEPS):
        assert ours.rate(step + 1, step / STEPS) == pytest.approx(theirs.get_last_lr()[0])
        optimizer.step()
        theirs.step()


def test_a_plateau_rises_stays_and_falls() -> None:
    schedule = LaterSchedule("plateau", PEAK, WARMUP, 0.25)
    rates = [schedule.rate(step, (step - 1) / STEPS) for step in range(1, STEPS + 1)]
    last = 3 * STEPS // 4  # the last step at the peak
    assert rates[0] == pytest.approx(PEAK / WARMUP)
    assert rates[WARMUP - 1 : last] == [PEAK] * (last - WARMUP + 1)
    falls = [one - other for one, other in zip(rates[last:], rates[last + 1 :], strict=False)]
    assert falls == pytest.approx([PEAK / (STEPS - last)] * len(falls))
    assert 0 < rates[-1] < PEAK / 40


@pytest.mark.parametrize(("shape", "decay"), [("cosine", 0.0), ("plateau", 0.5)])
@pytest.mark.parametrize("peak", [None, 4e-3])
def test_every_shape_has_the_papers_peak(peak: float | None, shape: Any, decay: float) -> None:
    papers = LearningRateSchedule(64, WARMUP, peak)
    how = TrainingConfig(steps=1, schedule=shape, decay=decay, warmup=WARMUP, learning_rate=peak)
    rates = [build_schedule(how, 64).rate(n, (n - 1) / STEPS) for n in range(1, STEPS + 1)]
    # The cosine has begun to fall when the warm-up ends; the plateau is at the peak for long.
    begun = (1 + math.cos(math.pi * (WARMUP - 1) / STEPS)) / 2 if shape == "cosine" else 1
    assert rates[WARMUP - 1] == pytest.approx(papers.rate(WARMUP) * begun)
    assert max(rates) == pytest.approx(rates[WARMUP - 1])
    same = build_schedule(TrainingConfig(steps=1, warmup=WARMUP, learning_rate=peak), 64)
    assert same == papers


def test_weight_decay_shrinks_matrices_alone() -> None:
    """With no gradient a step only shrinks: by rate times decay; norms and biases not."""
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(20, 16, 16, 2, 1))
    optimizer = build_optimizer(model, TrainingConfig(steps=1, weight_decay=0.1))
    before = {name: weight.detach() + 1 for name, weight in model.named_parameters()}
    for name, weight in model.named_parameters():
        weight.data = before[name].clone()
        weight.grad = torch.zeros_like(weight)
    for group in optimizer.param_groups:
        group["lr"] = 0.5
    optimizer.step()
    for name, weight in model.named_parameters():
        share = 1 - 0.5 * 0.1 if weight.dim() > 1 else 1
        torch.testing.assert_close(weight.data, before[name] * share)
    assert type(build_optimizer(model, TrainingConfig(steps=1))) is torch.optim.Adam


def test_muon_takes_the_layers_matrices_and_adam_the_rest() -> None:
    """Each as torch's own takes them: three steps, to the bit."""
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(20, 16, 24, 2, 1))
    twin = deepcopy(model)
    how = TrainingConfig(steps=1, optimizer="muon", weight_decay=0.1)
    ours = build_optimizer(model, how)
    named = dict(twin.named_parameters())
    inside = [name for name, weight in named.items() if "layers" in name and weight.dim() == 2]
    outside = [name for name in named if name not in inside]
    assert len(inside) == 4 + 2 + 8 + 2
    assert {name.split(".")[0] for name in outside if "layers" not in name} == {"source_embedding"}
    muon = torch.optim.Muon(
        [named[name] for name in inside], weight_decay=0.1, adjust_lr_fn="match_rms_adamw"
    )
    adam = torch.optim.Adam(
        [named[name] for name in outside], betas=how.betas, eps=how.adam_eps, fused=True
    )
    for step in range(1, 4):
        for one, other in zip(model.parameters(), twin.parameters(), strict=True):
            one.grad = torch.randn_like(one)
            other.grad = one.grad.clone()
        update(ours, [*model.parameters()], 0.01 * step, None)
        for part in (muon, adam):
            update(part, [], 0.01 * step, None)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(one, other)


def test_moments_that_are_loaded_are_those_that_both_go_on_with() -> None:
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(20, 16, 24, 2, 1))
    how = TrainingConfig(steps=1, optimizer="muon")
    ours, other = build_optimizer(model, how), build_optimizer(deepcopy(model), how)
    for weight in model.parameters():
        weight.grad = torch.randn_like(weight)
    update(ours, [*model.parameters()], 0.01, None)
    other.load_state_dict(ours.state_dict())
    for part in other.parts:
        assert part.state is other.state
        assert all(any(group is one for one in other.param_groups) for group in part.param_groups)
    assert len(other.state) == len(ours.state)


ADAMW = ["--weight-decay", "0.1"]


@pytest.mark.parametrize("how", [ADAMW, ["--optimizer", "muon"]], ids=["AdamW", "Muon"])
def test_a_run_with_both_goes_on_to_the_same_bits(tmp_path: Path, how: list[str]) -> None:
    options = ["--data", "copy", "--preset", "tiny/N=1,d_model=16,d_ff=16,h=2", "--steps", "6"]
    options += ["--schedule", "plateau", "--decay", "0.5", *how]
    options += ["--warmup", "2", "--checkpoint-every", "2", "--max-tokens", "256"]
    options += ["--threads", "1", "--device", "cpu", "--precision", "fp32"]
    run = tmp_path / "run"
    assert main(["train", "--run-dir", str(run), *options]) == 0
    whole, _, config = load_run(run)
    assert config.training.schedule == "plateau"
    assert config.training.weight_decay == (0.1 if how is ADAMW else 0)
    assert config.training.optimizer == ("adam" if how is ADAMW else "muon")
    (run / "model.safetensors").unlink()
    (run / "checkpoints" / "step-00000006.safetensors").unlink()
    assert main(["train", "--run-dir", str(run), "--resume"]) == 0
    broken, _, _ = load_run(run)
    for one, other in zip(whole.parameters(), broken.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    "changes",
    [
        {"schedule": "square"},
        {"optimizer": "sgd"},
        {"weight_decay": -0.1},
        {"weight_decay": float("nan")},
        {"decay": 0.5, "schedule": "cosine"},
        {"schedule": "plateau"},
    ],
)
def test_what_cannot_be_meant_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        TrainingConfig(steps=1, **changes)


@pytest.mark.parametrize("name", ["after_multi30k", "after_grammar"])
def test_the_plans_say_how_much_rate_a_plateau_adds_up_to(name: str) -> None:
    plan = load_plan(name)
    of_base = {field: plan.options[field] for field in ("steps", "warmup", "decay")}
    (row,) = (row for row in plan.rows if row.name == "plateau")
    total = {}
    for shape, change in (("paper", {}), ("plateau", row.change)):
        schedule = build_schedule(TrainingConfig(**(of_base | change)), 64)
        steps = of_base["steps"]
        total[shape] = sum(schedule.rate(n, (n - 1) / steps) for n in range(1, steps + 1))
    ratio = total["plateau"] / total["paper"]
    assert f"it adds up to {ratio:.1f} times the base's" in row.says
