"""The rarer faults of `model.tied_logits`, as options of the layer with the mistakes."""

import math

import torch
import torch.nn.functional as F  # noqa: N812

from annotated_transformer.exercises.content.faults import Fault

OTHER_FAULTS = (
    Fault(
        "times-d",
        {"scale": lambda d, v: d},
        "The logits are multiplied by d_model. The output layer has no factor.",
    ),
    Fault(
        "summed-over-words",
        {"after": lambda z: z.sum(-1)},
        "The words are added up: one number for each position. Asked for is one for each word, "
        "(B, n, V): `bnd,vd->bnv`, with v in the result.",
    ),
    Fault(
        "last-position-left-out",
        {"after": lambda z: z[:, :-1]},
        "The last position is left out. Every position has its logits, (B, n, V); what is shifted "
        "for training is the targets.",
    ),
    Fault(
        "first-position-left-out",
        {"after": lambda z: z[:, 1:]},
        "The first position is left out. Every position has its logits, (B, n, V).",
    ),
    Fault(
        "log-sigmoid",
        {"after": F.logsigmoid},
        "A log-sigmoid is applied. Return the logits, the products alone.",
    ),
    Fault(
        "one-hot",
        {"after": lambda z: F.one_hot(z.argmax(-1), z.size(-1)).to(z.dtype)},
        "The best word is marked with a 1 and the others with a 0. Return the products "
        "themselves: training needs the logits of all words.",
    ),
    Fault(
        "divided-by-d",
        {"scale": lambda d, v: 1 / d},
        "The products are averaged over d_model instead of added up. A logit is the whole dot "
        "product of x with a row of the table.",
    ),
    Fault(
        "divided-by-vocabulary",
        {"scale": lambda d, v: 1 / v},
        "The logits are divided by the size of the vocabulary. The output layer has no factor.",
    ),
    Fault(
        "divided-by-root-of-vocabulary",
        {"scale": lambda d, v: 1 / math.sqrt(v)},
        "The logits are divided by the root of the size of the vocabulary. The output layer has "
        "no factor.",
    ),
    Fault(
        "doubled",
        {"scale": lambda d, v: 2.0},
        "The logits are twice too large (a temperature of 0.5). The output layer has no factor.",
    ),
    Fault(
        "first-word-missing",
        {"after": lambda z: z[..., 1:]},
        "The logit of word 0 is missing. Every row of the table has one, padding too: (B, n, V).",
    ),
    Fault(
        "negative",
        {"scale": lambda d, v: -1.0},
        "The sign is wrong: the word most like x would be the least likely.",
    ),
    Fault(
        "softmax-over-positions",
        {"after": lambda z: z.softmax(1)},
        "A softmax over the positions is applied. Return the logits; the softmax over the words "
        "is left to the loss.",
    ),
    Fault(
        "softmax-over-batch",
        {"after": lambda z: z.softmax(0)},
        "A softmax over the batch is applied (`dim=0`). Return the logits; the softmax over the "
        "words is left to the loss.",
    ),
    Fault(
        "sigmoid",
        {"after": torch.sigmoid},
        "A sigmoid is applied. Return the logits, the products alone.",
    ),
    Fault("relu", {"after": torch.relu}, "A ReLU is applied, and negative logits are lost."),
    Fault("tanh", {"after": torch.tanh}, "A tanh is applied. Return the products alone."),
    Fault("exp", {"after": torch.exp}, "exp is applied: half a softmax. Return the products."),
    Fault(
        "argmax",
        {"after": lambda z: z.argmax(-1)},
        "The best word of each position is returned. Asked for are the logits of all words, "
        "(B, n, V): training and beam search need every one.",
    ),
    Fault(
        "largest",
        {"after": lambda z: z.max(-1).values},
        "Only the largest logit of each position is returned. Asked for are all of them, "
        "(B, n, V).",
    ),
    Fault(
        "last-position",
        {"after": lambda z: z[:, -1]},
        "Only the last position is returned. That is enough for greedy decoding, but training "
        "needs the logits of every position: (B, n, V).",
    ),
    Fault(
        "last-position-kept",
        {"after": lambda z: z[:, -1:]},
        "Only the last position is returned. That is enough for greedy decoding, but training "
        "needs the logits of every position: (B, n, V).",
    ),
    Fault(
        "summed-over-positions",
        {"after": lambda z: z.sum(1)},
        "The positions are added up. Each position has its own logits: (B, n, V).",
    ),
    Fault(
        "averaged-over-positions",
        {"after": lambda z: z.mean(1)},
        "The positions are averaged. Each position has its own logits: (B, n, V).",
    ),
    Fault(
        "first-position",
        {"after": lambda z: z[:, 0]},
        "Only the first position is returned. Each position has its own logits: (B, n, V).",
    ),
    Fault(
        "summed-over-batch",
        {"after": lambda z: z.sum(0)},
        "The sentences of the batch are added up. Each has its own logits: (B, n, V).",
    ),
    Fault(
        "numpy-array",
        {"after": lambda z: z.detach().numpy()},
        "This is a NumPy array. Return a tensor, through which gradients can flow.",
    ),
    Fault(
        "in-a-tuple",
        {"after": lambda z: (z,)},
        "The logits come in a tuple. Return the tensor itself: a comma at the end makes a tuple.",
    ),
    Fault(
        "squeezed",
        {"after": torch.squeeze},
        "Axes of length 1 are squeezed away. They stay, also for one sentence or one position: "
        "(B, n, V).",
    ),
    Fault(
        "sorted",
        {"after": lambda z: z.sort(-1, descending=True).values},
        "The logits are sorted. Entry v belongs to word v, so their order must stay.",
    ),
    Fault(
        "words-before-positions",
        {"after": lambda z: z.transpose(1, 2)},
        "Words stand before positions: (B, V, n), the layout that `cross_entropy` takes. Asked "
        "for is (B, n, V).",
    ),
    Fault(
        "flattened",
        {"after": lambda z: z.flatten(0, 1)},
        "Batch and positions are joined into one axis, as before `cross_entropy`. Asked for are "
        "three axes, (B, n, V).",
    ),
    Fault(
        "pad-hidden",
        {"after": lambda z: torch.cat([torch.full_like(z[..., :1], -math.inf), z[..., 1:]], -1)},
        "The logit of token 0 (padding) is set to -inf. The output layer gives a logit to every "
        "row of the table; padding is the loss's business.",
    ),
    Fault(
        "pad-row-zero",
        {"of_table": lambda t: torch.cat([torch.zeros_like(t[:1]), t[1:]])},
        "Row 0 of the table is taken as zeros (`padding_idx`). The output layer takes every row "
        "as it is.",
    ),
    Fault(
        "layer-norm-first",
        {"of_x": lambda x: F.layer_norm(x, x.shape[-1:])},
        "A LayerNorm is applied to x first. In the paper the last decoder layer ends with its own; "
        "the output layer takes x as it is.",
    ),
    Fault(
        "centred",
        {"after": lambda z: z - z.mean(-1, keepdim=True)},
        "The mean logit is subtracted. The softmax would not notice, but these are no longer the "
        "products of x with the table.",
    ),
    Fault(
        "largest-subtracted",
        {"after": lambda z: z - z.amax(-1, keepdim=True)},
        "The largest logit is subtracted, the first step of a softmax. Return the products alone.",
    ),
    Fault(
        "logsumexp-only",
        {"after": lambda z: z.logsumexp(-1)},
        "Only the softmax's denominator is returned, one number a position. Asked for are the "
        "logits, (B, n, V).",
    ),
)
