"""The ledger's rows for sections 5 to 7, and for Tables 2 to 4."""

from annotated_transformer.evidence.ledger import findings_model as model
from annotated_transformer.evidence.ledger import findings_numbers as numbers
from annotated_transformer.evidence.ledger import findings_study
from annotated_transformer.evidence.ledger.facts import load_facts, read_paper
from annotated_transformer.evidence.ledger.measuring import number
from annotated_transformer.evidence.ledger.rows import Consequence, Reason, Row, Treatment
from annotated_transformer.evidence.ledger.rows_model import (
    ABLATIONS,
    ABSTRACT_ROWS,
    BASE_COST,
    BASE_MODEL,
    BIG_COST,
    COMPLEXITY_ROWS,
    EXACT,
    MEASURED,
    MODEL_ROWS,
    MULTI_HEAD,
    NOT_DONE,
    PARSING,
    RECOMPUTED,
)
from annotated_transformer.evidence.table3 import TABLE_3, Table3Row

TREES_NOT_FREE = "its trees, the Wall Street Journal of the Penn Treebank, are not free"
IN_SMALL = "Training each at the paper's scale; chapter 12 has all of them in small"
ANOTHER_SCALE = "another size, corpus and score; chapter 12 says what is known of the reason"
NO_SINGLE_VOCABULARY = (
    "the paper does not print its exact vocabulary, and no single one gives all of its counts"
)

SEARCH_OF_TREES = ("s6_3.beam", "s6_3.alpha")

TRAINING_ROWS = (
    Row(
        (
            "s5_1.pairs_en_de",
            "s5_1.vocab_en_de",
            "s5_1.pairs_en_fr",
            "s5_1.vocab_en_fr",
        ),
        NOT_DONE,
        reason=Reason.GPU,
        missing=BASE_COST,
        nearest_runs=True,
    ),
    Row(
        ("s5_1.batch_source_tokens", "s5_1.batch_target_tokens"),
        RECOMPUTED,
        numbers.operations_of_a_step,
        chapter=BASE_MODEL,
        test="tests/benchmark/test_benchmark_counting.py::test_the_papers_step",
        missing=f"The training itself: {BASE_COST}",
    ),
    Row(
        ("s5_1.batching",),
        EXACT,
        numbers.batches_by_length,
        test="tests/data/test_data_batching.py",
    ),
    Row(
        ("s5_2.hardware", "s5_2.base_steps", "s5_2.base_step_s", "s5_2.base_time"),
        RECOMPUTED,
        numbers.training_time("base", "hours", 3600),
        chapter=BASE_MODEL,
        because=numbers.TWELVE_HOURS,
        missing=f"The training itself: {BASE_COST}",
    ),
    Row(
        ("s5_2.big_steps", "s5_2.big_step_s", "s5_2.big_time"),
        RECOMPUTED,
        numbers.training_time("big", "days", 86400),
        chapter=BASE_MODEL,
        missing=f"The training itself: {BIG_COST}",
    ),
    Row(("s5_3.adam",), EXACT, numbers.adam_settings),
    Row(("s5_3.lrate",), EXACT, numbers.schedule_formula),
    Row(("s5_3.warmup",), EXACT, number("s5_3.warmup", lambda: numbers.training_default("warmup"))),
    Row(
        ("s5_4.three_types",),
        NOT_DONE,
        reason=Reason.NO_CLAIM,
        missing="a statement about the text itself",
    ),
    Row(("s5_4.residual_dropout",), EXACT, model.residual_dropout),
    Row(("s5_4.embedding_dropout",), EXACT, model.embedding_dropout),
    Row(
        ("s5_4.p_drop_base",),
        EXACT,
        number("s5_4.p_drop_base", lambda: numbers.preset_dropout("base")),
    ),
    Row(
        ("s5_4.label_smoothing",),
        EXACT,
        number("s5_4.label_smoothing", lambda: numbers.training_default("label_smoothing")),
    ),
    Row(
        ("s5_4.smoothing_effect",),
        RECOMPUTED,
        numbers.smoothing_effect,
        missing="Training both at the paper's scale; chapters 8 and 12 have small runs",
    ),
)

