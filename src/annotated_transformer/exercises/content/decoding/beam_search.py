"""`decoding.beam_search` (section 6.1): beam size 4, length penalty alpha = 0.6."""

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.decoding.language_models import Known, log_prob_table
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Stage, call

NextLogProbs = Callable[[Tensor], Tensor]


def beam_search(
    next_log_probs: NextLogProbs,
    beam_size: int,
    max_len: int,
    alpha: float = 0.6,
    bos: int = 1,
    eos: int = 2,
) -> list[int]:
    live = torch.tensor([[bos]])  # (k, t) the hypotheses that may still grow; at first one
    totals = torch.zeros(1)  # (k,) their log-probabilities
    finished: list[tuple[float, list[int]]] = []  # (total, tokens) of those that ended in eos

    for _ in range(max_len):
        log_probs = next_log_probs(live)  # (k, V)
        extended = totals[:, None] + log_probs
        size = min(beam_size, extended.numel())
        best = extended.flatten().topk(size)
        parents = best.indices // extended.size(1)  # (size,) which hypothesis each extends
        tokens = best.indices % extended.size(1)
        grown = torch.cat([live[parents], tokens[:, None]], dim=1)  # (size, t + 1)
        sums = best.values

        ended = tokens == eos
        leaving = list(zip(sums[ended].tolist(), grown[ended].tolist(), strict=True))
        finished += leaving
        live, totals = grown[~ended], sums[~ended]
        if len(live) == 0:
            break

    unfinished = list(zip(totals.tolist(), live.tolist(), strict=True))  # cut off at max_len
    pool = finished + unfinished
    scored = []
    for total, sentence in pool:
        length = len(sentence) - 1  # of what was generated: eos counts, bos does not
        penalty = ((5 + length) / 6) ** alpha
        scored.append((total / penalty, sentence))
    _, chosen = max(scored)
    return chosen


def _by_lists(
    next_log_probs: NextLogProbs,
    beam_size: int,
    max_len: int,
    alpha: float = 0.6,
    bos: int = 1,
    eos: int = 2,
) -> list[int]:
    live: list[tuple[list[int], float]] = [([bos], 0.0)]
    pool: list[tuple[list[int], float]] = []
    while live and len(live[0][0]) <= max_len:
        extensions = []
        for tokens, total in live:
            log_probs = next_log_probs(torch.tensor([tokens]))[0].tolist()
            extensions += [([*tokens, t], total + log_prob) for t, log_prob in enumerate(log_probs)]
        extensions.sort(key=lambda pair: -pair[1])
        kept = extensions[:beam_size]
        pool += [pair for pair in kept if pair[0][-1] == eos]
        live = [pair for pair in kept if pair[0][-1] != eos]
    pool += live

    def score(pair: tuple[list[int], float]) -> float:
        tokens, total = pair
        return total * (6 / (5 + len(tokens) - 1)) ** alpha

    return max(pool, key=score)[0]


def _with_places_at_minus_infinity(
    next_log_probs: NextLogProbs,
    beam_size: int,
    max_len: int,
    alpha: float = 0.6,
    bos: int = 1,
    eos: int = 2,
) -> list[int]:
    """A beam of fixed size: its empty places have the total -inf."""
    prefixes = torch.full((beam_size, 1), bos)
    totals = torch.full((beam_size,), float("-inf"))
    totals[0] = 0.0
    best_score, best_tokens = float("-inf"), [bos]
    for length in range(1, max_len + 1):
        log_probs = next_log_probs(prefixes)
        vocab_size = log_probs.shape[-1]
        totals, flat = (totals.to(log_probs)[:, None] + log_probs).view(-1).topk(beam_size)
        parent = torch.div(flat, vocab_size, rounding_mode="floor")
        token = flat.remainder(vocab_size)
        prefixes = torch.cat((prefixes.index_select(0, parent), token.unsqueeze(1)), dim=1)
        for place in range(beam_size):
            if token[place] == eos or length == max_len:
                score = totals[place].item() / ((5.0 + length) / 6.0) ** alpha
                if score > best_score:
                    best_score, best_tokens = score, prefixes[place].tolist()
        totals = totals.masked_fill(token == eos, float("-inf"))
        if totals.max() == float("-inf"):
            break
    return best_tokens


