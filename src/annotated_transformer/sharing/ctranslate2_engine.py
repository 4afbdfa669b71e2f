"""Our search replaced by CTranslate2's, which is written in C++, with the same weights."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from annotated_transformer.config import ALPHA, BEAM_SIZE, MAX_EXTRA
from annotated_transformer.data import Vocabulary
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.translation import (
    LONGEST_SOURCE,
    Progress,
    Translation,
    what_is_searched,
)
from annotated_transformer.sharing.ports import BANNED, ctranslate2_folder
from annotated_transformer.transformer import Transformer

BATCH_TOKENS = 2048
POSITIONS = 2 * LONGEST_SOURCE  # in its tables: the longest source, and a translation as long again


class CTranslate2Engine:
    """Translates as `nbest_translations` does, with another search.

    Its length penalty divides by length ** alpha, and one limit of length holds for all sentences
    of a call, that of the longest. With a prefix, scores are of what follows it.

    Args:
        model: whose weights it has.
        vocabulary: the one it was trained with.
        precision: "float32" or "int8", of the matrices.

    Raises:
        CallError: it is not installed, or cannot hold this model.
    """

    def __init__(self, model: Transformer, vocabulary: Vocabulary, precision: str) -> None:
        try:
            import ctranslate2
        except ImportError as error:
            raise CallError(
                "--engine ctranslate2 needs CTranslate2, which is not installed: pip install "
                "ctranslate2"
            ) from error
        self.model, self.vocabulary = model, vocabulary
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            ctranslate2_folder(model, path, precision, BANNED, longest=POSITIONS)
            self.translator = ctranslate2.Translator(
                str(path),
                device="cuda" if model.device.type == "cuda" else "cpu",
                compute_type=precision,
                inter_threads=1,
                intra_threads=torch.get_num_threads(),
            )

    def __call__(
        self,
        sentences: Sequence[str],
        *,
        beam_size: int = BEAM_SIZE,
        alpha: float = ALPHA,
        max_extra: int = MAX_EXTRA,
        nbest: int = 1,
        first_line: int = 1,
        prefix: str | Sequence[str] = "",
        progress: Progress | None = None,
    ) -> list[list[Translation]]:
        """The nbest translations of each sentence, best first, in the order given.

        The arguments and what is raised are those of `nbest_translations`.
        """
        sources, beginnings, wanted = what_is_searched(
            self.model,
            self.vocabulary,
            sentences,
            prefix,
            max_extra=max_extra,
            first_line=first_line,
        )
        longest = max((len(sources[index]) for index in wanted), default=0) + max_extra
        found = self.translator.translate_batch(
            [[str(token) for token in sources[index]] for index in wanted],
            target_prefix=[[str(token) for token in beginnings[index]] for index in wanted],
            beam_size=max(beam_size, nbest),
            num_hypotheses=nbest,
            length_penalty=alpha,
            max_decoding_length=min(longest, POSITIONS),
            max_batch_size=BATCH_TOKENS,
            batch_type="tokens",
            return_scores=True,
            return_end_token=True,
        )
        translations: list[list[Translation]] = [[] for _ in sentences]
        for index, one in zip(wanted, found, strict=True):
            translations[index] = [
                self._translation([int(word) for word in words], score, alpha)
                for words, score in zip(one.hypotheses, one.scores, strict=True)
            ]
        if progress is not None:
            progress(len(wanted), len(wanted))
        return translations

    def _translation(self, tokens: list[int], score: float, alpha: float) -> Translation:
        text = self.vocabulary.decode(tokens)
        return Translation(
            text, score, score * len(tokens) ** alpha, (self.vocabulary.bos_id, *tokens)
        )
