"""The exercises on decoding against implementations that nobody here wrote, and brute force."""

import itertools
import math
from typing import Any

import pytest
import sacrebleu
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.optim.swa_utils import AveragedModel
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel

from annotated_transformer.exercises.content import decoding
from annotated_transformer.exercises.content.decoding.average_checkpoints import average_checkpoints
from annotated_transformer.exercises.content.decoding.beam_search import BEAM_SEARCH, beam_search
from annotated_transformer.exercises.content.decoding.cache_bytes import cache_bytes
from annotated_transformer.exercises.content.decoding.cached_step import cached_attention_step
from annotated_transformer.exercises.content.decoding.corpus_bleu import CORPUS_BLEU, corpus_bleu
from annotated_transformer.exercises.content.decoding.greedy import greedy_decode
from annotated_transformer.exercises.content.decoding.language_models import log_prob_table
from annotated_transformer.exercises.exercise import Case, Exercise

EOS = 2
EXERCISES = [one for one in decoding.EXERCISES if one.kind != "test"]
SMALLEST_GAP = 0.01  # in nats, between what a search keeps and what it does not

words = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), min_size=1, max_size=9)
corpora = st.lists(st.tuples(words, words), min_size=1, max_size=4)


def _arguments(case: Case) -> tuple[Any, ...]:
    return case.make(torch.Generator().manual_seed(0), case.dtype or torch.float64).args


def test_every_exercise_of_the_topic_is_there_in_the_order_of_the_catalogue() -> None:
    assert [exercise.id for exercise in EXERCISES] == [
        "decoding.greedy",
        "decoding.beam_search",
        "decoding.cached_step",
        "decoding.cache_bytes",
        "decoding.average_checkpoints",
        "decoding.corpus_bleu",
    ]


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_banks_and_alternatives_are_rich(exercise: Exercise) -> None:
    assert len(exercise.mistakes) >= 40
    assert len(exercise.alternatives) >= 3
    for mistake in exercise.mistakes:
        assert mistake.sentence.rstrip(")")[-1] in ".?", mistake.name
        assert len(mistake.sentence.split()) <= 140, mistake.name


@pytest.fixture(scope="module")
def gpt2() -> GPT2LMHeadModel:
    torch.manual_seed(21)
    config = GPT2Config(
        vocab_size=11,
        n_positions=24,
        n_embd=16,
        n_layer=2,
        n_head=2,
        bos_token_id=1,
        eos_token_id=EOS,
        initializer_range=0.5,
        tie_word_embeddings=False,
    )
    model = GPT2LMHeadModel(config).eval()
    return model


@pytest.mark.parametrize("max_len", [1, 3, 8])
def test_greedy_decoding_equals_transformers(gpt2: GPT2LMHeadModel, max_len: int) -> None:
    seen: set[int] = set()
    for first in itertools.product(range(3, 11), repeat=2):
        prompt = torch.tensor([[token, 1] for token in first])  # a word of its own, then bos

        @torch.no_grad()
        def next_logits(tokens: Tensor, prompt: Tensor = prompt) -> Tensor:
            return gpt2(torch.cat([prompt[:, :1], tokens], dim=1)).logits[:, -1]

        expected = gpt2.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=max_len,
            do_sample=False,
            pad_token_id=0,
            eos_token_id=EOS,
        )[:, 1:]
        got = greedy_decode(next_logits, 2, max_len)
        assert torch.equal(got, expected)
        seen.add(int((got == EOS).any(dim=1).sum()))
    assert max_len == 1 or len(seen) > 1  # some end, some do not