RESULT_ROWS = (
    Row(
        ("s6_1.base_beats_all",),
        RECOMPUTED,
        numbers.base_margin,
        missing=f"The score itself: {BASE_COST}",
        nearest_runs=True,
    ),
    Row(("s6_1.en_fr_cost",), RECOMPUTED, numbers.french_cost),
    Row(
        ("s6_1.p_drop_big_en_de",),
        EXACT,
        number("s6_1.p_drop_big_en_de", lambda: numbers.preset_dropout("big")),
    ),
    Row(("s6_1.p_drop_big_en_fr",), NOT_DONE, reason=Reason.GPU, missing=BIG_COST),
    Row(
        ("s6_1.avg_base",),
        EXACT,
        number("s6_1.avg_base", lambda: numbers.training_default("average"), "checkpoints"),
        missing="Ours are an epoch apart, not ten minutes, unless asked otherwise",
    ),
    Row(
        ("s6_1.avg_big",),
        NOT_DONE,
        reason=Reason.GPU,
        missing="`average --last 20` does it; no big run yet",
    ),
    Row(
        ("s6_1.beam",),
        EXACT,
        number("s6_1.beam", lambda: numbers.beam_search_default("beam_size")),
    ),
    Row(("s6_1.alpha",), EXACT, number("s6_1.alpha", lambda: numbers.beam_search_default("alpha"))),
    Row(
        ("s6_1.max_len",),
        EXACT,
        number("s6_1.max_len", lambda: numbers.beam_search_default("max_extra"), "more tokens"),
    ),
    Row(
        ("s6_1.flops_method", "s6_1.tflops", "table_2.transformer_base.flops"),
        RECOMPUTED,
        numbers.training_flops("base", "12 h", 12),
        chapter=BASE_MODEL,
    ),
    Row(
        ("table_2.transformer_big.flops",),
        RECOMPUTED,
        numbers.training_flops("big", "3.5 d", 84),
        chapter=BASE_MODEL,
    ),
    Row(
        ("s6_2.dev_set", "s6_2.ppl_unit"),
        NOT_DONE,
        reason=Reason.NO_CLAIM,
        missing="our runs state their own data, search and unit: perplexity is per token of the "
        "model's own vocabulary, from the unsmoothed likelihood",
    ),
    Row(
        ("s6_2.single_head",),
        RECOMPUTED,
        numbers.single_head_gap,
        chapter=MULTI_HEAD,
        missing=IN_SMALL,
    ),
    Row(("s6_2.d_k",), RECOMPUTED, numbers.smaller_keys, chapter=ABLATIONS, missing=IN_SMALL),
    Row(
        ("s6_2.bigger",),
        RECOMPUTED,
        numbers.bigger_is_better,
        because="8 layers have the better perplexity (row C3) and 0.3 BLEU less than 6",
        chapter=ABLATIONS,
        missing=IN_SMALL,
    ),
    Row(("s6_2.dropout",), RECOMPUTED, numbers.dropout_helps, chapter=ABLATIONS, missing=IN_SMALL),
    Row(
        SEARCH_OF_TREES,
        MEASURED,
        chapter=PARSING,
        missing="On the paper's trees, which are not free",
    ),
    Row(
        tuple(
            fact
            for fact in load_facts()
            if fact.startswith("s6_3.") and fact not in SEARCH_OF_TREES
        ),
        NOT_DONE,
        missing=TREES_NOT_FREE,
        reason=Reason.NOT_FREE,
    ),
    Row(
        ("s7.faster",),
        NOT_DONE,
        reason=Reason.OTHERS,
        missing="chapter 1 times single layers; whole systems of 2017 are not retrained here",
    ),
    Row(("s7.code",), NOT_DONE, reason=Reason.NO_CLAIM, missing="a pointer, not a claim to test"),
)


