"""Translate with a folder that `export --format onnx` wrote: greedily, a sentence at a time.

Needs onnxruntime, numpy and tokenizers, and nothing else; a copy of it lies in each such folder.

    from translate import Translator

    Translator("this folder")("The old woman reads the book.")
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from tokenizers import Tokenizer

BOS, EOS = 1, 2
PLACES = 512  # of tokens: a sentence and its translation may have so many
MAX_EXTRA = 50  # tokens that a translation may have more than its source


class TooLongError(ValueError):
    """A sentence of more tokens than the graphs have places."""


class Translator:
    """A folder with encoder.onnx, decoder.onnx and tokenizer.json."""

    def __init__(self, folder: str | Path) -> None:
        folder = Path(folder)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.encode_special_tokens = True  # "<s>" in a text is text
        self.encoder, self.decoder = (
            onnxruntime.InferenceSession(str(folder / f"{name}.onnx"))
            for name in ("encoder", "decoder")
        )

    def __call__(self, sentence: str) -> str:
        """The translation whose every token is the most probable one; "" of an empty line."""
        if not sentence.strip():
            return ""
        return str(self.tokenizer.decode(self.tokens(self.tokenizer.encode(sentence).ids)))

    def tokens(self, source: list[int]) -> list[int]:
        """From the tokens of a sentence, </s> behind, to those of its translation without it.

        Raises TooLongError.
        """
        if len(source) > PLACES:
            raise TooLongError(f"it has {len(source)} tokens, and at most {PLACES} can be read")
        given = np.array([source])  # (1, n_src)
        keys, values = self.encoder.run(None, {"source": given})
        seen = {"source": given, "memory_keys": keys, "memory_values": values}
        past = [held[:, :, :, :0] for held in (keys, values)]  # no position yet
        found = [BOS]
        while len(found) <= min(len(source) + MAX_EXTRA, PLACES - 1):
            newest = {"token": np.array([found[-1:]])}
            lived = dict(zip(("past_keys", "past_values"), past, strict=True))
            logits, *past = self.decoder.run(None, {**newest, **seen, **lived})
            logits[0, :EOS] = -np.inf  # padding and start are never said
            found.append(int(logits[0].argmax()))
            if found[-1] == EOS:
                return found[1:-1]
        return found[1:]


if __name__ == "__main__":
    translate = Translator(Path(__file__).parent)
    for number, line in enumerate(sys.stdin, 1):
        try:
            print(translate(line))
        except TooLongError as error:
            print(f"line {number} is left empty: {error}", file=sys.stderr)
            print()
