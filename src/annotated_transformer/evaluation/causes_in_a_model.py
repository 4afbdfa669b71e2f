"""What the model behind translations tells of a low score: its search, its training, its data."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotated_transformer.config import ALPHA, BEAM_SIZE
from annotated_transformer.evaluation.causes_in_texts import Cause, Texts
from annotated_transformer.evaluation.scoring import count_sentences
from annotated_transformer.evaluation.significance import paired_randomisation

SEARCHED = 200  # sentences that are translated again, at most
CHANCE = 0.05  # p-value above which a difference of searches is none
NOTED = 0.01  # share by which a validation loss has to change
MANY_PIECES = 4


@dataclass(frozen=True)
class Trained:
    """A model, as far as it is asked here: how it translates and cuts words, and facts of its run.

    translate: sentences, size of the beam, alpha -> translations.
    beam, alpha: of the search that is scored.
    imported: whether others trained it, so that what follows is not known.
    steps: of the checkpoints that the weights come from; none where that is not known.
    best: whether they are those of the best validation.
    checkpoints: how many lie in the run.
    metrics: the lines of the run's metrics.jsonl.
    pairs: of the training; None where that is not known.
    pieces: words -> into how many pieces the vocabulary cuts each.
    run_dir: the run.
    """

    translate: Callable[[Sequence[str], int, float], list[str]]
    beam: int
    alpha: float
    imported: bool
    steps: Sequence[int]
    best: bool
    checkpoints: int
    metrics: Sequence[Mapping[str, Any]]
    pairs: int | None
    pieces: Callable[[Sequence[str]], list[int]]
    run_dir: str


def search(texts: Texts, trained: Trained) -> Cause | None:
    """Greedy search, and a beam with three penalties, on lines taken evenly from the split.

    The best of them is a cause if it beats the search in use by more than chance.
    """
    number = len(texts.references)
    some = texts.lines(range(0, number, math.ceil(number / SEARCHED)))
    beam = trained.beam if trained.beam > 1 else BEAM_SIZE
    tried = {(1 if trained.beam == 1 else beam, trained.alpha): some}
    others = [(beam, alpha) for alpha in (0.0, ALPHA, 1.0)]
    if trained.beam > 1:
        others.insert(0, (1, ALPHA))
    for one in others:
        if one not in tried:
            tried[one] = replace(some, hypotheses=trained.translate(some.sources, *one))
    (width, _), best = max(tried.items(), key=lambda one: one[1].score)
    better, used = (
        count_sentences(one.hypotheses, some.references, "cased") for one in (best, some)
    )
    if paired_randomisation(better, used).p_value > CHANCE / (len(tried) - 1):
        return None
    scores = ", ".join(
        f"{'greedy' if size == 1 else f'beam {size} and alpha {alpha}'} {one.score:.2f}"
        + " (in use)" * (one is some)
        for (size, alpha), one in tried.items()
    )
    advice = f"Take --beam {beam} and choose --alpha"
    if width == 1:
        advice = "Take --beam 1, or choose --alpha and --max-extra anew"
    return Cause(
        "search",
        f"On {len(some.references):,} sentences of this split: {scores}.",
        best.score - some.score,
        f"{advice} on another split than the one that is scored (--alpha-from).",
    )


def averaging(_: Texts, trained: Trained) -> Cause | None:
    """Weights that are not the mean of several checkpoints."""
    if len(trained.steps) > 1:
        return None
    here = f"; {trained.checkpoints} checkpoints lie in the folder."
    if trained.steps:
        found = f"The weights are those of a single checkpoint{here}"
    else:
        found = f"Which checkpoints the weights come from is not known{here}"
    how = f"Train with --keep 5 --average 5{WHERE_IT_HELPS}"
    if trained.checkpoints > 1:
        how = (
            f"`annotated-transformer average --run-dir {trained.run_dir} --last "
            f"{min(5, trained.checkpoints)}` makes their mean{WHERE_IT_HELPS}"
        )
    return Cause("averaging", found, None, how)


WHERE_IT_HELPS = ", which helps where the learning rate does not fall to zero."


def training_length(_: Texts, trained: Trained) -> Cause | None:
    """Whether the validation loss was still falling when the training ended, or had risen.

    It was falling if the last one is the best, and more than 1 % below the best of the first nine
    tenths of the steps. It had risen if the last one is more than 1 % above the best.
    """
    name = "training length"
    losses = [(line["step"], line["loss"]) for line in trained.metrics if line["event"] == "valid"]
    early = [loss for step, loss in losses if step <= 0.9 * losses[-1][0]]
    if not early:
        found = "Too few validations are recorded in the run to say whether it had finished."
        return Cause(name, found, None, "Keep metrics.jsonl beside the model, and validate often.")
    last, best = losses[-1][1], min(loss for _, loss in losses)
    if last == best and last < (1 - NOTED) * min(early):
        found = f"The last tenth of the steps still took the validation loss from {min(early):.3f} "
        advice = "Train longer, unless the rate fell to zero there, which lowers any loss."
        return Cause(name, f"{found}to {last:.3f}.", None, advice)
    rose = not last <= (1 + NOTED) * best  # also where it is no number
    if rose and not trained.best:
        found = f"The validation loss had been {best:.3f} and was {last:.3f} at the end."
        advice = "Take the best weights (`average --best`), more dropout or more data."
        return Cause(name, found, None, advice)
    return None


def data(texts: Texts, trained: Trained) -> Cause:
    """How many pairs there were to learn from, and how strange the sources are."""
    words = [word for line in texts.sources for word in line.split()]
    kinds = sorted(set(words))
    pieces = dict(zip(kinds, trained.pieces(kinds), strict=True))
    strange = sum(pieces[word] >= MANY_PIECES for word in words) / max(1, len(words))
    pairs = "An unknown number of" if trained.pairs is None else f"{trained.pairs:,}"
    return Cause(
        "data",
        f"{pairs} pairs were trained on, and the vocabulary cuts {strange:.1%} of the words of "
        f"these sources into {MANY_PIECES} pieces or more.",
        None,
        "If these sentences are of another kind than those, train on pairs of this kind too.",
    )


def a_bug(_: Texts, trained: Trained) -> Cause:
    """What raises no error."""
    return Cause(
        "a bug",
        "A score does not show whether masks, shift and schedule are right.",
        None,
        f"`annotated-transformer diagnose --run-dir {trained.run_dir}` asks for them.",
    )


Measure = Callable[[Texts, Trained], Cause | None]

OF_MODELS: dict[str, Measure] = {
    "search": search,
    "averaging": averaging,
    "training length": training_length,
    "data": data,
    "a bug": a_bug,
}


def asked_of(trained: Trained) -> dict[str, Measure]:
    """What is asked of a model: of an imported one its search alone."""
    return {"search": search} if trained.imported else OF_MODELS
