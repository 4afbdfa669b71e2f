"""Post-norm against pre-norm: the machinery of the encoder's chapter.

The runs side by side are held against one run at a time by `torch.optim.Adam`; the gradients
against autograd asked for each matrix by itself.
"""

import pytest
import torch
from torch.nn.functional import cross_entropy

from annotated_transformer import Transformer, TransformerConfig
from annotated_transformer.config import Norm
from annotated_transformer.experiments.norms_compared import (
    Sorter,
    gradient_gains,
    gradient_norms,
    sorting_runs,
    unseen_sequences,
)

NORMS: tuple[Norm, ...] = ("post", "pre")


def config(norm: Norm, vocab_size: int = 8) -> TransformerConfig:
    return TransformerConfig(
        vocab_size, d_model=16, d_ff=32, num_heads=2, num_layers=2, dropout=0.0, norm=norm
    )


def one_run(
    norm: Norm, peak: float, warmup: int, seed: int, steps: int
) -> tuple[list[float], float]:
    """The same training by PyTorch's own optimizer, one model, one step at a time."""
    torch.manual_seed(seed)
    model = Sorter(config(norm))
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda done: peak * min(1.0, (done + 1) / warmup) if warmup else peak
    )
    generator = torch.Generator().manual_seed(seed)
    losses = []
    for _ in range(steps):
        tokens = torch.randint(8, (4, 6), generator=generator)
        loss = cross_entropy(model(tokens).flatten(0, 1), tokens.sort(-1).values.flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    unseen = torch.randint(8, (200, 6), generator=torch.Generator().manual_seed(99))
    right = model(unseen).argmax(-1) == unseen.sort(-1).values
    return losses, right.double().mean().item()


@pytest.mark.parametrize("norm", NORMS)
def test_side_by_side_is_one_by_one(norm: Norm) -> None:
    peaks, warmups, seeds = (0.001, 0.01), (0, 4), (1, 2)
    runs = sorting_runs(config(norm), peaks, warmups, seeds, steps=8, batch=4, n=6)
    assert runs.losses.shape == (2, 2, 2, 8)
    assert runs.accuracy.shape == (2, 2, 2)
    for i, peak in enumerate(peaks):
        for j, warmup in enumerate(warmups):
            for k, seed in enumerate(seeds):
                losses, share = one_run(norm, peak, warmup, seed, 8)
                alone = torch.tensor(losses)
                torch.testing.assert_close(runs.losses[i, j, k], alone, rtol=1e-3, atol=1e-3)
                # 1,200 tokens: a near tie may fall the other way, another test set may not
                assert runs.accuracy[i, j, k].item() == pytest.approx(share, abs=0.003)


def test_the_accuracy_is_measured_on_sequences_that_no_run_trains_on() -> None:
    unseen = {tuple(row) for row in unseen_sequences(16, 12).tolist()}
    assert len(unseen) == 200
    for seed in range(1, 14):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(120):
            batch = torch.randint(16, (16, 12), generator=generator)
            assert unseen.isdisjoint(tuple(row) for row in batch.tolist())
    with pytest.raises(ValueError, match="seed 99"):
        sorting_runs(config("post"), (0.01,), (0,), (1, 99), steps=1, batch=2, n=3)


def test_a_run_learns_to_sort() -> None:
    runs = sorting_runs(config("pre"), (0.01,), (0,), (1,), steps=200, batch=16, n=6)
    many = torch.randint(8, (20_000, 6), generator=torch.Generator().manual_seed(1)).sort(-1).values
    blind = (many == many.mode(0).values).double().mean().item()  # knows the place alone
    assert 0.3 < blind < 0.4
    assert runs.accuracy.item() > blind + 0.1
    assert runs.losses[0, 0, 0, -10:].mean() < runs.losses[0, 0, 0, :10].mean() / 2


def test_the_generator_outside_is_left_as_it_was() -> None:
    before = torch.get_rng_state()
    sorting_runs(config("post"), (0.01,), (0,), (1,), steps=1, batch=2, n=3)
    tokens = torch.randint(3, 8, (2, 5))
    before = torch.get_rng_state()
    gradient_norms(config("post"), tokens, tokens, (0,))
    gradient_gains(config("post"), tokens, tokens, (0,))
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("norm", NORMS)
def test_gradient_norms_are_those_of_autograd(norm: Norm) -> None:
    generator = torch.Generator().manual_seed(3)
    src = torch.randint(3, 8, (2, 5), generator=generator)
    tgt = torch.randint(3, 8, (2, 7), generator=generator)
    tgt[1, 5:] = 0  # padding does not count
    found = gradient_norms(config(norm), src, tgt, (4, 5))
    torch.manual_seed(5)
    model = Transformer(config(norm))
    logits = model(src, tgt[:, :-1])
    real = tgt[:, 1:] != 0
    loss = -logits.log_softmax(-1)[real].gather(-1, tgt[:, 1:][real][:, None]).mean()
    for name in ("encoder", "decoder"):
        for number in range(2):
            weight = model.get_parameter(f"{name}.layers.{number}.feed_forward.outer.weight")
            (gradient,) = torch.autograd.grad(loss, weight, retain_graph=True)
            torch.testing.assert_close(found[name][1, number], gradient.norm())


@pytest.mark.parametrize("norm", NORMS)
def test_gains_multiply_to_the_gradient_of_the_whole_stack(norm: Norm) -> None:
    """The gradient of what enters the encoder, over that of what leaves its last sub-layer."""
    generator = torch.Generator().manual_seed(3)
    src = torch.randint(3, 8, (2, 5), generator=generator)
    tgt = torch.randint(3, 8, (2, 6), generator=generator)
    gains = gradient_gains(config(norm), src, tgt, (7,))
    assert {name: tuple(found.shape) for name, found in gains.items()} == {
        "encoder self-attention": (1, 2),
        "encoder feed-forward": (1, 2),
        "decoder self-attention": (1, 2),
        "decoder cross-attention": (1, 2),
        "decoder feed-forward": (1, 2),
    }
    torch.manual_seed(7)
    model = Transformer(config(norm))
    mask = torch.ones(2, 1, 1, 5, dtype=torch.bool)
    stream = [model.source_embedding(src)]
    for layer in model.encoder.layers:
        stream.append(layer(stream[-1], mask))
    final_norm = model.encoder.final_norm
    memory = stream[-1] if final_norm is None else final_norm(stream[-1])
    logits = model.project(model.decode(memory, tgt[:, :-1], mask))
    loss = cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=0)
    lengths = [g.norm() for g in torch.autograd.grad(loss, stream)]
    for number in range(2):
        both = gains["encoder self-attention"][0, number] * gains["encoder feed-forward"][0, number]
        torch.testing.assert_close(both, lengths[number] / lengths[number + 1], rtol=1e-4, atol=0)
