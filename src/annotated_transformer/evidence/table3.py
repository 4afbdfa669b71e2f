"""Table 3 as printed: the paper's variations of the base model, on newstest2013 (section 6.2)."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table3Row:
    """One printed line.

    Args:
        preset: the name that `TransformerConfig.preset` knows.
        label_smoothing: epsilon_ls.
        steps: how many steps the paper trained.
        perplexity: on the development set, per wordpiece.
        bleu: on the development set, without checkpoint averaging.
        printed_millions: the printed number of parameters in millions; None where it is blank.
    """

    preset: str
    perplexity: float
    bleu: float
    printed_millions: int | None = None
    label_smoothing: float = 0.1
    steps: int = 100_000

    @property
    def against_base(self) -> tuple[float, float]:
        """Perplexity and BLEU minus those of the base, with as many digits as are printed."""
        base = TABLE_3[0]
        return round(self.perplexity - base.perplexity, 2), round(self.bleu - base.bleu, 1)


TABLE_3 = (
    Table3Row("base", 4.92, 25.8, 65),
    Table3Row("A1", 5.29, 24.9),
    Table3Row("A2", 5.00, 25.5),
    Table3Row("A3", 4.91, 25.8),
    Table3Row("A4", 5.01, 25.4),
    Table3Row("B1", 5.16, 25.1, 58),
    Table3Row("B2", 5.01, 25.4, 60),
    Table3Row("C1", 6.11, 23.7, 36),
    Table3Row("C2", 5.19, 25.3, 50),
    Table3Row("C3", 4.88, 25.5, 80),
    Table3Row("C4", 5.75, 24.5, 28),
    Table3Row("C5", 4.66, 26.0, 168),
    Table3Row("C6", 5.12, 25.4, 53),
    Table3Row("C7", 4.75, 26.2, 90),
    Table3Row("D1", 5.77, 24.6),
    Table3Row("D2", 4.95, 25.5),
    Table3Row("D3", 4.67, 25.3, label_smoothing=0.0),
    Table3Row("D4", 5.47, 25.7, label_smoothing=0.2),
    Table3Row("E", 4.92, 25.7),
    Table3Row("big", 4.33, 26.4, 213, steps=300_000),
)


def table_3_row(preset: str) -> Table3Row:
    """One line of Table 3 by the name of its preset.

    Raises:
        ValueError: if there is no such line.
    """
    rows = {row.preset: row for row in TABLE_3}
    if preset not in rows:
        raise ValueError(f"Table 3 has no row {preset!r}; its rows are {', '.join(rows)}.")
    return rows[preset]
