"""`attention.find_bug`: five attention functions with one fault each, to be named by letter.

Which five faults appear, in which order and under which letters is drawn per learner.
"""

from dataclasses import replace

from annotated_transformer.exercises.content import drawn_mistakes
from annotated_transformer.exercises.content.drawn_mistakes import Fault, says
from annotated_transformer.exercises.exercise import Exercise, Mistake

SCALED = "    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))"
FORBID = '    scores = scores.masked_fill(~mask, float("-inf"))'
WEIGHTS = "    weights = torch.softmax(scores, dim=-1)"
ZEROS = "    weights = weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)"
RETURN = "    return weights @ v, weights"


# Each name is also that of the same mistake in `attention.scaled_dot_product`.
FAULTS = (
    Fault(
        "scale-by-d_k",
        "the scores are divided by d_k instead of sqrt(d_k)",
        ("    scores = q @ k.transpose(-2, -1) / q.size(-1)", FORBID, WEIGHTS, ZEROS, RETURN),
        "the scores are divided by the square root of d_k",
        "Read the line that makes the scores once more: by what are they divided?",
    ),
    Fault(
        "softmax-over-queries",
        "the softmax runs over the queries",
        (
            SCALED,
            "    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)",
            "    weights = torch.softmax(scores, dim=-2)",
            "    weights = weights * mask",
            RETURN,
        ),
        "the softmax runs over the last axis, the keys",
        "Scores are (..., n_q, n_k). Which of these axes does its softmax run over?",
    ),
    Fault(
        "mask-after-softmax",
        "the mask is applied after the softmax",
        (SCALED, WEIGHTS, "    weights = weights.masked_fill(~mask, 0.0)", RETURN),
        "the mask is applied to the scores, before the softmax",
        "In which order do softmax and mask come? Do the rows still sum to 1 afterwards?",
    ),
    Fault(
        "mask-inverted",
        "the mask is inverted",
        (
            SCALED,
            '    scores = scores.masked_fill(mask, float("-inf"))',
            WEIGHTS,
            "    weights = weights.masked_fill(mask.all(-1, keepdim=True), 0.0)",
            RETURN,
        ),
        "scores are filled where the mask is False, as they should be",
        "True means may attend. Where does its `masked_fill` fill?",
    ),
    Fault(
        "keys-as-values",
        "the keys are averaged instead of the values",
        (SCALED, FORBID, WEIGHTS, ZEROS, "    return weights @ k, weights"),
        "the weights are multiplied with v",
        "What are the weights multiplied with in the end?",
    ),
    Fault(
        "no-scale",
        "the scores are not scaled at all",
        ("    scores = q @ k.transpose(-2, -1)", FORBID, WEIGHTS, ZEROS, RETURN),
        "the scores are divided, in the line that makes them",
        "Compare the line that makes the scores with equation (1). What is missing?",
    ),
    Fault(
        "mask-fills-zero",
        "forbidden scores are set to 0",
        (SCALED, "    scores = scores.masked_fill(~mask, 0.0)", WEIGHTS, RETURN),
        "no score is set to 0 before the softmax",
        "With what are forbidden scores filled, and what is the exponential of that?",
    ),
    Fault(
        "empty-row-nan",
        "a query that may attend to nothing gives NaN",
        (SCALED, FORBID, WEIGHTS, RETURN),
        "a row with nothing allowed does not end in NaN",
        "Everything looks right, for ordinary masks. What if a whole row of it is False?",
    ),
)
EXPLANATION = (
    "Three questions find nearly every attention bug: do the rows of the weights sum to 1 "
    "(axis, order of mask and softmax), is a forbidden weight exactly 0 (sign and value of "
    "the mask), and does a row with nothing allowed give zeros? The scale shows in none of "
    "them, so read that line."
)
TWICE = (
    "Why does `{}` multiply by the mask once more? Its softmax runs down each column. In the "
    "column of a key that no query may attend to, all scores are the same large negative number, "
    "so the softmax shares 1 among them; the product with the mask makes these weights 0 again. "
    "Elsewhere it changes nothing: the mask was applied before the softmax, as it should be, and "
    "the axis is the only fault."
)


class Draw(drawn_mistakes.Draw):
    listing = "attend"
    arguments = "q, k, v, mask"


_PRINTED = Draw.of_places(FAULTS, (4, 2, 7, 0, 6, 1, 5, 3), (1, 5, 3, 2, 7))


