"""The named departures from section 3: each against the whole model written out, and used."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.cli import main
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoding import beam_search, greedy_decode
from annotated_transformer.inspection import recording_attention
from annotated_transformer.training import load_run
from annotated_transformer.transformer import Transformer
from annotated_transformer.variants import AdditiveAttention, DotProductAttention
from toy_search import EOS, MAX_EXTRA, PAD, some_sources, toy_model

# What `train` is told, and the field of the configuration that it changes.
VARIANTS: dict[str, dict[str, Any]] = {
    "--attention dot-product": {"attention": "dot-product"},
    "--attention additive": {"attention": "additive"},
    "--no-residual": {"residual": False},
    "--norm none": {"norm": "none"},
    "--no-embedding-scale": {"embedding_scale": False},
    "--no-tie-embeddings": {"tie_embeddings": False},
    "--decoder-layers 3": {"decoder_layers": 3},
}
SRC = torch.tensor([[5, 6, 7, 3, EOS], [8, EOS, PAD, PAD, PAD]])
TGT = torch.tensor([[1, 4, 9, 5], [1, 3, PAD, PAD]])


def written_out(model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    """The logits (batch, n_tgt, vocab_size), head by head and pair by pair, from the weights."""
    config = model.config
    weights = dict(model.named_parameters(remove_duplicate=False))

    def attend(name: str, asking: Tensor, asked: Tensor, mask: Tensor) -> Tensor:
        heads = []
        q, k, v = (
            (x @ weights[f"{name}.{kind}_projection.weight"].T).chunk(config.num_heads, dim=-1)
            for kind, x in (("query", asking), ("key", asked), ("value", asked))
        )
        for head in range(config.num_heads):
            if config.attention == "additive":
                vector = weights[f"{name}.vectors"][head]
                pairs = [
                    [
                        torch.tanh(q[head][:, i] + k[head][:, j]) @ vector
                        for j in range(k[0].size(1))
                    ]
                    for i in range(q[0].size(1))
                ]
                scores = torch.stack([torch.stack(row, -1) for row in pairs], -2)
            else:
                scores = torch.einsum("bid,bjd->bij", q[head], k[head])
                if config.attention == "scaled-dot-product":
                    scores = scores / math.sqrt(q[head].size(-1))
            chosen = torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)
            heads.append(torch.einsum("bij,bjd->bid", chosen, v[head]))
        return torch.cat(heads, -1) @ weights[f"{name}.output_projection.weight"].T

    def feed(name: str, x: Tensor) -> Tensor:
        inner = functional.linear(x, weights[f"{name}.inner.weight"], weights[f"{name}.inner.bias"])
        outer = weights[f"{name}.outer.weight"], weights[f"{name}.outer.bias"]
        return functional.linear(inner.relu(), *outer)

    def norm(name: str, x: Tensor) -> Tensor:
        if config.norm == "none":
            return x
        gamma, beta = weights[f"{name}.gamma"], weights[f"{name}.beta"]
        return functional.layer_norm(x, x.shape[-1:], gamma, beta, config.layer_norm_eps)

    def wrap(layer: str, place: int, x: Tensor, sublayer: Any) -> Tensor:
        its_norm = f"{layer}.residuals.{place}.norm"
        passed_by = x if config.residual else 0 * x
        if config.norm == "pre":
            return passed_by + sublayer(norm(its_norm, x))
        return norm(its_norm, passed_by + sublayer(x))

    def embed(side: str, tokens: Tensor) -> Tensor:
        table = weights[f"{side}_embedding.table.weight"]
        scale = math.sqrt(config.d_model) if config.embedding_scale else 1
        x = scale * table[tokens]
        for pos in range(tokens.size(1)):
            for i in range(0, config.d_model, 2):
                angle = pos / 10000 ** (i / config.d_model)
                x[:, pos, i] += math.sin(angle)
                x[:, pos, i + 1] += math.cos(angle)
        return x

    src_mask = (src != PAD)[:, None, :]
    tgt_mask = (tgt != PAD)[:, None, :] & torch.tril(torch.ones(tgt.size(1), tgt.size(1))).bool()
    memory, x = embed("source", src), embed("target", tgt)
    for number in range(config.num_layers):
        layer = f"encoder.layers.{number}"
        memory = wrap(
            layer,
            0,
            memory,
            lambda y, layer=layer: attend(f"{layer}.self_attention", y, y, src_mask),
        )
        memory = wrap(layer, 1, memory, lambda y, layer=layer: feed(f"{layer}.feed_forward", y))
    if config.norm == "pre":
        memory = norm("encoder.final_norm", memory)
    for number in range(config.decoder_layers or config.num_layers):
        layer = f"decoder.layers.{number}"
        x = wrap(
            layer, 0, x, lambda y, layer=layer: attend(f"{layer}.self_attention", y, y, tgt_mask)
        )
        x = wrap(
            layer,
            1,
            x,
            lambda y, layer=layer: attend(f"{layer}.cross_attention", y, memory, src_mask),
        )
        x = wrap(layer, 2, x, lambda y, layer=layer: feed(f"{layer}.feed_forward", y))
    if config.norm == "pre":
        x = norm("decoder.final_norm", x)
    return x @ weights["projection.weight"].T


def assert_as_written_out(model: Transformer) -> None:
    """Up to the sinusoids, which the package keeps in float32, relative to the largest logit."""
    expected = written_out(model, SRC, TGT)
    scale = expected.abs().max()
    torch.testing.assert_close(model(SRC, TGT) / scale, expected / scale, atol=2e-5, rtol=0)


any_design = st.fixed_dictionaries(
    {
        "attention": st.sampled_from(["scaled-dot-product", "dot-product", "additive"]),
        "norm": st.sampled_from(["post", "pre", "none"]),
        "residual": st.booleans(),
        "embedding_scale": st.booleans(),
        "tie_embeddings": st.booleans(),
        "decoder_layers": st.sampled_from([None, 1, 3]),
        "d_k": st.sampled_from([None, 3]),
    }
)


@pytest.mark.parametrize("changes", [{}, *VARIANTS.values()], ids=["the paper's", *VARIANTS])
def test_a_variant_is_what_is_written_out(changes: dict[str, Any]) -> None:
    assert_as_written_out(toy_model(**changes))


@settings(max_examples=40, deadline=None)
@given(changes=any_design, seed=st.integers(0, 2**16))
def test_any_of_them_together_are_what_is_written_out(changes: dict[str, Any], seed: int) -> None:
    assert_as_written_out(toy_model(seed, **changes))


@settings(max_examples=40, deadline=None)
@given(changes=any_design, seed=st.integers(0, 2**16), beam_size=st.sampled_from([1, 4]))
def test_the_cache_changes_nothing_in_any_variant(
    changes: dict[str, Any], seed: int, beam_size: int
) -> None:
    model, src = toy_model(seed, **changes), some_sources(seed)
    asked = {"beam_size": beam_size, "max_extra": MAX_EXTRA}
    cached = beam_search(model, src, **asked)
    recomputed = beam_search(model, src, **asked, use_cache=False)
    for ours, theirs in zip(cached, recomputed, strict=True):
        assert [found.tokens for found in ours] == [found.tokens for found in theirs]
        scores = [found.score for found in theirs]
        assert [found.score for found in ours] == pytest.approx(scores, rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(changes=any_design, num_layers=st.integers(1, 3))
def test_any_variant_is_counted_as_it_is_built(changes: dict[str, Any], num_layers: int) -> None:
    sizes = {"d_model": 16, "d_ff": 24, "num_heads": 2, "num_layers": num_layers}
    config = TransformerConfig(vocab_size=13, **sizes, **changes)
    assert config.count_parameters() == Transformer(config).num_parameters()
    assert TransformerConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize("option", VARIANTS)
def test_a_variant_departs_in_its_name_alone(option: str) -> None:
    [(field, value)] = VARIANTS[option].items()
    model, papers = toy_model(**VARIANTS[option]), toy_model()
    assert model.config.departures() == [f"{field} = {value}"]
    more = set(dict(model.named_parameters())) - set(dict(papers.named_parameters()))
    fewer = set(dict(papers.named_parameters())) - set(dict(model.named_parameters()))
    kinds = {name.rsplit(".", 1)[-1] for name in more}
    if field == "attention" and value == "additive":
        assert (len(more), kinds, fewer) == (6, {"vectors"}, set())
    elif field == "norm":
        assert not more
        assert fewer == {name for name, _ in papers.named_parameters() if ".norm." in name}
    elif field == "tie_embeddings":
        assert more == {"target_embedding.table.weight", "projection.weight"}
        assert not fewer
    elif field == "decoder_layers":
        assert {name[: len("decoder.layers.2")] for name in more} == {"decoder.layers.2"}
        assert not fewer
    else:
        assert not more | fewer


def test_as_many_layers_in_the_decoder_as_in_the_encoder_are_no_departure() -> None:
    config = TransformerConfig(13, num_layers=3, decoder_layers=3)
    assert config.departures() == []
    assert config.depths == (3, 3)
    assert TransformerConfig(13, num_layers=3, decoder_layers=1).depths == (3, 1)


def test_a_configuration_written_before_there_were_variants_is_the_papers() -> None:
    values = TransformerConfig(13).to_dict()
    for name in ("attention", "residual", "embedding_scale", "decoder_layers"):
        del values[name]
    assert TransformerConfig.from_dict(values) == TransformerConfig(13)


def test_without_its_scaling_attention_is_that_of_queries_as_much_longer() -> None:
    torch.manual_seed(0)
    unscaled = DotProductAttention(16, 4).double()
    scaled = MultiHeadAttention(16, 4).double()
    scaled.load_state_dict(unscaled.state_dict())
    x, mask = torch.randn(2, 5, 16, dtype=torch.float64), torch.ones(5, 5).tril().bool()
    assert not torch.allclose(unscaled(x, x, x, mask), scaled(x, x, x, mask))
    scaled.query_projection.weight.data *= math.sqrt(4)  # d_k = 4
    torch.testing.assert_close(unscaled(x, x, x, mask), scaled(x, x, x, mask))


@pytest.mark.parametrize("kind", [DotProductAttention, AdditiveAttention])
def test_weights_are_kept_and_a_query_without_keys_gets_zeros(kind: type) -> None:
    torch.manual_seed(0)
    attention = kind(16, 4)
    x, mask = torch.randn(2, 5, 16), torch.ones(5, 5).tril(-1).bool()  # the first sees nothing
    fast = attention(x, x, x, mask)
    with recording_attention(attention) as recorded:
        taught = attention(x, x, x, mask)
    [weights] = recorded.values()
    torch.testing.assert_close(fast, taught)
    assert weights.shape == (2, 4, 5, 5)
    torch.testing.assert_close(weights.sum(-1)[..., 1:], torch.ones(2, 4, 4))
    assert (weights[..., 0, :] == 0).all()
    assert (taught[:, 0] == 0).all()


@pytest.mark.parametrize("option", VARIANTS)
def test_a_variant_is_trained_kept_and_translates(option: str, tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    words = ["train", "--data", "copy", "--run-dir", str(run_dir), "--device", "cpu"]
    words += ["--preset", "tiny/N=2,d_model=16,d_ff=16,h=2", "--precision", "fp32"]
    words += ["--steps", "3", "--max-tokens", "256", "--threads", "1", *option.split()]
    assert main(words) == 0
    config = json.loads((run_dir / "config.json").read_text("utf-8"))["model"]
    [(field, value)] = VARIANTS[option].items()
    assert config[field] == value
    assert main([*words, "--resume"]) == 0  # what was asked for does not contradict the run
    model, vocabulary, _ = load_run(run_dir)
    before = Transformer(model.config).state_dict()
    assert all(weight.isfinite().all() for weight in model.state_dict().values())
    assert before.keys() == model.state_dict().keys()
    src = torch.tensor([[*vocabulary.encode("4 0 7"), vocabulary.eos_id]])
    assert torch.equal(
        greedy_decode(model, src, MAX_EXTRA), greedy_decode(model, src, MAX_EXTRA, use_cache=False)
    )


@pytest.mark.parametrize("option", VARIANTS)
def test_every_weight_of_a_variant_learns(option: str) -> None:
    model = toy_model(**VARIANTS[option])
    model(SRC, TGT).square().mean().backward()
    assert all(
        weight.grad is not None and weight.grad.abs().sum() > 0 for weight in model.parameters()
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"attention": "cosine"}, 'attention = \'cosine\': "scaled-dot-product", "dot-product" or'),
        ({"decoder_layers": 0}, "decoder_layers = 0: it must be at least 1, or None for num_layer"),
        ({"decoder_layers": 10**10}, "decoder_layers = 10000000000: it must be at most"),
    ],
)
def test_what_cannot_be_is_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        TransformerConfig(13, **changes)
