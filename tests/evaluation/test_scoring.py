"""Scores and their signatures; perplexity from the plain likelihood."""

import math
from collections import Counter
from importlib.metadata import version
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from annotated_transformer.config import TransformerConfig
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.likelihood import corpus_likelihood
from annotated_transformer.evaluation.scoring import (
    PROTOCOLS,
    MosesPreparation,
    score_corpus,
)
from annotated_transformer.transformer import Transformer

REFERENCES = [
    "Ein Mann mit Hut liest die „Zeitung“, sagt er.",
    "Zwei Hunde laufen über grünes Gras.",
    "Das Kind isst ein Eis.",
]


def values(hypotheses: list[str], references: list[str]) -> dict[str, float]:
    return {score.name: score.value for score in score_corpus(hypotheses, references)}


def test_the_references_themselves_score_100():
    assert values(REFERENCES, REFERENCES) == pytest.approx(dict.fromkeys(PROTOCOLS, 100.0))


def test_case_and_quotation_marks_count_only_in_the_cased_protocols():
    scores = values([line.lower().replace("„", '"') for line in REFERENCES], REFERENCES)
    assert scores["lower-tokenised"] == pytest.approx(100.0)
    assert scores["cased"] < 60
    assert scores["exact-match"] == 0
    assert scores["chrf"] < 100


def test_moses_preparation_is_that_of_the_published_scores():
    prepare = MosesPreparation("de")
    assert (
        prepare("Ein Mann mit Hut liest die „Zeitung“, sagt er.")
        == "ein mann mit hut liest die &quot; zeitung &quot; , sagt er ."
    )
    assert prepare("Ein rot-weißer Ball – groß.") == "ein rot-weißer ball - groß ."
    assert MosesPreparation("en")("A dog's ball.") == "a dog &apos;s ball ."


def test_every_bleu_names_its_protocol():
    signature = {
        score.name: score.signature for score in score_corpus(REFERENCES, REFERENCES, language="de")
    }
    assert "|case:mixed|" in signature["cased"]
    assert "|tok:13a|" in signature["cased"]
    assert "|case:lc|" in signature["lower-tokenised"]
    assert "|tok:moses-de-normalised-sacremoses-" in signature["lower-tokenised"]
    for name in ("cased", "lower-tokenised", "chrf"):
        assert f"version:{version('sacrebleu')}" in signature[name]


def plain_bleu(hypotheses: list[list[str]], references: list[list[str]]) -> float:
    """BLEU by its definition: clipped n-gram matches of the corpus, brevity penalty."""
    precisions = []
    for n in range(1, 5):
        matches = total = 0
        for ours, theirs in zip(hypotheses, references, strict=True):
            found = Counter(tuple(ours[i : i + n]) for i in range(len(ours) - n + 1))
            wanted = Counter(tuple(theirs[i : i + n]) for i in range(len(theirs) - n + 1))
            matches += sum(min(found[gram], wanted[gram]) for gram in found)
            total += sum(found.values())
        precisions.append(matches / total)
    length = sum(map(len, hypotheses)) / sum(map(len, references))
    brevity = min(1.0, math.exp(1 - 1 / length))
    return 100 * brevity * math.exp(sum(map(math.log, precisions)) / 4)


words = st.lists(st.sampled_from(["haus", "hund", "der", "und"]), min_size=0, max_size=9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(words, words), min_size=1, max_size=5))
def test_bleu_is_the_definition_over_the_whole_corpus(pairs):
    # One pair in common, so that no precision is zero and none is smoothed.
    common = ["der", "hund", "und", "das", "haus"]
    pairs = [*pairs, (common, common)]
    hypotheses, references = ([pair[side] for pair in pairs] for side in (0, 1))
    expected = plain_bleu(hypotheses, references)
    scores = values(
        [" ".join(line) for line in hypotheses], [" ".join(line) for line in references]
    )
    assert scores["lower-tokenised"] == pytest.approx(expected)
    assert scores["cased"] == pytest.approx(expected)


def test_exact_match_is_a_percentage_of_whole_lines():
    hypotheses = [REFERENCES[0], REFERENCES[1] + " ", "Das Kind isst."]
    assert values(hypotheses, REFERENCES)["exact-match"] == pytest.approx(200 / 3)


