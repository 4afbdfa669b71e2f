"""Weights in words: sums and means that keep what a row gives away."""

import torch

from annotated_transformer.data import Split
from annotated_transformer.data.grammar.corpus import tokens
from annotated_transformer.experiments.inside.looks import in_words, look
from annotated_transformer.inspection import recording_attention


def test_pieces_of_a_word_are_added_where_looked_at_and_averaged_where_they_look():
    weights = torch.tensor([[[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.2, 0.2], [0.0, 0.4, 0.6, 0.0]]])
    found = in_words(weights, [0, 0, 1], [0, 1, 1, 2])
    wanted = torch.tensor([[[0.3, 0.4, 0.3], [0.0, 1.0, 0.0]]])
    torch.testing.assert_close(found, wanted)


def test_every_row_of_words_still_gives_away_one(seen, asked):
    for of in seen:
        words = len(tokens(asked.split.source[of.sentence]))
        said = len(tokens(asked.split.target[of.sentence]))
        for name, weights in of.every.items():
            rows = words if name in of.encoder else said
            columns = said if name in of.decoder else words
            assert weights.shape == (4, rows, columns + 1)
            torch.testing.assert_close(weights.sum(-1), torch.ones(4, rows))
        for weights in of.decoder.values():  # a word has read itself and what stands before it
            assert weights.triu(2).abs().max() == 0


def test_a_sentence_alone_is_seen_as_among_others(translator, vocabulary, asked, seen):
    """Padding changes nothing, and the rows are those in which a word is read or written."""
    number = 7
    split = asked.split
    (alone,) = look(
        translator,
        vocabulary,
        Split([split.source[number]], [split.target[number]]),
    )
    src = torch.tensor([[*vocabulary.encode(split.source[number]), vocabulary.eos_id]])
    tgt = torch.tensor([[vocabulary.bos_id, *vocabulary.encode(split.target[number])]])
    with torch.no_grad(), recording_attention(translator) as recorded:
        translator(src, tgt)
    for name, weights in alone.every.items():
        torch.testing.assert_close(weights, seen[number].every[name], rtol=1e-4, atol=1e-5)
    words = vocabulary.word_indices(split.target[number])
    last = words.index(max(words))  # the full stop is one piece
    cross = "decoder.layers.1.cross_attention"
    own = "decoder.layers.1.self_attention"
    # Piece `last` is written by the row before it is read, and read in the row behind.
    torch.testing.assert_close(alone.cross[cross][:, -1, -1], recorded[cross][0, :, last, -1])
    torch.testing.assert_close(alone.decoder[own][:, -1, 0], recorded[own][0, :, last + 1, 0])
