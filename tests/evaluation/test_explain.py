"""From a score to its causes: good translations are damaged on purpose, and the damage is named."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacremoses import MosesTokenizer

from annotated_transformer.data import load_corpus
from annotated_transformer.data.grammar import generate_corpus
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.causes_in_a_model import (
    OF_MODELS,
    SEARCHED,
    Trained,
    averaging,
    data,
    search,
    training_length,
)
from annotated_transformer.evaluation.causes_in_form import FORMS
from annotated_transformer.evaluation.causes_in_texts import LEAST, OF_TEXTS, Cause, Texts
from annotated_transformer.evaluation.explain import causes, nothing_seen
from annotated_transformer.evaluation.forensics import score_under_every_protocol
from annotated_transformer.evaluation.scoring import cased_bleu
from annotated_transformer.evidence.ledger.rescoring import read_lines

ROOT = Path(__file__).resolve().parents[2]
SPLIT = generate_corpus(train=1).splits["test"]
GOOD = Texts(SPLIT.target[:120], SPLIT.target[:120], SPLIT.source[:120])
RECORDED = (ROOT / "results" / "grammar_shipped" / "translations.test.txt").read_text("utf-8")
FRENCH = [
    "L'homme qui lit n'est pas d'ici, dit-on.",
    "Aujourd'hui, l'enfant s'est levé tôt.",
    "Qu'est-ce qu'il a vu dans l'eau, hier soir ?",
    "C'est l'été, et j'ai faim.",
]
SOURCES = ["The man reads.", "The child got up.", "What did he see?", "I am hungry."]
LOOP = " der Hund der Katze" * 4

Line = Callable[[str], str]


def of_words(change: Callable[[list[str]], list[str]]) -> Line:
    return lambda line: " ".join(change(line.split()))


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    return cased_bleu(hypotheses, references).value


def with_sources(lines: Sequence[str]) -> list[str]:
    """Every fifth line replaced by its source."""
    return [GOOD.sources[i] if i % 5 == 0 else line for i, line in enumerate(lines)]


def some(lines: Sequence[str], change: Line) -> list[str]:
    """Every fifth line changed."""
    return [change(line) if place % 5 == 0 else line for place, line in enumerate(lines)]


def two_thirds(line: str) -> str:
    words = line.split()
    return " ".join(words[: math.ceil(len(words) * 2 / 3)])


def first_cause(texts: Texts) -> Cause:
    found = causes(texts)
    gains = [cause.gain for cause in found if cause.gain is not None]
    assert gains == sorted(gains, reverse=True)
    return found[0]


# --- forms: the gain is what the undamaged lines score --------------------------------------------


def in_pieces(mark: Callable[[str], str]) -> Line:
    return of_words(lambda words: [mark(word) for word in words])


FRENCH_TOKENS = [MosesTokenizer("fr").tokenize(line, return_str=True) for line in FRENCH]
FRENCH_PLAIN_TOKENS = [
    MosesTokenizer("fr").tokenize(line, return_str=True, escape=False) for line in FRENCH
]
ESCAPED = [line.replace("'", "&apos;") for line in FRENCH]
LOWER = [line.lower() for line in GOOD.references]
SUBWORDS = [in_pieces(lambda w: f"{w[:2]}@@ {w[2:]}")(line) for line in GOOD.references]
SENTENCE_PIECES = [in_pieces(lambda w: f"\u2581{w[:2]} {w[2:]}")(line) for line in GOOD.references]


@pytest.mark.parametrize(
    ("name", "damaged", "good"),
    [
        (
            "tokenised text",
            Texts(FRENCH_PLAIN_TOKENS, FRENCH, SOURCES, "fr"),
            (FRENCH, FRENCH),
        ),
        (
            "tokenised text",
            Texts(FRENCH, FRENCH_PLAIN_TOKENS, SOURCES, "fr"),
            (FRENCH, FRENCH),
        ),
        ("entities", Texts(ESCAPED, FRENCH, SOURCES, "fr"), (FRENCH, FRENCH)),
        ("entities", Texts(FRENCH, ESCAPED, SOURCES, "fr"), (FRENCH, FRENCH)),
        ("letter case", replace(GOOD, hypotheses=LOWER), (LOWER, LOWER)),
        ("letter case", replace(GOOD, references=LOWER), (LOWER, LOWER)),
        ("pieces not joined", replace(GOOD, hypotheses=SUBWORDS), (GOOD.references,) * 2),
        ("pieces not joined", replace(GOOD, hypotheses=SENTENCE_PIECES), (GOOD.references,) * 2),
    ],
)
def test_text_in_another_form_is_undone_and_scored_again(name, damaged, good):
    first = first_cause(damaged)
    assert first.name == name
    expected = bleu(*good) - bleu(damaged.hypotheses, damaged.references)
    assert expected > 1
    assert first.gain == pytest.approx(expected)
    assert f"{bleu(*good):.2f}" in first.found


def test_a_form_that_costs_nothing_is_no_cause():
    """Full stops that stand apart: sacreBLEU cuts them off itself."""
    moses = MosesTokenizer("de")
    apart = [moses.tokenize(line, return_str=True) for line in GOOD.references]
    assert apart != GOOD.references
    assert causes(replace(GOOD, hypotheses=apart)) == []


def test_two_forms_at_once_are_both_named_and_the_rest_is_asked_of_the_mended_text():
    """Pieces in small letters, of which every fifth line is empty."""
    lines = [in_pieces(lambda w: f"{w[:2]}@@ {w[2:]}")(line) for line in LOWER]
    found = {c.name: c for c in causes(replace(GOOD, hypotheses=some(lines, lambda _: "")))}
    assert {"pieces not joined", "letter case", "empty translations"} <= set(found)
    case, empty = found["letter case"], found["empty translations"]
    short = some(LOWER, lambda _: "")
    assert case.gain == pytest.approx(bleu(short, LOWER) - bleu(short, GOOD.references))
    assert empty.found.startswith("With their form mended: 24 of 120 translations are empty")
    assert empty.gain == pytest.approx(100 - bleu(short, LOWER))


# --- lines: the gain is what the others score -----------------------------------------------------


@pytest.mark.parametrize(
    ("name", "damaged"),
    [
        ("empty references", replace(GOOD, references=some(GOOD.references, lambda _: " "))),
        ("empty translations", replace(GOOD, hypotheses=some(GOOD.hypotheses, lambda _: ""))),
        ("loops", replace(GOOD, hypotheses=some(GOOD.hypotheses, lambda line: line + LOOP))),
        (
            "unknown words",
            replace(
                GOOD,
                hypotheses=some(
                    GOOD.hypotheses, of_words(lambda words: [words[0], "<unk>", *words[2:]])
                ),
            ),
        ),
        (
            "copied sources",
            replace(GOOD, hypotheses=with_sources(GOOD.hypotheses)),
        ),
        (
            "untranslated references",
            replace(GOOD, references=with_sources(GOOD.references)),
        ),
    ],
)
def test_lines_that_are_wrong_are_left_out_and_the_others_scored(name, damaged):
    first = first_cause(damaged)
    assert first.name == name
    others = damaged.lines([i for i in range(120) if i % 5])
    expected = bleu(others.hypotheses, others.references) - bleu(
        damaged.hypotheses, damaged.references
    )
    assert expected > 1
    assert first.gain == pytest.approx(expected)
    assert first.found.startswith("24 of 120 ")


def test_where_nearly_every_line_is_wrong_the_few_others_are_not_scored():
    copied = [*GOOD.sources[:119], GOOD.hypotheses[119]]
    (cause,) = [c for c in causes(replace(GOOD, hypotheses=copied)) if c.name == "copied sources"]
    assert cause.gain is None
    assert cause.found == "119 of 120 translations are their source, untranslated."


def test_what_reference_and_translation_share_is_nobodys_mistake():
    shared = ["", "OK 7", f"Er sagt:{LOOP}", "Was heißt <unk>?"]
    assert causes(Texts(shared, shared, ["", "OK 7", "He says", "What is <unk>?"])) == []


# --- of a kind of their own -----------------------------------------------------------------------


@pytest.mark.parametrize(("by", "which"), [(1, "next"), (-1, "previous")])
def test_shifted_references_are_found(by, which):
    lines = GOOD.references
    shifted = [lines[(place + by) % len(lines)] for place in range(len(lines))]
    first = first_cause(replace(GOOD, hypotheses=shifted))
    assert first.name == "shifted references"
    assert f"of the {which} line" in first.found
    assert first.gain == pytest.approx(100 - bleu(shifted, lines))


@pytest.mark.parametrize("place", [60, 100])
@pytest.mark.parametrize("which", ["previous", "next"])
def test_a_line_that_one_file_lacks_is_found_wherever_it_is(place, which):
    """References without a line, or with an empty one too many; the file is as long as it was."""
    lines = list(GOOD.references)
    if which == "previous":
        shifted, begin, end = [*lines[:place], *lines[place + 1 :], "Ende."], place + 2, 120
    else:
        shifted, begin, end = [*lines[:place], "", *lines[place:-1]], place + 1, 119
    first = first_cause(replace(GOOD, references=shifted))
    assert first.name == "shifted references"
    assert first.found.startswith(f"Lines {begin} to {end} of the translations score ")
    assert first.found.endswith(f", and 100.00 against the reference of the {which} line.")
    assert f"near line {place + 1} " in first.advice
    assert first.gain == pytest.approx(100 - bleu(lines, shifted))


def test_a_shift_that_ends_again_is_found_between_its_ends():
    lines = list(GOOD.references)
    shifted = [*lines[:40], "", *lines[40:80], *lines[81:]]
    first = first_cause(replace(GOOD, references=shifted))
    assert first.name == "shifted references"
    assert first.found.startswith("Lines 41 to 80 of the translations score ")
    assert first.gain == pytest.approx(100 - bleu(lines, shifted))


def test_lines_in_disorder_are_not_shifted():
    """A line that stands beside its neighbour's reference by chance does not speak for others."""
    for seed in range(5):
        mixed = random.Random(seed).sample(GOOD.references, len(GOOD.references))
        found = causes(replace(GOOD, references=mixed))
        assert "shifted references" not in {cause.name for cause in found}


