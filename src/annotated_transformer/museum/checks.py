"""What to ask of a model and the code around it: each check is a measurement that betrays a bug.

None of them knows which bug it is about to meet. They begin with what other steps are made of, so
that the first that fails names the cause and not what follows from it.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from annotated_transformer.after.config import LaterConfig
from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.data import Vocabulary
from annotated_transformer.decoding.incremental import PrefixDecoder
from annotated_transformer.evaluation.scoring import cased_bleu, lower_tokenised_bleu
from annotated_transformer.museum.system import System, asked, best_next, padded
from annotated_transformer.museum.wrong_steps import ForgetsWhereItIs
from annotated_transformer.positional import sinusoidal_encoding
from annotated_transformer.residual import LayerNorm, ResidualConnection
from annotated_transformer.transformer import evaluation_mode

SAME = 1e-4  # two ways to the same number in single precision


@dataclass(frozen=True)
class Finding:
    """What a check has found.

    Attributes:
        says: what was measured.
        mark: "fine", "wrong", or "note" where no rule decides.
        bug: the exhibit that it is; "" where it is another, or nothing is wrong.
    """

    says: str
    mark: Literal["fine", "wrong", "note"] = "fine"
    bug: str = ""


Module = TypeVar("Module", bound=nn.Module)
Check = Callable[[System], Finding]


def wrong(says: str, bug: str, is_it: bool = True) -> Finding:
    """A complaint; by the name of the bug if that is what was measured."""
    return Finding(says, "wrong", bug if is_it else "")


def not_asked(why: str) -> Finding:
    """A question that has no place here."""
    return Finding(f"not asked: {why}", "note")


def apart(one: Tensor, other: Tensor) -> float:
    """The largest difference; infinite where something is no number."""
    return float((one.detach() - other.detach()).abs().max().nan_to_num(math.inf))


def words(system: System, sentences: int = 2, n: int = 9) -> Tensor:
    """Tokens without meaning, none of them a sign, (sentences, n)."""
    drawn = torch.Generator().manual_seed(0)
    signs = 1 + max(system.config.pad_id, system.config.bos_id, system.config.eos_id)
    return torch.randint(signs, system.config.vocab_size, (sentences, n), generator=drawn)


def numbers(*shape: int) -> Tensor:
    """Standard normal numbers, the same each time."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def finite(system: System) -> Finding:
    """Whether all weights, and the logits, are numbers."""
    src, tgt = words(system), words(system)
    with asked(system) as model:
        broken = [name for name, weight in model.named_parameters() if not weight.isfinite().all()]
        if broken:
            return wrong(f"{len(broken)} weights hold what is no number: {broken[0]}", "")
        if not model(src, tgt).isfinite().all():
            return wrong("weights are numbers, and logits are not", "")
    return Finding("weights and logits are numbers")


# --- inside the layers ----------------------------------------------------------------------------


def equation_1(system: System) -> Finding:
    """Each attention against PyTorch's own, on queries, keys and values without meaning."""
    if system.config.attention != "scaled-dot-product" or isinstance(system.config, LaterConfig):
        return not_asked("another attention is meant")
    with asked(system) as model:
        for attention in modules(model, MultiHeadAttention):
            d_k = attention.query_projection.out_features // attention.num_heads
            q, k, v = 2 * numbers(3, 2, attention.num_heads, 7, d_k)
            mask = torch.ones(7, 7, dtype=torch.bool).tril()
            ours = attention.attend(q, k, v, mask)
            theirs = [
                functional.scaled_dot_product_attention(q, k, v, mask, scale=scale)
                for scale in (d_k**-0.5, 1.0, 1 / d_k)
            ]
            scores = (q @ k.transpose(-2, -1) / math.sqrt(d_k)).masked_fill(~mask, -math.inf)
            theirs.append(scores.softmax(-2) @ v)
            gap, *others = (apart(ours, other) for other in theirs)
            if gap > SAME:
                known = {
                    "no-scale": "with scores that are not divided",
                    "scaled-twice": "with scores divided by sqrt(d_k) twice",
                    "softmax-over-queries": "with the softmax over the queries",
                }
                says = f"attention is up to {gap:.2g} off equation 1"
                for (bug, how), other in zip(known.items(), others, strict=True):
                    if other < SAME:
                        return wrong(f"{says}, and equals it {how}", bug)
                return wrong(says, "")
    return Finding("attention is equation 1")


