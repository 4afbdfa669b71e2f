"""How sure and how right: bins, repetition and copying, and the record."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from annotated_transformer.after.build import build_transformer
from annotated_transformer.after.config import LaterConfig
from annotated_transformer.data.batching import collate
from annotated_transformer.errors import CallError
from annotated_transformer.experiments import inside_measured
from annotated_transformer.experiments import sureness_measured as measured
from annotated_transformer.shipped import load_shipped


def test_tokens_fall_into_the_bin_of_their_sureness() -> None:
    sure = torch.tensor([0.05, 0.31, 0.39, 0.95, 1.0])
    right = torch.tensor([False, True, False, True, True])
    found = measured.by_bins(sure, right)
    assert found["tokens"] == [1, 0, 0, 2, 0, 0, 0, 0, 0, 2]
    assert found["sure"][3] == 0.35
    assert found["right"] == [0, 0, 0, 0.5, 0, 0, 0, 0, 0, 1]
    assert abs(found["apart"] - (0.05 + 2 * 0.15 + 2 * 0.025) / 5) < 1e-4


def test_padding_is_no_token() -> None:
    model, _ = load_shipped()
    source, target = [[5, 6, 2], [7, 2]], [[1, 8, 9, 10, 2], [1, 8, 2]]
    sure, right = measured.sureness(model, source, target)
    assert sure.shape == right.shape == (6,)
    with torch.inference_mode():
        logits = model(collate(source), collate(target)[:, :-1])
    expected = logits.softmax(-1).amax(-1)
    torch.testing.assert_close(sure[:4], expected[0])
    torch.testing.assert_close(sure[4:], expected[1, :2])


def test_what_repeats_and_what_copies() -> None:
    assert measured.repeats("ein Mann ein Mann steht")
    assert measured.repeats("nein nein nein")
    assert not measured.repeats("der Mann, der der Frau hilft")
    assert measured.copies("Two men walk.", "two Two men.")
    assert not measured.copies("Two men walk.", "Zwei Männer in a men")
    assert not measured.copies("Two men walk.", "")


def test_the_record_holds_three_runs_of_each_kind() -> None:
    runs = measured.load_record()["runs"]
    kinds = [(run["label_smoothing"], run["seed"]) for run in runs]
    assert kinds == [(eps, seed) for eps in (0.0, 0.1) for seed in (0, 1, 2)]
    for run in runs:
        tokens = torch.tensor(run["tokens"])
        gaps = (torch.tensor(run["sure"]) - torch.tensor(run["right"])).abs()
        assert float((gaps * tokens).sum() / tokens.sum()) == pytest.approx(run["apart"], abs=2e-4)
        assert sum(run["tokens"]) == sum(runs[0]["tokens"])


@pytest.mark.parametrize("asked", [measured.measure_run, inside_measured.translator_of])
def test_a_model_of_one_stack_is_refused(
    asked: Callable[[Path], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one_stack = build_transformer(LaterConfig(20, 8, 16, 2, 1, family="decoder-only"))
    for module in (measured, inside_measured):
        monkeypatch.setattr(module, "load_run", lambda _: (one_stack, None, None))
    with pytest.raises(CallError, match="is of one stack"):
        asked(Path("runs/mine"))
