"""`ablations.read_table3`: what the rows about heads say, and of which data (section 6.2)."""

from annotated_transformer.exercises.exercise import Candidate, Exercise, Mistake

Answer = float | str | list[int] | list[float]


def answer() -> dict[str, Answer]:
    return {
        "best_heads": [8, 16],  # both 25.8 BLEU; 8 is the base row
        "best_heads_by_perplexity": 16,  # 4.91, against 4.92 for 8
        "loss_at_one_head": 0.9,  # 25.8 - 24.9
        "metric": "BLEU",
        "data_set": "newstest2013",  # the development set; Table 2 has newstest2014
        "base_bleu": 25.8,  # without checkpoint averaging; the 27.3 of Table 2 is another set
        "perplexity_per": "wordpiece",
    }


def _from_the_table() -> dict[str, Answer]:
    bleu = {1: 24.9, 4: 25.5, 8: 25.8, 16: 25.8, 32: 25.4}
    perplexity = {1: 5.29, 4: 5.00, 8: 4.92, 16: 4.91, 32: 5.01}
    best = max(bleu.values())
    return {
        "best_heads": [heads for heads, score in bleu.items() if score == best],
        "best_heads_by_perplexity": min(perplexity, key=lambda heads: perplexity[heads]),
        "loss_at_one_head": best - bleu[1],
        "metric": "bleu",
        "data_set": "Newstest2013",
        "base_bleu": bleu[8],
        "perplexity_per": "wordpiece",
    }


def _as_tuples() -> dict[str, object]:
    return {**answer(), "best_heads": (8, 16)}


def _says(key: str, value: Answer) -> Candidate:
    return lambda: {key: value}


_TIE = (
    "8 and 16 heads have the same BLEU in row (A), 25.8. A table's winner is whoever shares the "
    "highest number: name both."
)

