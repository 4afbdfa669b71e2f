"""What the museum's steps and checks do, one by one: where a slip in them would be silent."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.data import (
    EncodedSplit,
    ParallelCorpus,
    Split,
    Vocabulary,
    encode_split,
)
from annotated_transformer.decoding.incremental import PrefixDecoder
from annotated_transformer.museum import caught_by, checks, exhibit, recipe, wrong_steps
from annotated_transformer.museum.bugs import Bug
from annotated_transformer.museum.recipe import CONFIG, Recipe, Trained
from annotated_transformer.museum.system import Log
from annotated_transformer.museum.wrong_steps import Swapped
from annotated_transformer.transformer import Transformer
from museum_systems import small, system


def test_the_rate_rises_falls_as_a_root_and_then_to_zero() -> None:
    assert recipe.rate(150) == pytest.approx(2.5e-3)
    assert recipe.rate(300) == pytest.approx(5e-3)
    assert recipe.rate(600) == pytest.approx(5e-3 / math.sqrt(2))
    assert recipe.rate(901) == pytest.approx(5e-3 * math.sqrt(300 / 901) / 2)
    assert 0 < recipe.rate(1200) < 1e-5
    assert recipe.rate(1300) == 0
    assert wrong_steps.rate_stepped_twice(70) == recipe.rate(140)


class Repeats(Transformer):
    """Says at each place the token that it reads there, and at padding another one."""

    def forward(self, src: Tensor, tgt: Tensor, *_: Tensor) -> Tensor:  # type: ignore[override]
        said = tgt.masked_fill(tgt == self.config.pad_id, 7)
        return 30 * torch.nn.functional.one_hot(said, self.config.vocab_size).float()


@pytest.mark.usefixtures("tiny")
def test_an_examination_counts_tokens_without_padding_and_pairs_each_with_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A translator that writes its reference is right everywhere, in any batch."""
    monkeypatch.setattr(exhibit, "diagnose", lambda _: [])
    bug = Bug(
        "perfect",
        "",
        "",
        {
            "read_and_labels": lambda tgt: (tgt[:, 1:], tgt[:, 1:]),
            "write": lambda recipe, model, src, tgt: tgt,
        },
    )
    found = exhibit.examine(bug, 0, Trained(Repeats(CONFIG), [2.0] * 60 + [1.0] * 40, []), 0.0)
    assert (found.accuracy, found.bleu, found.exact, found.length_ratio) == (1.0, 100.0, 100.0, 1.0)
    assert found.curve == [2.0, 1.2]
    assert found.empty == 0
    assert found.travelling == "Die Frau ruft den Lehrer an, der das alte Buch liest."


def test_what_was_learned_is_compared_with_the_last_steps(
    corpus: ParallelCorpus, vocabulary: Vocabulary
) -> None:
    asked = system(Recipe(), corpus, vocabulary)  # untrained: a loss of about 8
    for losses, mark in (([99.0] * 40 + [1.0] * 20, "wrong"), ([1.0] * 40 + [99.0] * 20, "fine")):
        log = Log(range(1, 61), losses, [])
        assert checks.kept_weights(replace(asked, log=log)).mark == mark
    every_50_steps = Log([50, 100, 150], [99.0, 99.0, 1.0], [])
    assert checks.kept_weights(replace(asked, log=every_50_steps)).mark == "wrong"
    of_no_code = replace(asked, log=every_50_steps, own_code=False)
    assert checks.kept_weights(of_no_code).bug == ""


def test_a_rate_that_is_a_little_off_is_wrong_and_no_bug_of_ours(
    corpus: ParallelCorpus, vocabulary: Vocabulary
) -> None:
    asked = system(Recipe(), corpus, vocabulary)
    steps = range(1, 1201)
    off = Log(steps, [], [1.01 * recipe.rate(step) for step in steps])
    finding = checks.rates(replace(asked, log=off))
    assert (finding.mark, finding.bug) == ("wrong", "")


class IgnoresItsMask(MultiHeadAttention):
    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        return super().attend(queries, keys, values, None if mask is None else mask | True)


def test_what_is_no_bug_of_ours_gets_no_name_of_ours(
    corpus: ParallelCorpus, vocabulary: Vocabulary
) -> None:
    unmasked = Recipe(build=Swapped(MultiHeadAttention, IgnoresItsMask))
    complaint = checks.first_complaint(checks.diagnose(system(unmasked, corpus, vocabulary)))
    assert complaint
    assert complaint.bug == ""
    assert "equation 1" in complaint.says


def test_embeddings_that_are_meant_to_be_unscaled_are_fine(
    corpus: ParallelCorpus, vocabulary: Vocabulary
) -> None:
    asked = system(Recipe(), corpus, vocabulary)
    config = small.with_changes(embedding_scale=False)
    assert checks.embeddings(replace(asked, config=config)).bug == ""
    assert checks.embeddings(replace(asked, config=config)).mark == "wrong"
    meant = replace(asked, config=config, model=Transformer(config))
    assert checks.embeddings(meant).mark == "fine"


