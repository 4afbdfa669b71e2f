"""Heads taken away by a hook say what they say when their rows of W^O are zero."""

from collections.abc import Sequence

import pytest
import torch

from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.likelihood import corpus_likelihood
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.experiments.inside.removal import (
    Head,
    heads_of,
    mean_answers,
    remove_greedily,
    without_heads,
)
from annotated_transformer.experiments.inside.sentences import batches_of_split

GONE = [("encoder.layers.0.self_attention", 1), ("decoder.layers.1.cross_attention", 0)]


def zeroed(model: torch.nn.Module, heads: Sequence[Head]) -> None:
    """The other way: their columns of the stored matrix, which are rows of W^O."""
    for name, head in heads:
        weight = model.get_submodule(name).output_projection.weight
        with torch.no_grad():
            weight[:, 16 * head : 16 * (head + 1)] = 0.0


def test_every_head_is_listed(translator):
    assert len(heads_of(translator)) == 24
    assert heads_of(translator)[0] == ("encoder.layers.0.self_attention", 0)


def test_silent_heads_and_zeroed_rows_give_the_same(translator, vocabulary, asked):
    batches = batches_of_split(asked.split, vocabulary, 40)
    before = corpus_likelihood(translator, batches)
    with without_heads(translator, GONE):
        silent = corpus_likelihood(translator, batches)
        said = translate_sentences(translator, vocabulary, asked.split.source[:20], beam_size=1)
    assert corpus_likelihood(translator, batches) == before  # nothing stays behind
    zeroed(translator, GONE)
    assert corpus_likelihood(translator, batches).loss == pytest.approx(silent.loss, rel=1e-6)
    assert silent.loss > before.loss + 0.1
    assert said == translate_sentences(translator, vocabulary, asked.split.source[:20], beam_size=1)


def test_the_mean_is_put_in_the_place_of_a_head(translator, vocabulary, asked):
    """Done by hand for one head: its numbers in the concatenation of every sentence."""
    batches = batches_of_split(asked.split, vocabulary, 40)
    means = mean_answers(translator, batches)
    name, head = GONE[1]
    kept = []
    module = translator.get_submodule(name)
    hook = module.output_projection.register_forward_pre_hook(
        lambda _, inputs: kept.append(inputs[0])
    )
    for batch in batches:
        translator(batch.src, batch.tgt[:, :-1])
    hook.remove()
    real = [batch.tgt[:, :-1] != 0 for batch in batches]
    rows = torch.cat([of[here] for of, here in zip(kept, real, strict=True)])
    torch.testing.assert_close(means[name].flatten(), rows.mean(0), rtol=1e-4, atol=1e-5)
    batch = batches[0]
    with without_heads(translator, [(name, head)], means):
        heard = []
        hook = module.output_projection.register_forward_hook(
            lambda _, inputs, __: heard.append(inputs[0])
        )
        translator(batch.src, batch.tgt[:, :-1])
        hook.remove()
    wanted = kept[0].clone()
    wanted[..., 16 * head : 16 * (head + 1)] = means[name][head]
    torch.testing.assert_close(heard[0], wanted)


@pytest.mark.parametrize("wrong", [("encoder.layers.0.self_attention", 4), ("encoder", 0)])
def test_a_head_that_is_not_there_is_an_error_and_nothing_stays(translator, wrong):
    with (
        pytest.raises(CallError, match="has no head"),
        without_heads(translator, [GONE[0], wrong]),
    ):
        pass
    means = {GONE[0][0]: torch.zeros(4, 16)}
    with pytest.raises(CallError, match="says nothing"), without_heads(translator, GONE, means):
        pass
    hooks = [module._forward_pre_hooks for module in translator.modules()]
    assert not any(hooks)


def test_the_greedy_order_takes_what_costs_least_given_what_is_gone():
    heads = [("a", 0), ("a", 1), ("b", 0)]

    def loss(gone):
        """Either head of a does for both; b costs 2."""
        return 10.0 * ({heads[0], heads[1]} <= set(gone)) + 2.0 * (heads[2] in gone)

    steps = list(remove_greedily(loss, heads))
    assert [step.head for step in steps] == [heads[0], heads[2], heads[1]]
    assert [step.loss for step in steps] == [0.0, 2.0, 12.0]


def test_several_may_go_at_once():
    heads = [("a", n) for n in range(4)]
    costs = dict(zip(heads, (3.0, 1.0, 2.0, 4.0), strict=True))
    steps = list(remove_greedily(lambda gone: sum(map(costs.get, gone)), heads, at_once=2))
    assert [step.head[1] for step in steps] == [1, 2, 0, 3]
    assert [step.loss for step in steps] == [1.0, 3.0, 6.0, 10.0]
