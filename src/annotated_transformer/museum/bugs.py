"""The bugs: each is a recipe in which one step is wrong. The controls: those without a bug.

All run without an error, and with most the loss falls.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.scoring import lower_tokenised_bleu
from annotated_transformer.museum import caught_by
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
        test: fails on it and passes on what is right; a control has none.
        trains: whether the training differs; else the right run is asked in another way.
        control: the run that has all of it but the bug, by name.
    """

    name: str
    title: str
    looks: str
    change: dict[str, Any] = field(default_factory=dict)
    test: Callable[..., None] | None = None
    trains: bool = True
    control: str = "right"

    @property
    def recipe(self) -> Recipe:
        """The right recipe with this bug in it."""
        return replace(Recipe(), **self.change)


CONTROLS = (
    Bug("right", "Nothing", "all is well", trains=False),
    Bug("right-in-parts", "Nothing, in steps of four batches", "all is well", {"parts": 4}),
    Bug("right-with-beam", "Nothing, with a beam", "all is well", {"beam": 4}, trains=False),
)

BUGS = (
    Bug(
        "no-causal-mask",
        "The decoder sees the whole target while it learns",
        "nearly every token is right in training; translations are empty, or one word repeated",
        {"build": wrong.SeesTheFuture},
        caught_by.what_comes_later_changes_nothing,
    ),
    Bug(
        "mask-off-by-one",
        "The causal mask lets one token too many be seen: the one that is to be said",
        "every token is right in training; translations are empty, or one word again and again",
        {"build": wrong.SeesTheNextToken},
        caught_by.what_comes_later_changes_nothing,
    ),
    Bug(
        "no-shift-no-mask",
        "The decoder reads what it has to say, and no mask hides it",
        "the loss is at its floor at once; translations are one token, again and again",
        {"build": wrong.SeesTheFuture, "read_and_labels": wrong.not_shifted},
        caught_by.what_is_said_was_not_read,
    ),
    Bug(
        "pads-attended",
        "Padding of the source is attended like words",
        "a sentence comes out otherwise alone than in a batch",
        {"build": wrong.AttendsToPadding},
        caught_by.alone_as_in_a_batch,
    ),
    Bug(
        "pads-in-loss",
        "Padding counts in the loss",
        "the loss is a little lower than it should be, and all else as good",
        {"loss": wrong.loss_with_padding},
        caught_by.padding_costs_nothing,
    ),
    Bug(
        "pads-smoothed",
        "Label smoothing spreads its share over padding too",
        "the loss of new sentences is higher than it should be, and all else as good",
        {"loss": wrong.smoothing_over_padding},
        caught_by.padding_costs_nothing,
    ),
    Bug(
        "no-scale",
        "Scores are not divided by sqrt(d_k)",
        "it learns, and ends a good way behind",
        {"build": wrong.Swapped(MultiHeadAttention, wrong.Unscaled)},
        caught_by.attention_is_equation_1,
    ),
    Bug(
        "scaled-twice",
        "Scores are divided by sqrt(d_k) twice",
        "it learns, and ends a little behind",
        {"build": wrong.Swapped(MultiHeadAttention, wrong.ScaledTwice)},
        caught_by.attention_is_equation_1,
    ),
    Bug(
        "softmax-over-queries",
        "The softmax is taken over the queries",
        "the loss is lower than it should be; translations break off and are nonsense",
        {"build": wrong.Swapped(MultiHeadAttention, wrong.OverQueries)},
        caught_by.attention_is_equation_1,
    ),
    Bug(
        "heads-viewed",
        "Heads are made by a view without the transposition",
        "two tokens of three are right in training; translations are nonsense",
        {"build": wrong.Swapped(MultiHeadAttention, wrong.ViewedHeads)},
        caught_by.heads_are_pytorchs,
    ),
    Bug(
        "no-positions",
        "Positions are never added",
        "most words are right; their order, and who does what, is not",
        {"build": wrong.without_positions},
        caught_by.embeddings_are_scaled_and_know_their_place,
    ),
    Bug(
        "positions-too-late",
        "Positions are added to what the encoder gives, not to what it reads",
        "all is a little worse, and nothing looks wrong",
        {"build": wrong.PositionsTooLate},
        caught_by.embeddings_are_scaled_and_know_their_place,
    ),
    Bug(
        "positions-lost-in-decoding",
        "With a cache every new token is embedded as the first",
        "the loss is good; translations begin well and go wrong",
        {"decoder": wrong.ForgetsWhereItIs},
        caught_by.the_cache_changes_nothing,
        trains=False,
    ),
    Bug(
        "scale-on-one-side",
        "Only the source's embeddings are multiplied by sqrt(d_model)",
        "it learns, and ends a good way behind; nothing looks wrong",
        {"build": wrong.scaled_on_one_side},
        caught_by.embeddings_are_scaled_and_know_their_place,
    ),
    Bug(
        "tied-by-value",
        "The projection is a copy of the embedding in place of the same matrix",
        "it trains as well, or better; the file is larger than the formula says",
        {"build": wrong.tied_by_value},
        caught_by.one_matrix_is_shared,
    ),
    Bug(
        "residual-lost",
        "What enters a sub-layer is not added to what leaves it",
        "the loss stays high; translations are one word again and again",
        {"build": wrong.Swapped(ResidualConnection, SublayerAlone)},
        caught_by.what_enters_comes_through,
    ),
    Bug(
        "norm-over-positions",
        "The norm is taken over the positions in place of the features",
        "nearly every token is right in training; translations break off and are nonsense",
        {"build": wrong.Swapped(LayerNorm, wrong.OverPositions)},
        caught_by.norms_are_pytorchs,
    ),
    Bug(
        "dropout-when-asked",
        "Dropout stays on when the model translates",
        "the same sentence comes out otherwise each time, and a little worse",
        {"build": wrong.AlwaysDrops},
        caught_by.asked_twice_it_says_the_same,
        trains=False,
    ),
    Bug(
        "no-dropout",
        "Dropout is off while the model learns",
        "nothing where data is plenty; else training and validation loss part early",
        {"learning": wrong.never_back_to_training},
        caught_by.learning_it_drops,
    ),
    Bug(
        "rate-stepped-twice",
        "The schedule is stepped twice a step",
        "the second half of the run learns nothing",
        {"rate": wrong.rate_stepped_twice},
        caught_by.the_rate_follows_its_schedule,
    ),
    Bug(
        "rate-never-stepped",
        "The schedule is never stepped",
        "the loss falls very slowly",
        {"rate": wrong.rate_never_stepped},
        caught_by.the_rate_follows_its_schedule,
    ),
    Bug(
        "gradient-kept",
        "The gradient is never cleared",
        "the loss falls, then rises and shakes",
        {"clear": wrong.keep_gradient},
        caught_by.a_gradient_is_gone_after_its_step,
    ),
    Bug(
        "mean-of-means",
        "A step of several parts is the mean of their means",
        "nothing; tokens of short batches weigh more",
        {"gradient": wrong.mean_of_means, "parts": 4},
        caught_by.parts_add_up_to_the_whole,
        control="right-in-parts",
    ),
    Bug(
        "average-of-strangers",
        "Checkpoints of two runs are averaged",
        "two good runs make a model that says one word again and again",
        {"keep": wrong.average_of_strangers},
        caught_by.what_was_learned_is_there,
        trains=False,
    ),
    Bug(
        "no-bos",
        "Targets have no start sign in training",
        "the first word of each translation is missing",
        {"ids": partial(wrong.cut, slice(1, None))},
        caught_by.targets_are_whole,
    ),
    Bug(
        "no-eos",
        "Targets have no end sign in training",
        "translations go on to the limit",
        {"ids": partial(wrong.cut, slice(None, -1))},
        caught_by.targets_are_whole,
    ),
    Bug(
        "truncated-targets",
        "Targets are cut at ten tokens and ended there",
        "short sentences are right, long ones stop in the middle",
        {"ids": wrong.truncated},
        caught_by.targets_are_whole,
    ),
    Bug(
        "vocabulary-of-another-run",
        "The model is asked with another run's vocabulary",
        "the loss is good in training; afterwards it writes no language at all",
        {"known": wrong.vocabulary_of_another_run},
        caught_by.it_is_asked_in_its_own_words,
        trains=False,
    ),
    Bug(
        "cache-not-reordered",
        "The beam is re-ranked and its cache is not",
        "a beam is worse than it should be; hardly where the model is sure",
        {"decoder": wrong.NotReordered, "beam": 4},
        caught_by.ranks_change_with_their_cache,
        trains=False,
        control="right-with-beam",
    ),
    Bug(
        "scored-in-pieces",
        "The score is of lower-cased, tokenised text, and is compared with one of plain text",
        "points that nobody else can reproduce; none on this corpus",
        {"score": lower_tokenised_bleu},
        caught_by.the_score_is_sacrebleus,
        trains=False,
    ),
    Bug(
        "scored-with-the-references",
        "What is scored was written with the references in sight",
        "the score is better than what users get, by little where the model is good",
        {"write": wrong.given_the_references},
        caught_by.references_are_not_read,
        trains=False,
    ),
)


def bug_named(name: str) -> Bug:
    """The bug or control of a name. Raises CallError if there is none."""
    every = (*BUGS, *CONTROLS)
    for bug in every:
        if bug.name == name:
            return bug
    known = ", ".join(bug.name for bug in every)
    raise CallError(f"the museum has no {name!r}; it has {known}.")
