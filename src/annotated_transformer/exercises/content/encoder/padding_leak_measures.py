"""Wrong measures of the change in `encoder.padding_leak`, over real tokens and over all."""

from annotated_transformer.exercises.content.encoder.padding_leak_steps import (
    Measure,
    everything,
    leak,
)
from annotated_transformer.exercises.exercise import Mistake

_ABSOLUTE = "Use `.abs().max()`: the largest absolute change, at any real token."
_COUNTED = "Padding is counted, which nobody reads: leave out where tokens is 0. Besides: "

# A name, what to say, and what is done with the changes.
_MEASURES: tuple[tuple[str, str, Measure], ...] = (
    (
        "mean",
        "The mean of the changes is taken, not the largest. One changed word among many would "
        "nearly vanish. " + _ABSOLUTE,
        lambda change: change.abs().mean().item(),
    ),
    (
        "no-absolute-value",
        "The absolute value is missing: `max` of the signed changes overlooks the negative ones. "
        + _ABSOLUTE,
        lambda change: change.max().item(),
    ),
    (
        "absolute-value-last",
        "The absolute value is taken after the maximum, too late: larger negative changes have "
        "been overlooked by then. " + _ABSOLUTE,
        lambda change: change.max().abs().item(),
    ),
    (
        "signed-mean",
        "The mean of the signed changes is taken: they cancel. " + _ABSOLUTE,
        lambda change: change.mean().item(),
    ),
    (
        "sum",
        "The changes are added up. " + _ABSOLUTE,
        lambda change: change.abs().sum().item(),
    ),
    (
        "signed-sum",
        "The signed changes are added up: they cancel. " + _ABSOLUTE,
        lambda change: change.sum().abs().item(),
    ),
    (
        "minimum",
        "The smallest change is taken: one word that stays the same hides all others. " + _ABSOLUTE,
        lambda change: change.abs().min().item(),
    ),
    (
        "norm",
        "The length (2-norm) of all changes is taken. " + _ABSOLUTE,
        lambda change: change.norm().item(),
    ),
    (
        "mean-square",
        "The mean of the squares is taken. " + _ABSOLUTE,
        lambda change: change.square().mean().item(),
    ),
    (
        "largest-square",
        "The largest square is taken. " + _ABSOLUTE,
        lambda change: change.square().max().item(),
    ),
    (
        "largest-word",
        "The largest length (norm) of a word's change is taken. Asked for is the largest change "
        "of a single number. " + _ABSOLUTE,
        lambda change: change.norm(dim=-1).max().item(),
    ),
    (
        "largest-sum-of-a-word",
        "The changes of a word are added up before the largest is taken. Asked for is the largest "
        "change of a single number. " + _ABSOLUTE,
        lambda change: change.abs().sum(-1).max().item(),
    ),
    (
        "largest-mean-of-a-word",
        "The mean over the features of a word is taken before the largest. Asked for is the "
        "largest change of a single number. " + _ABSOLUTE,
        lambda change: change.abs().mean(-1).max().item(),
    ),
    (
        "mean-of-the-words",
        "The changes of a word are added up and the mean taken over the words. Asked for is the "
        "largest change of a single number. " + _ABSOLUTE,
        lambda change: change.abs().sum(-1).mean().item(),
    ),
    (
        "mean-norm-of-the-words",
        "The mean length of a word's change is taken. Asked for is the largest change of a single "
        "number. " + _ABSOLUTE,
        lambda change: change.norm(dim=-1).mean().item(),
    ),
    (
        "all-changes",
        "All changes are returned, not a number. Asked for is the largest: `.max().item()`.",
        lambda change: change.abs(),
    ),
    (
        "a-number-a-word",
        "One number for each word is returned. Asked for is a single one, the largest of all.",
        lambda change: change.abs().amax(-1),
    ),
    (
        "no-absolute-value-reversed",
        "The absolute value is missing, and the longer result is subtracted: `max` of the signed "
        "changes overlooks those upwards. " + _ABSOLUTE,
        lambda change: (-change).max().item(),
    ),
    (
        "largest-signed-sum-of-a-word",
        "The signed changes of a word are added up before the largest is taken: they cancel. Asked "
        "for is the largest change of a single number. " + _ABSOLUTE,
        lambda change: change.sum(-1).abs().max().item(),
    ),
    (
        "median",
        "The median of the changes is taken, not the largest. " + _ABSOLUTE,
        lambda change: change.abs().median().item(),
    ),
    (
        "deviation",
        "The standard deviation of the changes is taken: a change of all numbers alike vanishes. "
        + _ABSOLUTE,
        lambda change: change.std().item(),
    ),
    (
        "spread",
        "The smallest change is subtracted from the largest: a change of all numbers alike "
        "vanishes. " + _ABSOLUTE,
        lambda change: (change.max() - change.min()).item(),
    ),
    (
        "root-mean-square",
        "The root of the mean square is taken, not the largest change. " + _ABSOLUTE,
        lambda change: change.square().mean().sqrt().item(),
    ),
    (
        "first-feature",
        "Only one feature of each word is looked at. Any number may change. " + _ABSOLUTE,
        lambda change: change[..., 0].abs().max().item(),
    ),
    (
        "number-of-changes",
        "The number of changes is returned. Asked for is their size. " + _ABSOLUTE,
        lambda change: int((change.abs() > 1e-6).sum()),
    ),
    (
        "a-number-a-feature",
        "One number for each feature is returned. Asked for is a single one, the largest of all.",
        lambda change: change.abs().reshape(-1, change.size(-1)).amax(0),
    ),
    *(
        (
            f"rounded-to-{digits}",
            "The result is rounded, and a small leak becomes 0 or another number. Return it as "
            "it is.",
            lambda change, digits=digits: round(change.abs().max().item(), digits),
        )
        for digits in (0, 1, 2, 3)
    ),
    (
        "a-tensor-of-one",
        "A tensor of one axis is returned. Asked for is a number: `.item()`.",
        lambda change: change.abs().max()[None],
    ),
)

MEASURE_MISTAKES = (
    *(Mistake(name, leak(measure=measure), text) for name, text, measure in _MEASURES),
    *(
        Mistake(
            f"padding-counted-{name}", leak(choose=everything, measure=measure), _COUNTED + text
        )
        for name, text, measure in _MEASURES
        if name != "absolute-value-last"  # at padding the largest change is positive anyway
    ),
)
