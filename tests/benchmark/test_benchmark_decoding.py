"""`benchmark decoding` asks everybody for the same, and what others find is what we find."""

import json
import math
import re
import sys
from dataclasses import replace

import pytest
import torch

from annotated_transformer.benchmark import decoders as benchmark_decoders
from annotated_transformer.benchmark.decoders import (
    AS_LONG_AS_OURS,
    CTRANSLATE2,
    NO_CACHE,
    OURS,
    Decoder,
    Task,
    as_tensors,
    batches_by_length,
    hugging_face_decode,
    line_up,
    until,
)
from annotated_transformer.benchmark.decoding import (
    Agreement,
    DecodingReport,
    as_text,
    compare,
    measure_decoding,
    score,
    speed_of,
)
from annotated_transformer.cli import main
from annotated_transformer.data import generate_corpus
from annotated_transformer.decoding import beam_search
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.translation import source_ids
from annotated_transformer.sharing.ports import hugging_face_of
from annotated_transformer.shipped import load_shipped
from annotated_transformer.transformer import Transformer
from sampling import one_in
from toy_search import BOS, EOS, MAX_EXTRA, PAD, some_sources, toy_model

MARIAN = "Hugging Face Marian"


@pytest.fixture(scope="module")
def shipped() -> tuple[Transformer, list[list[int]]]:
    """The translator that comes with the package, and sentences that it did not train on."""
    model, vocabulary = load_shipped()
    return model, source_ids(vocabulary, generate_corpus()["valid"].source[:100])


def generate(model: Transformer, src: torch.Tensor, beam_size: int, alpha: float, length: int):
    """Hugging Face's beam search: tokens from bos to eos, and scores."""
    twin = hugging_face_of(model)
    found = twin.generate(
        input_ids=src,
        attention_mask=(src != PAD).long(),
        num_beams=beam_size,
        length_penalty=alpha,
        max_new_tokens=length,
        do_sample=False,
        suppress_tokens=[PAD, BOS],
        output_scores=True,
        return_dict_in_generate=True,
    )
    tokens = [tuple(until(row, EOS)) for row in found.sequences.tolist()]
    return tokens, found.sequences_scores.tolist()


# --- our search and Hugging Face's ----------------------------------------------------------------
#
# Where they agree: eos counts in a translation's length and bos does not; a translation that the
# length limit ends is scored as it stands; ties aside, alpha = 0 ranks by the log-probability.
#
# Where they differ:
#   - the length penalty. Theirs divides by length ** alpha, ours by ((5 + length) / 6) ** alpha;
#   - a beam that has seen an eos. Ours keeps the beam_size best extensions, and those that end
#     leave the beam narrower; theirs looks at 2 * beam_size extensions and keeps beam_size that go
#     on. So theirs may meet a translation that ours has pruned;
#   - stopping. Ours stops when nothing can change the result any more; theirs (early_stopping =
#     False) when the best live hypothesis would not do at its present length, which may be too
#     soon where alpha is above 0;
#   - the limit. Theirs is one for the batch, ours one a sentence.


@pytest.mark.parametrize("seed", range(4))
def test_both_are_exhaustive_search_where_the_beam_is_wide_enough(seed):
    """Four tokens besides eos and three steps: 16 hypotheses before the last are all there are."""
    torch.manual_seed(seed)
    small = Transformer(replace(toy_model().config, vocab_size=7)).double().eval()
    src = torch.tensor([[3, 4, EOS], [5, 5, EOS], [6, 3, EOS]])
    theirs, scores = generate(small, src, 20, 0.0, 3)
    ours = beam_search(small, src, 20, alpha=0.0, max_extra=0)  # three tokens, as in the source
    for [best], tokens, value in zip(ours, theirs, scores, strict=True):
        assert best.tokens == tokens
        assert best.log_probability == pytest.approx(value)


@pytest.mark.parametrize("alpha", one_in(2, [1.0, 0.0]))
def test_translations_are_those_of_hugging_faces_generate(shipped, alpha):
    """At least 95 of 100 are identical, and each of the others scores what ours does."""
    model, sources = shipped
    [src] = as_tensors(sources, [list(range(len(sources)))], model)
    theirs, scores = generate(model, src, 4, alpha, src.shape[1] + 50)
    ours = [best for [best] in beam_search(model, src, 4, alpha)]
    task = Task(model, 4, alpha, fixed_length=False)
    identical = 0
    for source, best, tokens, value in zip(sources, ours, theirs, scores, strict=True):
        if best.tokens == tokens:
            identical += 1
            length = len(tokens) - 1  # eos counts, bos does not
            assert value * length**alpha == pytest.approx(best.log_probability, abs=2e-4)
        else:
            assert score(task, source, tokens) == pytest.approx(best.score, abs=1e-3)
    assert identical >= 95


