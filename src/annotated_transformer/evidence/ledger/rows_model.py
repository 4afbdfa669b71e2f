"""The ledger's rows for the abstract and sections 1 to 4."""

from annotated_transformer.evidence.ledger import findings_attention as attention
from annotated_transformer.evidence.ledger import findings_model as model
from annotated_transformer.evidence.ledger import findings_numbers as numbers
from annotated_transformer.evidence.ledger.measuring import base_size, number
from annotated_transformer.evidence.ledger.rows import Reason, Row, Treatment

EXACT, RECOMPUTED = Treatment.EXACT, Treatment.RECOMPUTED
MEASURED, NOT_DONE = Treatment.MEASURED, Treatment.NOT_DONE

WHY_ATTENTION = "01_why_attention"
ATTENTION, MULTI_HEAD = "02_attention", "03_multi_head"  # the chapters there are
POSITIONS = "04_positional_encoding"
BASE_MODEL = "10_base_model"
INSIDE = "11_inside_the_model"
PARSING = "14_parsing"
ABLATIONS, COMPLEXITY = "12_ablations", "13_complexity"

WMT = (
    "training on WMT 2014: {cost:.0f} hours of one P100 by the paper's own figures; chapter 10 "
    "counts what it costs elsewhere, and no GPU has run it yet"
)
BASE_COST = WMT.format(cost=numbers.paper_gpu_hours("base")) + ": `recipes/wmt14_base_one_gpu.sh`"
BIG_COST = WMT.format(cost=numbers.paper_gpu_hours("big"))

ABSTRACT_ROWS = (
    Row(
        ("abstract.bleu_en_de", "s6_1.bleu_big_en_de"),
        NOT_DONE,
        numbers.big_margin,
        reason=Reason.GPU,
        missing=f"The score itself: {BIG_COST}",
        nearest_runs=True,
    ),
    Row(
        (
            "abstract.bleu_en_fr.arxiv_v7",
            "abstract.bleu_en_fr.v1_and_nips",
            "s6_1.bleu_big_en_fr_body",
        ),
        NOT_DONE,
        reason=Reason.GPU,
        missing=BIG_COST,
    ),
    Row(("abstract.training",), RECOMPUTED, numbers.training_time("big", "days", 86400)),
    Row(
        ("abstract.parsing",),
        MEASURED,
        chapter=PARSING,
        missing="At the paper's size: its trees are not free",
    ),
    Row(
        ("s1.twelve_hours",),
        NOT_DONE,
        numbers.training_time("base", "hours", 3600),
        reason=Reason.GPU,
        because=numbers.TWELVE_HOURS,
        missing=f"The training itself: {BASE_COST}",
    ),
    Row(
        ("s1.parallel",),
        MEASURED,
        chapter=WHY_ATTENTION,
        missing="On a GPU, where more runs side by side: chapter 13 measures it where it finds "
        "one; none was to be had",
    ),
    Row(("s2.distance",), MEASURED, chapter=WHY_ATTENTION),
    Row(
        ("s2.first",),
        NOT_DONE,
        reason=Reason.PRIORITY,
        missing="a claim of priority, which no measurement settles",
    ),
)

