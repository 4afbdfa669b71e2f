"""How often a translation is right, phenomenon by phenomenon."""

from collections.abc import Sequence

from annotated_transformer.data.corpus import Split
from annotated_transformer.data.grammar.phenomena import PHENOMENA
from annotated_transformer.errors import CallError


def accuracy_by_phenomenon(hypotheses: Sequence[str], split: Split) -> dict[str, tuple[int, int]]:
    """Exact matches among the sentences that show each phenomenon.

    English determines the German of this corpus, so a translation is right only as a whole. A
    sentence counts for every phenomenon it shows: the rows overlap.

    Args:
        hypotheses: one translation for each sentence of the split.
        split: a split of the grammar corpus, with its tags.

    Returns:
        Phenomenon -> (right, all), in the order of PHENOMENA, those that do not occur left out.

    Raises:
        CallError: the split has no tags, or as many hypotheses as sentences were not given.
    """
    if split.tags is None:
        raise CallError(
            "accuracy by phenomenon needs a split of the grammar corpus; this one has no tags"
        )
    if len(hypotheses) != len(split):
        raise CallError(f"{len(hypotheses)} translations were given for {len(split)} sentences")
    counts = {tag: [0, 0] for tag in PHENOMENA}
    for hypothesis, target, tags in zip(hypotheses, split.target, split.tags, strict=True):
        for tag in tags:
            counts[tag][0] += hypothesis == target
            counts[tag][1] += 1
    return {tag: (right, total) for tag, (right, total) in counts.items() if total}
