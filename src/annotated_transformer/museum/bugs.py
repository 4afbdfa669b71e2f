"""The bugs: each is a recipe in which one step is wrong.

All run without an error, and most train: the loss falls.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.evaluation.scoring import lower_tokenised_bleu
from annotated_transformer.museum import wrong_steps as wrong
from annotated_transformer.museum.recipe import Recipe
from annotated_transformer.residual import LayerNorm, ResidualConnection
from annotated_transformer.variants import SublayerAlone


@dataclass(frozen=True)
class Bug:
    """One exhibit.

    Attributes:
        name: short, for the command line.
        title: what is wrong, in words.
        looks: what one sees of it, before one knows.
        change: the steps of the recipe that differ.
        trains: whether the training differs; else the right run is asked in the wrong way.
    """

    name: str
    title: str
    looks: str
    change: dict[str, Any] = field(default_factory=dict)
    trains: bool = True

    @property
    def recipe(self) -> Recipe:
        """The right recipe with this bug in it."""
        return replace(Recipe(), **self.change)


BUGS = (
    Bug(
        "no-causal-mask",
        "The decoder sees the whole target while it learns",
        "nearly every token is right in training; translations are empty, or one word repeated",
        {"build": wrong.SeesTheFuture},
    ),
    Bug(
        "mask-off-by-one",
        "The causal mask lets one token too many be seen: the one that is to be said",
        "every token is right in training; translations are empty, or one word again and again",
        {"build": wrong.SeesTheNextToken},
    ),
    Bug(
        "no-shift-no-mask",
        "The decoder reads what it has to say, and no mask hides it",
        "the loss is at its floor at once; translations are one token, again and again",
        {"build": wrong.SeesTheFuture, "read_and_labels": wrong.not_shifted},
    ),
    Bug(
        "pads-attended",
        "Padding of the source is attended like words",
        "a sentence comes out otherwise alone than in a batch",
        {"build": wrong.AttendsToPadding},
    ),
    Bug(
        "pads-in-loss",
        "Padding counts in the loss",
        "the loss is a little lower than it should be, and all else as good",
        {"loss": wrong.loss_with_padding},
    ),
    Bug(
        "pads-smoothed",
        "Label smoothing spreads its share over padding too",
        "the loss of new sentences is higher than it should be, and all else as good",
        {"loss": wrong.smoothing_over_padding},
    ),
    Bug(
        "no-scale",
        "Scores are not divided by sqrt(d_k)",
        "it learns, and ends a good way behind",
        {"build": wrong.with_class(MultiHeadAttention, wrong.Unscaled)},
    ),
    Bug(
        "scaled-twice",
        "Scores are divided by sqrt(d_k) twice",
        "it learns, and ends a little behind",
        {"build": wrong.with_class(MultiHeadAttention, wrong.ScaledTwice)},
    ),
    Bug(
        "softmax-over-queries",
        "The softmax is taken over the queries",
        "the loss is lower than it should be; translations break off and are nonsense",
        {"build": wrong.with_class(MultiHeadAttention, wrong.OverQueries)},
    ),
    Bug(
        "heads-viewed",
        "Heads are made by a view without the transposition",
        "two tokens of three are right in training; translations are nonsense",
        {"build": wrong.with_class(MultiHeadAttention, wrong.ViewedHeads)},
    ),
    Bug(
        "no-positions",
        "Positions are never added",
        "words are right and stand in the wrong order",
        {"build": wrong.without_positions},
    ),
    Bug(
        "positions-too-late",
        "Positions are added to what the encoder gives, not to what it reads",
        "all is a little worse, and nothing looks wrong",
        {"build": wrong.PositionsTooLate},
    ),
    Bug(
        "positions-lost-in-decoding",
        "With a cache every new token is embedded as the first",
        "the loss is good; translations begin well and go wrong",
        {"decoder": wrong.ForgetsWhereItIs},
        trains=False,
    ),
    Bug(
        "scale-on-one-side",
        "Only the source's embeddings are multiplied by sqrt(d_model)",
        "it learns, and ends a good way behind; nothing looks wrong",
        {"build": wrong.scaled_on_one_side},
    ),
    Bug(
        "tied-by-value",
        "The projection is a copy of the embedding in place of the same matrix",
        "it trains as well, or better; the file is larger than the formula says",
        {"build": wrong.tied_by_value},
    ),
    Bug(
        "residual-lost",
        "What enters a sub-layer is not added to what leaves it",
        "the loss stays high; translations are one word again and again",
        {"build": wrong.with_class(ResidualConnection, SublayerAlone)},
    ),
    Bug(
        "norm-over-positions",
        "The norm is taken over the positions in place of the features",
        "nearly every token is right in training; translations break off and are nonsense",
        {"build": wrong.with_class(LayerNorm, wrong.OverPositions)},
    ),
    Bug(
        "dropout-when-asked",
        "Dropout stays on when the model translates",
        "the same sentence comes out otherwise each time, and a little worse",
        {"build": wrong.AlwaysDrops},
        trains=False,
    ),
    Bug(
        "no-dropout",
        "Dropout is off while the model learns",
        "nothing where data is plenty; else training and validation loss part early",
        {"learning": wrong.never_back_to_training},
    ),
    Bug(
        "rate-stepped-twice",
        "The schedule is stepped twice a step",
        "the second half of the run learns nothing",
        {"rate": wrong.rate_stepped_twice},
    ),
    Bug(
        "rate-never-stepped",
        "The schedule is never stepped",
        "the loss falls very slowly",
        {"rate": wrong.rate_never_stepped},
    ),
    Bug(
        "gradient-kept",
        "The gradient is never cleared",
        "the loss falls, then rises and shakes",
        {"clear": wrong.keep_gradient},
    ),
    Bug(
        "mean-of-means",
        "A step of several parts is the mean of their means",
        "nothing; tokens of short batches weigh more",
        {"gradient": wrong.mean_of_means, "parts": 4},
    ),
    Bug(
        "average-of-strangers",
        "Checkpoints of two runs are averaged",
        "two good runs make a model that says one word again and again",
        {"keep": wrong.average_of_strangers},
        trains=False,
    ),
    Bug(
        "no-bos",
        "Targets have no start sign in training",
        "the first word of each translation is missing",
        {"ids": partial(wrong.cut, slice(1, None))},
    ),
    Bug(
        "no-eos",
        "Targets have no end sign in training",
        "translations go on to the limit",
        {"ids": partial(wrong.cut, slice(None, -1))},
    ),
    Bug(
        "truncated-targets",
        "Targets are cut at ten tokens and ended there",
        "short sentences are right, long ones stop in the middle",
        {"ids": wrong.truncated},
    ),
    Bug(
        "vocabulary-of-another-run",
        "The model is asked with another run's vocabulary",
        "the loss is good in training; afterwards it writes no language at all",
        {"known": wrong.vocabulary_of_another_run},
        trains=False,
    ),
    Bug(
        "cache-not-reordered",
        "The beam is re-ranked and its cache is not",
        "a beam is worse than it should be; hardly where the model is sure",
        {"decoder": wrong.NotReordered, "beam": 4},
        trains=False,
    ),
    Bug(
        "scored-in-pieces",
        "The score is of lower-cased, tokenised text, and is compared with one of plain text",
        "points that nobody else can reproduce; none on this corpus",
        {"score": lower_tokenised_bleu},
        trains=False,
    ),
    Bug(
        "scored-with-the-references",
        "What is scored was written with the references in sight",
        "the score is better than what users get, by little where the model is good",
        {"write": wrong.given_the_references},
        trains=False,
    ),
)