MODEL_ROWS = (
    Row(("figure_1",), EXACT, model.modules_of_figure_1, test="tests/test_parity.py"),
    Row(
        ("s3_1.encoder_layers",), EXACT, number("s3_1.encoder_layers", base_size("encoder.layers"))
    ),
    Row(
        ("s3_1.decoder_layers",), EXACT, number("s3_1.decoder_layers", base_size("decoder.layers"))
    ),
    Row(("s3_1.encoder_sublayers",), EXACT, model.encoder_sublayers),
    Row(("s3_1.decoder_sublayers",), EXACT, model.decoder_sublayers),
    Row(("s3_1.norm",), EXACT, model.post_norm),
    Row(("s3_1.d_model",), EXACT, number("s3_1.d_model", model.d_model_of_base)),
    Row(("s3_1.mask_and_shift",), EXACT, model.mask_and_shift, chapter=ATTENTION),
    Row(("figure_2", "s3_2_1.attention"), EXACT, attention.attention_formula, chapter=ATTENTION),
    Row(("s3_2_1.scale",), EXACT, attention.scaled_deviation, chapter=ATTENTION),
    Row(("s3_2_1.variance",), MEASURED, attention.product_variance, chapter=ATTENTION),
    Row(("s3_2_1.saturation",), MEASURED, attention.saturation, chapter=ATTENTION),
    Row(
        ("s3_2_1.additive",),
        MEASURED,
        chapter=ATTENTION,
        missing="At the size of the cited work; chapter 1 compares both in a small recurrent "
        "translator",
    ),
    Row(("s3_2_2.h",), EXACT, number("s3_2_2.h", attention.heads_of_base), chapter=MULTI_HEAD),
    Row(("s3_2_2.d_k",), EXACT, number("s3_2_2.d_k", attention.d_k_of_base), chapter=MULTI_HEAD),
    Row(("s3_2_2.d_v",), EXACT, number("s3_2_2.d_v", attention.d_v_of_base), chapter=MULTI_HEAD),
    Row(("s3_2_2.shapes",), EXACT, attention.projection_shapes, chapter=MULTI_HEAD),
    Row(("s3_2_2.averaging",), MEASURED, chapter=MULTI_HEAD),
    Row(("s3_2_2.cost",), MEASURED, attention.cost_of_heads, chapter=MULTI_HEAD),
    Row(("s3_2_3.mask",), EXACT, attention.masked_weights, chapter=ATTENTION),
    Row(("s3_2_3.uses",), EXACT, attention.uses_of_attention, chapter=MULTI_HEAD),
    Row(("s3_3.ffn",), EXACT, model.feed_forward_formula),
    Row(("s3_3.d_ff",), EXACT, number("s3_3.d_ff", model.d_ff_of_base)),
    Row(("s3_4.tying",), EXACT, model.tied_embeddings),
    Row(("s3_4.scale",), EXACT, model.embedding_scale),
    Row(("s3_5.pe",), EXACT, model.sinusoid_formula, chapter=POSITIONS),
    Row(
        ("s3_5.wavelengths",),
        RECOMPUTED,
        model.wavelengths,
        chapter=POSITIONS,
        because="the largest exponent is (d_model − 2)/d_model, so 10000 itself is not reached",
    ),
    Row(("s3_5.linear",), RECOMPUTED, model.linear_shift, chapter=POSITIONS),
    Row(
        ("s3_5.extrapolation", "s3_5.reasons"),
        MEASURED,
        model.no_longest_sentence,
        chapter=POSITIONS,
        because="a little further than a learned table on a small task, and not to any length",
        missing="At the paper's scale",
    ),
    Row(
        ("s3_5.learned",),
        RECOMPUTED,
        numbers.learned_positions_effect,
        chapter=POSITIONS,
        missing="Training both at the paper's scale; chapter 12 has both in small",
    ),
)

COMPLEXITY_ROWS = (
    Row(
        ("table_1.self_attention.complexity_per_layer",),
        MEASURED,
        attention.cost_exponents,
        chapter=COMPLEXITY,
    ),
    Row(
        ("table_1.self_attention.sequential_operations",),
        MEASURED,
        attention.sequential_operations,
        chapter=COMPLEXITY,
    ),
    Row(("table_1.self_attention.max_path_length",), MEASURED, attention.path_length),
    *(
        Row(
            tuple(
                f"table_1.{layer}.{column}"
                for column in ("complexity_per_layer", "sequential_operations", "max_path_length")
            ),
            MEASURED,
            chapter=COMPLEXITY,
            missing="Times on a GPU",
        )
        for layer in ("recurrent", "convolutional", "restricted")
    ),
    Row(
        ("s4.when_faster",),
        MEASURED,
        chapter=COMPLEXITY,
        missing="On a GPU, and with other processors",
    ),
    Row(("s4.restricted",), MEASURED, chapter=COMPLEXITY),
    Row(("s4.conv_contiguous",), MEASURED, chapter=COMPLEXITY),
    Row(("s4.conv_cost",), MEASURED, chapter=COMPLEXITY),
    Row(("s4.separable",), MEASURED, chapter=COMPLEXITY),
    Row(
        ("s4.heads_differ", "figure_3", "figure_5"),
        MEASURED,
        chapter=INSIDE,
        missing="The same count for a model of the paper's size, whose figures show chosen heads",
    ),
    Row(("figure_4",), MEASURED, chapter=INSIDE),
)
