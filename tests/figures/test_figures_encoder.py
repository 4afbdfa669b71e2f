"""The figures of the encoder: what they return, and that they read without a mouse."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib import pyplot

from annotated_transformer import figures

STAGES = ("embedding", "+ position", "after norm")
WORDS = ("the", "cat")


@pytest.fixture
def vectors() -> torch.Tensor:
    """(stages, tokens, d_model)."""
    return torch.randn(3, 2, 8, generator=torch.Generator().manual_seed(0))


def test_strips_print_every_length(vectors: torch.Tensor) -> None:
    data = figures.draw_strips(vectors[:, 0], STAGES)
    np.testing.assert_allclose(data["lengths"], vectors[:, 0].norm(dim=-1), rtol=1e-6)
    axes = pyplot.gcf().axes[0]
    written = [text.get_text() for text in axes.texts]
    assert all(f"{length:.1f}" in written for length in data["lengths"])
    assert "length" in written  # the strips' own names say "norm" of the normalisation
    assert [label.get_text() for label in axes.get_yticklabels()] == list(STAGES)


def test_a_slider_step_a_token(vectors: torch.Tensor, shown: list[Any]) -> None:
    data = figures.touch_strips(vectors, WORDS, STAGES, "what it shows", start=1)
    ((figure, label),) = shown
    assert label == "what it shows"
    content = json.loads(figure.to_json())
    (slider,) = content["layout"]["sliders"]
    assert [step["label"] for step in slider["steps"]] == ["1: the", "2: cat"]
    assert slider["active"] == 1
    for token, step in enumerate(slider["steps"]):
        (values,) = step["args"][0]["z"]
        np.testing.assert_allclose(values, vectors[:, token].numpy(), atol=0.0051)
        lines = step["args"][1]["yaxis.ticktext"]
        for stage, line in enumerate(lines):
            length, cosine = data["lengths"][stage, token], data["cosines"][stage, token]
            assert line == f"{STAGES[stage]} · {length:.1f} · {cosine:+.2f}"
    assert "native" in content["layout"]["meta"]  # the site's own slider has its room


def test_cosines_are_to_the_first_stage(vectors: torch.Tensor, shown: list[Any]) -> None:
    data = figures.touch_strips(vectors, WORDS, STAGES, "what it shows")
    expected = torch.nn.functional.cosine_similarity(vectors, vectors[:1], dim=-1)
    np.testing.assert_allclose(data["cosines"], expected, atol=1e-6)
    assert len(shown) == 1