# The key, a name, the wrong answer, what to say.
_WRONG: tuple[tuple[str, str, Answer, str], ...] = (
    ("best_heads", "eight-alone", [8], _TIE),
    ("best_heads", "sixteen-alone", [16], _TIE),
    ("best_heads", "eight", 8, _TIE + " Give a list."),
    ("best_heads", "sixteen", 16, _TIE + " Give a list."),
    (
        "best_heads",
        "sixteen-first",
        [16, 8],
        "these are the two; give them in ascending order, [8, 16].",
    ),
    ("best_heads", "one", [1], "a single head has 24.9 BLEU, the lowest of the row."),
    ("best_heads", "four", [4], "4 heads have 25.5 BLEU; two other settings have 25.8."),
    ("best_heads", "thirty-two", [32], "32 heads have 25.4 BLEU: too many heads cost quality too."),
    (
        "best_heads",
        "with-four",
        [4, 8, 16],
        "4 heads have 25.5 BLEU, less than the 25.8 of 8 and of 16.",
    ),
    (
        "best_heads",
        "sixteen-and-thirty-two",
        [16, 32],
        "32 heads have 25.4 BLEU. 16 has 25.8, and so has the base row with its 8.",
    ),
    (
        "best_heads",
        "widths",
        [32, 64],
        "these are the widths d_k of the heads, 512 / h, a column further. Their numbers are 8 "
        "and 16.",
    ),
    (
        "best_heads",
        "with-thirty-two",
        [8, 16, 32],
        "32 heads have 25.4 BLEU, less than the 25.8 of 8 and of 16.",
    ),
    (
        "best_heads",
        "all",
        [1, 4, 8, 16, 32],
        "these are all settings. The highest BLEU is 25.8, which two of them have.",
    ),
    (
        "best_heads",
        "scores",
        [25.8, 25.8],
        "this is the highest BLEU itself. Asked for are the numbers of heads that have it.",
    ),
    (
        "best_heads",
        "without-base",
        [4, 16],
        "4 heads have 25.5. The base row, with 8 heads, belongs to the comparison: 25.8.",
    ),
    (
        "best_heads_by_perplexity",
        "eight",
        8,
        "8 heads have perplexity 4.92, 16 have 4.91. Lower is better, if only by 0.01.",
    ),
    (
        "best_heads_by_perplexity",
        "one",
        1,
        "a single head has 5.29, the *highest* perplexity. Lower is better.",
    ),
    (
        "best_heads_by_perplexity",
        "thirty-two",
        32,
        "32 heads have 5.01. The lowest is 4.91.",
    ),
    (
        "best_heads_by_perplexity",
        "four",
        4,
        "4 heads have 5.00. The lowest is 4.91.",
    ),
    (
        "best_heads_by_perplexity",
        "the-perplexity",
        4.91,
        "4.91 is the perplexity itself. Asked for is the number of heads that has it.",
    ),
    (
        "best_heads_by_perplexity",
        "width",
        64,
        "64 is the width d_k of the base model's heads. Asked for is how many there are: 16 have "
        "4.91.",
    ),
    (
        "best_heads_by_perplexity",
        "both",
        [8, 16],
        "by perplexity there is no tie: 4.92 for 8 heads, 4.91 for 16.",
    ),
    (
        "loss_at_one_head",
        "sign",
        -0.9,
        "the size of the loss is asked for, a positive number: 25.8 - 24.9.",
    ),
    (
        "loss_at_one_head",
        "against-four",
        0.6,
        "0.6 is the distance to 4 heads (25.5). The best settings have 25.8.",
    ),
    (
        "loss_at_one_head",
        "against-thirty-two",
        0.5,
        "0.5 is the distance to 32 heads (25.4). The best settings have 25.8.",
    ),
    (
        "loss_at_one_head",
        "of-thirty-two",
        0.4,
        "0.4 is what 32 heads lose. A single head loses 25.8 - 24.9.",
    ),
    (
        "loss_at_one_head",
        "of-four",
        0.3,
        "0.3 is what 4 heads lose. A single head loses 25.8 - 24.9.",
    ),
    (
        "loss_at_one_head",
        "perplexity",
        0.37,
        "0.37 is the rise in perplexity against 8 heads, 5.29 - 4.92. Asked for is BLEU.",
    ),
    (
        "loss_at_one_head",
        "perplexity-against-sixteen",
        0.38,
        "0.38 is the rise in perplexity against 16 heads, 5.29 - 4.91. Asked for is BLEU.",
    ),
    (
        "loss_at_one_head",
        "against-the-test-score",
        2.4,
        "2.4 is 27.3 - 24.9: a score on newstest2014 less one on newstest2013. Two data sets "
        "cannot be subtracted; the base model's score in this table is 25.8.",
    ),
    (
        "loss_at_one_head",
        "the-score",
        24.9,
        "24.9 is the score of a single head. Asked for is how much less that is than the best.",
    ),
    (
        "loss_at_one_head",
        "per-cent",
        100 * 0.9 / 25.8,
        "this is in per cent of 25.8. Asked for are points of BLEU: 25.8 - 24.9.",
    ),
    (
        "loss_at_one_head",
        "against-big",
        1.5,
        "1.5 is the distance to the big model (26.4), which differs in much more than heads.",
    ),
    (
        "loss_at_one_head",
        "rounded",
        1.0,
        "the difference is not rounded to a whole point: 25.8 - 24.9.",
    ),
    ("loss_at_one_head", "nothing", 0.0, "a single head has 24.9, the best settings 25.8."),
    (
        "metric",
        "perplexity",
        "perplexity",
        "section 6.2 states the loss in BLEU; higher is better.",
    ),
    ("metric", "ppl", "PPL", "section 6.2 states the loss in BLEU; higher is better."),
    ("metric", "accuracy", "accuracy", "Table 3 has no accuracy. Its columns are PPL and BLEU."),
    ("metric", "loss", "loss", "Table 3 has no loss. Its columns are PPL and BLEU."),
    (
        "data_set",
        "newstest2014",
        "newstest2014",
        "newstest2014 is the test set of Table 2, where the base model has 27.3. Table 3 was made "
        "while developing: on newstest2013.",
    ),
    (
        "data_set",
        "newstest2012",
        "newstest2012",
        "the paper does not use newstest2012. Read the caption of Table 3.",
    ),
    (
        "data_set",
        "training",
        "training",
        "scores are never taken on the training data. Read the caption of Table 3: the "
        "development set.",
    ),
    (
        "base_bleu",
        "test-score",
        27.3,
        "27.3 is the base model in Table 2: on newstest2014, with averaged checkpoints. The row "
        '"base" of Table 3 is on newstest2013 without averaging. Many summaries mix the two.',
    ),
    (
        "base_bleu",
        "big-test-score",
        28.4,
        "28.4 is the big model on newstest2014, in Table 2.",
    ),
    ("base_bleu", "big", 26.4, "26.4 is the big model, the last row of Table 3."),
    (
        "base_bleu",
        "english-french",
        38.1,
        "38.1 is the base model from English to French, Table 2.",
    ),
    ("base_bleu", "big-french", 41.8, "41.8 is the big model from English to French, Table 2."),
    ("base_bleu", "perplexity", 4.92, "4.92 is the perplexity. BLEU is the next column."),
    ("base_bleu", "parameters", 65.0, "65 is the number of parameters, in millions."),
    ("base_bleu", "one-head", 24.9, "24.9 is the model with one head, in row (A)."),
    ("base_bleu", "four-heads", 25.5, "25.5 is the model with four heads, in row (A)."),
    (
        "perplexity_per",
        "word",
        "word",
        "the caption says that it is per wordpiece, and not to be compared with perplexities per "
        "word: a word of several pieces is several easier guesses.",
    ),
    (
        "perplexity_per",
        "sentence",
        "sentence",
        "it is the exponential of the mean loss of a *token*, and the tokens are wordpieces.",
    ),
    (
        "perplexity_per",
        "character",
        "character",
        "the model reads and writes pieces of words, not characters: see the caption.",
    ),
)

