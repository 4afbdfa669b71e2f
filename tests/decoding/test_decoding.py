"""Section 6.1: greedy and beam search, with and without a key-value cache."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer.decoding import (
    Hypothesis,
    Pool,
    beam_search,
    greedy_decode,
    length_penalty,
    search,
)
from annotated_transformer.decoding.beam import FREE, extensions
from annotated_transformer.decoding.beam_steps import SearchStep
from annotated_transformer.decoding.incremental import PrefixDecoder
from annotated_transformer.decoding.sampling import sample_decode
from annotated_transformer.evaluation.likelihood import log_probability
from toy_search import (
    BOS,
    EOS,
    MAX_EXTRA,
    PAD,
    prefer,
    some_prefixes,
    some_sources,
    toy_model,
)


class TableDecoder:
    """A toy language model: the logits after a prefix are read from a table of random numbers."""

    def __init__(self, vocab_size: int, max_len: int, seeds: list[int]) -> None:
        self.tables = []
        for seed in seeds:
            generator = torch.Generator().manual_seed(seed)
            prefixes = itertools.chain.from_iterable(
                itertools.product(range(vocab_size), repeat=length) for length in range(max_len)
            )
            self.tables.append(
                {
                    (BOS, *prefix): 2 * torch.randn(vocab_size, generator=generator).double()
                    for prefix in prefixes
                }
            )
        self.rows_seen: list[int] = []
        self.beams_seen: list[int] = []

    def next_logits(self, prefixes: Tensor) -> Tensor:
        self.rows_seen.append(len(prefixes))
        self.beams_seen.append(prefixes.shape[1])
        return torch.stack(
            [
                torch.stack([table[tuple(prefix)] for prefix in beam])
                for table, beam in zip(self.tables, prefixes.tolist(), strict=True)
            ]
        )

    def select(self, sentences: Tensor, parents: Tensor) -> None:
        self.tables = [self.tables[row] for row in sentences.tolist()]


def search_toy(decoder: TableDecoder, limits: list[int], **settings) -> list[list[Hypothesis]]:
    return search(decoder, limits, **{"nbest": 1, "bos_id": BOS, "eos_id": EOS, **settings})


class FailingDecoder(TableDecoder):
    """Its logits are no numbers at the second step of the first sentence."""

    def next_logits(self, prefixes: Tensor) -> Tensor:
        logits = super().next_logits(prefixes)
        if prefixes.shape[-1] == 2:
            logits[0] = math.nan
        return logits


def test_a_model_that_stops_giving_numbers_gives_no_translation() -> None:
    """Not the empty one, which may have ended before; its neighbour is not touched."""
    settings = {"beam_size": 4, "alpha": 0.6}
    failing, whole = FailingDecoder(4, 4, [0, 1]), TableDecoder(4, 4, [0, 1])
    got, expected = (search_toy(one, [4, 4], **settings) for one in (failing, whole))
    assert expected[0]
    assert got == [[], expected[1]]


def test_alpha_must_be_a_number() -> None:
    with pytest.raises(ValueError, match="alpha nan were given"):
        search_toy(TableDecoder(4, 3, [0]), [3], beam_size=2, alpha=math.nan)
    with pytest.raises(ValueError, match="alpha from 0 to 100"):
        search_toy(TableDecoder(4, 3, [0]), [3], beam_size=2, alpha=1e4)


def penalised(tokens: tuple[int, ...], log_probability: float, alpha: float) -> float:
    return log_probability / ((5 + len(tokens) - 1) / 6) ** alpha


def exhaustive_search(table: dict, vocab_size: int, max_len: int, alpha: float) -> list:
    """Every sentence there is, best first, as (score, tokens)."""
    ended, live = [], [((BOS,), 0.0)]
    for length in range(1, max_len + 1):
        extended = [
            ((*tokens, token), total + table[tokens].log_softmax(-1)[token].item())
            for tokens, total in live
            for token in range(vocab_size)
        ]
        live = [found for found in extended if found[0][-1] != EOS and length < max_len]
        ended += [found for found in extended if found[0][-1] == EOS or length == max_len]
    return sorted(
        ((penalised(tokens, total, alpha), tokens) for tokens, total in ended), reverse=True
    )


def plain_beam_search(table: dict, beam_size: int, max_len: int, alpha: float) -> list:
    """The definition, one sentence, followed to the end: the pool, best first."""
    pool, live = [], [((BOS,), 0.0)]
    for _ in range(max_len):
        extended = [
            ((*tokens, token), total + log_probability)
            for tokens, total in live
            for token, log_probability in enumerate(table[tokens].log_softmax(-1).tolist())
        ]
        kept = sorted(extended, key=lambda found: -found[1])[:beam_size]
        pool += [found for found in kept if found[0][-1] == EOS]
        live = [found for found in kept if found[0][-1] != EOS]
    pool += live
    return sorted(
        ((penalised(tokens, total, alpha), tokens) for tokens, total in pool), reverse=True
    )


seeds = st.integers(0, 2**16)
alphas = st.sampled_from([0.0, 0.6, 1.0, 2.5])


@settings(max_examples=25, deadline=None)
@given(seed=seeds, vocab_size=st.integers(4, 5), alpha=alphas)
def test_a_beam_wide_enough_is_exhaustive_search(seed, vocab_size, alpha):
    max_len = 4
    decoder = TableDecoder(vocab_size, max_len, [seed])
    expected = exhaustive_search(decoder.tables[0], vocab_size, max_len, alpha)[:5]
    found = search_toy(decoder, [max_len], beam_size=vocab_size**max_len, alpha=alpha, nbest=5)[0]
    assert [hypothesis.tokens for hypothesis in found] == [tokens for _, tokens in expected]
    assert [hypothesis.score for hypothesis in found] == pytest.approx(
        [score for score, _ in expected]
    )


@settings(max_examples=60, deadline=None)
@given(
    seed=seeds,
    beam_size=st.integers(1, 6),
    alpha=alphas,
    nbest=st.integers(1, 3),
    limits=st.lists(st.integers(1, 5), min_size=1, max_size=4),
)
def test_stopping_early_changes_nothing(seed, beam_size, alpha, nbest, limits):
    """A batch that stops as soon as it may equals each sentence followed to its limit."""
    decoder = TableDecoder(4, max(limits), [seed + place for place in range(len(limits))])
    expected = [
        plain_beam_search(table, beam_size, limit, alpha)[:nbest]
        for table, limit in zip(decoder.tables, limits, strict=True)
    ]
    found = search_toy(decoder, limits, beam_size=beam_size, alpha=alpha, nbest=nbest)
    for ours, theirs in zip(found, expected, strict=True):
        assert [hypothesis.tokens for hypothesis in ours] == [tokens for _, tokens in theirs]


def test_finished_sentences_leave_the_batch_and_the_search_stops_early():
    decoder = TableDecoder(4, 5, list(range(12)))
    for table in decoder.tables[:6]:
        table[(BOS,)][EOS] = 20.0  # these want to end at once
    search_toy(decoder, [5] * 12, beam_size=2, alpha=0.6)
    assert decoder.rows_seen[0] == 12
    assert decoder.rows_seen[1] <= 6


@pytest.mark.parametrize(("beam_size", "beams"), [(1, [1, 1, 1]), (3, [1, 3, 3]), (9, [1, 4, 9])])
def test_a_beam_begins_with_one_hypothesis(beam_size, beams):
    """There is one beginning, bos, and of a vocabulary of four four ways to go on with it."""
    decoder = TableDecoder(4, 3, [0, 1])
    for table in decoder.tables:
        for logits in table.values():
            logits[EOS] = -9.0
    search_toy(decoder, [3, 3], beam_size=beam_size, alpha=0.0)
    assert decoder.beams_seen == beams


def test_the_length_penalty_decides_between_a_short_and_a_long_sentence():
    """eos at once has probability 0.5; the sentence of three tokens 0.45, which alpha 1 prefers."""
    short, long = (BOS, EOS), (BOS, 3, 3, EOS)
    table = {
        (BOS,): torch.tensor([1e-9, 1e-9, 0.5, 0.5]).log(),
        (BOS, 3): torch.tensor([1e-9, 1e-9, 0.05, 0.95]).log(),
        (BOS, 3, 3): torch.tensor([1e-9, 1e-9, 0.95, 0.05]).log(),
    }
    for alpha, expected in ((0.0, short), (1.0, long)):
        decoder = TableDecoder(4, 1, [0])
        decoder.tables = [{**dict.fromkeys(_prefixes(4, 4), torch.zeros(4)), **table}]
        assert search_toy(decoder, [4], beam_size=2, alpha=alpha)[0][0].tokens == expected


@settings(max_examples=30, deadline=None)
@given(
    seed=seeds,
    levels=st.integers(1, 3),
    limits=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    alpha=alphas,
    nbest=st.integers(1, 6),
)
def test_a_beam_wide_enough_finds_the_best_scores_where_many_are_equal(
    seed, levels, limits, alpha, nbest
):
    """Logits of few different values tie; which of two equals comes first is nobody's promise."""
    decoder = TableDecoder(4, max(limits), [seed + place for place in range(len(limits))])
    for table in decoder.tables:
        for tokens in table:
            table[tokens] = (table[tokens].clamp(-1, 1) * levels).round()
    tables = list(decoder.tables)
    found = search_toy(decoder, limits, beam_size=4 ** max(limits), alpha=alpha, nbest=nbest)
    for table, limit, hypotheses in zip(tables, limits, found, strict=True):
        everything = exhaustive_search(table, 4, limit, alpha)
        score_of = {tokens: score for score, tokens in everything}
        scores = [score for score, _ in everything[:nbest]]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(scores)
        assert len({hypothesis.tokens for hypothesis in hypotheses}) == len(hypotheses)
        for hypothesis in hypotheses:
            assert score_of[hypothesis.tokens] == pytest.approx(hypothesis.score)


