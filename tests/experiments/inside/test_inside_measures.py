"""Agreement, pictures, lens, probes and what explains: each against a second way to get it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.data.grammar.corpus import tokens
from annotated_transformer.experiments.heads_measured import batches_of_split
from annotated_transformer.experiments.inside.agreement import best_match, likeness
from annotated_transformer.experiments.inside.explained import (
    compared,
    explain,
    rank_correlation,
    shuffled,
    uniform,
    with_weights,
)
from annotated_transformer.experiments.inside.lens import after_each_layer, right_after_each_layer
from annotated_transformer.experiments.inside.looks import look
from annotated_transformer.experiments.inside.pictures import drawn_pairs, most_beautiful
from annotated_transformer.experiments.inside.probes import (
    PENALTY,
    drawn_labels,
    most_frequent,
    ridge_probe,
)
from annotated_transformer.experiments.inside.removal import right_next

LAST = "decoder.layers.1.cross_attention"


def test_heads_in_another_order_are_found_again(translator, vocabulary, asked, seen):
    name, order = "encoder.layers.1.self_attention", [2, 0, 3, 1]
    module = translator.get_submodule(name)
    with torch.no_grad():
        for layer in (module.query_projection, module.key_projection, module.value_projection):
            layer.weight.copy_(layer.weight.view(4, 16, 64)[order].reshape(64, 64))
        weight = module.output_projection.weight
        weight.copy_(weight.view(64, 4, 16)[:, order].reshape(64, 64))
    again = list(look(translator, vocabulary, asked.split))
    pairing, mean = best_match(likeness(seen, again, name))
    assert mean == pytest.approx(1.0, abs=1e-4)
    assert [order[n] for n in pairing] == [0, 1, 2, 3]


def test_the_best_picture_is_the_largest_weight(seen, asked):
    links = {n: of["subject"] for n, of in enumerate(asked.source) if of["subject"]}
    best = most_beautiful(seen, links)
    every = [
        float(weights[head, i, j])
        for of in seen
        for weights in of.encoder.values()
        for head in range(4)
        for i, j in links.get(of.sentence, ())
    ]
    assert best.weight == pytest.approx(max(every))
    assert best.tried == len(every)
    found = seen[best.sentence].encoder[best.attention][best.head]
    assert float(found[best.link]) == pytest.approx(best.weight)
    assert best.mean < best.weight


def test_a_picture_of_nothing_is_an_error(seen):
    with pytest.raises(ValueError, match="no sentence"):
        most_beautiful(seen, {})


@given(words=st.integers(4, 12), seed=st.integers(0, 99))
def test_pairs_drawn_at_random_are_apart(words, seed):
    pairs = drawn_pairs(words, 3, torch.Generator().manual_seed(seed), apart=3)
    assert len(set(pairs)) == len(pairs) > 0
    assert all(abs(i - j) >= 3 and max(i, j) < words for i, j in pairs)


def test_the_lens_ends_with_what_the_model_says(translator, vocabulary, asked):
    batches = batches_of_split(asked.split, vocabulary, 40)
    *_, last = after_each_layer(translator, batches[0].src, batches[0].tgt[:, :-1])
    with torch.no_grad():
        said = translator(batches[0].src, batches[0].tgt[:, :-1])
    torch.testing.assert_close(last, said, rtol=1e-4, atol=1e-4)
    shares = right_after_each_layer(translator, batches)
    assert len(shares) == 3
    assert float(shares[-1]) == pytest.approx(right_next(translator, batches)[0], abs=1e-3)


def test_the_probe_is_ridge_regression():
    """Against least squares on rows that carry the penalty."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(80, 5, generator=draw)
    y = (x[:, 0] + 0.5 * torch.randn(80, generator=draw) > 0).long() + (x[:, 1] > 1).long()
    trained = torch.arange(80) < 50
    scaled = ((x - x[trained].mean(0)) / x[trained].std(0)).double()
    scaled = torch.cat([scaled, torch.ones(80, 1)], dim=1)
    padded = torch.cat([scaled[trained], PENALTY**0.5 * torch.eye(6)])
    wanted = torch.cat([torch.nn.functional.one_hot(y[trained], 3).double(), torch.zeros(6, 3)])
    weights = torch.linalg.lstsq(padded, wanted).solution
    right = ((scaled[~trained] @ weights).argmax(-1) == y[~trained]).double().mean()
    assert ridge_probe(x, y, trained) == pytest.approx(float(right))
    assert ridge_probe(x, y, trained) > most_frequent(y, trained)


def test_drawn_labels_are_one_a_word():
    labels = drawn_labels(["a", "b", "a", "c", "b"], 50, seed=1)
    assert labels[0] == labels[2] != labels[1] == labels[4]


@given(st.lists(st.integers(-50, 50), min_size=3, max_size=9, unique=True))
def test_rank_correlation_without_ties_is_the_textbook_formula(values):
    a = torch.tensor(values, dtype=torch.float64)
    b = a.flip(0) ** 3
    n = len(values)
    ranks = [v.argsort().argsort().double() for v in (a, b)]
    wanted = 1 - 6 * float(((ranks[0] - ranks[1]) ** 2).sum()) / (n * (n * n - 1))
    assert rank_correlation(a, b) == pytest.approx(wanted, abs=1e-9)