MISTAKES = tuple(
    Mistake(f"{key}-{name}", _says(key, value), f"`{key}`: {sentence}")
    for key, name, value, sentence in _WRONG
)

READ_TABLE3 = Exercise(
    id="ablations.read_table3",
    title="Read Table 3",
    kind="number",
    difficulty=1,
    minutes=6,
    signature="answer() -> dict of seven answers",
    statement=(
        'Take Table 3 of the paper, the row "base" (8 heads) and the four rows (A), with its '
        "caption (arXiv:1706.03762, section 6.2; its figures are also in "
        "`annotated_transformer.evidence.table3.TABLE_3`). Return a dictionary:\n"
        "'best_heads': a list, in ascending order, of all numbers of heads that share the highest "
        "BLEU;\n"
        "'best_heads_by_perplexity': the number of heads with the best perplexity;\n"
        "'loss_at_one_head': how many points of BLEU a single head loses against the best;\n"
        "'metric': the score in which section 6.2 states that loss: 'BLEU', 'perplexity', "
        "'accuracy' or 'loss';\n"
        "'data_set': the text the table was measured on: 'newstest2012', 'newstest2013', "
        "'newstest2014' or 'training';\n"
        "'base_bleu': the BLEU of the row \"base\" in this table;\n"
        "'perplexity_per': what the perplexity is counted per: 'word', 'wordpiece', 'sentence' or "
        "'character'."
    ),
    objective="Take a number from a table together with its data set, its unit and its ties.",
    prerequisite="Section 6.2 of the paper, Table 3",
    hints=(
        "Two columns on the right hold scores. In which is higher better, and in which lower?",
        "The base row belongs to row (A): it has 8 heads. Does one number of heads win alone? The "
        "caption says which data and what a perplexity is counted per.",
        "BLEU: 24.9, 25.5, 25.8, 25.8, 25.4 for 1, 4, 8, 16, 32 heads; perplexity 5.29, 5.00, "
        "4.92, 4.91, 5.01. It is the development set, the year before the test set.",
    ),
    reference=answer,
    explanation=(
        "8 and 16 heads tie at 25.8 BLEU, and 16 have the lower perplexity by 0.01: nothing here "
        "says that 8 is the best number. One head loses 0.9. All of it is newstest2013, the "
        "development set, without averaged checkpoints; the 27.3 that is quoted for the base "
        "model is newstest2014 with them, in Table 2, and the two must not be mixed. And each "
        "row seems to be a single run: the next question is how far two seeds lie apart."
    ),
    mistakes=MISTAKES,
    alternatives=(_from_the_table, _as_tuples),
    starter=(
        "def answer():\n"
        "    return {\n"
        '        "best_heads": ...,\n'
        '        "best_heads_by_perplexity": ...,\n'
        '        "loss_at_one_head": ...,\n'
        '        "metric": ...,\n'
        '        "data_set": ...,\n'
        '        "base_bleu": ...,\n'
        '        "perplexity_per": ...,\n'
        "    }"
    ),
)