# What a search must begin with, and watching it


@settings(max_examples=30, deadline=None)
@given(
    seed=seeds,
    alpha=alphas,
    begins=st.lists(st.lists(st.sampled_from([0, 1, 3]), max_size=3), min_size=1, max_size=3),
)
def test_a_forced_prefix_leaves_the_best_of_all_that_begin_with_it(seed, alpha, begins):
    limit = 4
    decoder = TableDecoder(4, limit, [seed + place for place in range(len(begins))])
    tables = list(decoder.tables)
    forced = torch.tensor([begin + [FREE] * (3 - len(begin)) for begin in begins])
    found = search_toy(
        decoder, [limit] * len(begins), beam_size=4**limit, alpha=alpha, nbest=3, forced=forced
    )
    for table, begin, hypotheses in zip(tables, begins, found, strict=True):
        expected = [
            (score, tokens)
            for score, tokens in exhaustive_search(table, 4, limit, alpha)
            if list(tokens[1 : 1 + len(begin)]) == begin
        ][:3]
        assert [hypothesis.tokens for hypothesis in hypotheses] == [
            tokens for _, tokens in expected
        ]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(
            [score for score, _ in expected]
        )


def test_each_of_many_sentences_has_its_own_prefix():
    """160 rows at the second step: more than are taken at a time, and no two blocks alike."""
    generator = torch.Generator().manual_seed(0)
    tokens = [token for token in range(4) if token != EOS]
    begins = torch.tensor(tokens)[torch.randint(3, (40, 2), generator=generator)].tolist()
    decoder = TableDecoder(4, 4, list(range(40)))
    asked = {"beam_size": 4, "alpha": 0.6, "forced": torch.tensor(begins)}
    for begin, [best] in zip(begins, search_toy(decoder, [4] * 40, **asked), strict=True):
        assert list(best.tokens[1:3]) == begin