def _by_heap(
    next_log_probs: NextLogProbs,
    beam_size: int,
    max_len: int,
    alpha: float = 0.6,
    bos: int = 1,
    eos: int = 2,
) -> list[int]:
    """Recursion over the steps, a heap for the best extensions, the penalty as a logarithm."""
    pool: list[tuple[float, tuple[int, ...]]] = []

    def grow(beam: list[tuple[float, tuple[int, ...]]], left: int) -> None:
        if not beam or left == 0:
            pool.extend(beam)
            return
        rows = next_log_probs(torch.tensor([tokens for _, tokens in beam]))
        extensions = (
            (total + float(log_prob), (*tokens, token))
            for (total, tokens), row in zip(beam, rows, strict=True)
            for token, log_prob in enumerate(row)
        )
        kept = heapq.nlargest(beam_size, extensions)
        pool.extend(pair for pair in kept if pair[1][-1] == eos)
        grow([pair for pair in kept if pair[1][-1] != eos], left - 1)

    grow([(0.0, (bos,))], max_len)
    penalty = {n: pow((4 + n) / 6, alpha) for n in range(1, max_len + 2)}  # by length with bos
    return list(min(pool, key=lambda pair: -pair[0] / penalty[len(pair[1])])[1])


def _stopping_when_none_can_catch_up(
    next_log_probs: NextLogProbs,
    beam_size: int,
    max_len: int,
    alpha: float = 0.6,
    bos: int = 1,
    eos: int = 2,
) -> list[int]:
    """Stops early, and safely: no live total divided by the largest penalty beats the best."""
    beam: dict[tuple[int, ...], float] = {(bos,): 0.0}
    scores: dict[tuple[int, ...], float] = {}
    for length in range(1, max_len + 1):
        rows = next_log_probs(torch.tensor(list(beam)))
        extended = {
            (*tokens, token): total + rows[place, token].item()
            for place, (tokens, total) in enumerate(beam.items())
            for token in range(rows.shape[1])
        }
        kept = sorted(extended, key=extended.__getitem__)[-beam_size:]
        for tokens in kept:
            if tokens[-1] == eos or length == max_len:
                scores[tokens] = extended[tokens] / ((5 + length) / 6) ** alpha
        beam = {tokens: extended[tokens] for tokens in kept if tokens[-1] != eos}
        largest = max(((5 + n) / 6) ** alpha for n in (length, max_len))
        if not beam or max(beam.values()) / largest < max(scores.values(), default=-1e30):
            break
    return list(max((score, tokens) for tokens, score in scores.items())[1])