# --- the contestants ------------------------------------------------------------------------------


def some_task(**changes) -> tuple[Task, list[list[int]]]:
    sources = [[token for token in row if token != PAD] for row in some_sources().tolist()]
    return Task(toy_model(**changes).float(), 3, 0.6, fixed_length=True), sources


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_everybody_finds_the_same_with_random_weights_of_fixed_length(norm):
    task, sources = some_task(norm=norm)
    everybody, missing = line_up(task)
    assert not missing
    names = {one.name for one in everybody}
    assert {OURS, NO_CACHE} < names
    assert CTRANSLATE2 in names
    assert any("Hugging Face" in name for name in names)
    src = as_tensors(sources, [[0, 3, 5]], task.model)[0]
    expected = everybody[0].decode(src)
    for tokens in expected:
        assert len(tokens) == 1 + src.shape[1]
        assert not {PAD, BOS, EOS} & set(tokens[1:])
    for one in everybody:
        if one.precision == "fp32":
            assert one.decode(src) == expected, one.name
        assert [len(tokens) for tokens in one.decode(src)] == [1 + src.shape[1]] * 3


def test_everybody_ends_where_eos_is(shipped):
    model, sources = shipped
    task = Task(model, 4, 0.0, fixed_length=False)
    src = as_tensors(sources, [list(range(20))], model)[0]
    everybody, _ = line_up(task)
    expected = everybody[0].decode(src)
    assert len({len(tokens) for tokens in expected}) > 2
    for one in everybody:
        found = one.decode(src)
        assert all(tokens[0] == BOS and tokens[-1] == EOS for tokens in found)
        same = sum(ours == theirs for ours, theirs in zip(expected, found, strict=True))
        assert same >= (19 if one.precision == "fp32" else 15), (one.name, one.precision)


def test_building_the_others_leaves_our_weights_alone(shipped):
    model, _ = shipped
    before = {name: values.clone() for name, values in model.state_dict().items()}
    line_up(Task(model, 4, 0.6, fixed_length=True))
    for name, values in model.state_dict().items():
        assert torch.equal(values, before[name]), name


def test_a_peer_that_never_ends_early_takes_more_steps(monkeypatch, shipped):
    model, sources = shipped
    task = Task(model, 4, 0.6, fixed_length=False)
    src = as_tensors(sources, [list(range(20))], model)[0]
    twin = hugging_face_of(model)
    monkeypatch.setattr(benchmark_decoders, "hugging_face_of", lambda *_: twin)
    steps = []
    twin.register_forward_hook(lambda *_: steps.append(None))
    hugging_face_decode(task, torch.float32)(src)
    at_its_default = len(steps)
    hugging_face_decode(task, torch.float32, "never")(src)
    assert len(steps) - at_its_default > at_its_default


def test_who_is_not_installed_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    everybody, missing = line_up(some_task()[0])
    assert [one.name for one in everybody] == [OURS, OURS, NO_CACHE, NO_CACHE]
    assert missing == [MARIAN, CTRANSLATE2]


@pytest.mark.parametrize(
    "changes",
    [
        {"tie_embeddings": False},
        {"positions": "none"},
        {"d_k": 3},
        {"norm": "none"},
        {"attention": "dot-product"},
        {"residual": False},
        {"embedding_scale": False},
    ],
)
def test_a_model_that_others_cannot_hold_is_a_sentence(changes):
    with pytest.raises(CallError, match="take another run"):
        hugging_face_of(toy_model(**changes))


def test_batches_hold_sentences_of_similar_length():
    sources = [[3] * length for length in (5, 2, 9, 2, 4, 30)]
    batches = batches_by_length(sources, 10)
    assert batches == [[1, 3], [4, 0], [2], [5]]
    assert sorted(index for batch in batches for index in batch) == list(range(6))


# --- the measurement ------------------------------------------------------------------------------


def test_the_score_is_the_searchs():
    model, src = toy_model(), some_sources()
    task = Task(model, 4, 0.6, fixed_length=False)
    for row, [best] in enumerate(beam_search(model, src, max_extra=MAX_EXTRA)):
        source = [token for token in src[row].tolist() if token != PAD]
        assert score(task, source, best.tokens) == pytest.approx(best.score)


