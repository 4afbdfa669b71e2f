"""Our side of Table 3: its rows in small, from the recorded runs of a study."""

from collections.abc import Callable
from functools import cache

from annotated_transformer.ablation.agreement import Beside, beside_table_3
from annotated_transformer.ablation.plan import BASE
from annotated_transformer.ablation.study import Study, load_study
from annotated_transformer.ledger.rows import Finding

STUDY = "table3_grammar"


@cache
def study() -> Study:
    """The recorded runs of Table 3's rows on the grammar corpus."""
    return load_study(STUDY)


@cache
def rows_in_small() -> dict[str, Beside]:
    """The rows that have been run, by the paper's names of them."""
    return {one.printed.preset: one for one in beside_table_3(study())}


def in_small(preset: str) -> Callable[[], Finding]:
    """A row of Table 3 in small: its difference to our base beside the printed one."""

    def measure() -> Finding:
        found = study().found()
        if BASE not in found or preset not in {BASE, *rows_in_small()}:
            return Finding("in small: planned, and not run yet")
        if preset == BASE:
            base = found[BASE]
            return Finding(
                f"in small, on the grammar corpus: {base.mean:.1f} % of the sentences exact and "
                f"perplexity {study().perplexity(BASE):.2f} ({_seeds(len(base.values))})"
            )
        one = rows_in_small()[preset]
        return Finding(
            f"in small, on the grammar corpus: {_difference(one)} and perplexity "
            f"{one.our_perplexity:+.2f} to the base ({_seeds(len(one.found.values))}); the paper "
            f"has {one.bleu:+.1f} BLEU and {one.perplexity:+.2f}",
            one.verdict != "differs",
        )

    return measure


def _difference(one: Beside) -> str:
    """Points of exact match, with half the interval where there is one."""
    margin = "" if one.found.margin is None else f" ± {one.found.margin:.1f}"
    return f"{one.found.difference:+.1f}{margin} points of exact match"


def _seeds(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"