def _searched(
    name: str,
    *arguments: Any,
    seed: int,
    vocab_size: int = 6,
    known: Known | None = None,
    eos_bias: float = 0.0,
    eos: int = 2,
    rare: Sequence[int] = (0, 1),
    isolates: str | None = None,
    dtype: torch.dtype | None = None,
) -> Case:
    """arguments: those after `next_log_probs`."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        table = log_prob_table(
            seed, vocab_size, dtype, eos=eos, rare=rare, eos_bias=eos_bias, known=known
        )
        return call(table, *arguments)

    stage: Stage = "main" if dtype is None else "other"
    return Case(name, make, isolates=isolates, stage=stage, dtype=dtype)


def _drawn(
    seed: int,
    vocab_size: int,
    eos_bias: float,
    eos: int,
    *arguments: Any,
    dtype: torch.dtype | None = None,
) -> Case:
    """A model of random probabilities. arguments: beam_size, max_len, and what is not default."""
    names = ("beam_size", "max_len", "alpha", "bos", "eos")
    given = ", ".join(f"{n} {v}" for n, v in zip(names, arguments, strict=False))
    bos = arguments[3] if len(arguments) > 3 else 1
    return _searched(
        f"a random model of {vocab_size} tokens (seed {seed}), {given}",
        *arguments,
        seed=seed,
        vocab_size=vocab_size,
        eos_bias=eos_bias,
        eos=eos,
        rare=tuple(token for token in sorted({0, 1, bos}) if token != eos),
        dtype=dtype,
    )


_OVERTAKEN: Known = {
    (1,): {3: 0.6, 2: 0.4},
    (1, 3): {4: 0.9, 5: 0.1},
    (1, 3, 4): {5: 0.9, 3: 0.1},
    (1, 3, 4, 5): {2: 0.8, 4: 0.2},
}
_TRAP: Known = {
    (1,): {3: 0.55, 4: 0.45},
    (1, 3): {5: 0.4, 3: 0.35, 2: 0.25},
    (1, 4): {2: 0.9, 5: 0.1},
    (1, 3, 5): {2: 0.6, 4: 0.4},
    (1, 3, 5, 4): {2: 0.9, 3: 0.1},
}
_ENDLESS: Known = {
    (1,): {3: 0.6, 4: 0.4},
    (1, 3): {4: 0.55, 5: 0.45},
    (1, 4): {5: 0.95, 3: 0.05},
}
_CUT: Known = {
    (1,): {3: 0.5, 4: 0.3, 2: 0.2},
    (1, 3): {4: 0.7, 2: 0.3},
    (1, 4): {3: 0.6, 5: 0.4},
    (1, 3, 4): {5: 0.8, 2: 0.2},
    (1, 4, 3): {5: 0.6, 2: 0.4},
}
_COUNTED: Known = {(1,): {3: 0.6, 2: 0.4}, (1, 3): {2: 0.491, 4: 0.3, 5: 0.209}}

CASES = (
    _searched(
        "beam_size 2, max_len 3: the probable beginning leads nowhere",
        2,
        3,
        seed=1,
        known=_TRAP,
        isolates="two live hypotheses, of which the second best leads to the best sentence",
    ),
    _searched(
        "beam_size 2, max_len 2: nothing ends in time",
        2,
        2,
        seed=2,
        known=_ENDLESS,
        isolates="the growth of the beam: nothing ends in eos",
    ),
    _searched(
        "beam_size 2, max_len 5: a longer sentence overtakes a short one",
        2,
        5,
        seed=3,
        known=_OVERTAKEN,
        isolates="the length penalty: a short sentence ends first, a longer one scores higher",
    ),
    _searched(
        "beam_size 2, max_len 5, alpha 0: no penalty, the short sentence wins",
        2,
        5,
        0.0,
        seed=3,
        known=_OVERTAKEN,
        isolates="the plain totals: alpha = 0 makes the penalty 1",
    ),
    _searched(
        "beam_size 3, max_len 3: one that was cut off is better than those that ended",
        3,
        3,
        seed=4,
        known=_CUT,
        isolates="the end at max_len: the live hypotheses join the pool",
    ),
    _searched(
        "beam_size 2, max_len 2, alpha 2: one token more in L decides",
        2,
        2,
        2.0,
        seed=7,
        known=_COUNTED,
        isolates="the length L: bos does not count",
    ),
    _searched("beam_size 1, max_len 4: greedy search", 1, 4, seed=5, known=_TRAP),
    _searched("beam_size 2, max_len 1: a single step", 2, 1, seed=6, known=_OVERTAKEN),
    _drawn(94706, 7, 0.5, 2, 3, 4),
    _drawn(142, 6, -1.0, 2, 4, 6),
    _drawn(35277, 7, -1.0, 2, 3, 5),
    _drawn(70655, 6, -1.0, 2, 2, 7),
    _drawn(2684, 6, 1.0, 2, 3, 5),
    _drawn(24881, 6, 1.0, 3, 3, 7, 2.0, 0, 3),
    _drawn(65450, 6, 0.0, 3, 4, 7, 2.0, 0, 3),
    _drawn(19806, 6, 1.0, 3, 2, 7, 2.0, 0, 3),
    _drawn(24924, 7, -1.0, 5, 2, 5, 1.0, 4, 5),
    _drawn(28659, 7, -1.0, 5, 2, 4, 2.0, 4, 5),
    _drawn(61514, 7, 1.5, 2, 4, 7, 2.0),
    _drawn(92021, 6, -1.0, 3, 3, 7, 0.3, 0, 3),
    _drawn(32924, 7, 2.0, 5, 3, 5, 2.0, 4, 5),
    _drawn(72770, 7, 2.0, 2, 4, 4, 2.0),
    _drawn(39154, 7, 0.0, 2, 2, 7, 1.0),
    _drawn(4440, 7, 0.0, 5, 3, 6, 2.0, 4, 5),
    _drawn(74733, 7, -1.0, 3, 3, 3, 0.3, 0, 3),
    _drawn(18128, 6, 1.0, 2, 3, 5, 1.5),
    _drawn(45944, 6, 1.5, 2, 2, 5, 1.0),
    _drawn(7204, 6, 0.5, 2, 3, 6, 2.0),
    _drawn(13723, 6, 0.0, 2, 2, 6, 0.3, dtype=torch.float32),
)

BEAM_SEARCH = Exercise(
    id="decoding.beam_search",
    title="Beam search with a length penalty",
    kind="code",
    difficulty=5,
    minutes=35,
    signature=(
        "beam_search(next_log_probs: callable LongTensor (k, t) -> (k, V) log-probabilities, "
        "beam_size: int, max_len: int, alpha: float = 0.6, bos=1, eos=2) -> list[int]"
    ),
    statement=(
        "Search for one sentence. `next_log_probs` takes k prefixes of t tokens, bos first, and "
        "returns the log-probabilities of each one's next token. Begin with the single live "
        "hypothesis [bos]. Each step keeps the beam_size best one-token extensions of the live "
        "hypotheses by total log-probability; those ending in eos leave the beam for the finished "
        "pool, the others are the live hypotheses of the next step. Stop when no hypothesis is "
        "live or after max_len new tokens (the live ones then join the pool). Return the pool's "
        "best by log-probability / ((5 + L) / 6)**alpha, L = generated tokens counting eos but "
        "not bos; bos and eos included in the result (a hypothesis cut off at max_len has no eos)."
    ),
    objective=(
        "Write the search that section 6.1 uses, and know what each of its rules is there for."
    ),
    prerequisite="decoding.greedy",
    hints=(
        "With beam_size 2 and two live hypotheses over six tokens, how many extensions are "
        "compared in one step? How many of the kept ones can have the same parent?",
        "Flatten the (k, V) totals, take `topk(beam_size)`: parent = index // V, token = "
        "index % V. Put those ending in eos into a list together with their penalised score, and "
        "go on with the rest, however few.",
        "For length = 1 ... max_len: totals[:, None] + next_log_probs(live); topk; gather the "
        "parents' prefixes and append the tokens; to the pool go those with eos, at length == "
        "max_len all, each with total / ((5 + length) / 6)**alpha; break when none is live. "
        "Return the tokens of the pool's maximum.",
    ),
    reference=beam_search,
    explanation=(
        "Greedy search cannot take back a word. A beam keeps several beginnings, so one that "
        "starts less probable can still win. All extensions compete together, because a strong "
        "parent may deserve several places and a weak one none. A finished hypothesis leaves the "
        "beam: it cannot grow, and as a place-holder it would only make the search narrower. Each "
        "token lowers a total, so totals of different lengths are not comparable: dividing the "
        "negative number by ((5 + L) / 6)**alpha, which grows with L, lifts the longer ones. "
        "Hence also the waiting: the first to finish is short, and a longer one may still "
        "overtake it. With alpha = 0 nothing is corrected; the paper takes 0.6 and beam size 4."
    ),
    cases=CASES,
    mistakes=page(__file__, beam_search),
    alternatives=(
        _by_lists,
        _with_places_at_minus_infinity,
        _by_heap,
        _stopping_when_none_can_catch_up,
    ),
    starter=(
        "def beam_search(next_log_probs, beam_size, max_len, alpha=0.6, bos=1, eos=2):\n"
        '    """next_log_probs: (k, t) tokens -> (k, V) log-probabilities. Returns the best\n'
        '    sentence found as a list of ints: bos, tokens, eos where it ended."""\n'
        "    ...  # your code"
    ),
)