def test_translations_without_their_last_third_are_too_short():
    short = [two_thirds(line) for line in GOOD.references]
    scored = BLEU().corpus_score(short, [GOOD.references])
    assert scored.bp < 0.9
    first = first_cause(replace(GOOD, hypotheses=short))
    assert first.name == "length"
    assert first.gain == pytest.approx(scored.score / scored.bp - scored.score)
    assert f"{scored.sys_len / scored.ref_len:.3f} tokens for each token" in first.found


def test_translations_that_are_too_long_are_told_without_a_gain():
    long = [f"{line} Ende gut alles gut" for line in GOOD.references]
    (cause,) = causes(replace(GOOD, hypotheses=long))
    assert (cause.name, cause.gain) == ("length", None)


def test_the_gain_of_a_protocol_is_the_highest_of_all_above_sacrebleus():
    capital = of_words(lambda words: [words[0], words[1].capitalize(), *words[2:]])
    damaged = replace(GOOD, hypotheses=some(GOOD.hypotheses, capital))
    first = first_cause(damaged)
    scores = score_under_every_protocol(damaged.hypotheses, damaged.references)
    values = [score.value for score in scores]
    assert first.name == "protocol"
    assert first.gain == pytest.approx(max(values) - values[0])
    assert first.gain > 1
    assert f"{min(values):.2f}" in first.found