def test_lengths_are_of_all_and_of_the_longer_half(
    corpus: ParallelCorpus, vocabulary: Vocabulary
) -> None:
    """The longer half of the references is written to its half."""
    wanted = sorted(map(len, corpus["valid"].target))[len(corpus["valid"].target) // 2]

    def write(_: Recipe, __: Transformer, ___: Tensor, tgt: Tensor) -> Tensor:
        rows = []
        for ids in tgt.tolist():
            text = vocabulary.decode(ids)
            said = text if len(text) < wanted else text[: len(text) // 2]
            rows.append(torch.tensor([1, *vocabulary.encode(said), 2]))
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)

    says = checks.lengths(system(Recipe(write=write), corpus, vocabulary)).says
    ratio, of_longer = (float(x.split(" times")[0].split()[-1]) for x in says.split(", ")[:2])
    assert of_longer == pytest.approx(0.5, abs=0.06)
    assert ratio > of_longer + 0.1


def test_targets_are_cut_to_ten_tokens_with_their_end(
    corpus: ParallelCorpus, vocabulary: Vocabulary
) -> None:
    whole = encode_split(corpus["train"], vocabulary).target
    cut = wrong_steps.truncated(corpus["train"], vocabulary).target
    assert max(map(len, whole)) > max(map(len, cut)) == 10
    for ids, all_of_it in zip(cut, whole, strict=True):
        assert list(ids) in (list(all_of_it), [*all_of_it[:9], 2])


def test_padding_is_attended_in_the_encoder_too() -> None:
    model = wrong_steps.AttendsToPadding(small).eval()
    src = torch.tensor([[5, 6, 7]])
    padded = torch.tensor([[5, 6, 7, 0, 0]])
    with torch.no_grad():
        assert (model.encode(padded)[:, :3] - model.encode(src)).abs().max() > 1e-3


def test_with_the_references_in_sight_the_best_next_tokens_are_written() -> None:
    model = Transformer(CONFIG).eval()
    src, tgt = torch.randint(3, 100, (2, 5)), torch.randint(3, 100, (2, 7))
    written = wrong_steps.given_the_references(Recipe(), model, src, tgt)
    with torch.no_grad():
        assert torch.equal(written[:, 1:], model(src, tgt[:, :-1]).argmax(-1))


def test_a_cache_that_is_not_reordered_stays_in_the_old_ranks() -> None:
    """After a swap it answers as if the ranks had not changed, but for the newest token."""
    torch.manual_seed(0)
    model = Transformer(small).eval()
    src, beams = torch.randint(3, 100, (1, 5)), torch.tensor([[[1, 8, 4], [1, 9, 5]]])
    ours, plain = wrong_steps.NotReordered(model, src, 2), PrefixDecoder(model, src, 2)
    with torch.no_grad():
        ours.next_logits(beams[..., :1])
        ours.next_logits(beams[..., :2])
        ours.select(torch.tensor([0]), torch.tensor([[1, 0]]))
        swapped = beams.flip(1)
        as_it_was = torch.cat([beams[..., :2], swapped[..., 2:]], dim=-1)
        torch.testing.assert_close(ours.next_logits(swapped), plain.next_logits(as_it_was))


def test_the_shift_is_looked_at_on_both_sides() -> None:
    for wrong in (lambda tgt: (tgt[:, :-1], tgt[:, :-1]), lambda tgt: (tgt[:, 1:], tgt[:, 1:])):
        with pytest.raises(AssertionError):
            caught_by.what_is_said_was_not_read(Recipe(read_and_labels=wrong))


@pytest.mark.parametrize("name", ["feed_forward", ""])
def test_what_is_no_number_is_said_first_and_stops_nothing(
    name: str, corpus: ParallelCorpus, vocabulary: Vocabulary
) -> None:
    asked = system(Recipe(), corpus, vocabulary)
    for weight_name, weight in asked.model.named_parameters():
        if name in weight_name:
            weight.data.fill_(math.nan)
    first, *others = checks.diagnose(asked)
    assert first.mark == "wrong"
    assert "no number" in first.says
    assert len(others) == len(checks.CHECKS) - 1
    assert not checks.padding(asked).says.startswith("padding moves no")


def test_near_relatives_of_a_bug_do_not_get_its_name(
    corpus: ParallelCorpus, vocabulary: Vocabulary
) -> None:
    def counted(logits: Tensor, labels: Tensor) -> Tensor:
        return recipe.Recipe.loss(logits, labels) * (labels != 0).sum() / labels.numel()

    def lower_cased(split: Split, vocabulary: Vocabulary) -> EncodedSplit:
        return encode_split(Split(split.source, [t.lower() for t in split.target]), vocabulary)

    asked = system(Recipe(), corpus, vocabulary)
    assert checks.loss_on_padding(replace(asked, recipe=Recipe(loss=counted))).bug == ""
    assert checks.targets(replace(asked, recipe=Recipe(ids=lower_cased))).bug == ""
    own_target = Transformer(small)
    own_target.target_embedding.table = torch.nn.Embedding(2000, 32)
    assert checks.ties(replace(asked, model=own_target)).bug == ""
    plain_source = Transformer(small)
    plain_source.source_embedding.scale = 1.0
    assert checks.embeddings(replace(asked, model=plain_source)).bug == ""
    one_line = Log([50], [1.0], [1.05 * recipe.rate(50)])
    assert checks.rates(replace(asked, log=one_line)).bug == ""
    for answer in (checks.loss_on_padding, checks.targets):
        assert answer(asked).mark == "fine"