def _every_sentence(table: Any, vocab_size: int, max_len: int) -> dict[tuple[int, ...], float]:
    """All sentences there are with their log-probabilities."""
    live, ended = {(1,): 0.0}, {}
    for length in range(1, max_len + 1):
        rows = table(torch.tensor(list(live))).tolist()
        live = {
            (*tokens, token): total + row[token]
            for (tokens, total), row in zip(live.items(), rows, strict=True)
            for token in range(vocab_size)
        }
        ended |= {k: v for k, v in live.items() if k[-1] == EOS or length == max_len}
        live = {k: v for k, v in live.items() if k[-1] != EOS}
    return ended


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    vocab_size=st.integers(4, 5),
    max_len=st.integers(1, 4),
    alpha=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    eos_bias=st.sampled_from([-1.0, 0.0, 1.5]),
)
def test_a_beam_without_limit_finds_the_best_of_all_sentences(
    seed: int, vocab_size: int, max_len: int, alpha: float, eos_bias: float
) -> None:
    table = log_prob_table(seed, vocab_size, torch.float64, eos_bias=eos_bias)
    scores = {
        tokens: total / ((5 + len(tokens) - 1) / 6) ** alpha
        for tokens, total in _every_sentence(table, vocab_size, max_len).items()
    }
    found = beam_search(table, vocab_size**max_len, max_len, alpha)
    assert scores[tuple(found)] == pytest.approx(max(scores.values()))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), max_len=st.integers(1, 6))
def test_a_beam_of_one_is_greedy_decoding(seed: int, max_len: int) -> None:
    table = log_prob_table(seed, 7, torch.float64, eos_bias=0.5)
    greedy = greedy_decode(table, 1, max_len)
    assert beam_search(table, 1, max_len) == greedy[0].tolist()


@pytest.mark.parametrize("case", BEAM_SEARCH.cases, ids=lambda case: case.name)
def test_no_case_of_beam_search_depends_on_a_tie(case: Case) -> None:
    """What is kept and what is not, the best of the pool and the second: far enough apart."""
    table, beam_size, max_len, *rest = _arguments(case)
    alpha, bos, eos = (*rest, *(0.6, 1, EOS)[len(rest) :])
    live, pool, gaps = {(bos,): 0.0}, {}, []
    for length in range(1, max_len + 1):
        rows = table(torch.tensor(list(live))).tolist()
        assert len(rows[0]) >= beam_size
        extended = {
            (*tokens, token): total + log_prob
            for (tokens, total), row in zip(live.items(), rows, strict=True)
            for token, log_prob in enumerate(row)
        }
        ranked = sorted(extended, key=lambda tokens: -extended[tokens])
        gaps.append(extended[ranked[beam_size - 1]] - extended[ranked[beam_size]])
        for tokens in ranked[:beam_size]:
            if tokens[-1] == eos or length == max_len:
                pool[tokens] = extended[tokens] / ((5 + length) / 6) ** alpha
        live = {tokens: extended[tokens] for tokens in ranked[:beam_size] if tokens[-1] != eos}
        if not live:
            break
    best, *others = sorted(pool, key=lambda tokens: -pool[tokens])
    gaps += [pool[best] - pool[others[0]]] if others else []
    assert min(gaps) > SMALLEST_GAP
    assert beam_search(*_arguments(case)) == list(best)


def test_the_cases_of_beam_search_end_in_both_ways_and_before_the_limit() -> None:
    results = [(beam_search(*_arguments(case)), _arguments(case)) for case in BEAM_SEARCH.cases]
    assert any(len(found) == 1 + arguments[2] for found, arguments in results)
    assert any(len(found) < 1 + arguments[2] for found, arguments in results)


@pytest.mark.parametrize("eos_bias", [-1.0, 0.0, 1.0])
def test_the_tables_hold_log_probabilities(eos_bias: float) -> None:
    known = {(1,): {3: 0.6, 2: 0.4}}
    for dtype in (torch.float32, torch.float64):
        table = log_prob_table(4, 6, dtype, eos_bias=eos_bias, known=known)
        rows = table(torch.tensor([[1, 3, 4], [1, 5, 2]]))
        first = table(torch.tensor([[1]]))
        assert rows.dtype == first.dtype == dtype
        torch.testing.assert_close(rows.logsumexp(-1), torch.zeros(2, dtype=dtype))
        torch.testing.assert_close(first.logsumexp(-1), torch.zeros(1, dtype=dtype))
        assert first.exp()[0, 3].item() == pytest.approx(0.99 * 0.6)


@pytest.mark.parametrize(
    "tokens", [[[1]], torch.tensor([1]), torch.tensor([[1.0]]), torch.zeros(0, 1).long()]
)
def test_the_models_refuse_what_a_model_could_not_take(tokens: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="next_log_probs takes"):
        log_prob_table(0, 6, torch.float64)(tokens)