def test_a_pair_of_empty_lines_is_not_a_match_and_not_a_miss():
    (plain,) = score_corpus(["a b", "c"], ["a b", "d"], ["exact-match"])
    (score,) = score_corpus(["a b", "", "c", " \t"], ["a b", "", "d", ""], ["exact-match"])
    assert score.value == plain.value == pytest.approx(50)
    assert plain.signature == "nrefs:1|case:mixed|whole-lines"
    assert score.signature == f"{plain.signature}|empty-pairs-skipped:2"


def test_an_empty_line_against_text_is_a_miss():
    (score,) = score_corpus(["", "a", "b"], ["a", "", "b"], ["exact-match"])
    assert score.value == pytest.approx(100 / 3)
    assert "skipped" not in score.signature


def test_nothing_but_empty_pairs_is_a_sentence():
    with pytest.raises(CallError, match="all 2 translations and their references are empty"):
        score_corpus(["", " "], ["", ""], ["exact-match"])


def test_unequal_line_counts_are_a_sentence():
    with pytest.raises(CallError, match="2 translations and 3 references"):
        score_corpus(REFERENCES[:2], REFERENCES)


def test_nothing_to_score_is_a_sentence():
    with pytest.raises(CallError, match="nothing to score"):
        score_corpus([], [])


def test_an_unknown_protocol_is_a_sentence():
    with pytest.raises(CallError, match="no scoring protocol 'blue'; choose from cased"):
        score_corpus(REFERENCES, REFERENCES, ["blue"])


# Likelihood


def toy_model() -> Transformer:
    torch.manual_seed(1)
    config = TransformerConfig(vocab_size=11, d_model=8, d_ff=12, num_heads=2, num_layers=1)
    return Transformer(config)


def batch(pairs: list[tuple[list[int], list[int]]]) -> SimpleNamespace:
    def padded(rows: list[list[int]]) -> torch.Tensor:
        longest = max(map(len, rows))
        return torch.tensor([row + [0] * (longest - len(row)) for row in rows])

    return SimpleNamespace(
        src=padded([source for source, _ in pairs]), tgt=padded([target for _, target in pairs])
    )


PAIRS = [
    ([5, 6, 2], [1, 7, 8, 9, 2]),
    ([4, 2], [1, 3, 2]),
    ([9, 9, 9, 9, 2], [1, 10, 2]),
]


def test_the_likelihood_is_the_mean_over_tokens_and_padding_counts_nowhere():
    model = toy_model()
    likelihood = corpus_likelihood(model, [batch(PAIRS)])
    assert model.training  # as it was before

    model.eval()
    losses, correct = [], 0
    for source, target in PAIRS:
        for place in range(1, len(target)):
            logits = model(torch.tensor([source]), torch.tensor([target[:place]]))[0, -1]
            losses.append(-logits.log_softmax(-1)[target[place]].item())
            correct += logits.argmax().item() == target[place]
    assert likelihood.tokens == len(losses) == 8
    assert likelihood.loss == pytest.approx(sum(losses) / 8, rel=1e-5)
    assert likelihood.perplexity == pytest.approx(math.exp(sum(losses) / 8), rel=1e-5)
    assert likelihood.accuracy == pytest.approx(correct / 8)


def test_the_accuracy_is_the_share_of_tokens_ranked_first_each_at_its_own_place():
    model = toy_model()
    #         labels: 7  8  9  2  3  2  10 2, whatever the model has read
    predicted = [7, 8, 9, 5, 2, 3, 10, 5]
    opinion = torch.nn.functional.one_hot(torch.tensor(predicted), 11).float()
    model.project = lambda rows: opinion
    found = corpus_likelihood(model, [batch(PAIRS)])
    assert found.tokens == 8
    assert found.accuracy == 4 / 8


def test_the_likelihood_does_not_depend_on_the_batches():
    model = toy_model()
    one = corpus_likelihood(model, [batch(PAIRS)])
    three = corpus_likelihood(model, [batch([pair]) for pair in PAIRS])
    assert one.loss == pytest.approx(three.loss, rel=1e-5)


def test_a_model_without_opinion_has_the_vocabulary_as_its_perplexity():
    model = toy_model()
    with torch.no_grad():
        model.projection.weight.zero_()
    assert corpus_likelihood(model, [batch(PAIRS)]).perplexity == pytest.approx(11)


def test_no_batch_is_a_sentence():
    with pytest.raises(CallError, match="no token to score"):
        corpus_likelihood(toy_model(), [])
