"""What a workbook says around its exercises, for a reader whose chapter is not beside them."""

from collections.abc import Sequence

from annotated_transformer.exercises.catalogue import chapter_of, of_topic

HOW_TO_WORK = """\
Run the first cell. Then write your answer in place of `...` and run its cell: `check` says
whether it is right, and if not, on which input and why. `hint("masks.causal")` gives one
hint at a call, three in all; `solution("masks.causal")` the answer with its reasons;
`progress()` what is solved and what is due."""

TOPICS = {  # by the first part of an exercise's id
    "warmup": """\
## Warm-up

Tensors, their shapes, and how shapes are matched.""",
    "attention": """\
## Attention (section 3.2.1)

A query is compared with every key; the softmax of the scores says how much of each value is
taken.""",
    "masks": """\
## Masks (sections 3.1 and 3.2.3)

Which query may look at which key: not at padding, and in the decoder not at what comes
later.""",
    "multihead": """\
## Multi-head attention (section 3.2.2)

Several small attentions side by side, each on its own columns.""",
    "positional": """\
## Positions (section 3.5)

Attention does not know the order of words; sines and cosines tell it.""",
    "encoder": """\
## The encoder (sections 3.1, 3.3, 3.4)

Embedding, feed-forward network, residual connection, layer normalisation, and the layer
made of them.""",
    "decoder": """\
## The decoder (sections 3.1, 3.2.3)

The half that writes: it sees what it has written, and through cross-attention the encoder's
output, the memory.""",
    "model": """\
## The whole model (sections 3.4 and 6.2)

One table of vectors for source, target and output, and how many numbers a model learns.""",
    "tokenization": """\
## Words in pieces, sentences in batches (section 5.1)

Byte-pair encoding begins with single characters and joins the most frequent pair of
neighbours again and again; each joining is a *merge*. Sentences are then put side by side,
filled up to one length.""",
    "training": """\
## Training (sections 5.3 and 5.4)

The loss is the cross-entropy: minus the natural logarithm of the probability given to the
right token, in *nats*. Targets are smoothed, the optimizer is Adam, the rate of learning
rises and then falls. A batch too large for the memory is cut into *micro-batches*.""",
    "decoding": """\
## Decoding and scores (section 6.1)

The model gives log-probabilities of the next token; greedy search takes the best one at
each step, beam search keeps several beginnings, *hypotheses*. BLEU counts the *n-grams*,
runs of n words, that a translation shares with a reference, and multiplies by a *brevity
penalty* if it is too short. A *state dict* is a dictionary from a parameter's name to its
tensor.""",
    "inside": """\
## Inside a trained model (Figures 3 to 5)

What a head looks at is a *picture*; how good it is as an alignment can be counted, and what is
lost without the head can be measured.""",
    "ablations": """\
## Reading experiments (section 6.2)

Table 3 changes one part of the model at a time. What a difference is worth depends on how
much the score moves by itself, from seed to seed: the *standard error* says how far a mean
may be off.""",
    "parsing": """\
## Parsing (section 6.3)

A tree of phrases is written as a row of signs, so that a model of sequences can translate a
sentence into it. What it writes is scored by its *brackets*: a phrase's label with the words
that it spans.""",
    "beyond": """\
## After the paper

What later models changed: positions that turn queries and keys (RoPE) or lower scores with
distance (ALiBi), normalisation without the mean (RMSNorm), a gated feed-forward network
(SwiGLU), query heads that share keys and values, attention to a window, in tiles, or linear
in the length; and sentences as trees (section 6.3).""",
}


def introduction(topic: str) -> str:
    """The words on a topic; at their end the chapters of its exercises."""
    chapters = sorted({chapter_of(exercise_id) for exercise_id in of_topic(topic)})
    return f"{TOPICS[topic]}\n{_named(chapters)}."


def _named(chapters: Sequence[str]) -> str:
    """As "Chapters 12 and 13"."""
    *others, last = (str(int(chapter.partition("_")[0])) for chapter in chapters)
    return f"Chapters {', '.join(others)} and {last}" if others else f"Chapter {last}"