def test_clean_translations_have_no_cause_that_is_measured_but_the_protocol():
    assert causes(GOOD) == []
    recorded = Texts(RECORDED.splitlines()[:300], SPLIT.target[:300], SPLIT.source[:300])
    assert recorded.score < 100
    chooser = random.Random(0)
    vocabulary = [word for line in GOOD.references for word in line.split()]
    exchange = of_words(
        lambda words: [w if chooser.random() < 0.8 else chooser.choice(vocabulary) for w in words]
    )
    poor = replace(GOOD, hypotheses=[exchange(line) for line in GOOD.references])
    assert poor.score < 70
    for texts in (recorded, poor):
        assert {cause.name for cause in causes(texts)} <= {"protocol"}


def test_what_was_asked_and_is_no_cause_is_named():
    found = causes(replace(GOOD, hypotheses=LOWER))
    assert [cause.name for cause in found] == ["letter case"]
    assert nothing_seen(found) == [name for name in (*FORMS, *OF_TEXTS) if name != "letter case"]


ODD = st.lists(
    st.tuples(
        *[st.one_of(st.text(max_size=12), st.sampled_from(["", " ", "@@ \u2581 .", "&;"]))] * 3
    ),
    min_size=1,
    max_size=4,
)


@given(ODD)
def test_no_text_is_too_odd(lines):
    ours, theirs, sources = map(list, zip(*lines, strict=True))
    found = causes(Texts(ours, theirs, sources))
    assert all(cause.gain is None or LEAST <= cause.gain <= 100.01 for cause in found)
    assert len({cause.name for cause in found}) == len(found)


