"""Layers beside each other: what stands where follows from the configuration."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from annotated_transformer import TransformerConfig, figures
from annotated_transformer.after.config import LaterConfig

PAPERS = TransformerConfig(100, d_ff=256)
TODAYS = LaterConfig(
    100,
    d_ff=256,
    norm="pre",
    norm_kind="rms",
    network="swiglu",
    positions="none",
    relative_positions="rope",
    num_key_value_heads=2,
)


def test_the_norm_stands_behind_the_sum_in_2017_and_on_the_branch_today() -> None:
    drawn = figures.draw_blocks({"2017": PAPERS, "today": TODAYS})
    assert drawn["2017"] == [
        "embeddings + sinusoids",
        "attention, 8 heads",
        "+",
        "LayerNorm",
        "network, 256 wide\nReLU",
        "+",
        "LayerNorm",
    ]
    assert drawn["today"] == [
        "embeddings",
        "RMSNorm",
        "attention, 8 heads\n2 heads of keys and values\nrotations on Q and K",
        "+",
        "RMSNorm",
        "network, 256 wide\nSwiGLU, a gate",
        "+",
    ]


@pytest.mark.parametrize("config", [PAPERS, TODAYS, TransformerConfig(100, norm="none")])
def test_a_branch_leaves_where_the_last_has_come_back_and_before_its_own_norm(
    config: TransformerConfig,
) -> None:
    parts = figures.draw_blocks({"a layer": config})["a layer"]
    axes = plt.gcf().axes[0]
    heights = [text.get_position()[1] for text in axes.texts if text.get_text()]
    assert len(heights) == len(parts)
    paths = [np.asarray(line.get_xydata()) for line in axes.lines]
    first, second = (path[:, 1] for path in paths if len(path) == 3)
    network = next(place for place, part in enumerate(parts) if part.startswith("network"))
    begins = network - 1 if config.norm == "pre" else network  # the second sub-layer
    assert heights[0] < first[0] < heights[1]
    assert heights[begins - 1] < second[0] < heights[begins]
    assert first[-1] == heights[parts.index("+")]  # and comes back into its sum


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (TransformerConfig(100, residual=False), "residual False cannot be drawn"),
        (TransformerConfig(100, attention="additive"), "attention 'additive' cannot be drawn"),
        (LaterConfig(100, window=4), "window 4 cannot be drawn"),
    ],
)
def test_what_it_cannot_draw_is_refused(config: TransformerConfig, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        figures.draw_blocks({"a layer": config})