def _draw(seed: int) -> Draw:
    return Draw.of_seed(FAULTS, 5, seed) if seed else _PRINTED


def listings(draw: Draw = _PRINTED) -> str:
    """The five functions as Python source."""
    return draw.listings()


def _statement(draw: Draw) -> str:
    return (
        "Each of five attention functions has one fault. mask is boolean, True = may attend; a "
        "query that may attend to nothing should get zeros. Return a dictionary with the letter "
        "of the fault for 'attend_1' to 'attend_5'. Not every letter occurs.\n\n"
        f"{draw.table_and_listings()}"
    )


def _mistakes(draw: Draw) -> tuple[Mistake, ...]:
    """Every wrong letter for every listing, with what is there and where to look instead."""
    return tuple(
        draw.wrong_letters(
            lambda key, fault, other: (
                f"`{key}` does not have fault {draw.letter(other)}: there, {_absent(fault, other)}."
            )
        )
    )


def _absent(fault: Fault, other: Fault) -> str:
    """What stands in the listing where `other` would be wrong."""
    if fault.name == "no-scale" and other.name == "scale-by-d_k":
        return "the scores are not divided by d_k"
    if fault.name == "scale-by-d_k" and other.name == "no-scale":
        return "the scores are divided by something"
    if fault.name == "mask-after-softmax" and other.name == "mask-fills-zero":
        return "it is weights, not scores, that are set to 0"
    if fault.name == "mask-fills-zero" and other.name == "empty-row-nan":
        return "no score is -inf, so nothing becomes NaN"
    if fault.name == "softmax-over-queries" and other.name == "mask-after-softmax":
        return (
            "the mask is applied to the scores, before the softmax; the product with the mask "
            "after it only repeats that, for keys that no query may attend to"
        )
    return other.absent


def _explanation(draw: Draw) -> str:
    """What finds the faults; and, where it is shown, why one listing names its mask twice."""
    for position, fault in enumerate(draw.shown):
        if fault.name == "softmax-over-queries":
            return f"{EXPLANATION} {TWICE.format(draw.key(position))}"
    return EXPLANATION


def vary(seed: int) -> Exercise:
    """The exercise with faults and letters drawn for this learner; seed 0 is the book's."""
    draw = _draw(seed)
    return replace(
        FIND_BUG,
        statement=_statement(draw),
        reference=says(draw.answers()),
        mistakes=_mistakes(draw),
        explanation=_explanation(draw),
        alternatives=(),
    )


def answer() -> dict[str, str]:
    return {
        "attend_1": "F",  # softmax(scores, dim=-2); its mask is in time, the line after repeats it
        "attend_2": "G",  # q @ k^T, and no division
        "attend_3": "H",  # masked_fill(mask, ...) fills where attending is allowed
        "attend_4": "B",  # the softmax has already shared out what the mask then removes
        "attend_5": "C",  # softmax of a row of -inf alone
    }


def _by_name() -> dict[str, str]:
    letters = {fault.name: _PRINTED.letter(fault) for fault in FAULTS}
    found = (
        "softmax-over-queries",
        "no-scale",
        "mask-inverted",
        "mask-after-softmax",
        "empty-row-nan",
    )
    return {f"attend_{i}": letters[name] for i, name in enumerate(found, start=1)}


FIND_BUG = Exercise(
    id="attention.find_bug",
    title="Name the fault in five attention functions",
    kind="debug",
    difficulty=3,
    minutes=12,
    signature="answer() -> dict of five letters",
    statement=_statement(_PRINTED),
    objective="Read attention code and see at once the line that is wrong.",
    prerequisite="attention.scaled_dot_product",
    hints=(
        "Do not run them yet. Compare each listing with your own solution, line by line. Which "
        "line differs?",
        "Four questions for each: by what are the scores divided? Where and with what are they "
        "filled, and before or after the softmax? Over which axis? What is averaged?",
        "Try them on a small example: rows of the weights must sum to 1, forbidden weights must "
        "be 0, and a row that is False throughout must give zeros. The one that passes all but "
        "the last has the fault about NaN.",
    ),
    reference=answer,
    explanation=_explanation(_PRINTED),
    mistakes=_mistakes(_PRINTED),
    alternatives=(_by_name, _PRINTED.answers),
    starter=_PRINTED.starter(),
    vary=vary,
)
