"""A trained model as one folder to hand on, or on the Hugging Face Hub.

The folder is a run directory without what only training needs: model.safetensors, tokenizer.json,
config.json, metrics.jsonl, the scores, and README.md, a model card made from all of these. So
`translate` and `evaluate` take it for their --run-dir. Nothing in it is ever unpickled.

For other programs, and from them:
    ports               our weights in the models of others: Marian, Pegasus, CTranslate2
    in_onnx             the model as two ONNX graphs; greedy_onnx goes along and searches with them
    elsewhere           the folders of `export --format`, made of these
    ctranslate2_engine  `translate --engine ctranslate2`
    from_marian         a Marian model of others as a run directory
"""

from annotated_transformer.sharing.translator import Translator

__all__ = ["Translator"]
