"""What the decoder would say if it stopped early: the tied table read after each layer.

nostalgebraist (2020) called it the logit lens.
"""

from collections.abc import Collection, Iterable

import torch
from torch import Tensor

from annotated_transformer.evaluation.likelihood import SentenceBatch
from annotated_transformer.experiments.inside.states import states_of_target
from annotated_transformer.transformer import Transformer


@torch.no_grad()
def right_after_each_layer(
    model: Transformer, batches: Iterable[SentenceBatch], leave_out: Collection[int] = ()
) -> Tensor:
    """Share of next tokens that are right before the first layer and after each, (layers + 1,).

    Args:
        leave_out: tokens that are not asked for, such as the end sign behind a full stop.
    """
    not_asked = torch.tensor([model.config.pad_id, *leave_out])
    hits: list[Tensor] = []
    tokens = 0
    for batch in batches:
        wanted = batch.tgt[:, 1:]
        real = ~torch.isin(wanted, not_asked)
        tokens += int(real.sum())
        states = states_of_target(model, batch.src, batch.tgt[:, :-1])
        said = [model.project(x).argmax(-1) for x in states]  # each (batch, n_tgt)
        hits.append(torch.stack([((words == wanted) & real).sum() for words in said]))
    return torch.stack(hits).sum(0).double() / tokens
