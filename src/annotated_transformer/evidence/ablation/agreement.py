"""The rows of Table 3 in a study beside the printed ones: do both point the same way?

Sizes cannot be compared: other data, another model, another score. Directions can, where both are
large enough to be told from chance.
"""

from dataclasses import dataclass
from typing import Literal

from annotated_transformer.evidence.ablation.differences import Effect
from annotated_transformer.evidence.ablation.plan import BASE
from annotated_transformer.evidence.ablation.study import Study
from annotated_transformer.evidence.table3 import Table3Row, table_3_row

PRINTED_NOISE = 0.3  # BLEU; the paper gives one number a row and no spread
Direction = Literal["worse", "no difference", "better"]
Verdict = Literal["same", "opposite", "only here", "only there", "neither"]


@dataclass(frozen=True)
class Comparison:
    """A printed row of Table 3 and the row of a study that mirrors it.

    Attributes:
        printed: the paper's row.
        effect: our row, with its difference to our base in the score by which the study compares.
        bleu_effect: the same in sacreBLEU's default; None if it was not scored.
        perplexity_effect: the same in perplexity; None if it was not taken.
    """

    printed: Table3Row
    effect: Effect
    bleu_effect: Effect | None
    perplexity_effect: Effect | None

    @property
    def perplexity(self) -> float:
        """The paper's, minus that of its base."""
        return self.printed.against_base[0]

    @property
    def bleu(self) -> float:
        """The paper's, minus that of its base."""
        return self.printed.against_base[1]

    @property
    def our_direction(self) -> Direction:
        """By our score; "no difference" means none that an interval tells from chance."""
        if not self.effect.decided:
            return "no difference"
        return "better" if self.effect.difference > 0 else "worse"

    def papers_direction(self, noise: float = PRINTED_NOISE) -> Direction:
        """By BLEU; differences of `noise` and less are not read as any."""
        if abs(self.bleu) <= noise:
            return "no difference"
        return "better" if self.bleu > 0 else "worse"

    def verdict(self, noise: float = PRINTED_NOISE) -> Verdict:
        """Which of the two has a direction, and whether it is the same.

        "only there" where the paper has one and ours is none that can be told from chance: more
        seeds would have to tell. "neither" shows no difference, which is not to show that there is
        none.

        Args:
            noise: BLEU; how large a printed difference must not be to be read as none.
        """
        here, there = self.our_direction, self.papers_direction(noise)
        if here == there:
            return "neither" if here == "no difference" else "same"
        if "no difference" in (here, there):
            return "only there" if here == "no difference" else "only here"
        return "opposite"


def compare_with_table_3(study: Study) -> list[Comparison]:
    """The rows of a study that mirror Table 3, in the plan's order.

    Rows without a score are left out, and rows of which a training failed: those that came through
    would be a choice of the lucky. So is everything where the base has no score.
    """
    effects = study.effects()
    in_bleu = study.effects_in(lambda outcome: outcome.bleu.get(study.plan.beam))
    in_perplexity = study.effects_in(lambda outcome: outcome.perplexity)
    comparisons = []
    for row in study.plan.rows:
        if row.name == BASE or not row.table3 or row.name not in effects:
            continue
        if not all(outcome.finished for outcome in study.of_row(row.name)):
            continue
        comparisons.append(
            Comparison(
                table_3_row(row.table3),
                effects[row.name],
                in_bleu.get(row.name),
                in_perplexity.get(row.name),
            )
        )
    return comparisons
