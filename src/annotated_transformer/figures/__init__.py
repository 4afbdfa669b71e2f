"""The figures of the book. Every function draws and returns the numbers it has drawn.

Pictures (``draw_...``) are matplotlib figures; figures to touch (``touch_...``) are plotly figures
shown through the package's own renderer.
"""

from annotated_transformer.figures.architecture import show_architecture
from annotated_transformer.figures.beam_tree import BeamNode, nodes_of, show_beam_tree
from annotated_transformer.figures.bills import Bill, draw_bills
from annotated_transformer.figures.bleu import draw_ngrams
from annotated_transformer.figures.blocks import draw_blocks
from annotated_transformer.figures.cost import System, draw_bleu_by_cost
from annotated_transformer.figures.curves import Curve, draw_curves
from annotated_transformer.figures.decoder import draw_reach, draw_stages, draw_vocabularies
from annotated_transformer.figures.differences import (
    Differences,
    draw_differences,
    draw_differences_beside,
)
from annotated_transformer.figures.encoder import draw_strips, touch_strips
from annotated_transformer.figures.heads import (
    draw_jobs,
    draw_losses_by_part,
    draw_scores_by_heads,
    draw_shares_by_head,
    draw_split,
    touch_heads_at_word,
)
from annotated_transformer.figures.long_context import touch_long_context
from annotated_transformer.figures.machine import (
    Change,
    draw_memory,
    draw_roofline,
    draw_waterfall,
)
from annotated_transformer.figures.matrices import (
    Panel,
    draw_attention_steps,
    draw_matrices,
    draw_weights,
)
from annotated_transformer.figures.multi_head import draw_word_through_heads
from annotated_transformer.figures.pairs import draw_by_seed, draw_pairs
from annotated_transformer.figures.plotly_renderer import base_layout, show_figure
from annotated_transformer.figures.positions import draw_maps, touch_position
from annotated_transformer.figures.quiz import show_quiz
from annotated_transformer.figures.reach import touch_reach
from annotated_transformer.figures.sentence_pair import draw_sentence_pair
from annotated_transformer.figures.style import (
    PALETTE,
    SIGNED_COLOURS,
    WEIGHT_COLOURS,
    colour,
    ink_on,
    new_figure,
)
from annotated_transformer.figures.tensors import (
    draw_batch,
    draw_broadcast,
    draw_view_and_transpose,
)
from annotated_transformer.figures.tokenization import draw_padding, draw_waste, touch_merges
from annotated_transformer.figures.touch import touch_masks, touch_softmax_scale, touch_weights
from annotated_transformer.figures.training import (
    Moment,
    touch_smoothing,
    touch_training,
    touch_warmup,
)
from annotated_transformer.figures.trees import show_trees
from annotated_transformer.figures.writing import touch_writing

__all__ = [
    "PALETTE",
    "SIGNED_COLOURS",
    "WEIGHT_COLOURS",
    "BeamNode",
    "Bill",
    "Change",
    "Curve",
    "Differences",
    "Moment",
    "Panel",
    "System",
    "base_layout",
    "colour",
    "draw_attention_steps",
    "draw_batch",
    "draw_bills",
    "draw_bleu_by_cost",
    "draw_blocks",
    "draw_broadcast",
    "draw_by_seed",
    "draw_curves",
    "draw_differences",
    "draw_differences_beside",
    "draw_jobs",
    "draw_losses_by_part",
    "draw_maps",
    "draw_matrices",
    "draw_memory",
    "draw_ngrams",
    "draw_padding",
    "draw_pairs",
    "draw_reach",
    "draw_roofline",
    "draw_scores_by_heads",
    "draw_sentence_pair",
    "draw_shares_by_head",
    "draw_split",
    "draw_stages",
    "draw_strips",
    "draw_view_and_transpose",
    "draw_vocabularies",
    "draw_waste",
    "draw_waterfall",
    "draw_weights",
    "draw_word_through_heads",
    "ink_on",
    "new_figure",
    "nodes_of",
    "show_architecture",
    "show_beam_tree",
    "show_figure",
    "show_quiz",
    "show_trees",
    "touch_heads_at_word",
    "touch_long_context",
    "touch_masks",
    "touch_merges",
    "touch_position",
    "touch_reach",
    "touch_smoothing",
    "touch_softmax_scale",
    "touch_strips",
    "touch_training",
    "touch_warmup",
    "touch_weights",
    "touch_writing",
]