def test_differences_are_counted_by_score():
    model, src = toy_model(), some_sources()
    task = Task(model, 4, 0.6, fixed_length=False)
    sources = [[token for token in row if token != PAD] for row in src.tolist()]
    found = beam_search(model, src, max_extra=MAX_EXTRA, nbest=2)
    best, second = ([list(pair[place].tokens) for pair in found] for place in (0, 1))
    mixed = [*best[:2], *second[2:]]
    assert compare(task, sources, [best, mixed]) == [Agreement(6, 0, 0, 0), Agreement(2, 0, 4, 0)]
    assert compare(task, sources, [mixed, best])[1] == Agreement(2, 0, 0, 4)


def test_ratio_is_that_of_each_round():
    one = Decoder("theirs", "fp32", lambda src: [])
    speed = speed_of(one, [2.0, 4.0, 12.0], [1.0, 2.0, 4.0], 8, Agreement(8, 0, 0, 0))
    assert (speed.ours_is, speed.low, speed.high) == (2.0, 2.0, 2.5)
    assert speed.sentences_per_second == 2.0
    alone = speed_of(one, [3.0], [1.5], 6, Agreement(6, 0, 0, 0))
    assert (alone.ours_is, alone.low, alone.high) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize("clock", ["wall", "processor"])
def test_report_has_everybody(monkeypatch, clock):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    task, sources = some_task()
    told: list[tuple[int, int]] = []
    report = measure_decoding(
        "toy", task, sources, 8, 2, clock, lambda done, of: told.append((done, of))
    )
    names = [OURS, NO_CACHE, MARIAN, MARIAN + AS_LONG_AS_OURS]
    assert [speed.name for speed in report.speeds] == [name for name in names for _ in range(2)]
    assert report.missing == [CTRANSLATE2]
    assert told[-1] == (16, 16)
    assert report.best_of(OURS).ours_is == 1.0
    assert report.speeds[0].agreement == Agreement(len(sources), 0, 0, 0)
    assert report.batches > 1
    lengths = [len(sources[batch[-1]]) * len(batch) for batch in batches_by_length(sources, 8)]
    assert report.tokens == sum(lengths)
    text = "\n".join(as_text(report))
    assert text.count("this row is its best") == 1
    assert re.search(rf"{CTRANSLATE2} +not installed", text)
    assert f"{len(sources)} of {len(sources)} as ours in fp32" in text
    written = json.loads(json.dumps(report.to_dict()))
    assert all(math.isfinite(speed["ours_is"]) for speed in written["speeds"])


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_command_prints_one_object(monkeypatch, capfd):
    monkeypatch.setattr(benchmark_decoders, "CTRANSLATE2", "Nobody")
    call = ["benchmark", "decoding", "--sizes", "trained", "--sentences", "6", "--rounds", "1"]
    assert main([*call, "--beam", "2", "--max-tokens", "40", "--format", "json"]) == 0
    said = capfd.readouterr()
    report = json.loads(said.out)
    [shipped] = report["decoding"]
    assert (shipped["weights"], shipped["sentences"], shipped["beam"]) == ("shipped", 6, 2)
    assert shipped["batches"] > 1
    assert "shipped: turn 1 of " in said.err


@pytest.mark.parametrize(
    ("policy", "threads", "warned"),
    [("", "2", True), ("active", "2", False), ("passive", "2", True), ("", "1", False)],
)
@pytest.mark.slow
def test_threads_that_sleep_are_warned_of(monkeypatch, capfd, policy, threads, warned):
    before = torch.get_num_threads()
    nothing = DecodingReport("shipped", 0, 0, 0, 0, 4, 0.6, "wall", 0, [], [])
    monkeypatch.setenv("OMP_WAIT_POLICY", policy)
    monkeypatch.setattr(
        "annotated_transformer.benchmark.decoding.measure_decoding", lambda *given: nothing
    )
    try:
        call = ["benchmark", "decoding", "--sizes", "trained", "--threads", threads]
        assert main([*call, "--format", "json"]) == 0
    finally:
        torch.set_num_threads(before)
    assert ("set OMP_WAIT_POLICY=active" in capfd.readouterr().err) == warned


@pytest.mark.parametrize("options", [["--sizes", "trained"], ["--run-dir", "somewhere"]])
def test_training_has_no_trained_weights(options, capfd):
    assert main(["benchmark", "training", *options]) == 2
    assert "is for decoding: training begins with random weights" in capfd.readouterr().err
