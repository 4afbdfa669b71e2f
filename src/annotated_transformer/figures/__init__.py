"""The figures of the book. Every function draws and returns the numbers it has drawn.

Pictures (``draw_...``) are matplotlib figures; figures to touch (``touch_...``) are plotly figures
shown through the package's own renderer.
"""

from annotated_transformer.figures.curves import Curve, draw_curves
from annotated_transformer.figures.heads import (
    draw_scores_by_heads,
    draw_split,
    touch_heads_at_word,
)
from annotated_transformer.figures.matrices import (
    Panel,
    draw_attention_steps,
    draw_matrices,
    draw_weights,
)
from annotated_transformer.figures.plotly_renderer import base_layout, show_figure
from annotated_transformer.figures.quiz import show_quiz
from annotated_transformer.figures.style import (
    MARKERS,
    PALETTE,
    SIGNED_COLOURS,
    WEIGHT_COLOURS,
    colour,
    ink_on,
    new_figure,
)
from annotated_transformer.figures.touch import touch_masks, touch_softmax_scale, touch_weights

__all__ = [
    "MARKERS",
    "PALETTE",
    "SIGNED_COLOURS",
    "WEIGHT_COLOURS",
    "Curve",
    "Panel",
    "base_layout",
    "colour",
    "draw_attention_steps",
    "draw_curves",
    "draw_matrices",
    "draw_scores_by_heads",
    "draw_split",
    "draw_weights",
    "ink_on",
    "new_figure",
    "show_figure",
    "show_quiz",
    "touch_heads_at_word",
    "touch_masks",
    "touch_softmax_scale",
    "touch_weights",
]
