"""The steps of a beam search, one at a time: what its tree is drawn from.

`beam_search(..., watch=steps.append)` collects them. The search itself makes them and is the same
whether it is watched or not.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

Fate = Literal["kept", "ended", "pruned", "abandoned"]


@dataclass(frozen=True)
class Extension:
    """A live hypothesis with one more token, and what became of it.

    Attributes:
        tokens: bos first. Without the last they are those of the hypothesis that was extended: its
            node in the tree.
        log_probability: in nats, of all tokens after bos.
        score: log_probability / length_penalty: what it is ranked by if it ends here.
        fate: "kept" in the beam for the next step; "ended", by eos or the length limit, and handed
            to the pool; "pruned", not among the beam_size best; "abandoned", among them, but the
            search of its sentence stopped here, because it could not win any more.
    """

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    fate: Fate


@dataclass(frozen=True)
class SearchStep:
    """One step of the search of one sentence.

    Attributes:
        sentence: its row in the batch.
        length: how many tokens after bos each of these extensions has.
        considered: the beam_size best extensions of each live hypothesis, the most probable first.
    """

    sentence: int
    length: int
    considered: tuple[Extension, ...]


Watch = Callable[[SearchStep], object]


def steps_of(
    searching: Sequence[int],
    *,
    prefixes: Tensor,
    candidates: Tensor,
    extended: Tensor,
    best: Tensor,
    ended: Tensor,
    goes_on: Sequence[int],
    penalty: float,
) -> Iterator[SearchStep]:
    """What a search knows after a step, put in words for each sentence.

    Args:
        searching: the sentences of the rows.
        prefixes: the hypotheses before the step (live, beam, length).
        candidates: the best next tokens of each (live, beam, k).
        extended: the log-probabilities with them (live, beam, k), minus infinity where there is no
            hypothesis.
        best: which of a sentence's beam * k extensions are its best (live, beam).
        ended: which of these ended, bool (live, beam).
        goes_on: the rows that are searched further.
        penalty: the length penalty of this length.
    """
    before, tokens, totals = prefixes.tolist(), candidates.tolist(), extended.tolist()
    for row, sentence in enumerate(searching):
        k = len(tokens[row][0])
        # of the best: did it end
        did_end = dict(zip(best[row].tolist(), ended[row].tolist(), strict=True))
        considered = []
        for parent, places in enumerate(zip(tokens[row], totals[row], strict=True)):
            for rank, (token, total) in enumerate(zip(*places, strict=True)):
                if total == -math.inf:
                    continue
                place = parent * k + rank  # in `best`
                fate: Fate = "pruned"
                if place in did_end:
                    still: Fate = "kept" if row in goes_on else "abandoned"
                    fate = "ended" if did_end[place] else still
                path = (*before[row][parent], token)
                considered.append(Extension(path, total, total / penalty, fate))
        considered.sort(key=lambda extension: -extension.log_probability)
        yield SearchStep(sentence, prefixes.shape[-1], tuple(considered))