@settings(max_examples=30, deadline=None)
@given(
    seed=seeds,
    beam_size=st.integers(1, 4),
    alpha=alphas,
    limits=st.lists(st.integers(1, 5), min_size=1, max_size=3),
)
def test_the_steps_that_are_watched_are_those_of_the_search(seed, beam_size, alpha, limits):
    def build() -> TableDecoder:
        return TableDecoder(4, max(limits), [seed + place for place in range(len(limits))])

    steps: list[SearchStep] = []
    asked = {"beam_size": beam_size, "alpha": alpha, "nbest": 2}
    tables = build().tables
    found = search_toy(build(), limits, **asked, watch=steps.append)
    assert found == search_toy(build(), limits, **asked)  # watching changes nothing
    for sentence, (table, hypotheses) in enumerate(zip(tables, found, strict=True)):
        live, pool = {(BOS,): 0.0}, []
        of_sentence = [step for step in steps if step.sentence == sentence]
        assert [step.length for step in of_sentence] == list(range(1, len(of_sentence) + 1))
        for step in of_sentence:
            fates = {"kept": [], "ended": [], "pruned": [], "abandoned": []}
            totals = [extension.log_probability for extension in step.considered]
            assert totals == sorted(totals, reverse=True)
            assert len(totals) == len(live) * min(beam_size, 4)
            for place, extension in enumerate(step.considered):
                *before, token = extension.tokens
                total = live[tuple(before)] + table[tuple(before)].log_softmax(-1)[token].item()
                assert extension.log_probability == pytest.approx(total)
                assert extension.score == pytest.approx(penalised(extension.tokens, total, alpha))
                assert (extension.fate == "pruned") == (place >= beam_size)
                at_end = token == EOS or step.length == limits[sentence]
                assert (extension.fate == "ended") == (at_end and place < beam_size)
                fates[extension.fate].append(extension)
            live = {extension.tokens: extension.log_probability for extension in fates["kept"]}
            pool += fates["ended"]
            assert not (fates["kept"] and fates["abandoned"])
        assert live == {}
        pool.sort(key=lambda extension: -extension.score)
        assert [extension.tokens for extension in pool[:2]] == [h.tokens for h in hypotheses]


