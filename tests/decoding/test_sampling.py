"""Sampling: what temperature, top-k and top-p leave, and that it is drawn as often as it should."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer.decoding import greedy_decode
from annotated_transformer.decoding.incremental import PrefixDecoder
from annotated_transformer.decoding.sampling import keep_top_k, keep_top_p, sample_decode
from toy_search import BOS, EOS, MAX_EXTRA, PAD, prefer, some_prefixes, some_sources, toy_model

seeds = st.integers(0, 2**16)


def some_logits(seed: int, rows: int, vocab: int) -> Tensor:
    return 3 * torch.randn(rows, vocab, generator=torch.Generator().manual_seed(seed)).double()


@settings(max_examples=40, deadline=None)
@given(seed=seeds, k=st.integers(1, 25), p=st.floats(0.01, 1.0), temperature=st.floats(0.2, 3.0))
def test_what_stays_is_what_hugging_faces_warpers_leave(seed, k, p, temperature):
    transformers = pytest.importorskip("transformers")
    logits = some_logits(seed, 5, 20)
    theirs = transformers.TemperatureLogitsWarper(temperature)(None, logits)
    ours = logits / temperature
    for warper, ours_of in (
        (transformers.TopKLogitsWarper(k), lambda x: keep_top_k(x, k)),
        (transformers.TopPLogitsWarper(p), lambda x: keep_top_p(x, p)),
    ):
        theirs, ours = warper(None, theirs), ours_of(ours)
        torch.testing.assert_close(ours, theirs)
    assert (ours > -math.inf).any(dim=-1).all()


def test_top_k_by_hand():
    logits = torch.tensor([[1.0, 4.0, 3.0, 2.0]])
    assert keep_top_k(logits, 2).tolist() == [[-math.inf, 4.0, 3.0, -math.inf]]
    assert keep_top_k(logits, 9).equal(logits)
    tied = torch.tensor([[2.0, 2.0, 1.0]])
    assert keep_top_k(tied, 1).tolist() == [[2.0, 2.0, -math.inf]]


def test_top_p_by_hand():
    """0.5, 0.25, 0.125, 0.125: half is reached by one token, a hair more than half needs two."""
    logits = torch.tensor([[0.125, 0.5, 0.125, 0.25]]).log()
    stays = {0.01: [1], 0.5: [1], 0.51: [1, 3], 0.75: [1, 3], 1.0: [0, 1, 2, 3]}
    for p, expected in stays.items():
        assert (keep_top_p(logits, p)[0] > -math.inf).nonzero()[:, 0].tolist() == expected, p
    alike = torch.zeros(1, 4, dtype=torch.float64)  # 0.25 each, and their sums, are exact
    for p, count in {0.25: 1, 0.5: 2, 0.75: 3, 1.0: 4}.items():
        assert (keep_top_p(alike, p) > -math.inf).sum() == count, p


def test_the_lowest_temperature_is_greedy():
    model, src = toy_model().float(), some_sources()  # in float32 1e-300 is 0
    sampled = sample_decode(model, src, temperature=1e-300, max_extra=MAX_EXTRA)
    assert sampled.equal(greedy_decode(model, src, MAX_EXTRA))


@pytest.mark.parametrize(("p", "spread"), [(1.0, 3), (1 - 1e-9, 1)])
def test_a_top_p_of_nearly_one_keeps_a_large_vocabulary(p, spread):
    """Sums in float32 reach 1 long before the last of 10,000 tokens."""
    logits = spread * torch.randn(5, 10_000, generator=torch.Generator().manual_seed(0))
    assert (keep_top_p(logits, p) > -math.inf).all()


def test_the_temperature_acts_before_top_p():
    """At T = 2 the tail weighs more, so more tokens stay than if 0.8 were cut first."""
    model, src = toy_model(), some_sources()
    asked = {"temperature": 2.0, "top_p": 0.8}
    frequencies = first_tokens(model, src, **asked)
    logits = PrefixDecoder(model, src[:1], 1).next_logits(torch.tensor([[[BOS]]]))[0, 0].detach()
    logits[[PAD, BOS]] = -math.inf
    kept = keep_top_p(logits / 2.0, 0.8) > -math.inf
    cut_first = keep_top_p(logits, 0.8) > -math.inf
    assert not torch.equal(kept, cut_first)
    assert torch.equal(frequencies > 0, kept)


def test_top_k_acts_before_top_p():
    """What top-k leaves counts as all there is, so fewer tokens hold the share p of it."""
    model, src = toy_model(), some_sources()
    logits = PrefixDecoder(model, src[:1], 1).next_logits(torch.tensor([[[BOS]]]))[0, 0].detach()
    logits[[PAD, BOS]] = -math.inf
    k, p = next(
        (k, p / 100)
        for k in range(2, 8)
        for p in range(5, 100, 5)
        if not torch.equal(
            keep_top_p(keep_top_k(logits, k), p / 100), keep_top_k(keep_top_p(logits, p / 100), k)
        )
    )
    kept = keep_top_p(keep_top_k(logits, k), p) > -math.inf
    assert torch.equal(first_tokens(model, src, top_k=k, top_p=p) > 0, kept)


# With a model


def first_tokens(model, src: Tensor, **asked) -> Tensor:
    """What is drawn behind bos, for 20,000 copies of one sentence, as frequencies (vocab,)."""
    copies = src[:1].expand(20_000, -1)
    generator = torch.Generator().manual_seed(5)
    drawn = sample_decode(model, copies, generator=generator, max_extra=-6, **asked)  # one token
    return torch.bincount(drawn[:, 1], minlength=13) / len(copies)


@pytest.mark.parametrize(
    "asked",
    [{}, {"temperature": 0.5}, {"temperature": 2.0, "top_k": 4}, {"top_p": 0.6}],
    ids=str,
)
def test_tokens_are_drawn_as_often_as_their_probability_says(asked):
    model, src = toy_model(), some_sources()
    with torch.no_grad():
        logits = model(src[:1], torch.tensor([[BOS]]))[0, 0]
    logits[[PAD, BOS]] = -math.inf
    wanted = (logits / asked.get("temperature", 1.0)).softmax(-1)  # (vocab,)
    order = wanted.argsort(descending=True)
    if "top_k" in asked:
        wanted[order[asked["top_k"] :]] = 0
    if "top_p" in asked:
        enough = next(n for n in range(1, 14) if wanted[order[:n]].sum() >= asked["top_p"])
        wanted[order[enough:]] = 0
    wanted /= wanted.sum()
    found = first_tokens(model, src, **asked)
    # Five standard deviations of a frequency over 20,000 draws.
    slack = 5 * (wanted * (1 - wanted) / 20_000).sqrt()
    assert ((found - wanted).abs() <= slack).all()
    assert (found[wanted == 0] == 0).all()
    assert (wanted > 0.02).sum() > 1  # there was something to choose


@pytest.mark.parametrize("asked", [{"top_k": 1}, {"temperature": 1e-6}, {"top_p": 1e-9}], ids=str)
def test_what_leaves_one_token_is_greedy(asked):
    model, src = toy_model(), some_sources()
    sampled = sample_decode(model, src, max_extra=MAX_EXTRA, **asked)
    assert sampled.equal(greedy_decode(model, src, MAX_EXTRA))


def test_towards_a_temperature_of_0_sampling_is_greedy():
    model, src = toy_model(3), some_sources(3)
    assert torch.equal(sample_decode(model, src, temperature=1e-38), greedy_decode(model, src))


def test_a_seed_repeats_its_sample_and_the_cache_changes_nothing():
    model, src = toy_model(), some_sources()

    def sample(seed: int, **asked) -> list[list[int]]:
        generator = torch.Generator().manual_seed(seed)
        return sample_decode(model, src, generator=generator, max_extra=MAX_EXTRA, **asked).tolist()

    assert sample(1) == sample(1) == sample(1, use_cache=False)
    assert sample(1) != sample(2)


def test_samples_end_at_eos_begin_with_their_prefix_and_hold_no_padding():
    model, src, prefix = toy_model(tie_embeddings=False), some_sources(), some_prefixes()
    prefer(model, [PAD, BOS], 30.0)
    for row, tokens in enumerate(sample_decode(model, src, prefix=prefix, max_extra=4).tolist()):
        wanted = [token for token in prefix[row].tolist() if token != PAD]
        assert tokens[: 1 + len(wanted)] == [BOS, *wanted]
        length = next(
            (n for n, token in enumerate(tokens) if n and token in (EOS, PAD)), len(tokens)
        )
        assert set(tokens[length + 1 :]) <= {PAD}
        assert BOS not in tokens[1:]


def test_half_precision_weights_are_sampled_too():
    tokens = sample_decode(toy_model().bfloat16(), some_sources(), top_p=0.9, max_extra=MAX_EXTRA)
    assert tokens.shape[0] == 6


@pytest.mark.parametrize(
    "wrong",
    [
        *({"temperature": value} for value in (0.0, -1.0, math.nan, math.inf)),
        {"top_k": 0},
        *({"top_p": value} for value in (0.0, 1.1, math.nan)),
    ],
    ids=str,
)
def test_settings_without_meaning_are_refused(wrong):
    with pytest.raises(ValueError, match=r"was given and (must|at least)"):
        sample_decode(toy_model(), some_sources(), **wrong)
