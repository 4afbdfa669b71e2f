"""What `evaluate --alpha-from` chooses between, on a split that is not the scored one."""

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from annotated_transformer.cli.sentences import Progress
from annotated_transformer.data import ParallelCorpus, Split
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation import translation
from annotated_transformer.evaluation.scoring import TriedSearch, lower_tokenised_bleu, other_limit


def count_shared(name: str, scored: Split, alpha_from: str, corpus: ParallelCorpus) -> int:
    """How many of the scored sentences also stand in the split that alpha is chosen on.

    A few short captions may well stand in both, which is said. If all do, that split is the scored
    one under another name.

    Raises:
        CallError: if all do.
    """
    there = {" ".join(line.split()) for line in corpus[alpha_from].source}
    shared = sum(" ".join(line.split()) in there for line in scored.source)
    if shared == len(scored):
        raise CallError(
            f"--alpha-from {alpha_from}: all {shared:,} sentences of {name}, which is scored, also "
            f"stand in {alpha_from}, so the length penalty would be chosen on them: name another "
            "split."
        )
    if shared:
        print(
            f"{shared:,} of the {len(scored):,} sentences of {name} also stand in {alpha_from}, "
            "on which the length penalty is chosen",
            file=sys.stderr,
        )
    return shared


def try_searches(
    translate: Callable[..., list[str]],
    searches: Sequence[tuple[float, int]],
    validation: Split,
    language: str,
) -> list[TriedSearch]:
    """Lower-cased BLEU of the validation sentences for each pair of alpha and max_extra, in order.

    So a record shows what the choice was between.
    """
    tuning = []
    with each_warning_once(translation.logger):
        for alpha, extra in searches:
            what = f"validation, alpha {alpha}{other_limit(extra)}"
            progress = Progress(len(validation), 0, silent=False, what=what)
            hypotheses = translate(
                validation.source, alpha=alpha, max_extra=extra, progress=progress.of_search
            )
            score = lower_tokenised_bleu(hypotheses, validation.target, language).value
            tuning.append(TriedSearch(alpha, score, extra))
    return tuning


@contextmanager
def each_warning_once(logger: logging.Logger) -> Iterator[None]:
    """Inside, it says the same sentence once: every search meets the same long sentences."""
    said: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        sentence = record.getMessage()
        new = sentence not in said
        said.add(sentence)
        return new

    logger.addFilter(is_new)
    try:
        yield
    finally:
        logger.removeFilter(is_new)
