"""A trained model in the engines that exist: Hugging Face's, CTranslate2, ONNX Runtime.

Each folder holds a tokenizer.json that puts </s> behind a sentence, and a README.md with the lines
that use it. What differs is the search. With a beam and a length penalty, Hugging Face and
CTranslate2 divide by length ** alpha and this package by the paper's formula; greedily, or with
alpha 0, they do the same.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing

from annotated_transformer.config import ALPHA, BEAM_SIZE
from annotated_transformer.data import Vocabulary
from annotated_transformer.data.vocabulary import SPECIALS
from annotated_transformer.errors import CallError
from annotated_transformer.sharing.in_onnx import onnx_files
from annotated_transformer.sharing.ports import (
    BANNED,
    LONGEST,
    ctranslate2_folder,
    hugging_face_of,
)
from annotated_transformer.sharing.translator import Translator, must_be_free

TOKENIZER = "tokenizer.json"
PAD, BOS, EOS, UNK = SPECIALS


def export(translator: Translator, folder: Path, form: str, **fields: Any) -> None:
    """Write a model for another engine.

    Args:
        translator: the model, with its vocabulary and history.
        folder: new, or empty.
        form: one of `FORMS`.
        fields: of the card's head, such as license.

    Raises:
        CallError: the folder is not empty, the engine cannot hold this model, or what writes for it
            is not installed.
    """
    must_be_free(folder)
    needed, write = FORMS[form]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as begun:  # a folder is whole, or is not there
        made = Path(begun) / folder.name
        try:
            write(translator, made)
        except ImportError as error:
            raise CallError(
                f"--format {form} needs {needed}, and {error.name} is not installed: pip install "
                f"{needed}"
            ) from error
        translator.generate_model_card(form, **fields).save(made / "README.md")
        if folder.is_dir():
            folder.rmdir()  # it is empty
        made.replace(folder)


def tokenizer_of(vocabulary: Vocabulary) -> Tokenizer:
    """A tokenizer that other programs use as it is: </s> behind, and "<s>" in a text is text."""
    state = json.loads(vocabulary.tokenizer.to_str())
    tokenizer = Tokenizer.from_str(json.dumps({**state, "added_tokens": []}))
    tokenizer.post_processor = TemplateProcessing(
        single=f"$A {EOS}", special_tokens=[(EOS, Vocabulary.eos_id)]
    )
    return tokenizer


def to_hugging_face(translator: Translator, folder: Path) -> None:
    """Marian, or Pegasus where the norms stand first, and a tokenizer of `transformers`."""
    import transformers

    library: Any = transformers  # its classes have no types
    library.utils.logging.disable_progress_bar()
    twin: Any = hugging_face_of(translator.transformer, BANNED)
    config = translator.transformer.config
    twin.generation_config = library.GenerationConfig(
        pad_token_id=config.pad_id,
        bos_token_id=config.bos_id,
        eos_token_id=config.eos_id,
        decoder_start_token_id=config.bos_id,
        num_beams=BEAM_SIZE,
        length_penalty=ALPHA,
        max_new_tokens=LONGEST // 2,
    )
    twin.save_pretrained(folder)
    tokenizer = library.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer_of(translator.vocabulary),
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        unk_token=UNK,
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=LONGEST,
        clean_up_tokenization_spaces=False,
        split_special_tokens=True,
    )
    tokenizer.save_pretrained(folder)


def to_ctranslate2(precision: str) -> Callable[[Translator, Path], None]:
    """A writer of CTranslate2's folders, whose words are our pieces."""

    def write(translator: Translator, folder: Path) -> None:
        vocabulary = translator.vocabulary
        words = vocabulary.pieces(range(len(vocabulary)))
        ctranslate2_folder(translator.transformer, folder, precision, BANNED, words)
        tokenizer_of(vocabulary).save(str(folder / TOKENIZER))

    return write


def to_onnx(translator: Translator, folder: Path) -> None:
    """Two graphs, and a short program that translates with them."""
    folder.mkdir()
    onnx_files(translator.transformer, folder)
    tokenizer_of(translator.vocabulary).save(str(folder / TOKENIZER))
    shutil.copyfile(Path(__file__).with_name("greedy_onnx.py"), folder / "translate.py")


Write = Callable[[Translator, Path], None]
# The name of a form -> what it needs, and what writes it.
FORMS: dict[str, tuple[str, Write]] = {
    "huggingface": ("transformers", to_hugging_face),
    "ctranslate2": ("ctranslate2", to_ctranslate2("float32")),
    "ctranslate2-int8": ("ctranslate2", to_ctranslate2("int8")),
    "onnx": ("onnx onnxscript", to_onnx),
}
