"""The figures of the machine return what they draw."""

import matplotlib.pyplot as plt

from annotated_transformer import figures


def test_the_roof_is_the_lower_of_the_two() -> None:
    shares = figures.draw_roofline({"sum": 0.5, "product": 300.0}, 1e15, 5e12, "a machine")
    assert shares == {"sum": 0.5 * 5e12 / 1e15, "product": 1.0}
    (axes,) = plt.gcf().axes
    roof = axes.lines[0]
    assert roof.get_ydata().max() == 1000  # TFLOP/s
    points = {line.get_label(): float(line.get_ydata()[0]) for line in axes.lines[2:]}
    assert points == {"sum": 2.5, "product": 1000.0}
    assert "200" in axes.get_title(loc="left")
    assert {text.get_text() for text in axes.texts} == {"sum", "product"}  # each at its point


def test_bars_are_the_sums_of_their_components() -> None:
    ways = {
        "a": {"weights": 1_000_000_000, "logits": 2_000_000_000},
        "b": {"weights": 1_000_000_000, "logits": 500_000_000},
    }
    lengths = figures.draw_memory(ways, [("card", 16e9)])
    assert lengths == {"a": 3.0, "b": 1.5}
    (axes,) = plt.gcf().axes
    ends = sorted(round(bar.get_x() + bar.get_width(), 6) for bar in axes.patches)
    assert ends == [1.0, 1.0, 1.5, 3.0]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b"]
    assert [text.get_text() for text in axes.texts] == ["3.0", "1.5", "card"]


def test_a_waterfall_goes_from_before_to_after() -> None:
    changes = [
        figures.Change("plain", 100.0, beside="13"),
        figures.Change("faster", 40.0, "arithmetic", "13"),
        figures.Change("slower", 45.0, "waiting", "40"),
    ]
    found = figures.draw_waterfall(changes, "what is left", "ms", "tokens")
    assert found == {"faster": -60.0, "slower": 5.0}
    (axes,) = plt.gcf().axes
    bars = sorted((bar.get_y(), bar.get_x(), bar.get_width()) for bar in axes.patches)
    assert [(left, width) for _, left, width in bars] == [(0, 100), (40, 60), (40, 5), (0, 45)]
    words = [text.get_text() for text in axes.texts]
    assert words == ["100.0", "13", "40.0", "13", "45.0", "40", "45.0", "", "tokens"]
    assert axes.get_yticklabels()[-1].get_text() == "what is left"
    slower = next(bar for bar in axes.patches if bar.get_width() == 5)
    assert slower.get_facecolor()[3] == 0
