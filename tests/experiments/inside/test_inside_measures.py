"""Agreement, pictures, lens, probes and what explains: each against a second way to get it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data.grammar.corpus import said_in, tokens
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.likelihood import corpus_likelihood
from annotated_transformer.experiments.inside.antecedents import exchanges
from annotated_transformer.experiments.inside.attribution import (
    compared,
    explain,
    rank_correlation,
    shuffled,
    uniform,
    with_weights,
)
from annotated_transformer.experiments.inside.lens import right_after_each_layer
from annotated_transformer.experiments.inside.looks import Looks, look
from annotated_transformer.experiments.inside.matching import best_match, likeness
from annotated_transformer.experiments.inside.pictures import drawn_pairs, strongest
from annotated_transformer.experiments.inside.probes import genders_at_it, read, roles_of_nouns
from annotated_transformer.experiments.inside.sentences import batches_of_split
from annotated_transformer.experiments.inside.states import states_of_source, states_of_target
from annotated_transformer.experiments.probing import (
    PENALTY,
    drawn_labels,
    most_frequent,
    ridge_probe,
)
from annotated_transformer.inspection import recording_attention
from annotated_transformer.transformer import Transformer

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
    best = strongest(seen, links)
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
        strongest(seen, {})


@given(words=st.integers(4, 12), seed=st.integers(0, 99))
def test_pairs_drawn_at_random_are_apart(words, seed):
    pairs = drawn_pairs(words, 3, torch.Generator().manual_seed(seed), apart=3)
    assert len(set(pairs)) == len(pairs) > 0
    assert all(abs(i - j) >= 3 and max(i, j) < words for i, j in pairs)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_last_state_is_what_the_stack_gives(norm):
    torch.manual_seed(0)
    config = TransformerConfig(50, d_model=16, d_ff=32, num_heads=2, num_layers=3, norm=norm)
    model = Transformer(config).eval()
    src = torch.tensor([[7, 8, 9, 2], [5, 6, 2, 0]])
    tgt = torch.tensor([[1, 4, 5], [1, 6, 0]])
    *_, of_source = states_of_source(model, src)
    states = list(states_of_target(model, src, tgt))
    with torch.no_grad():
        torch.testing.assert_close(of_source, model.encode(src))
        torch.testing.assert_close(model.project(states[-1]), model(src, tgt))
    assert len(states) == 4


def test_the_lens_ends_with_what_the_model_says(translator, vocabulary, asked):
    batches = batches_of_split(asked.split, vocabulary, 40)
    shares = right_after_each_layer(translator, batches)
    assert len(shares) == 3
    right = corpus_likelihood(translator, batches).accuracy
    assert float(shares[-1]) == pytest.approx(right, abs=1e-3)


def test_probes_are_asked_at_the_words_meant(translator, vocabulary, asked):
    some = list(exchanges(said_in("valid")[:200], vocabulary))
    at_it = genders_at_it(some, vocabulary)
    assert {
        vocabulary.decode([s[p]]) for s, p in zip(at_it.sources, at_it.places, strict=True)
    } == {"it"}
    assert len(at_it.labels) == 2 * len(some)
    pairs = at_it.labels.view(-1, 2)
    assert (pairs[:, 0] != pairs[:, 1]).all()  # another thing has another gender
    nouns = roles_of_nouns(asked, vocabulary)
    subjects = [
        word for word, role in zip(nouns.words, nouns.labels.tolist(), strict=True) if role == 0
    ]
    assert len(subjects) > 40
    first = asked.split.source[0]
    assert nouns.words[0] in tokens(first)
    torch.manual_seed(0)
    depths, often = read(at_it, translator, Transformer(translator.config).eval())
    assert len(depths) == 3
    # Before the first layer "it" is "it" in both sentences of an exchange.
    assert depths[0].probe < often + 0.15
    assert depths[2].probe > 0.9 > depths[2].untrained


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
    before = corpus_likelihood(translator, batches)
    with with_weights(translator, [LAST], lambda weights, _: weights):
        assert corpus_likelihood(translator, batches).loss == pytest.approx(before.loss, rel=1e-4)
    with with_weights(translator, [LAST], uniform):
        assert corpus_likelihood(translator, batches).accuracy < 0.7
    assert corpus_likelihood(translator, batches) == before


def test_other_weights_are_used_beside_a_recording_and_inside_each_other(translator):
    """Nothing is left on the model, and what stood there before is put back."""
    src, tgt = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9]])
    modules = [translator.get_submodule(LAST)]
    with recording_attention(translator), torch.no_grad():
        own = translator(src, tgt)
        with with_weights(translator, [LAST], uniform):
            even = translator(src, tgt)
            with with_weights(translator, [LAST], lambda weights, _: weights):
                torch.testing.assert_close(translator(src, tgt), own, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(translator(src, tgt), even)
    assert not torch.allclose(own, even)
    assert all("attend" not in module.__dict__ for module in modules)
    with pytest.raises(CallError, match="no attention"), with_weights(translator, ["no"], uniform):
        pass


def test_other_weights_keep_padding_and_the_future_out(translator, vocabulary, asked):
    """A sentence beside a longer one gets the same logits as alone, also with equal weights."""
    names = [name for name, _ in translator.named_modules() if name.endswith("attention")]
    batch = batches_of_split(asked.split, vocabulary, 20)[0]
    lengths = (batch.src != 0).sum(1)
    row = int(lengths.argmin())
    s, t = int(lengths[row]), int((batch.tgt[row] != 0).sum()) - 1
    assert s < batch.src.size(1)
    with with_weights(translator, names, uniform), torch.no_grad():
        among = translator(batch.src, batch.tgt[:, :-1])[row, :t]
        alone = translator(batch.src[row : row + 1, :s], batch.tgt[row : row + 1, :t])[0]
        first = translator(batch.src[row : row + 1, :s], batch.tgt[row : row + 1, :2])[0]
    torch.testing.assert_close(among, alone, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(alone[:2], first, rtol=1e-3, atol=1e-3)


def test_the_aligned_words_are_those_of_the_target_word(translator, vocabulary, asked):
    found = compared(translator, vocabulary, asked.split, [4])
    told = explain(translator, vocabulary, asked.split.source[4], asked.split.target[4])
    links = set(asked.alignments[4])
    linked = [j for j in range(len(told.weight)) if any(t == j for _, t in links)]
    hits = [(int(told.weight[j].argmax()), j) in links for j in linked]
    assert found["aligned"]["weight"] == pytest.approx(sum(hits) / len(hits))


def test_a_picture_of_the_decoder_leaves_the_start_sign_out():
    weights = torch.tensor([[[0.5, 0.5, 0.0], [0.1, 0.7, 0.2]], [[1.0, 0.0, 0.0], [0.2, 0.5, 0.3]]])
    looks = Looks(3, {}, {"decoder.layers.0.self_attention": weights}, {})
    best = strongest([looks], {3: [(1, 0), (1, 1)]}, side="decoder")
    assert (best.weight, best.head, best.link) == (pytest.approx(0.7), 0, (1, 0))
    assert best.mean == pytest.approx((0.7 + 0.2) / 2)
    assert best.tried == 4
