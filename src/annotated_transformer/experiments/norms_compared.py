"""Post-norm against pre-norm: gradients at the start, training with and without warm-up.

These are the experiments of the encoder's chapter. They serve the book; the model of the paper
does not import them. Compare Xiong et al. (2020), "On Layer Normalization in the Transformer
Architecture".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap
from torch.nn.functional import cross_entropy

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.config import TransformerConfig
from annotated_transformer.embeddings import Embedding, build_positions
from annotated_transformer.encoder import Encoder
from annotated_transformer.experiments.seeding import seeded
from annotated_transformer.transformer import Transformer, initialise

FFN_MATRIX = "feed_forward.outer.weight"  # W_2, the matrix of their Theorem 1
UNSEEN_SEED = 99  # no run may be seeded with it


def gradient_norms(
    config: TransformerConfig, src: Tensor, tgt: Tensor, seeds: Sequence[int]
) -> dict[str, Tensor]:
    """The norm of the loss gradient of W_2, layer by layer, before any training.

    Args:
        config: the model; a dropout of 0 leaves nothing to chance but the starting values.
        src: source tokens (batch, n_src).
        tgt: target tokens (batch, n_tgt + 1) from the start to the end sign.
        seeds: one model each; the generator outside is left as it was.

    Returns:
        "encoder" and "decoder", each (seeds, num_layers), from the input to the output.
    """
    rows: dict[str, list[Tensor]] = {"encoder": [], "decoder": []}
    for seed in seeds:
        with seeded(seed):
            model = Transformer(config)
        _translation_loss(model, src, tgt).backward()  # type: ignore[no-untyped-call]
        for name, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
            weights = [layer.get_parameter(FFN_MATRIX) for layer in stack.layers]
            rows[name].append(torch.stack([_gradient(w).norm() for w in weights]))
    return {name: torch.stack(stacked) for name, stacked in rows.items()}


def gradient_gains(
    config: TransformerConfig, src: Tensor, tgt: Tensor, seeds: Sequence[int]
) -> dict[str, Tensor]:
    """How much longer or shorter the gradient of the residual stream gets at each sub-layer.

    The gain is the norm of the loss gradient with respect to what enters the wrapped sub-layer,
    divided by that with respect to what leaves it. Below 1, the gradient shrinks on its way back.

    Args:
        config, src, tgt, seeds: as for `gradient_norms`.

    Returns:
        for "encoder self-attention", "encoder feed-forward", "decoder self-attention", "decoder
        cross-attention" and "decoder feed-forward": (seeds, num_layers).
    """
    gains: dict[str, list[list[float]]] = {}
    for seed in seeds:
        with seeded(seed):
            model = Transformer(config)
        of_seed: dict[str, list[float]] = {}
        for stack, layers in (("encoder", model.encoder.layers), ("decoder", model.decoder.layers)):
            for layer in layers:
                residuals: Any = layer.residuals
                sublayers = [name for name, _ in layer.named_children() if name != "residuals"]
                for sublayer, residual in zip(sublayers, residuals, strict=True):
                    name = f"{stack} {sublayer.replace('_', '-')}"
                    residual.register_full_backward_hook(
                        _note_gain(of_seed.setdefault(name, [])), prepend=True
                    )
        _translation_loss(model, src, tgt).backward()  # type: ignore[no-untyped-call]
        for name, found in of_seed.items():
            gains.setdefault(name, []).append(found[::-1])  # the way back begins at the last layer
    return {name: torch.tensor(rows) for name, rows in gains.items()}


def _note_gain(found: list[float]) -> Callable[..., None]:
    def note(_: nn.Module, entering: tuple[Tensor, ...], leaving: tuple[Tensor, ...]) -> None:
        found.append(float(entering[0].norm() / leaving[0].norm()))

    return note


def _translation_loss(model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    logits = model(src, tgt[:, :-1])  # (batch, n_tgt, V)
    labels = tgt[:, 1:].flatten()
    return cross_entropy(logits.flatten(0, 1), labels, ignore_index=model.config.pad_id)


def _gradient(weight: nn.Parameter) -> Tensor:
    assert weight.grad is not None
    return weight.grad


class Sorter(nn.Module):
    """An encoder that is to return its tokens in order: the i-th smallest at position i.

    The read-out is the embedding table itself, as in section 3.4.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.table = nn.Embedding(config.vocab_size, config.d_model)
        self.embedding = Embedding(self.table, build_positions(config), config.dropout)
        self.encoder = Encoder(config)
        self.apply(initialise)
        for module in self.modules():
            if isinstance(module, MultiHeadAttention):
                module.keep_weights = True  # the teaching path, which vmap can run side by side

    def forward(self, tokens: Tensor) -> Tensor:
        """Tokens (batch, n) -> logits (batch, n, V)."""
        logits: Tensor = self.encoder(self.embedding(tokens)) @ self.table.weight.T
        return logits


