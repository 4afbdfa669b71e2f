"""A trained model as one folder to hand on, or on the Hugging Face Hub.

The folder is a run directory without what only training needs: model.safetensors, tokenizer.json,
config.json, metrics.jsonl, the scores, and README.md, a model card made from all of these. So
`translate` and `evaluate` take it for their --run-dir. Nothing in it is ever unpickled.
"""

from annotated_transformer.sharing.translator import Translator

__all__ = ["Translator"]