def _prefixes(vocab_size: int, max_len: int) -> list[tuple[int, ...]]:
    return [
        (BOS, *prefix)
        for length in range(max_len)
        for prefix in itertools.product(range(vocab_size), repeat=length)
    ]


@pytest.mark.parametrize("limit", [10, 100, 1000])
def test_a_live_hypothesis_is_followed_while_the_penalty_of_the_limit_could_save_it(limit):
    """At alpha 1 the pool's best scores -1; total -x ends at -x / penalty(limit) at best."""
    pool = Pool(limit, alpha=1.0, nbest=1)
    assert pool.can_change(-1e9)
    pool.add([BOS, EOS], -1.0)
    bound = (5 + limit) / 6
    assert pool.can_change(-0.999 * bound)
    assert not pool.can_change(-1.001 * bound)


def test_length_penalty_counts_eos_but_not_bos():
    assert length_penalty(1, 0.6) == pytest.approx(1.0)
    assert length_penalty(7, 0.6) == pytest.approx(2**0.6)
    assert length_penalty(7, 0.0) == 1.0


@pytest.mark.parametrize("wrong", [{"beam_size": 0}, {"alpha": -0.1}, {"nbest": 0}])
def test_settings_without_meaning_are_refused(wrong):
    with pytest.raises(ValueError, match="must be at least 1 and alpha from 0 to 100"):
        beam_search(toy_model(), some_sources(), **wrong)


# With a model


VARIANTS = [
    {},
    {"norm": "pre"},
    {"positions": "learned", "max_positions": 40},
    {"positions": "none", "tie_embeddings": False},
    {"d_k": 3, "d_v": 5, "attention_bias": True},
]