@dataclass(frozen=True)
class SortingRuns:
    """Runs of one order of norms, one for each peak rate, warm-up and seed.

    Attributes:
        losses: (peaks, warmups, seeds, steps), of the batch before each step, in nats a token.
        accuracy: (peaks, warmups, seeds), share of right tokens on 200 sequences not trained on.
    """

    losses: Tensor
    accuracy: Tensor


def unseen_sequences(vocab_size: int, n: int) -> Tensor:
    """The 200 sequences (200, n) that the accuracy of `sorting_runs` is measured on."""
    generator = torch.Generator().manual_seed(UNSEEN_SEED)
    return torch.randint(vocab_size, (200, n), generator=generator)


def sorting_runs(
    config: TransformerConfig,
    peaks: Sequence[float],
    warmups: Sequence[int],
    seeds: Sequence[int],
    steps: int = 200,
    batch: int = 16,
    n: int = 12,
    betas: tuple[float, float] = (0.9, 0.98),
    eps: float = 1e-9,
) -> SortingRuns:
    """Train a `Sorter` with Adam for every combination, all of them side by side.

    The rate rises linearly to its peak over the warm-up and then stays; with a warm-up of 0 it is
    at its peak from the first step. Runs of one seed start from the same weights and see the same
    batches.

    Args:
        config: the encoder; vocab_size is the number of different tokens.
        peaks, warmups, seeds: what is combined.
        steps, batch, n: steps of training, sequences a step, tokens a sequence.
        betas, eps: Adam's, by default the paper's.

    Raises:
        ValueError: a seed is that of the sequences kept for the accuracy.
    """
    if UNSEEN_SEED in seeds:
        raise ValueError(f"seed {UNSEEN_SEED} draws the sequences kept for the accuracy")
    combinations = list(product(peaks, warmups, seeds))
    models = [_new_sorter(config, seed) for _, _, seed in combinations]
    weights, buffers = stack_module_state(models)  # type: ignore[arg-type]
    weights = {name: value.detach().clone() for name, value in weights.items()}  # (runs, ...)
    first, second = ({k: torch.zeros_like(w) for k, w in weights.items()} for _ in range(2))
    peak = torch.tensor([p for p, _, _ in combinations])  # (runs,)
    warmup = torch.tensor([max(w, 1) for _, w, _ in combinations])  # (runs,)
    generators = {seed: torch.Generator().manual_seed(seed) for seed in seeds}

    def loss(own: Mapping[str, Tensor], fixed: Mapping[str, Tensor], tokens: Tensor) -> Tensor:
        logits = functional_call(models[0], ({**own, **fixed},), (tokens,))
        return cross_entropy(logits.flatten(0, 1), tokens.sort(-1).values.flatten())

    gradients_and_losses: Any = vmap(grad_and_value(loss))
    history = []
    for step in range(1, steps + 1):
        drawn = {
            seed: torch.randint(config.vocab_size, (batch, n), generator=generator)
            for seed, generator in generators.items()
        }
        tokens = torch.stack([drawn[seed] for _, _, seed in combinations])  # (runs, batch, n)
        gradients, losses = gradients_and_losses(weights, buffers, tokens)
        history.append(losses)
        rate = peak * (step / warmup).clamp(max=1)  # (runs,)
        for name, weight in weights.items():
            gradient = gradients[name]
            first[name].lerp_(gradient, 1 - betas[0])
            second[name].mul_(betas[1]).addcmul_(gradient, gradient, value=1 - betas[1])
            mean = first[name] / (1 - betas[0] ** step)
            root = (second[name] / (1 - betas[1] ** step)).sqrt() + eps
            weight -= rate.view(-1, *[1] * (weight.dim() - 1)) * mean / root
    unseen = unseen_sequences(config.vocab_size, n)

    def accuracy(own: Mapping[str, Tensor], fixed: Mapping[str, Tensor]) -> Tensor:
        logits = functional_call(models[0], ({**own, **fixed},), (unseen,))
        right: Tensor = logits.argmax(-1) == unseen.sort(-1).values
        return right.float().mean()

    shape = (len(peaks), len(warmups), len(seeds))
    with torch.no_grad():
        share: Tensor = vmap(accuracy)(weights, buffers)
    return SortingRuns(torch.stack(history, dim=-1).view(*shape, steps), share.view(shape))


def _new_sorter(config: TransformerConfig, seed: int) -> Sorter:
    with seeded(seed):
        return Sorter(config)
