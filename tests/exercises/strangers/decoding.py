"""Wrong answers of outsiders about decoding, each with two mistakes."""

import math
from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor

Next = Callable[[Tensor], Tensor]


def goes_on_after_eos_to_the_very_end(
    next_logits: Next,
    batch_size: int,
    max_len: int,
    bos: int = 1,
    eos: int = 2,
    pad: int = 0,
) -> Tensor:
    """A finished row goes on with words instead of pad.
    Never stops early: always max_len new tokens."""
    seq = torch.full((batch_size, 1), bos, dtype=torch.long)
    for _ in range(max_len):
        nxt = torch.argmax(next_logits(seq), dim=1, keepdim=True)
        seq = torch.hstack((seq, nxt))
    return seq


def without_bos_and_one_step_short(
    next_logits: Next,
    batch_size: int,
    max_len: int,
    bos: int = 1,
    eos: int = 2,
    pad: int = 0,
) -> Tensor:
    """The bos column is cut off the result.
    bos counts as one of the max_len tokens."""
    out = torch.zeros(batch_size, max_len, dtype=torch.long) + pad
    out[:, 0] = bos
    finished = [False] * batch_size
    used = 1
    for t in range(1, max_len):
        scores = next_logits(out[:, :t])
        for b in range(batch_size):
            if not finished[b]:
                word = int(scores[b].argmax())
                out[b, t] = word
                finished[b] = word == eos
        used = t + 1
        if all(finished):
            break
    return out[:, 1:used]


def plain_totals_and_cut_off_ones_dropped(
    next_log_probs: Next,
    beam_size: int,
    max_len: int,
    alpha: float = 0.6,
    bos: int = 1,
    eos: int = 2,
) -> list[int]:
    """Compares the plain log-probabilities, without the length penalty.
    What is still live at max_len is left out if anything has finished."""
    beams: list[tuple[float, list[int]]] = [(0.0, [bos])]
    done: list[tuple[float, list[int]]] = []
    for _ in range(max_len):
        lp = next_log_probs(torch.tensor([seq for _, seq in beams]))
        options = []
        for (total, seq), row in zip(beams, lp.tolist(), strict=True):
            for word, value in enumerate(row):
                options.append((total + value, [*seq, word]))
        options.sort(key=lambda o: o[0], reverse=True)
        kept = options[:beam_size]
        done.extend(o for o in kept if o[1][-1] == eos)
        beams = [o for o in kept if o[1][-1] != eos]
        if not beams:
            break
    candidates = done if done else beams
    return max(candidates, key=lambda o: o[0])[1]


def one_child_each_and_multiplied(
    next_log_probs: Next,
    beam_size: int,
    max_len: int,
    alpha: float = 0.6,
    bos: int = 1,
    eos: int = 2,
) -> list[int]:
    """After the first step each hypothesis keeps its own best extension only.
    Multiplies by the length penalty instead of dividing."""
    alive = torch.full((1, 1), bos)
    logp = torch.zeros(1)
    pool: list[tuple[float, list[int]]] = []
    for length in range(1, max_len + 1):
        probs = next_log_probs(alive)
        if length == 1:
            values, words = probs[0].topk(min(beam_size, probs.shape[1]))
            alive = alive.repeat(len(words), 1)
        else:
            values, words = probs.max(dim=1)
        logp = logp + values
        alive = torch.cat([alive, words[:, None]], 1)
        penalty = ((5 + length) / 6) ** alpha
        leave = (words == eos) | (length == max_len)
        pool += [
            (float(logp[i]) * penalty, alive[i].tolist()) for i in range(len(leave)) if leave[i]
        ]
        alive, logp = alive[~leave], logp[~leave]
        if alive.shape[0] == 0:
            break
    return max(pool)[1]