def test_no_line_or_another_number_of_lines_is_refused():
    for ours, theirs in (([], []), (["a"], ["a", "b"])):
        with pytest.raises(CallError):
            causes(Texts(ours, theirs, theirs))


# --- the model ------------------------------------------------------------------------------------


def trained(**changes: Any) -> Trained:
    """A model that writes the references, and of which all is well."""
    known = dict(zip(SPLIT.source, SPLIT.target, strict=True))
    plain = {
        "translate": lambda sentences, beam, alpha: [known[line] for line in sentences],
        "beam": 4,
        "alpha": 0.6,
        "imported": False,
        "steps": (80, 90, 100),
        "best": False,
        "checkpoints": 3,
        "metrics": validations(3.0, 2.0, 2.0),
        "pairs": 60_000,
        "pieces": lambda words: [1] * len(words),
        "run_dir": "runs/first",
    }
    return Trained(**(plain | changes))


def validations(*losses: float) -> list[dict[str, Any]]:
    """Evenly over a training; lines of another kind stand between them."""
    lines: list[dict[str, Any]] = [{"event": "train", "step": 1, "loss": 9.0}]
    return lines + [
        {"event": "valid", "step": step * 10, "loss": loss} for step, loss in enumerate(losses, 1)
    ]


def test_what_is_not_measured_follows_in_a_fixed_order():
    found = causes(replace(GOOD, hypotheses=LOWER), trained(steps=(), metrics=[]))
    names = [cause.name for cause in found]
    assert names[1:] == [name for name in OF_MODELS if name in names]
    assert names[-4:] == ["averaging", "training length", "data", "a bug"]
    assert [cause.gain for cause in found[-4:]] == [None] * 4
    well = causes(GOOD, trained())
    assert [cause.name for cause in well] == ["data", "a bug"]
    assert {"search", "averaging", "training length"} <= set(nothing_seen(well, trained()))


def test_of_a_model_that_others_trained_nothing_is_asked_but_its_search():
    texts, imported = replace(GOOD, hypotheses=LOWER), trained(imported=True, steps=(), pairs=None)
    found = causes(texts, imported)
    asked = {*FORMS, *OF_TEXTS, "search"}
    assert {cause.name for cause in found} | {*nothing_seen(found, imported)} == asked


class Searches:
    """Right with one beam and alpha, without its last word with any other."""

    def __init__(self, beam: int, alpha: float) -> None:
        self.best, self.asked = (beam, alpha), []

    def __call__(self, sentences: Sequence[str], beam: int, alpha: float) -> list[str]:
        self.asked.append((beam, alpha, len(sentences)))
        known = dict(zip(SPLIT.source, SPLIT.target, strict=True))
        right = [known[line] for line in sentences]
        return right if (beam, alpha) == self.best else [line[:-1] for line in right]


@pytest.mark.parametrize(
    ("in_use", "asked"),
    [
        ((4, 0.6), [(1, 0.6), (4, 0.0), (4, 1.0)]),
        ((5, 1.4), [(1, 0.6), (5, 0.0), (5, 0.6), (5, 1.0)]),
        ((1, 0.6), [(4, 0.0), (4, 0.6), (4, 1.0)]),
    ],
)
def test_a_search_that_is_better_than_chance_is_a_cause(in_use, asked):
    searches = Searches(*asked[-1])
    beam, alpha = in_use
    lines = [line[:-1] for line in SPLIT.target[:450]]
    texts = Texts(lines, SPLIT.target[:450], SPLIT.source[:450])
    cause = search(texts, trained(translate=searches, beam=beam, alpha=alpha))
    assert cause is not None
    assert [one[:2] for one in searches.asked] == asked
    every_third = texts.lines(range(0, 450, 3))
    assert {one[2] for one in searches.asked} == {150}
    assert len(every_third.references) <= SEARCHED
    assert cause.gain == pytest.approx(100 - every_third.score)
    name = "greedy" if beam == 1 else f"beam {beam} and alpha {alpha}"
    assert f"{name} {every_third.score:.2f} (in use)" in cause.found
    assert cause.advice.startswith(f"Take --beam {asked[-1][0]}")
    assert "on another split than the one that is scored (--alpha-from)" in cause.advice


