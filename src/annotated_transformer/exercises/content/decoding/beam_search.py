"""`decoding.beam_search` (section 6.1): beam size 4, length penalty alpha = 0.6."""

import heapq
from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.content.decoding.beam_cases import CASES
from annotated_transformer.exercises.content.decoding.beam_choices import CHOICE_MISTAKES
from annotated_transformer.exercises.content.decoding.beam_growth import GROWTH_MISTAKES
from annotated_transformer.exercises.content.decoding.beam_rows import ROW_MISTAKES
from annotated_transformer.exercises.exercise import Exercise

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
    pool: list[tuple[float, list[int]]] = []  # (score, tokens) of those that may not

    for length in range(1, max_len + 1):  # L of all that is made in this step
        extended = totals[:, None] + next_log_probs(live)  # (k, V)
        best = extended.flatten().topk(min(beam_size, extended.numel()))
        parents, tokens = best.indices // extended.size(1), best.indices % extended.size(1)
        prefixes = torch.cat([live[parents], tokens[:, None]], dim=1)  # (beam_size, t + 1)

        ends = (tokens == eos) | (length == max_len)
        for total, prefix in zip(best.values[ends].tolist(), prefixes[ends].tolist(), strict=True):
            pool.append((total / ((5 + length) / 6) ** alpha, prefix))
        live, totals = prefixes[~ends], best.values[~ends]
        if len(live) == 0:
            break
    return max(pool)[1]


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
    mistakes=(*GROWTH_MISTAKES, *ROW_MISTAKES, *CHOICE_MISTAKES),
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