def always_at_position_zero_unscaled(
    x: Tensor,
    pe: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    cache: tuple[Tensor, Tensor] | None,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Every new token gets the encoding of position 0.
    The scores are not scaled."""
    h = x + pe[: x.shape[1]]
    q, k, v = h @ w_q, h @ w_k, h @ w_v
    if cache is not None:
        old_k, old_v = cache
        k = torch.cat((old_k, k), 1)
        v = torch.cat((old_v, v), 1)
    att = torch.einsum("bqd,bkd->bqk", q, k).softmax(2)
    return torch.einsum("bqk,bkd->bqd", att, v), (k, v)


def value_without_position_new_in_front(
    x: Tensor,
    pe: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    cache: tuple[Tensor, Tensor] | None,
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """The value is made of x alone, without its position.
    The new token goes in front of the cached ones."""
    past = cache[0].shape[1] if cache else 0
    placed = x + pe[past]
    query = placed @ w_q
    keys = placed @ w_k
    values = x @ w_v
    if cache:
        keys = torch.cat([keys, cache[0]], dim=1)
        values = torch.cat([values, cache[1]], dim=1)
    attn = torch.softmax(query @ keys.transpose(1, 2) / query.shape[-1] ** 0.5, dim=-1)
    return attn @ values, (keys, values)


def averaged_in_turn_counters_too(states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Averages the average so far with the next: the last weighs a half.
    Whole numbers are averaged too."""
    avg = {name: t.clone() for name, t in states[0].items()}
    for state in states[1:]:
        for name, t in state.items():
            avg[name] = ((avg[name] + t) / 2).to(t.dtype)
    return avg


def summed_into_the_first_with_its_counters(
    states: list[dict[str, Tensor]],
) -> dict[str, Tensor]:
    """Adds up in the first state's own tensors.
    Whole numbers come from the first checkpoint."""
    total = states[0]
    for other in states[1:]:
        for key in total:
            if total[key].is_floating_point():
                total[key] += other[key]
    return {k: t / len(states) if t.is_floating_point() else t.clone() for k, t in total.items()}


def unclipped_with_arithmetic_mean(
    hypotheses: list[list[str]], references: list[list[str]], max_n: int = 4
) -> float:
    """A word that the reference has once matches any number of times.
    The plain mean of the precisions instead of the geometric one."""
    ps = []
    for n in range(1, max_n + 1):
        hits, possible = 0, 0
        for hyp, ref in zip(hypotheses, references, strict=True):
            ref_grams = {tuple(ref[i : i + n]) for i in range(len(ref) - n + 1)}
            hyp_grams = [tuple(hyp[i : i + n]) for i in range(len(hyp) - n + 1)]
            hits += len([g for g in hyp_grams if g in ref_grams])
            possible += len(hyp_grams)
        ps.append(hits / possible if possible else 0.0)
    if min(ps) == 0:
        return 0.0
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    bp = 1.0 if c >= r else math.exp(1 - r / c)
    return 100 * bp * sum(ps) / len(ps)


def long_ones_punished_from_zero_to_one(
    hypotheses: list[list[str]], references: list[list[str]], max_n: int = 4
) -> float:
    """The brevity penalty falls on translations that are too long.
    The score goes from 0 to 1, not to 100."""
    logs = 0.0
    for n in range(1, max_n + 1):
        num = den = 0
        for hyp, ref in zip(hypotheses, references, strict=True):
            h = Counter(zip(*[hyp[k:] for k in range(n)], strict=False))
            r = Counter(zip(*[ref[k:] for k in range(n)], strict=False))
            num += sum(min(count, r[gram]) for gram, count in h.items())
            den += h.total()
        if num == 0:
            return 0.0
        logs += math.log(num / den) / max_n
    c = sum(len(s) for s in hypotheses)
    r_len = sum(len(s) for s in references)
    brevity = math.exp(1 - c / r_len) if c > r_len else 1.0
    return brevity * math.exp(logs)


ANSWERS: dict[str, list[Callable[..., object]]] = {
    "decoding.greedy": [goes_on_after_eos_to_the_very_end, without_bos_and_one_step_short],
    "decoding.beam_search": [
        plain_totals_and_cut_off_ones_dropped,
        one_child_each_and_multiplied,
    ],
    "decoding.cached_step": [
        always_at_position_zero_unscaled,
        value_without_position_new_in_front,
    ],
    "decoding.average_checkpoints": [
        averaged_in_turn_counters_too,
        summed_into_the_first_with_its_counters,
    ],
    "decoding.corpus_bleu": [
        unclipped_with_arithmetic_mean,
        long_ones_punished_from_zero_to_one,
    ],
}