def test_where_greedy_search_wins_no_beam_is_the_advice():
    texts = replace(GOOD, hypotheses=[line[:-1] for line in GOOD.references])
    cause = search(texts, trained(translate=Searches(1, 0.6), beam=4, alpha=1.0))
    assert cause is not None
    assert cause.advice.startswith("Take --beam 1, or choose --alpha and --max-extra anew on")


def test_a_search_that_is_better_by_chance_is_none():
    lines = [*SPLIT.target[:118], "falsch .", "falsch ."]
    texts = replace(GOOD, hypotheses=lines)
    assert texts.score < 100
    assert search(texts, trained()) is None


@pytest.mark.parametrize(
    ("steps", "lie_there", "says"),
    [
        ((80, 90), 5, None),
        ((90,), 5, "--last 5` makes their mean"),
        ((90,), 3, "average --run-dir runs/first --last 3`"),
        ((), 0, "--keep 5 --average 5"),
    ],
)
def test_weights_of_one_checkpoint_are_told(steps, lie_there, says):
    cause = averaging(GOOD, trained(steps=steps, checkpoints=lie_there))
    assert (cause is None) == (says is None)
    if cause is not None:
        assert says in cause.advice
        assert ("not known" in cause.found) == (not steps)


@pytest.mark.parametrize(
    ("losses", "says"),
    [
        ([5.0, 4.0, 3.0, 2.5], "from 3.000 to 2.500"),
        ([5.0, 3.0, 2.5, 2.49], None),  # less than 1 % in the last tenth
        ([5.0, 2.0, 2.1, 2.2], "had been 2.000 and was 2.200"),
        ([5.0, 2.0, 2.01], None),
        ([5.0], "Too few"),
        ([], "Too few"),
        ([5.0, math.nan], "had been 5.000 and was nan"),
    ],
)
def test_a_training_that_ended_too_early_or_too_late_is_told(losses, says):
    cause = training_length(GOOD, trained(metrics=validations(*losses)))
    assert (cause is None) == (says is None)
    assert cause is None or says in cause.found


def test_a_loss_that_rose_is_nothing_where_the_best_weights_were_taken():
    best = trained(metrics=validations(5, 2, 3), steps=(20,), best=True)
    assert training_length(GOOD, best) is None


def test_words_that_fall_to_pieces_are_counted_as_often_as_they_run():
    texts = Texts(["x"] * 2, ["x"] * 2, ["ab abcd ab", "abcd"])
    cause = data(texts, trained(pieces=lambda words: [len(word) for word in words]))
    assert "60,000 pairs" in cause.found
    assert "50.0% of the words" in cause.found
    assert "An unknown number of pairs" in data(texts, trained(pairs=None)).found


# --- what the page prints -------------------------------------------------------------------------


def test_what_the_page_says_that_each_damage_costs():
    """The recorded translations of the shipped model, damaged in front of the reader."""
    page = (ROOT / "book" / "low_bleu.md").read_text("utf-8")
    good = RECORDED.splitlines()
    references = generate_corpus(train=1).splits["test"].target
    moses = MosesTokenizer("de")
    damaged = {
        "nothing": good,
        "full stops and commas set apart": [moses.tokenize(x, return_str=True) for x in good],
        "every fifth left empty": some(good, lambda _: ""),
        "the last third of the words cut off": [two_thirds(line) for line in good],
        "small letters": [line.lower() for line in good],
        "each beside the reference of its neighbour": [*good[1:], good[0]],
    }
    for what, lines in damaged.items():
        assert f"| {what} | {bleu(lines, references):.2f} |" in page


@pytest.mark.parametrize(
    ("file", "order"),
    [
        ("multi30k_tiny_postnorm_rdrop_84", ["empty", "cut", "small", "neighbour"]),
        (None, ["small", "empty", "cut", "neighbour"]),  # English: the sources themselves
    ],
)
def test_the_order_of_the_damages_on_captions(
    corpora_dir: Path, file: str | None, order: list[str]
):
    test = load_corpus("multi30k", data_dir=corpora_dir / "multi30k")["test_2016_flickr"]
    good, references = list(test.source), test.source
    if file is not None:
        good = read_lines(ROOT / "results" / file / "translations.test_2016_flickr.txt")
        references = test.target
    left = {
        "empty": bleu(some(good, lambda _: ""), references),
        "cut": bleu([two_thirds(line) for line in good], references),
        "small": bleu([line.lower() for line in good], references),
        "neighbour": bleu([*good[1:], good[0]], references),
    }
    assert sorted(left, key=left.__getitem__, reverse=True) == order