def heads(system: System) -> Finding:
    """Each multi-head attention against PyTorch's, with the same weights."""
    config = system.config
    if config.attention != "scaled-dot-product" or isinstance(config, LaterConfig):
        return not_asked("another attention is meant")
    if config.attention_bias or config.head_widths != (config.d_model // config.num_heads,) * 2:
        return not_asked("PyTorch's has no biases of this kind, or no such widths")
    with asked(system) as model:
        for ours in modules(model, MultiHeadAttention):
            theirs = nn.MultiheadAttention(
                config.d_model, config.num_heads, bias=False, batch_first=True
            )
            projections = (ours.query_projection, ours.key_projection, ours.value_projection)
            theirs.in_proj_weight.copy_(torch.cat([one.weight for one in projections]))
            theirs.out_proj.weight.copy_(ours.output_projection.weight)
            x = numbers(2, 7, config.d_model)
            gap = apart(ours(x, x, x), theirs(x, x, x, need_weights=False)[0])
            if gap > SAME:
                q, k, v = (one(x).view(2, ours.num_heads, 7, -1) for one in projections)
                viewed = functional.scaled_dot_product_attention(q, k, v).reshape(2, 7, -1)
                is_it = apart(ours(x, x, x), ours.output_projection(viewed)) < SAME
                says = f"multi-head attention is up to {gap:.2g} off PyTorch's, with its weights"
                return wrong(says, "heads-viewed", is_it)
    return Finding("heads are split as PyTorch splits them")


def norms(system: System) -> Finding:
    """Each norm against PyTorch's."""
    if not any(modules(system.model, LayerNorm)):
        return not_asked("another norm is meant")
    with asked(system) as model:
        for norm in modules(model, LayerNorm):
            x = 3 * numbers(2, 7, len(norm.gamma)) + 1
            theirs = functional.layer_norm(x, norm.gamma.shape, norm.gamma, norm.beta, norm.eps)
            if (gap := apart(norm(x), theirs)) > SAME:
                variance, mean = torch.var_mean(x, 1, keepdim=True, correction=0)
                over = norm.gamma * (x - mean) / (variance + norm.eps).sqrt() + norm.beta
                says = f"a norm is up to {gap:.2g} off PyTorch's LayerNorm"
                return wrong(says, "norm-over-positions", apart(norm(x), over) < SAME)
    return Finding("norms are over the features")


def residuals(system: System) -> Finding:
    """Around a sub-layer that gives nothing, what enters has to come through."""
    if not system.config.residual:
        return not_asked("no residual connections are meant")
    with asked(system) as model:
        for wrapped in modules(model, ResidualConnection):
            x = numbers(2, 7, system.config.d_model)
            through = wrapped(x, torch.zeros_like)
            wanted = x if wrapped.norm_comes_first else wrapped.norm(x)
            if apart(through, wanted) > SAME:
                lost = apart(through, wrapped(numbers(2, 7, 1) * x, torch.zeros_like)) < SAME
                says = "what enters a sub-layer does not come through"
                return wrong(says, "residual-lost", lost)
    return Finding("what enters a sub-layer comes through")


def embeddings(system: System) -> Finding:
    """Each side's embedding against sqrt(d_model) times the table, plus the sinusoids."""
    if system.config.positions != "sinusoidal":
        return not_asked("positions are learned, or said to be none")
    lacks = {}
    with asked(system) as model:
        tokens = words(system)
        sinusoids = sinusoidal_encoding(tokens.size(1), system.config.d_model)
        wanted = math.sqrt(system.config.d_model) if system.config.embedding_scale else 1.0
        for side, embedding in (
            ("source", model.source_embedding),
            ("target", model.target_embedding),
        ):
            found, plain = embedding(tokens), embedding.table(tokens)
            if apart(found, wanted * plain + sinusoids) < SAME:
                continue
            if apart(found, wanted * plain) < SAME:
                lacks[side] = "positions"
            else:
                lacks[side] = "scale" if apart(found, plain + sinusoids) < SAME else "form"
    if not lacks:
        return Finding("tokens are scaled, and positions added, on both sides")
    says = " and ".join(f"the {side} lacks its {what}" for side, what in lacks.items())
    for bug, shows in (
        ("no-positions", {"source": "positions", "target": "positions"}),
        ("positions-too-late", {"source": "positions"}),
        ("scale-on-one-side", {"target": "scale"}),
    ):
        if lacks == shows:
            return wrong(says, bug)
    return wrong(says, "")


def ties(system: System) -> Finding:
    """Whether one matrix is in three places, if it is said to be."""
    if not system.config.tie_embeddings:
        return not_asked("three matrices are meant")
    model = system.model
    table = model.source_embedding.table.weight
    others = {"target": model.target_embedding.table.weight, "projection": model.projection.weight}
    for name, other in others.items():
        if other is not table:
            says = (
                f"the {name}'s matrix is another than the source's, {apart(table, other):.2g} off"
            )
            return wrong(says, "tied-by-value", name == "projection")
    return Finding("one matrix serves as both embeddings and as projection")


# --- what may be seen -----------------------------------------------------------------------------


def future(system: System) -> Finding:
    """Another token further on must not change what is said here.

    A mask that is one off lets one token more be seen in each layer, so that after all layers it is
    as many; what comes from further ahead comes through no mask.
    """
    here, far = 4, system.config.num_layers + 1
    n = here + far + 3
    src, tgt = words(system), words(system, n=n + 1)
    tgt[:, 0] = system.config.bos_id
    read, labels = system.recipe.read_and_labels(tgt)
    if torch.equal(read, labels):
        return wrong("the decoder reads the token that it has to say", "no-shift-no-mask")
    with asked(system) as model:
        before = model(src, read)
        moved = {}
        for ahead in (1, far):
            changed = read.clone()
            changed[:, here + ahead :] = words(system, n=n - here - ahead).flip(0)
            moved[ahead] = apart(model(src, changed)[:, : here + 1], before[:, : here + 1])
    if moved[far] > SAME:
        return wrong(f"a token {far} ahead moves logits by {moved[far]:.2g}", "no-causal-mask")
    if moved[1] > SAME:
        return wrong(f"the next token moves logits by {moved[1]:.2g}", "mask-off-by-one")
    return Finding("no token ahead moves a logit")


def padding(system: System) -> Finding:
    """A sentence has to come out the same alone and beside a longer one."""
    src, tgt = words(system, 1), words(system, 1)
    with asked(system) as model:
        alone = model(src, tgt)
        filled = functional.pad(src, (0, 6), value=system.config.pad_id)
        gap = apart(model(filled, tgt), alone)
    if gap > SAME:
        return wrong(f"padding behind the source moves logits by {gap:.2g}", "pads-attended")
    return Finding("padding moves no logit")


def loss_on_padding(system: System) -> Finding:
    """More padding must not change the loss, whatever is said there."""
    labels = words(system)
    logits = numbers(*labels.shape, system.config.vocab_size)
    loss = system.recipe.loss
    longer = functional.pad(labels, (0, 5), value=system.config.pad_id)
    flat, sure = torch.zeros(2, 5, logits.size(-1)), torch.zeros(2, 5, logits.size(-1))
    sure[..., system.config.pad_id] = 9.0
    of_flat, of_sure = (float(loss(torch.cat([logits, x], 1), longer)) for x in (flat, sure))
    gap = max(abs(of_flat - float(loss(logits, labels))), abs(of_flat - of_sure))
    if gap < SAME:
        return Finding("padding has no part in the loss")
    says = f"padding moves the loss by {gap:.2g}"
    bug = "pads-in-loss" if of_sure < of_flat else "pads-smoothed"
    return wrong(says, bug, abs(of_sure - of_flat) > SAME)  # else it only counts among the tokens


# --- text -----------------------------------------------------------------------------------------


def targets(system: System) -> Finding:
    """Each target has to be all of its sentence, between the two signs."""
    encoded = system.recipe.ids(system.pairs, system.vocabulary)
    config = system.config
    whole = system.vocabulary.encode_batch(list(system.pairs.target))
    for ids, sentence in zip(encoded.target, whole, strict=True):
        if not ids:
            return wrong("a target is empty", "")
        if ids[0] != config.bos_id:
            return wrong("a target does not begin with the start sign", "no-bos")
        if ids[-1] != config.eos_id:
            return wrong("a target does not end with the end sign", "no-eos")
        if list(ids[1:-1]) != sentence:
            says = f"a target is another than its sentence: {system.vocabulary.decode(list(ids))!r}"
            begins = list(ids[1:-1]) == sentence[: len(ids) - 2]
            return wrong(says, "truncated-targets", begins)
    return Finding("targets are whole, between start and end sign")


# --- a step ---------------------------------------------------------------------------------------


def modes(system: System) -> Finding:
    """Asked twice, a model says the same; learning twice from the same, it does not."""
    src, tgt = words(system), words(system)
    with asked(system) as model:
        if (gap := apart(model(src, tgt), model(src, tgt))) > SAME:
            drops = any(dropout.training for dropout in modules(model, nn.Dropout))
            return wrong(f"asked twice, logits differ by {gap:.2g}", "dropout-when-asked", drops)
        system.recipe.learning(model)
        same = apart(model(src, tgt), model(src, tgt)) == 0
    if same and system.config.dropout:
        return wrong("learning twice from a batch, nothing is dropped", "no-dropout")
    return Finding("dropout is on while it learns, and off when it is asked")


def gradients(system: System) -> Finding:
    """A gradient has to be gone after its step, and be the same in parts as in one."""
    model, recipe = system.model, system.recipe
    weights = list(model.parameters())
    src, tgt = words(system, 6), words(system, 6, 8)
    tgt[:5, 3:] = system.config.pad_id  # five short sentences and a long one
    whole, parts = [(src, tgt)], [(src[:5], tgt[:5]), (src[5:], tgt[5:])]

    def gradient_of(batches: list[tuple[Tensor, Tensor]]) -> Tensor:
        with evaluation_mode(model):
            recipe.gradient(recipe, model, batches)
        return torch.cat([w.grad.flatten() for w in weights if w.grad is not None])

    model.zero_grad()
    in_one = gradient_of(whole).clone()
    recipe.clear(torch.optim.SGD(weights))
    again = gradient_of(whole).clone()
    model.zero_grad()
    in_parts = gradient_of(parts).clone()
    model.zero_grad()
    means = [gradient_of([part]).clone() for part in parts]  # each on top of those before it
    model.zero_grad()
    if (gap := apart(again, in_one)) > SAME:
        says = f"the next step's gradient is off by {gap:.2g}"
        return wrong(says, "gradient-kept", apart(again, 2 * in_one) < SAME)
    if (gap := apart(in_parts, in_one)) > SAME:
        says = f"in two parts the gradient is off by {gap:.2g}"
        return wrong(says, "mean-of-means", apart(in_parts, means[-1] / 2) < SAME)
    return Finding("gradients are cleared, and add up over parts")


def rates(system: System) -> Finding:
    """The rates that were written down against those that were meant."""
    if system.log is None or system.rate is None:
        return not_asked("no rates were written down")
    found = system.log.rates
    meant = [system.rate(step) for step in system.log.steps]
    off = max(abs(one - other) for one, other in zip(found, meant, strict=True))
    if off < 1e-3 * max(meant):
        return Finding("the rate followed its schedule")
    says = f"the rate was off by {off:.2g}, of a peak of {max(meant):.2g}"
    if max(found) - min(found) < 1e-9 and len(found) > 1:
        return wrong(says, "rate-never-stepped")
    twice = [system.rate(2 * step) for step in system.log.steps]
    apart_from_twice = max(abs(one - other) for one, other in zip(found, twice, strict=True))
    return wrong(says, "rate-stepped-twice", apart_from_twice < 1e-3 * max(meant))


# --- afterwards -----------------------------------------------------------------------------------


def kept_weights(system: System) -> Finding:
    """What was learned has to be there still: the loss of the last steps, asked again.

    How weights were lost does not show in them; the museum has one way, the average of two runs.
    """
    if system.log is None or not system.log.losses:
        return not_asked("no losses of this kind were written down")
    noted = system.log.last_loss()

    def loss_with(vocabulary: Vocabulary) -> float:
        src, tgt = padded(system, system.pairs, vocabulary)
        with asked(system) as model:
            return float(system.recipe.loss_of(model, src, tgt))

    as_asked = loss_with(system.recipe.known(system.vocabulary))
    says = f"the loss was {noted:.2f} at the end of training and is {as_asked:.2f} on such pairs"
    if as_asked < noted + 0.5:
        return Finding(says)
    if not system.own_code:
        return wrong(f"{says}: weights, vocabulary, log and code are not those of one run", "")
    if loss_with(system.vocabulary) < noted + 0.5:
        return wrong(f"{says}; with its own vocabulary not", "vocabulary-of-another-run")
    return wrong(says, "average-of-strangers")


def cache(system: System) -> Finding:
    """The decoder of the search against one without a cache, and after a change of ranks."""
    src = words(system)
    prefixes = words(system, 4, 3).view(2, 2, 3)
    prefixes[..., 0] = system.config.bos_id
    swap, all_of_them = torch.tensor([[1, 0], [1, 0]]), torch.arange(2)
    with asked(system) as model:
        plain, ours = PrefixDecoder(model, src, 2), system.recipe.decoder(model, src, 2)
        for length in (1, 2, 3):
            so_far = prefixes[..., :length]
            at_length = ours.next_logits(so_far)
            gap = apart(at_length, plain.next_logits(so_far))
            if gap > SAME:
                says = f"with the cache logits are off by {gap:.2g} at token {length}"
                forgets = ForgetsWhereItIs(model, src, 2)
                for n in range(1, length + 1):
                    said = forgets.next_logits(prefixes[..., :n])
                return wrong(says, "positions-lost-in-decoding", apart(said, at_length) < SAME)
        ours.select(all_of_them, swap)
        plain.select(all_of_them, swap)
        swapped = torch.cat([prefixes.flip(1), words(system, 4, 1).view(2, 2, 1)], dim=-1)
        gap = apart(ours.next_logits(swapped), plain.next_logits(swapped))
    if gap > SAME:
        return wrong(f"after a change of ranks logits are off by {gap:.2g}", "cache-not-reordered")
    return Finding("the search's decoder says what one without a cache says")


def references(system: System) -> Finding:
    """Other references must not change what is written."""
    src = words(system)
    tgt = words(system, n=8)
    tgt[:, 0], tgt[:, -1] = system.config.bos_id, system.config.eos_id
    other = tgt.clone()
    other[:, 1:-1] = other[:, 1:-1].flip(0)
    write, model = system.recipe.write, system.model
    if torch.equal(write(system.recipe, model, src, tgt), write(system.recipe, model, src, other)):
        return Finding("what is written does not depend on the references")
    return wrong("other references change what is written", "scored-with-the-references")


def score(system: System) -> Finding:
    """The score against sacreBLEU's on text as it is."""
    said, wanted = ["der Hund schläft im Garten , ja !"], ["Der Hund schläft im Garten, ja!"]
    ours, theirs = system.recipe.score(said, wanted).value, cased_bleu(said, wanted).value
    if abs(ours - theirs) < 0.01:
        return Finding("the score is sacreBLEU's, of text as it is")
    pieces = lower_tokenised_bleu(said, wanted).value
    says = f"the score is {ours:.1f} where sacreBLEU gives {theirs:.1f}"
    return wrong(says, "scored-in-pieces", abs(ours - pieces) < 0.01)


# --- what no rule decides -------------------------------------------------------------------------


def lengths(system: System) -> Finding:
    """How long translations are beside their references, all and the longer half; how many empty.

    Said, and no bug by itself: a model that has learned little is short or endless too.
    """
    known = system.recipe.known(system.vocabulary)
    src, tgt = padded(system, system.held_out, known)
    with asked(system) as model:
        written = system.recipe.write(system.recipe, model, src, tgt).tolist()
    said = [len(known.decode(ids).strip()) for ids in written]
    wanted = [len(sentence) for sentence in system.held_out.target]
    longer = sorted(range(len(wanted)), key=wanted.__getitem__)[len(wanted) // 2 :]
    ratio = sum(said) / sum(wanted)
    of_longer = sum(said[i] for i in longer) / sum(wanted[i] for i in longer)
    empty = sum(length == 0 for length in said) / len(said)
    return Finding(
        f"translations are {ratio:.2f} times as long as the references, "
        f"{of_longer:.2f} times in the longer half, and {empty:.0%} are empty",
        "note",
    )


def sureness(system: System) -> Finding:
    """How sure it is of its best next token, after a true beginning, and how often it is right.

    Said, and no bug by itself: label smoothing makes a model less sure than it could be.
    """
    src, tgt = padded(system, system.held_out, system.recipe.known(system.vocabulary))
    with asked(system) as model:
        sure, right = best_next(model, src, *system.recipe.read_and_labels(tgt))
    says = (
        f"of the next token it is {sure.mean():.0%} sure, and right in {right.float().mean():.0%}"
    )
    return Finding(says, "note")


CHECKS: tuple[Check, ...] = (
    *(finite, modes, equation_1, heads, norms, residuals, embeddings, ties),
    *(future, padding, loss_on_padding, targets, gradients, rates),
    *(kept_weights, cache, references, score, lengths, sureness),
)
# What a run answers itself, whoever's code asks; the others are answered by the code around it.
OF_THE_RUN = frozenset({rates, kept_weights, lengths, sureness})


def modules(model: nn.Module, kind: type[Module]) -> Iterator[Module]:
    """Every module of a kind."""
    return (module for module in model.modules() if isinstance(module, kind))


def diagnose(system: System) -> list[Finding]:
    """What every check finds, in their order: causes stand before what follows from them."""
    return [check(system) for check in CHECKS]


def first_complaint(findings: Iterable[Finding]) -> Finding | None:
    """The first that is wrong, which is the most likely cause; None if nothing is."""
    return next((finding for finding in findings if finding.mark == "wrong"), None)
