"""Where weights come from is data in their file, and words wherever somebody reads it."""

from pathlib import Path

import pytest
import torch

from annotated_transformer.errors import WorkError
from annotated_transformer.shipped import FOLDER, PARSER
from annotated_transformer.training import RunDirectory
from annotated_transformer.training.checkpoints import save_tensors
from annotated_transformer.training.made_from import MadeFrom
from annotated_transformer.training.run_directory import MODEL_FORMAT

WEIGHTS = {"a": torch.ones(2)}
IN_WORDS = {
    "mean of the checkpoints of steps 80, 90, 100": MadeFrom((80, 90, 100)),
    "mean of the checkpoints of steps 90": MadeFrom((90,)),
    "the weights of step 20, bleu 1.5": MadeFrom((20,), best="bleu 1.5"),
    "imported from the Marian model opus-mt-en-de": MadeFrom(imported="opus-mt-en-de"),
    "not known": MadeFrom(),
}


@pytest.mark.parametrize(("words", "made_from"), IN_WORDS.items())
def test_it_is_kept_as_data_and_told_in_words(words, made_from, tmp_path):
    RunDirectory(tmp_path).save_model(WEIGHTS, made_from)
    assert RunDirectory(tmp_path).made_from() == made_from
    assert str(made_from) == words
    assert words.encode() not in (tmp_path / "model.safetensors").read_bytes()


def of_file(folder: Path, about: dict) -> MadeFrom:
    save_tensors(folder / "model.safetensors", WEIGHTS, {"format": MODEL_FORMAT, **about})
    return RunDirectory(folder).made_from()


@pytest.mark.parametrize(("words", "made_from"), [*IN_WORDS.items(), ("chance", MadeFrom())])
def test_a_file_of_an_earlier_version_holds_the_words(words, made_from, tmp_path):
    assert of_file(tmp_path, {"made_from": words}) == made_from


def test_a_file_that_does_not_say_it_says_that_it_is_not_known(tmp_path):
    assert of_file(tmp_path, {}) == MadeFrom()


@pytest.mark.parametrize("value", [7, ["steps"], {"steps": 7, "best": "", "imported": ""}])
def test_what_nobody_wrote_is_damage(value, tmp_path):
    with pytest.raises(WorkError, match=r"model\.safetensors is damaged or not ours"):
        of_file(tmp_path, {"made_from": value})


def test_the_models_of_the_package_say_it():
    assert RunDirectory(FOLDER).made_from() == MadeFrom((2592,))
    assert RunDirectory(PARSER).made_from() == MadeFrom((7500, 7650, 7800, 7950, 8000))
