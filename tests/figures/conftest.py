"""What tests of figures share: no screen, no picture left open, figures to touch kept."""

import sys
from collections.abc import Iterator

import matplotlib
import matplotlib.pyplot as plt
import pytest
from plotly.graph_objects import Figure


@pytest.fixture(autouse=True)
def without_a_screen() -> Iterator[None]:
    matplotlib.use("agg")
    yield
    plt.close("all")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Figure, str]]:
    """The figures to touch that were shown, with their text alternatives."""
    found: list[tuple[Figure, str]] = []
    for name, module in [*sys.modules.items()]:
        if name.startswith("annotated_transformer.figures.") and hasattr(module, "show_figure"):
            monkeypatch.setattr(module, "show_figure", lambda *given: found.append(given))
    return found