@settings(max_examples=30, deadline=None)
@given(batch=st.integers(1, 3), n=st.integers(1, 6), d=st.integers(1, 5), seed=st.integers(0, 1000))
def test_cached_steps_equal_causal_attention_over_the_whole_sentence(
    batch: int, n: int, d: int, seed: int
) -> None:
    torch.manual_seed(seed)
    x, pe = torch.randn(batch, n, d).double(), torch.randn(n + 2, d).double()
    w_q, w_k, w_v = torch.randn(3, d, d).double()
    placed = x + pe[:n]
    expected = F.scaled_dot_product_attention(
        placed @ w_q, placed @ w_k, placed @ w_v, is_causal=True
    )
    cache, outputs = None, []
    for t in range(n):
        output, cache = cached_attention_step(x[:, t : t + 1], pe, w_q, w_k, w_v, cache)
        outputs.append(output)
    assert cache is not None
    torch.testing.assert_close(torch.cat(outputs, dim=1), expected)
    torch.testing.assert_close(cache[0], placed @ w_k)
    torch.testing.assert_close(cache[1], placed @ w_v)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_cache_bytes_equals_the_cache_of_transformers(dtype: torch.dtype) -> None:
    layers, heads, d_k, n, batch = 3, 2, 8, 7, 4
    config = GPT2Config(
        vocab_size=11, n_positions=24, n_embd=heads * d_k, n_layer=layers, n_head=heads
    )
    model = GPT2LMHeadModel(config).to(dtype).eval()
    with torch.no_grad():
        cache = model(torch.ones(batch, n, dtype=torch.long), use_cache=True).past_key_values
    assert isinstance(cache, DynamicCache)
    held = sum(t.numel() * t.itemsize for layer in cache.layers for t in (layer.keys, layer.values))
    assert cache_bytes(layers, heads, d_k, n, batch, dtype.itemsize) == held


@settings(max_examples=20, deadline=None)
@given(number=st.integers(1, 6), seed=st.integers(0, 1000))
def test_the_mean_of_checkpoints_equals_torchs_averaged_model(number: int, seed: int) -> None:
    torch.manual_seed(seed)
    models = [torch.nn.BatchNorm1d(3) for _ in range(number)]
    averaged = AveragedModel(models[0], use_buffers=True)
    states = []
    for step, model in enumerate(models):
        torch.nn.init.normal_(model.weight)
        model(torch.randn(4, 3))
        model.num_batches_tracked.fill_(7 * step + 3)
        averaged.update_parameters(model)
        states.append(dict(model.state_dict()))
    expected, got = averaged.module.state_dict(), average_checkpoints(states)
    assert got.keys() == expected.keys()
    for name in ("weight", "bias", "running_mean", "running_var"):
        torch.testing.assert_close(got[name], expected[name])
    assert got["num_batches_tracked"].item() == 7 * (number - 1) + 3
    torch.nn.BatchNorm1d(3).load_state_dict(got)


@settings(max_examples=100, deadline=None)
@given(pairs=corpora, max_n=st.integers(1, 5))
def test_bleu_equals_sacrebleu(pairs: list[tuple[list[str], list[str]]], max_n: int) -> None:
    hypotheses, references = (list(side) for side in zip(*pairs, strict=True))
    metric = sacrebleu.BLEU(
        tokenize="none", smooth_method="none", max_ngram_order=max_n, force=True
    )
    expected = metric.corpus_score(
        [" ".join(h) for h in hypotheses], [[" ".join(r) for r in references]]
    )
    assert corpus_bleu(hypotheses, references, max_n) == pytest.approx(expected.score, abs=1e-9)


@pytest.mark.parametrize("case", CORPUS_BLEU.cases, ids=lambda case: case.name)
def test_every_case_of_bleu_equals_sacrebleu_and_has_ngrams_of_every_order(case: Case) -> None:
    hypotheses, references, *rest = _arguments(case)
    max_n = rest[0] if rest else 4
    assert max(map(len, hypotheses)) >= max_n  # no precision is 0 / 0
    metric = sacrebleu.BLEU(
        tokenize="none", smooth_method="none", max_ngram_order=max_n, force=True
    )
    score = metric.corpus_score(
        [" ".join(h) for h in hypotheses], [[" ".join(r) for r in references]]
    ).score
    assert math.isclose(corpus_bleu(hypotheses, references, *rest), score, abs_tol=1e-9)
