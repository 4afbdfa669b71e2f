"""Our side of Table 3: its rows in small, from the recorded runs of a study."""

from collections.abc import Callable

from annotated_transformer.evidence.ablation.agreement import (
    Comparison,
    Verdict,
    compare_with_table_3,
)
from annotated_transformer.evidence.ablation.differences import Effect
from annotated_transformer.evidence.ablation.plan import BASE
from annotated_transformer.evidence.ablation.study import load_study
from annotated_transformer.evidence.ledger.rows import Finding
from annotated_transformer.evidence.table3 import table_3_row

STUDY = "table3_grammar"
SAYS: dict[Verdict, str] = {
    "same": "the same direction",
    "opposite": "the opposite direction",
    "only here": "a difference only here",
    "only there": "ours cannot be told from chance with so few seeds",
    "neither": "in neither a difference that could be told from chance",
}


def in_small(preset: str) -> Callable[[], Finding]:
    """A row of Table 3 in small: its difference to our base beside the printed one.

    The finding raises LookupError where the row has no run, or one that failed.
    """

    def measure() -> Finding:
        study = load_study(STUDY)
        if preset == BASE:
            base = study.effects()[BASE]
            return Finding(
                f"in small, on the grammar corpus: {base.mean:.1f} % of the sentences exact"
                f" and perplexity {study.perplexity(BASE):.2f} ({_seeds(len(base.values))})"
            )
        for one in compare_with_table_3(study):
            if one.printed.preset == preset:
                return Finding(_text(one), one.verdict() not in ("opposite", "only here"))
        raise LookupError(f"the study {STUDY} has no whole row {preset}: run it, or look why not.")

    return measure


def _text(one: Comparison) -> str:
    base = table_3_row(BASE)
    margin = "" if one.effect.margin is None else f" ± {one.effect.margin:.1f}"
    return (
        f"in small, on the grammar corpus: {one.effect.difference:+.1f}{margin} points of exact "
        f"match{_perplexity(one.perplexity_effect)} to the base "
        f"({_seeds(len(one.effect.values))}); the paper has {one.printed.bleu} BLEU against "
        f"{base.bleu} and perplexity {one.printed.perplexity:.2f} against {base.perplexity:.2f}: "
        f"{SAYS[one.verdict()]}"
    )


def _perplexity(effect: Effect | None) -> str:
    return "" if effect is None else f" and perplexity {effect.difference:+.2f}"


def _seeds(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"
