"""By symptom: from what one sees, by at most four questions, to the exhibit that shows it.

Each question asks for something that is seen or measured in a minute; none asks for a guess.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    """One answer to a question.

    Attributes:
        text: what is seen.
        leads: to the next question, to a bug by its name, or to advice.
    """

    text: str
    leads: "Question | str | Advice"


@dataclass(frozen=True)
class Advice:
    """An end without an exhibit: nothing is wrong and why, or where to begin in its place."""

    words: str


@dataclass(frozen=True)
class Question:
    """A question with its answers."""

    text: str
    answers: tuple[Answer, ...]


LEAK = Question(
    "For one sentence, print what the decoder reads and what it has to say. Is it the same row?",
    (
        Answer("Yes.", "no-shift-no-mask"),
        Answer(
            "No, what it reads is one behind.",
            Question(
                "In a sentence of at least three tokens for each layer of the decoder, change the "
                "last token that it reads. Which scores before that move?",
                (
                    Answer(
                        "Only those just before it: one for each layer of the decoder.",
                        "mask-off-by-one",
                    ),
                    Answer(
                        "None. But if the text behind a place is cut off, its scores are others.",
                        "heads-viewed",
                    ),
                    Answer(
                        "None, and cutting off changes nothing.",
                        Advice(
                            "Nothing leaks. A good model also has nearly all tokens right, if its "
                            "text is easy: go by what is wrong with the translations."
                        ),
                    ),
                    Answer(
                        "All, or nearly all.",
                        Question(
                            "Look at the weights of one head of the decoder's self-attention. "
                            "Where are they?",
                            (
                                Answer("Everywhere above the diagonal too.", "no-causal-mask"),
                                Answer(
                                    "Not above the diagonal, and the columns, not the rows, add "
                                    "up to 1.",
                                    "softmax-over-queries",
                                ),
                                Answer(
                                    "Not above the diagonal, and the rows add up to 1.",
                                    "norm-over-positions",
                                ),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ),
)

WRONG_WORDS = Question(
    "How are the translations wrong?",
    (
        Answer("They are right, and then go on and on, until the limit.", "no-eos"),
        Answer("Short ones are right, long ones stop in the middle.", "truncated-targets"),
        Answer("The first word is missing or wrong.", "no-bos"),
        Answer(
            "They are empty, or one word again and again.",
            Advice(
                "That is what many bugs look like. If nearly all tokens are right in "
                "training, it is a leak: begin with the first symptom. If the loss is high, it has "
                "learned nothing: begin with the one that does not fall. If the loss was good and "
                "is bad now, take the last answer here."
            ),
        ),
        Answer("Most words are right; their order, and who does what, is not.", "no-positions"),
        Answer(
            "They begin well and get worse, and without a cache they are right.",
            "positions-lost-in-decoding",
        ),
        Answer("Greedy ones are right, those of a beam are worse.", "cache-not-reordered"),
        Answer(
            "They are fluent and about something else, or no language at all.",
            Question(
                "Ask for the loss of training pairs with the weights that you kept. Is it that of "
                "the last steps?",
                (
                    Answer(
                        "No, and a sentence gives the same ids as in training.",
                        "average-of-strangers",
                    ),
                    Answer(
                        "No, and a sentence gives other ids than in training.",
                        "vocabulary-of-another-run",
                    ),
                    Answer(
                        "Yes.",
                        Advice(
                            "Then the model is as good as its loss. One too good to be true "
                            "is a leak: begin at the first symptom. Else it has to learn for "
                            "longer, or from more pairs."
                        ),
                    ),
                ),
            ),
        ),
    ),
)

CHANGES = Question(
    "When does the same sentence come out otherwise?",
    (
        Answer("Each time that I ask.", "dropout-when-asked"),
        Answer("Alone, and beside a longer one.", "pads-attended"),
        Answer(
            "Only where words are drawn by chance.",
            Advice(
                "Nothing is wrong: drawing gives another sentence each time, a fixed seed the same."
            ),
        ),
    ),
)

CURVE = Question(
    "How does the loss fall?",
    (
        Answer(
            "It falls fast at first, and then hardly; it stays above half of where it began.",
            "residual-lost",
        ),
        Answer("It falls, then rises and shakes.", "gradient-kept"),
        Answer(
            "Slowly, or not at all after some time.",
            Question(
                "Print the rate of learning at a few steps. How does it go?",
                (
                    Answer("It is the same at each.", "rate-never-stepped"),
                    Answer(
                        "It is where it should be after twice as many steps.", "rate-stepped-twice"
                    ),
                ),
            ),
        ),
        Answer(
            "As it should, and ends well above 0.",
            Advice(
                "Nothing is wrong: with label smoothing the loss has a floor that no model passes, "
                "about 1.08 nats at ε = 0.1 and 2,000 tokens "
                "([chapter 8](../notebooks/08_training.ipynb)). A "
                "perplexity that is higher than without smoothing is no sign of a bug either: the "
                "paper says so itself (section 5.4)."
            ),
        ),
    ),
)

COUNTED = Question(
    "Add padding to a batch, with any scores there. Does its loss change?",
    (
        Answer("Yes: it falls if padding is what it says there.", "pads-in-loss"),
        Answer("Yes: it rises whatever it says there.", "pads-smoothed"),
        Answer(
            "No.",
            Advice(
                "Nothing need be wrong. It is counted otherwise: in bits or nats, by words or by "
                "pieces of words, "
                "with smoothing or without. A loss of another vocabulary cannot be compared."
            ),
        ),
    ),
)

SCORES = Question(
    "How was the score made?",
    (
        Answer("Of lower-cased text, or of text cut into pieces.", "scored-in-pieces"),
        Answer("Each token was asked for behind the true beginning.", "scored-with-the-references"),
        Answer(
            "None of these.",
            Advice(
                "Then compare the sentences themselves: other references, another test set, "
                "another search, or another smoothing of BLEU for short texts."
            ),
        ),
    ),
)

A_LITTLE = Question(
    "Which of these is off?",
    (
        Answer("The file holds more numbers than the formula says.", "tied-by-value"),
        Answer(
            "In four parts a step's gradient is another than in one.",
            "mean-of-means",
        ),
        Answer(
            "The target's embeddings are smaller than the source's by sqrt(d_model).",
            "scale-on-one-side",
        ),
        Answer(
            "Exchange two words of a source. What the encoder gives at all other places stays as "
            "it was.",
            "positions-too-late",
        ),
        Answer("A batch gives the same loss twice while it learns: nothing drops.", "no-dropout"),
        Answer(
            "On the same queries and keys attention is another than PyTorch's.",
            Question(
                "Are its weights sharper or flatter?",
                (
                    Answer("Sharper: the largest are close to 1.", "no-scale"),
                    Answer("Flatter: all are close to each other.", "scaled-twice"),
                ),
            ),
        ),
        Answer(
            "None of these.",
            Advice(
                "Then it is none of this museum's. How far do two runs lie apart that differ in "
                "their seed alone? What is less than that is no bug. Else `diagnose` asks all the "
                "questions at once, of your own code too."
            ),
        ),
    ),
)

FIRST = Question(
    "What do you see?",
    (
        Answer(
            "In training nearly all tokens are right, or more than its nonsense lets one think.",
            LEAK,
        ),
        Answer("The loss is good, and what it writes is wrong in some way.", WRONG_WORDS),
        Answer("The same sentence comes out otherwise from time to time.", CHANGES),
        Answer("The loss does not fall as it should.", CURVE),
        Answer("The loss is another than others', and what it writes is as good.", COUNTED),
        Answer("The score is another than what people see, or others get.", SCORES),
        Answer("Nothing looks wrong, or all is a little worse than it should be.", A_LITTLE),
    ),
)


@dataclass(frozen=True)
class Way:
    """A way from the first question to its end.

    Attributes:
        answers: what was said to each question.
        end: the bug's name, or advice.
    """

    answers: tuple[str, ...]
    end: "str | Advice"


def ways(question: Question = FIRST, before: tuple[str, ...] = ()) -> Iterator[Way]:
    """Every way through the questions."""
    for answer in question.answers:
        said = (*before, answer.text)
        if isinstance(answer.leads, Question):
            yield from ways(answer.leads, said)
        else:
            yield Way(said, answer.leads)