@pytest.mark.parametrize("changes", VARIANTS)
@pytest.mark.parametrize("beam_size", [1, 4])
def test_the_cache_changes_nothing(changes, beam_size):
    model, src = toy_model(**changes), some_sources()
    settings = {"beam_size": beam_size, "max_extra": MAX_EXTRA, "nbest": beam_size}
    cached = beam_search(model, src, **settings)
    recomputed = beam_search(model, src, **settings, use_cache=False)
    for ours, theirs in zip(cached, recomputed, strict=True):
        assert [hypothesis.tokens for hypothesis in ours] == [h.tokens for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-9)
    assert torch.equal(
        greedy_decode(model, src, MAX_EXTRA), greedy_decode(model, src, MAX_EXTRA, use_cache=False)
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_sentence_alone_is_translated_as_in_a_batch(seed):
    model, src = toy_model(seed), some_sources(seed)
    together = beam_search(model, src, max_extra=MAX_EXTRA, nbest=2)
    greedy_together = greedy_decode(model, src, MAX_EXTRA)
    for row in range(len(src)):
        alone = src[row : row + 1, src[row] != PAD]
        found = beam_search(model, alone, max_extra=MAX_EXTRA, nbest=2)[0]
        assert [h.tokens for h in found] == [h.tokens for h in together[row]]
        assert [h.score for h in found] == pytest.approx([h.score for h in together[row]])
        greedy = greedy_decode(model, alone, MAX_EXTRA)[0]
        assert torch.equal(greedy, greedy_together[row, : len(greedy)])
        assert (greedy_together[row, len(greedy) :] == PAD).all()


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_results_do_not_depend_on_the_size_of_the_batch(size, use_cache):
    """The same tokens; scores up to the last digits, as larger products add up in another order.

    In float32 those digits are larger and can decide between two translations that score nearly
    the same: hence the models here are in float64.
    """
    model, src = toy_model(), some_sources()
    asked = {"max_extra": MAX_EXTRA, "nbest": 3}
    together = beam_search(model, src, **asked)
    in_parts = [
        found
        for part in src.split(size)
        for found in beam_search(model, part, use_cache=use_cache, **asked)
    ]
    for ours, theirs in zip(in_parts, together, strict=True):
        assert [hypothesis.tokens for hypothesis in ours] == [h.tokens for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_beam_of_one_is_greedy(seed):
    model, src = toy_model(seed), some_sources(seed)
    greedy = greedy_decode(model, src, MAX_EXTRA)
    for row, [found] in enumerate(
        beam_search(model, src, beam_size=1, alpha=0.0, max_extra=MAX_EXTRA)
    ):
        assert list(found.tokens) == [token for token in greedy[row].tolist() if token != PAD]


def test_the_log_probability_is_the_models():
    model, src = toy_model(), some_sources()
    for row, hypotheses in enumerate(beam_search(model, src, max_extra=MAX_EXTRA, nbest=4)):
        for hypothesis in hypotheses:
            tokens = torch.tensor([hypothesis.tokens])
            with torch.no_grad():
                log_probabilities = model(src[row : row + 1], tokens[:, :-1]).log_softmax(-1)
            total = log_probabilities.gather(2, tokens[:, 1:, None]).sum().item()
            assert hypothesis.log_probability == pytest.approx(total)
            assert hypothesis.score == pytest.approx(penalised(hypothesis.tokens, total, 0.6))


def test_the_log_probability_of_a_translation_needs_no_search():
    """Every translation's is the sum over its tokens; without a banned one the others share its."""
    model, [row] = toy_model(), some_sources()[:1].tolist()
    source = [token for token in row if token != PAD]
    tokens = [BOS, 4, 6, EOS]
    with torch.no_grad():
        logits = model(torch.tensor([source]), torch.tensor([tokens[:-1]]))[0]  # (3, vocab)
    probabilities = logits.softmax(-1)
    expected = sum(math.log(probabilities[at, token]) for at, token in enumerate(tokens[1:]))
    assert log_probability(model, source, tokens) == pytest.approx(expected)
    left = 1 - probabilities[:, 5]
    expected -= float(left.log().sum())
    assert log_probability(model, source, tokens, banned=[5]) == pytest.approx(expected)


def test_no_sentence_has_no_translation():
    model, nothing = toy_model(), some_sources()[:0]
    assert beam_search(model, nothing) == []
    assert greedy_decode(model, nothing).shape == (0, 1)
    assert sample_decode(model, nothing).shape == (0, 1)


@pytest.mark.parametrize("search_one_by_one", [greedy_decode, sample_decode])
def test_weights_that_are_no_numbers_are_a_sentence(search_one_by_one):
    model = toy_model()
    with torch.no_grad():
        model.projection.weight.fill_(math.nan)
    with pytest.raises(FloatingPointError, match="output is not a number"):
        search_one_by_one(model, some_sources(), max_extra=MAX_EXTRA)


@pytest.mark.parametrize("use_cache", [True, False])
def test_translations_begin_with_their_prefixes(use_cache):
    model, src, prefix = toy_model(), some_sources(), some_prefixes()
    asked = {"max_extra": MAX_EXTRA, "use_cache": use_cache}
    free = beam_search(model, src, **asked)
    greedy = greedy_decode(model, src, prefix=prefix, **asked)
    for row, [found] in enumerate(beam_search(model, src, prefix=prefix, **asked)):
        wanted = [token for token in prefix[row].tolist() if token != PAD]
        assert list(found.tokens[1 : 1 + len(wanted)]) == wanted
        assert greedy[row, 1 : 1 + len(wanted)].tolist() == wanted
        if not wanted:
            assert found.tokens == free[row][0].tokens
            assert found.score == pytest.approx(free[row][0].score)
        tokens = torch.tensor([found.tokens])
        with torch.no_grad():
            log_probabilities = model(src[row : row + 1], tokens[:, :-1]).log_softmax(-1)
        total = log_probabilities.gather(2, tokens[:, 1:, None]).sum().item()
        assert found.log_probability == pytest.approx(total)  # the forced tokens count as well


def test_a_prefix_of_the_best_translation_changes_nothing():
    """With the best one's own first tokens forced, the narrower search finds it again."""
    model, src = toy_model(), some_sources()
    for row, [best] in enumerate(beam_search(model, src, max_extra=MAX_EXTRA)):
        begin = [token for token in best.tokens[1:3] if token != EOS]
        [[found]] = beam_search(
            model, src[row : row + 1], max_extra=MAX_EXTRA, prefix=torch.tensor([begin]).long()
        )
        assert found.tokens == best.tokens


@pytest.mark.parametrize(
    ("prefix", "complaint"),
    [
        ([[5]] * 5, "5 prefixes were given for 6 sentences"),
        ([[5, EOS]] * 6, "holds bos or eos"),
        ([[BOS, 5]] * 6, "holds bos or eos"),
        ([[PAD, 5]] * 6, "padding before a token"),
        ([[5] * 8] * 6, "has 8 tokens and its translation may have 7"),
    ],
)
@pytest.mark.parametrize("decode", [beam_search, greedy_decode])
def test_a_prefix_without_meaning_is_refused(decode, prefix, complaint):
    with pytest.raises(ValueError, match=complaint):
        decode(toy_model(), some_sources(), max_extra=MAX_EXTRA, prefix=torch.tensor(prefix))


def test_padding_and_the_start_sign_are_never_generated():
    model, src = toy_model(tie_embeddings=False), some_sources()
    prefer(model, [PAD, BOS], 30.0)
    for row, [found] in enumerate(beam_search(model, src, max_extra=MAX_EXTRA)):
        assert not {PAD, BOS} & set(found.tokens[1:]), row
    greedy = greedy_decode(model, src, MAX_EXTRA)
    assert not (greedy[:, 1:] == BOS).any()
    for row in greedy[:, 1:].tolist():
        last = max(place for place, token in enumerate(row) if token != PAD)
        assert PAD not in row[:last]


def test_a_model_that_never_ends_is_stopped_at_source_length_plus_50():
    model, src = toy_model(tie_embeddings=False), some_sources()
    prefer(model, [EOS], -60.0)
    lengths = (src != PAD).sum(dim=1).tolist()
    for length, [found] in zip(lengths, beam_search(model, src, beam_size=2), strict=True):
        assert len(found.tokens) - 1 == length + 50
        assert EOS not in found.tokens
    greedy = greedy_decode(model, src)
    assert (greedy[:, 1:] != PAD).sum(dim=1).tolist() == [length + 50 for length in lengths]


def test_the_memory_is_projected_once_however_many_beams():
    model, src = toy_model(), some_sources()
    projected = []
    for layer in model.decoder.layers:
        layer.cross_attention.key_projection.register_forward_hook(
            lambda module, inputs, output: projected.append(tuple(inputs[0].shape))
        )
    beam_search(model, src, beam_size=5, max_extra=MAX_EXTRA)
    assert projected == [(6, 7, 16)] * model.config.num_layers


def test_dropout_is_off_while_searching_and_the_mode_is_given_back():
    model, src = toy_model(dropout=0.5), some_sources()
    expected = beam_search(model.eval(), src, max_extra=MAX_EXTRA)
    model.train()
    assert beam_search(model, src, max_extra=MAX_EXTRA) == expected
    assert model.training


def test_half_precision_weights_are_searched_and_totals_added_in_float32():
    """In bfloat16 a total of 20 is off by as much as 0.06, and two of these by more than 0.05."""
    model, src = toy_model().bfloat16(), some_sources()
    for row, [found] in enumerate(beam_search(model, src, max_extra=MAX_EXTRA)):
        tokens = torch.tensor([found.tokens])
        with torch.inference_mode():
            decoder = PrefixDecoder(model, src[row : row + 1], 1)
            total = sum(
                decoder.next_logits(tokens[:, None, :length])[0, 0]
                .float()
                .log_softmax(-1)[tokens[0, length]]
                .item()
                for length in range(1, tokens.shape[1])
            )
        # A processor may round products of one row and of many alike or not: a bit of a logit.
        assert found.log_probability == pytest.approx(total, abs=0.02)


def test_log_probabilities_of_half_precision_logits_are_taken_in_float32():
    logits = torch.randn(2, 3, 5000, generator=torch.Generator().manual_seed(0)).bfloat16()
    tokens, reached = extensions(logits, torch.zeros(2, 3), 4, ())
    expected = logits.float().log_softmax(-1).gather(2, tokens)
    assert torch.allclose(reached, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("decode", [beam_search, greedy_decode, sample_decode])
def test_a_sentence_may_have_a_token_at_least(decode):
    src = some_sources()
    shortest = int((src != PAD).sum(1).min())
    with pytest.raises(ValueError, match=f"leaves a sentence no token: its source has {shortest}"):
        decode(toy_model(), src, max_extra=-shortest)


def test_what_may_never_be_generated_is_no_hypothesis():
    """Three of five tokens may be: a beam of five has two empty places, at the limit too."""
    decoder = TableDecoder(5, 1, [0])
    asked = {"beam_size": 5, "alpha": 0.6, "nbest": 5, "never": (0, 1)}
    [found] = search_toy(decoder, [1], **asked)
    assert sorted(one.tokens[1] for one in found) == [2, 3, 4]


def test_of_equal_scores_the_earlier_comes_first():
    """Also where the later is shorter or longer."""
    for first, second in (([1, 5, 2], [1, 2]), ([1, 2], [1, 5, 2])):
        pool = Pool(limit=9, alpha=0.0, nbest=2)
        pool.add(first, -1.0)
        pool.add(second, -1.0)
        assert [list(one.tokens) for one in pool.best] == [first, second]


def test_no_sentence_gives_no_hypothesis():
    assert beam_search(toy_model(), torch.empty(0, 3, dtype=torch.long)) == []