def _table_2_rows() -> tuple[Row, ...]:
    """One row for each system of Table 2."""
    costs = {"transformer_base": BASE_COST, "transformer_big": BIG_COST}
    rows = []
    for system in read_paper()["table_2"]:
        name = system["id"]
        cells = tuple(fact for fact in load_facts() if fact.startswith(f"table_2.{name}."))
        rows.append(
            Row(
                tuple(cell for cell in cells if cell != f"table_2.{name}.flops"),  # see section 6.1
                NOT_DONE,
                missing=costs.get(name, "quoted by the paper from others; we do not retrain it"),
                reason=Reason.GPU if name in costs else Reason.OTHERS,
                nearest_runs=name in costs,
            )
        )
    return tuple(rows)


def _table_3_rows(row: Table3Row) -> tuple[Row, ...]:
    """Scores of a line in one row; its parameters, which can be counted, in another."""
    is_big = row.preset == "big"
    hours = numbers.paper_gpu_hours("big" if is_big else "base")
    cost = f"one training, about {hours:.0f} hours of one P100 by the paper's own figures"
    facts = (f"table_3.{row.preset}.ppl", f"table_3.{row.preset}.bleu")
    if is_big:
        scores = Row(facts, NOT_DONE, missing=cost, reason=Reason.GPU)
    else:
        scores = Row(
            facts,
            MEASURED,
            findings_study.in_small(row.preset),
            chapter=ABLATIONS,
            because=ANOTHER_SCALE,
            missing=f"At the paper's scale: {cost}",
        )
    if row.printed_millions is None:
        return (scores,)
    parameters = Row(
        (f"table_3.{row.preset}.params",),
        RECOMPUTED,
        numbers.parameter_count(row.preset),
        because=NO_SINGLE_VOCABULARY,
    )
    return (parameters, scores)


PARSER_IDS = tuple(f"table_4.{row['id']}" for row in read_paper()["table_4"])

TABLE_ROWS = (
    *_table_2_rows(),
    *(row for line in TABLE_3 for row in _table_3_rows(line)),
    Row(
        tuple(id for id in PARSER_IDS if "transformer" not in id),
        NOT_DONE,
        missing="quoted by the paper from others; we do not retrain them",
        reason=Reason.OTHERS,
    ),
    Row(
        tuple(id for id in PARSER_IDS if "transformer" in id),
        NOT_DONE,
        missing=TREES_NOT_FREE,
        reason=Reason.NOT_FREE,
    ),
)

# The ledger in the order of the page: heading, rows.
SECTIONS: tuple[tuple[str, tuple[Row, ...]], ...] = (
    ("Abstract, sections 1 and 2", ABSTRACT_ROWS),
    ("Section 3: the model", MODEL_ROWS),
    ("Section 4 and Table 1: why self-attention", COMPLEXITY_ROWS),
    ("Section 5: training", TRAINING_ROWS),
    ("Sections 6 and 7: results", RESULT_ROWS),
    ("Tables 2, 3 and 4", TABLE_ROWS),
)

CONSEQUENCES = (
    Consequence("Parameters of the base model at 37,000 tokens", numbers.parameters_by_part),
    Consequence("Vocabulary implied by Table 3's parameter counts", numbers.implied_vocabularies),
    Consequence("Highest learning rate", numbers.peak_learning_rates),
    Consequence("Lowest smoothed loss at ε_ls = 0.1", numbers.smoothing_floor),
    *(
        Consequence(
            f"Parameters of Table 3's row {row.preset}, where the paper prints none",
            numbers.parameter_count(row.preset),
        )
        for row in TABLE_3
        if row.printed_millions is None
    ),
)


def all_rows() -> tuple[Row, ...]:
    """Every row, in the order of the page."""
    return tuple(row for _, rows in SECTIONS for row in rows)


__all__ = ["CONSEQUENCES", "SECTIONS", "Treatment", "all_rows"]