def test_equal_values_share_a_rank():
    # 1, 2.5, 2.5, 4 against 1, 2, 3, 4: by hand 4.5 / sqrt(4.5 * 5)
    found = rank_correlation(torch.tensor([1.0, 2.0, 2.0, 3.0]), torch.tensor([1.0, 2.0, 3.0, 4.0]))
    assert found == pytest.approx(4.5 / 22.5**0.5)


def test_what_explains_is_measured_as_said(translator, vocabulary, asked, seen):
    number = 3
    source, target = asked.split.source[number], asked.split.target[number]
    found = explain(translator, vocabulary, source, target)
    shape = (len(tokens(target)), len(tokens(source)))
    assert found.weight.shape == found.gradient.shape == found.removal.shape == shape
    # The mean over heads of what `look` sees; there a word of several pieces takes their mean.
    single = [n for n in range(shape[0]) if vocabulary.word_indices(target).count(n) == 1]
    seen_there = seen[number].cross[LAST].mean(0)[:, :-1]
    torch.testing.assert_close(found.weight[single], seen_there[single], rtol=1e-3, atol=1e-4)
    # Removal, by hand: the word's pieces are padding to every attention.
    words = vocabulary.word_indices(source)
    src = torch.tensor([[*vocabulary.encode(source), vocabulary.eos_id]])
    tgt = torch.tensor([[vocabulary.bos_id, *vocabulary.encode(target)]])
    mask = torch.ones(1, 1, 1, src.size(1), dtype=torch.bool)
    first = vocabulary.word_indices(target).index(2)

    def told(mask: torch.Tensor) -> float:
        with torch.no_grad():
            logits = translator(src, tgt[:, :-1], src_mask=mask)[0, first]
        return float(logits.log_softmax(-1)[tgt[0, 1 + first]])

    hidden = mask.clone()
    hidden[..., [n for n, word in enumerate(words) if word == 1]] = False
    assert float(found.removal[2, 1]) == pytest.approx(told(mask) - told(hidden), abs=1e-3)


def test_the_gradient_is_that_of_the_log_probability(translator, vocabulary, asked):
    """Against a small step along each feature of one word's embedding."""
    translator.double()
    source, target = asked.split.source[3], asked.split.target[3]
    found = explain(translator, vocabulary, source, target)
    src = torch.tensor([[*vocabulary.encode(source), vocabulary.eos_id]])
    tgt = torch.tensor([[vocabulary.bos_id, *vocabulary.encode(target)]])
    place = vocabulary.word_indices(source).index(1)
    first = vocabulary.word_indices(target).index(2)
    step = 1e-6
    with torch.no_grad():
        x = translator.source_embedding(src)

        def told(x: torch.Tensor) -> torch.Tensor:
            memory = translator.encoder(x)
            logits = translator.project(translator.decode(memory, tgt[:, :-1]))[0, first]
            return logits.log_softmax(-1)[tgt[0, 1 + first]]

        total = 0.0
        for feature in range(64):
            moved = x.clone()
            moved[0, place, feature] += step
            total += abs(float((told(moved) - told(x)) / step * x[0, place, feature]))
    assert vocabulary.word_indices(source).count(1) == 1
    assert float(found.gradient[2, 1]) == pytest.approx(total, rel=1e-3)


def test_compared_counts_what_it_says(translator, vocabulary, asked):
    found = compared(translator, vocabulary, asked.split, [0, 1])
    assert set(found) == {"ranks", "top", "loses", "aligned"}
    # Hiding the word that costs most costs at least as much as hiding any other.
    assert found["loses"]["removal"] >= max(found["loses"].values())
    assert all(-1 <= value <= 1 for value in found["ranks"].values())


def test_equal_and_dealt_weights_respect_the_mask():
    allowed = torch.tensor([[True, True, True, False], [True, False, True, True]])
    allowed = allowed[None, None]  # (1, 1, 2, 4)
    weights = torch.rand(1, 3, 2, 4).masked_fill(~allowed, 0.0)
    weights = weights / weights.sum(-1, keepdim=True)
    every = allowed.expand_as(weights)
    even = uniform(weights, every)
    torch.testing.assert_close(even.sum(-1), torch.ones(1, 3, 2))
    torch.testing.assert_close(even[every], torch.full((18,), 1 / 3))
    dealt = shuffled(torch.Generator().manual_seed(0))(weights, every)
    assert (dealt[~every] == 0).all()
    assert not torch.equal(dealt, weights)
    torch.testing.assert_close(dealt.sort(-1)[0], weights.sort(-1)[0])


def test_other_weights_are_used_while_the_block_runs(translator, vocabulary, asked):
    batches = batches_of_split(asked.split, vocabulary, 20)
    before = right_next(translator, batches)
    with with_weights(translator, [LAST], lambda weights, _: weights):
        assert right_next(translator, batches) == pytest.approx(before, rel=1e-4)
    with with_weights(translator, [LAST], uniform):
        assert right_next(translator, batches)[0] < 0.7
    assert right_next(translator, batches) == before
