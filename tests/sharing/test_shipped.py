"""The model that comes with the package is the recorded run's, and does what the record says."""

import json
from pathlib import Path

import pytest
import torch

from annotated_transformer.data import TRAVELLING_SENTENCE, generate_corpus
from annotated_transformer.data.trees import parse
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.experiments import parsing_measured
from annotated_transformer.experiments.parsing.parser import Parser
from annotated_transformer.shipped import FOLDER, PARSER, load_shipped, load_vocabulary

RECORD = Path(__file__).resolve().parents[2] / "results" / "grammar_shipped"


def test_configuration_is_the_recorded_one() -> None:
    recorded = json.loads((RECORD / "run.json").read_text("utf-8"))["configuration"]
    shipped = json.loads((FOLDER / "config.json").read_text("utf-8"))
    assert {"model": shipped["model"], "training": shipped["training"]} == recorded
    model, vocabulary = load_shipped()
    assert model.config.norm == "post"
    assert len(vocabulary) == model.config.vocab_size
    assert not model.training


@pytest.mark.slow
def test_translates_as_recorded() -> None:
    model, vocabulary = load_shipped()
    origin = json.loads((RECORD / "run.json").read_text("utf-8"))["data"]["origin"]
    sentences = generate_corpus(**origin)["test"].source
    recorded = (RECORD / "translations.test.txt").read_text("utf-8").splitlines()
    assert translate_sentences(model, vocabulary, sentences) == recorded


def test_translates_the_travelling_sentence() -> None:
    model, vocabulary = load_shipped()
    ours = translate_sentences(model, vocabulary, [TRAVELLING_SENTENCE.source])
    assert ours == [TRAVELLING_SENTENCE.target]


def test_the_vocabulary_can_be_had_alone() -> None:
    _, vocabulary = load_shipped()
    assert load_vocabulary() is vocabulary


def test_each_call_gives_a_model_of_its_own() -> None:
    first, _ = load_shipped()
    with torch.no_grad():
        first.projection.weight.zero_()
    second, _ = load_shipped()
    assert second.projection.weight.abs().sum() > 0


def test_the_parser_writes_the_recorded_rows_with_weights_of_16_bits() -> None:
    record = parsing_measured.load_record()
    gold = [parse(shown["gold"]) for shown in record["rivals"]["shown"]]
    rows = Parser.load(PARSER).rows([list(tree.words()) for tree in gold])
    config = json.loads((PARSER / "config.json").read_text("utf-8"))
    (run,) = (of for of in record["runs"]["silver"] if of["seed"] == config["training"]["seed"])
    assert rows == run["shown"]
