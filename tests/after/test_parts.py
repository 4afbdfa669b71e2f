"""Each part beside somebody else's: the same numbers from the same weights."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama import modeling_llama as llama
from transformers.models.mixtral import modeling_mixtral as mixtral
from transformers.models.switch_transformers import modeling_switch_transformers as switch

from annotated_transformer.after.attention import LaterAttention, LinearAttention
from annotated_transformer.after.config import LaterConfig
from annotated_transformer.after.inputs import Places, Rotary, alibi_slopes
from annotated_transformer.after.networks import Experts, GELUNetwork, SwiGLU
from annotated_transformer.after.norms import RMSNorm
from annotated_transformer.masks import causal_mask

D, H, N, B = 24, 6, 11, 3


def later(**changes: object) -> LaterConfig:
    sizes = {"d_model": D, "d_ff": 40, "num_heads": H, "num_layers": 1}
    return LaterConfig(50, **(sizes | changes))  # type: ignore[arg-type]


def drawn(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def heads(attention: LaterAttention, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return (attention.project_query(x), *attention.project_key_value(x, x))


def test_rms_norm_is_torchs_and_llamas() -> None:
    x, gain = drawn(B, N, D), drawn(D)
    ours = RMSNorm(D, 1e-5).double()
    ours.gamma.data = gain
    theirs = llama.LlamaRMSNorm(D, 1e-5).double()
    theirs.weight.data = gain
    torch.testing.assert_close(ours(x), functional.rms_norm(x, (D,), gain, 1e-5))
    torch.testing.assert_close(ours(x).float(), theirs(x).float())


def test_rms_norm_in_half_precision_squares_in_single() -> None:
    x = torch.full((1, 4), 60_000.0, dtype=torch.float16)
    normed = RMSNorm(4)(x)  # whose gain is in single precision, as in mixed training
    assert normed.tolist() == [[1.0] * 4]
    assert normed.dtype == torch.float16


def test_gelu_is_torchs() -> None:
    ours = GELUNetwork(D, 40).double()
    theirs = nn.Sequential(ours.inner, nn.GELU(), ours.outer)
    torch.testing.assert_close(ours(drawn(B, N, D)), theirs(drawn(B, N, D)))


def test_swiglu_is_llamas() -> None:
    ours = SwiGLU(D, 40).double()
    theirs = llama.LlamaMLP(
        llama.LlamaConfig(hidden_size=D, num_attention_heads=H, intermediate_size=40)
    ).double()
    pairs = {"gate_proj": "gate", "up_proj": "inner", "down_proj": "outer"}
    for name, own in pairs.items():
        getattr(theirs, name).weight = getattr(ours, own).weight
    torch.testing.assert_close(ours(drawn(B, N, D)), theirs(drawn(B, N, D)))


@pytest.mark.parametrize("used", [2, 4])
def test_a_mixture_chooses_and_weighs_as_mixtral_does(used: int) -> None:
    ours = Experts(D, 40, 4, used).double()
    settings = mixtral.MixtralConfig(hidden_size=D, num_local_experts=4, num_experts_per_tok=used)
    router = mixtral.MixtralTopKRouter(settings)
    router.weight = ours.router.weight
    x = drawn(B, N, D)
    _, shares, chosen = router(x)
    rows = x.flatten(0, 1)
    expected = torch.stack(
        [
            sum(
                share * ours.networks[number](row)
                for share, number in zip(of_row, numbers.tolist(), strict=True)
            )
            for row, of_row, numbers in zip(rows, shares.double(), chosen, strict=True)
        ]
    )
    torch.testing.assert_close(ours(x).flatten(0, 1), expected, rtol=1e-5, atol=1e-6)
    assert ours.load is not None
    assert ours.load.sum() == pytest.approx(1)
    counts = torch.bincount(chosen.flatten(), minlength=4) / chosen.numel()
    torch.testing.assert_close(ours.load, counts)


def test_a_bias_of_balance_acts_on_the_choice_alone() -> None:
    """The chosen are those of scores and bias together, weighed by the scores without it."""
    x, ours = drawn(B, N, D), Experts(D, 10, experts=5, used=2, balance=0.1).double().eval()
    assert ours.expert_bias is not None
    ours.expert_bias.data = 3 * drawn(5)
    for row, found in zip(x.flatten(0, 1), ours(x).flatten(0, 1), strict=True):
        scores = ours.router.weight @ row
        chosen = (scores + ours.expert_bias).argsort(descending=True)[:2]
        shares = scores[chosen].softmax(0)
        expected = sum(
            share * ours.networks[int(n)](row) for share, n in zip(shares, chosen, strict=True)
        )
        torch.testing.assert_close(found, expected)


def test_a_single_expert_is_weighed_as_in_the_switch_transformer() -> None:
    """By the softmax over all: over itself alone its weight is 1, and the router never learns."""
    ours = Experts(D, 40, 4, 1)
    settings = switch.SwitchTransformersConfig(
        hidden_size=D, num_experts=4, expert_capacity=100, router_dtype="float32"
    )
    router = switch.SwitchTransformersTop1Router(settings)
    router.classifier.weight = ours.router.weight
    x = drawn(B, N, D).float()
    chosen, shares, _ = router(x)
    expected = shares * sum(
        (chosen[..., number, None] * ours.networks[number](x)) for number in range(4)
    )
    torch.testing.assert_close(ours(x), expected, rtol=1e-5, atol=1e-6)
    ours(x).square().sum().backward()
    assert ours.router.weight.grad is not None
    assert ours.router.weight.grad.abs().sum() > 0


def test_balance_evens_what_a_router_prefers() -> None:
    """A router that sends everything to one expert is overruled in training, and by it alone."""
    x = drawn(B, N, D) + 1
    alone, balanced = (Experts(D, 40, 4, 1, balance).double() for balance in (0.0, 0.01))
    for experts in (alone, balanced):
        experts.router.weight.data = drawn(4, D) / D
        experts.router.weight.data[2] += 2 / D  # 2 more on average
        for _ in range(400):
            experts(x)
    assert alone.load is not None
    assert balanced.load is not None
    assert alone.load.max() > 0.9
    assert balanced.load.max() < 0.35
    assert balanced.expert_bias is not None
    kept = balanced.expert_bias.clone()
    balanced.eval()(x)
    torch.testing.assert_close(
        balanced.expert_bias.data, kept.data
    )  # nothing is learned from what is read


def test_rotations_are_gpt_js() -> None:
    x = drawn(B, H, N, 8).float()
    at = torch.arange(5, 5 + N)[None, None]
    sin, cos = gptj.create_sinusoidal_positions(64, 8)[at[0]].chunk(2, dim=-1)
    theirs = gptj.apply_rotary_pos_emb(x.transpose(1, 2), sin, cos).transpose(1, 2)
    torch.testing.assert_close(Rotary(8).turn(x, at), theirs, rtol=1e-5, atol=1e-5)


def test_stretched_rotations() -> None:
    """Squeezed places as transformers has them; NTK by its own formula."""
    settings = llama.LlamaConfig(
        hidden_size=8, num_attention_heads=1, rope_scaling={"rope_type": "linear", "factor": 4.0}
    )
    speeds, _ = ROPE_INIT_FUNCTIONS["linear"](settings, None)
    linear, ntk = Rotary(8, "linear", 4.0), Rotary(8, "ntk", 4.0)
    torch.testing.assert_close(linear.speeds / linear.squeeze, speeds)
    base = 10_000 * 4 ** (8 / 6)
    expected = torch.tensor([base ** (-2 * pair / 8) for pair in range(4)])
    torch.testing.assert_close(ntk.speeds, expected)
    assert ntk.speeds[0] == Rotary(8).speeds[0] == 1
    torch.testing.assert_close(ntk.speeds[-1], Rotary(8).speeds[-1] / 4)


def test_turned_scores_depend_on_the_distance_alone() -> None:
    query, key = drawn(1, 1, 1, 8), drawn(1, 1, 1, 8)
    turned = Rotary(8).double()

    def score(at_query: int, at_key: int) -> float:
        here, there = (torch.tensor([[[at]]]) for at in (at_query, at_key))
        return float((turned.turn(query, here) * turned.turn(key, there)).sum())

    assert score(9, 4) == pytest.approx(score(105, 100), abs=1e-5)
    assert score(9, 4) != pytest.approx(score(9, 5), abs=1e-3)


@pytest.mark.parametrize("num_heads", [1, 4, 6, 8, 12, 16])
def test_alibi_is_blooms(num_heads: int) -> None:
    at = build_alibi_tensor(torch.ones(1, 2), num_heads, torch.float32)  # slope times 0 and 1
    torch.testing.assert_close(alibi_slopes(num_heads), at[:, 0, 1])
    attention = LaterAttention(
        later(
            d_model=4 * num_heads, num_heads=num_heads, relative_positions="alibi", positions="none"
        )
    ).double()
    q, k, v = heads(attention, drawn(1, N, 4 * num_heads))
    bias = build_alibi_tensor(torch.ones(1, N), num_heads, torch.float64)  # (h, 1, n)
    bias = bias.masked_fill(~causal_mask(N), -math.inf)
    theirs = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    torch.testing.assert_close(attention.attend(q, k, v, causal_mask(N)), theirs)


def test_alibi_of_an_encoder_counts_to_both_sides() -> None:
    attention = LaterAttention(later(relative_positions="alibi", positions="none")).double()
    q, k, v = heads(attention, drawn(B, N, D))
    at = torch.arange(N)
    bias = -alibi_slopes(H).double()[:, None, None] * (at[:, None] - at).abs()
    theirs = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    torch.testing.assert_close(attention.attend(q, k, v), theirs)


@pytest.mark.parametrize("num_key_value_heads", [1, 2, 3])
def test_shared_keys_are_torchs_grouped_queries(num_key_value_heads: int) -> None:
    attention = LaterAttention(later(num_key_value_heads=num_key_value_heads)).double()
    q, k, v = heads(attention, drawn(B, N, D))
    assert k.shape == (B, num_key_value_heads, N, D // H)
    theirs = functional.scaled_dot_product_attention(
        q, k, v, attn_mask=causal_mask(N), enable_gqa=True
    )
    torch.testing.assert_close(attention.attend(q, k, v, causal_mask(N)), theirs)


def test_normed_queries_and_keys() -> None:
    attention = LaterAttention(later(qk_norm=True), of_memory=True).double()
    norms = attention.parts[0]
    norms.query_norm.gamma.data, norms.key_norm.gamma.data = drawn(4), drawn(4) + 1
    q, k, v = heads(attention, 100 * drawn(B, N, D))
    normed = [
        functional.rms_norm(x, (4,), norm.gamma, 1e-6)
        for x, norm in ((q, norms.query_norm), (k, norms.key_norm))
    ]
    theirs = functional.scaled_dot_product_attention(*normed, v)
    torch.testing.assert_close(attention.attend(q, k, v), theirs)


@pytest.mark.parametrize("of", ["encoder", "decoder"])
@pytest.mark.parametrize("everywhere", [0, 2])
def test_a_window_and_who_is_seen_from_everywhere(of: str, everywhere: int) -> None:
    attention = LaterAttention(later(window=3, global_tokens=everywhere))
    attention = attention.double()
    q, k, v = heads(attention, drawn(1, N, D))
    allowed = [
        [
            (j <= i or of == "encoder") and (abs(i - j) < 3 or i < everywhere or j < everywhere)
            for j in range(N)
        ]
        for i in range(N)
    ]
    theirs = functional.scaled_dot_product_attention(q, k, v, attn_mask=torch.tensor(allowed))
    mask = causal_mask(N) if of == "decoder" else None
    torch.testing.assert_close(attention.attend(q, k, v, mask), theirs)


@pytest.mark.parametrize("masked", ["nothing", "padding", "causal"])
def test_linear_attention_is_its_formula(masked: str) -> None:
    attention = LinearAttention(later(kernel="linear")).double()
    q, k, v = heads(attention, drawn(B, N, D))
    masks = {
        "nothing": None,
        "padding": (torch.arange(N) < torch.tensor([[N], [4], [1]]))[:, None, None],
        "causal": causal_mask(N)[None, None],
    }
    mask = masks[masked]
    expected = torch.zeros(B, H, N, D // H, dtype=torch.float64)
    shown = torch.ones(B, 1, N, N, dtype=torch.bool) if mask is None else mask.expand(B, 1, N, N)
    for b, h, i in torch.cartesian_prod(torch.arange(B), torch.arange(H), torch.arange(N)):
        weights = [
            float(shown[b, 0, i, j])
            * ((functional.elu(q[b, h, i]) + 1) @ (functional.elu(k[b, h, j]) + 1)).item()
            for j in range(N)
        ]
        row = sum(weight * v[b, h, j] for j, weight in enumerate(weights))
        expected[b, h, i] = row / sum(weights)
    torch.testing.assert_close(attention.attend(q, k, v, mask), expected)
    attention.keep_weights = True  # the other way to the same numbers
    torch.testing.assert_close(attention.attend(q, k, v, mask), expected)


@pytest.mark.parametrize(
    "part",
    [{"relative_positions": "rope"}, {"relative_positions": "alibi"}, {"window": 3}],
    ids=["rope", "alibi", "a narrower window"],
)
def test_a_window_in_the_callers_mask_moves_nothing(part: dict[str, Any]) -> None:
    """It hides the beginning of the text from its end: what comes first is still the first."""
    near = causal_mask(N) & ~causal_mask(N, torch.device("cpu")).tril(-4)
    x = drawn(1, N, D)
    torch.manual_seed(0)
    by_mask = LaterAttention(later(positions="none", **part)).double()
    torch.manual_seed(0)
    by_window = LaterAttention(later(positions="none", **{"window": 4} | part)).double()
    torch.testing.assert_close(
        by_mask(x, x, x, near[None, None]), by_window(x, x, x, causal_mask(N)[None, None])
    )


def test_where_a_query_and_a_key_stand() -> None:
    """In a padded batch, in a row of two sentences, and in a cache that hypotheses share."""
    padding = torch.tensor([[True, True, True, False]])[:, None, None]
    places = Places(padding, 4, 4, padding.device)
    assert places.of_keys[0, 0, :3].tolist() == places.of_queries[0, 0, :3].tolist() == [0, 1, 2]

    of = torch.tensor([1, 1, 1, 2, 2, 0])  # which sentence a position belongs to
    same = (of[:, None] == of) | (of == 0)[:, None]  # padding sees all
    for mask in (same, same & causal_mask(6)):
        places = Places(mask[None, None], 6, 6, mask.device)
        for sentence in (slice(0, 3), slice(3, 5)):
            count = torch.arange(sentence.stop - sentence.start)
            between = places.distance[0, 0, sentence, sentence]
            assert torch.equal(between, (count[:, None] - count).abs())

    # Two hypotheses after three steps: the first token is shared, then each has its own.
    past = torch.tensor([[True, True, False, True, False], [True, False, True, False, True]])
    places = Places(past[None, None], 2, 5, past.device)
    assert places.of_queries.tolist() == [[[2, 2]]]
    assert places.of_keys.tolist() == [[[0, 1, 1, 2, 2]]]
