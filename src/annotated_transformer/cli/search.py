"""What `translate` searches with: a model, what is asked of it, and the engine that looks."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from annotated_transformer.cli.sentences import Progress
from annotated_transformer.config import MAX_EXTRA
from annotated_transformer.data import Vocabulary
from annotated_transformer.evaluation.translation import (
    CrossAttention,
    Translation,
    cross_attention,
    longest_source,
    nbest_translations,
    prefix_ids,
    refusal,
    source_ids,
)
from annotated_transformer.transformer import Transformer

Engine = Callable[..., list[list[Translation]]]  # as `nbest_translations`, of one model


def engine_named(name: str, model: Transformer, vocabulary: Vocabulary) -> Engine:
    """What searches. Raises CallError if it is not installed, or cannot hold this model."""
    if name == "own":
        return partial(nbest_translations, model, vocabulary)
    from annotated_transformer.sharing.ctranslate2_engine import CTranslate2Engine

    return CTranslate2Engine(model, vocabulary, "int8" if name.endswith("int8") else "float32")


@dataclass(frozen=True)
class Found:
    """A sentence, the number of its line, and its translations, best first; maybe none."""

    number: int
    line: str
    translations: list[Translation]


@dataclass
class Search:
    """The model and how it is asked; see `nbest_translations`.

    Attributes:
        engine: what searches, by its name on the command line.

    Raises:
        CallError: the engine is not installed, or cannot hold this model.
    """

    model: Transformer
    vocabulary: Vocabulary
    beam: int
    alpha: float
    nbest: int = 1
    with_attention: bool = False
    prefix: str = ""
    max_extra: int = MAX_EXTRA
    engine: str = "own"

    def __post_init__(self) -> None:
        self._nbest = engine_named(self.engine, self.model, self.vocabulary)

    def __call__(
        self, lines: Sequence[str], first_line: int, progress: Progress | None = None
    ) -> list[Found]:
        """The translations of some lines; their numbers begin with first_line."""

        def watched(done: int, _: int) -> None:
            if progress is not None:
                progress(first_line - 1 + done)

        found = self._nbest(
            lines,
            beam_size=self.beam,
            alpha=self.alpha,
            max_extra=self.max_extra,
            nbest=self.nbest,
            first_line=first_line,
            progress=watched,
            prefix=self.prefix,
        )
        return [
            Found(first_line + place, line, translations)
            for place, (line, translations) in enumerate(zip(lines, found, strict=True))
        ]

    def untranslated(self, lines: Sequence[str]) -> int:
        """How many lines are not translated, for what `__call__` would say of each."""
        sources = source_ids(self.vocabulary, lines)
        beginnings = prefix_ids(self.vocabulary, self.prefix, sources)
        limit = longest_source(self.model, self.max_extra)
        return sum(
            bool(refusal(*ids, limit, self.max_extra))
            for ids in zip(sources, beginnings, strict=True)
        )

    def as_object(self, found: Found) -> dict[str, Any]:
        """One sentence for JSON."""
        values: dict[str, Any] = {
            "source": found.line,
            "hypotheses": [
                {
                    "text": translation.text,
                    "score": translation.score,
                    "log_probability": translation.log_probability,
                }
                for translation in found.translations
            ],
        }
        if self.with_attention:
            values["attention"] = asdict(self.attention(found)) if found.translations else None
        return values

    def attention(self, found: Found) -> CrossAttention:
        """The cross-attention weights of the best translation."""
        return cross_attention(self.model, self.vocabulary, found.line, found.translations[0])
