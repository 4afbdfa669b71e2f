"""Why is a BLEU score low? From a score to its causes, those that explain most of it first.

What can be undone is undone, one thing at a time, and scored again: a gain is a computed score
minus the cased score of sacreBLEU, never a guess, though some are of fewer lines. Text in a form
that nobody should score (in pieces, in small letters) is mended before anything else is asked of
the lines; a model's searches are scored as they are. Gains overlap and do not add up. A gain says
what a cause costs in this file, and not that the rest of it is right.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from annotated_transformer.evaluation.causes_in_a_model import Trained, asked_of
from annotated_transformer.evaluation.causes_in_form import FORMS, mend
from annotated_transformer.evaluation.causes_in_texts import LEAST, OF_TEXTS, Cause, Texts
from annotated_transformer.evaluation.scoring import check_line_counts


def causes(texts: Texts, trained: Trained | None = None) -> list[Cause]:
    """What makes the score of these texts low.

    Args:
        texts: what is scored.
        trained: the model, where there is one; without it only what texts can tell is asked.

    Returns:
        Causes with a gain, the largest first; then those without, in the order of the tables.

    Raises:
        CallError: if the line counts differ, if there is no line.
    """
    check_line_counts(texts.hypotheses, texts.references)
    forms, plain = mend(texts)
    others = [measure(plain) for measure in OF_TEXTS.values()]
    if forms:
        others = [cause and of_mended(cause) for cause in others]
    if trained is not None:
        others += [measure(texts, trained) for measure in asked_of(trained).values()]
    found = [*forms, *others]
    told = [cause for cause in found if cause and (cause.gain is None or cause.gain >= LEAST)]
    return sorted(told, key=lambda cause: math.inf if cause.gain is None else -cause.gain)


def of_mended(cause: Cause) -> Cause:
    """A cause that was measured on other texts than those given."""
    return replace(cause, found=f"With their form mended: {cause.found}")


def nothing_seen(found: Sequence[Cause], trained: Trained | None = None) -> list[str]:
    """The names of what was asked and is no cause."""
    asked = [*FORMS, *OF_TEXTS, *(asked_of(trained) if trained else ())]
    return [name for name in asked if name not in {cause.name for cause in found}]
