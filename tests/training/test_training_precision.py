"""Training in bfloat16: what is rounded to 16 bits, what is not, and that the loss falls alike."""

import torch

from annotated_transformer.residual import ResidualConnection
from annotated_transformer.training.step import count_tokens, parts_of_step
from toy_run import build_trainer, letters_corpus


def losses_of(trainer, steps: int) -> list[float]:
    """The smoothed loss of each of the first steps, in nats per token."""
    batches = trainer.batches(0)
    found = []
    for number in range(steps):
        before, parts = trainer.state.loss, parts_of_step(batches, 0, number % len(batches), 1)
        trainer._step(parts, number / steps)
        found.append((trainer.state.loss - before) / count_tokens(trainer.train_split, parts)[0])
    return found


def types_behind_sublayers(trainer) -> set[torch.dtype]:
    """What the residual connections give in one step."""
    seen = set()
    for module in trainer.model.modules():
        if isinstance(module, ResidualConnection):
            module.register_forward_hook(lambda _, __, output: seen.add(output.dtype))
    losses_of(trainer, 1)
    return seen


def test_activations_are_in_16_bits_and_what_is_learned_in_32(tmp_path):
    """The embedding decides: one conversion there, and every sum and every norm after it has 16."""
    trainer = build_trainer(tmp_path, letters_corpus(), precision="bf16")
    assert types_behind_sublayers(trainer) == {torch.bfloat16}
    for parameter in trainer.model.parameters():
        assert parameter.dtype == torch.float32
        for moment in ("exp_avg", "exp_avg_sq"):
            assert trainer.optimizer.state[parameter][moment].dtype == torch.float32


def test_in_32_bits_nothing_is_rounded(tmp_path):
    trainer = build_trainer(tmp_path, letters_corpus(), precision="fp32")
    assert types_behind_sublayers(trainer) == {torch.float32}


def test_the_loss_falls_alike_in_both_precisions(tmp_path):
    """The same starting values and batches: a hundredth of the fall apart, together in the end."""
    curves = {}
    for precision in ("fp32", "bf16"):
        settings = {"precision": precision, "steps": 120, "learning_rate": 5e-3, "warmup": 20}
        trainer = build_trainer(tmp_path / precision, letters_corpus(), p=0.0, **settings)
        curves[precision] = torch.tensor(losses_of(trainer, 120))
    fallen = curves["fp32"][0] - curves["fp32"][-1]
    assert fallen > 1
    apart = (curves["fp32"] - curves["bf16"]).abs()
    assert apart.mean() < 0.01 * fallen
    assert apart[-20:].max() < 0.005
