"""How the command `translate` writes what it found: plain lines, one object, an object a line."""

import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from annotated_transformer.cli.sentences import Progress
from annotated_transformer.cli.translation_files import one_line
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
Write = Callable[[str], None]  # takes whole lines, each with its newline


@dataclass(frozen=True)
class Found:
    """A sentence, the number of its line, and its translations, best first; maybe none."""

    number: int
    line: str
    translations: list[Translation]


@dataclass(frozen=True)
class Search:
    """The model and how it is asked; see `nbest_translations`.

    Attributes:
        engine: what searches, if it is not this package's own search.
    """

    model: Transformer
    vocabulary: Vocabulary
    beam: int
    alpha: float
    nbest: int = 1
    with_attention: bool = False
    prefix: str = ""
    max_extra: int = MAX_EXTRA
    engine: Engine | None = None

    def __call__(
        self, lines: Sequence[str], first_line: int, progress: Progress | None = None
    ) -> list[Found]:
        """The translations of some lines; their numbers begin with first_line."""

        def watched(done: int, _: int) -> None:
            if progress is not None:
                progress(first_line - 1 + done)

        own = partial(nbest_translations, self.model, self.vocabulary)
        found = (self.engine or own)(
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


class TextWriter:
    """One line a sentence; with several translations, one line each behind number and score."""

    def __init__(self, search: Search, write: Write) -> None:
        self.search, self.put = search, write

    def begin(self) -> None:
        """Before the first sentence."""

    def write(self, chunk: Sequence[Found]) -> None:
        """Some sentences."""
        self.put("".join(row + "\n" for found in chunk for row in self.rows(found)))

    def rows(self, found: Found) -> Iterator[str]:
        """The lines of output of a sentence."""
        if self.search.nbest == 1:
            yield one_line(found.translations[0].text) if found.translations else ""
            return
        for one in found.translations:
            yield f"{found.number}\t{one.score:.4f}\t{one_line(one.text)}"

    def end(self) -> None:
        """After the last sentence, or where the work broke off."""


class JsonLinesWriter(TextWriter):
    """One object a line, one line a sentence."""

    def rows(self, found: Found) -> Iterator[str]:
        """The object of a sentence."""
        yield json.dumps(self.search.as_object(found), ensure_ascii=False)


class JsonWriter(TextWriter):
    """One object for all sentences, written as they come: it is never in memory as a whole."""

    def __init__(self, search: Search, write: Write) -> None:
        super().__init__(search, write)
        self.held = ""  # the last sentence: whether a comma follows it is not known yet

    def begin(self) -> None:
        """The head of the object."""
        asked = {name: getattr(self.search, name) for name in ("beam", "alpha", "max_extra")}
        head = json.dumps(asked, indent=2)
        self.put(head.removesuffix("\n}") + ',\n  "translations": [\n')

    def rows(self, found: Found) -> Iterator[str]:
        """The object held back; that of this sentence is held instead."""
        if self.held:
            yield self.held + ","
        text = json.dumps(self.search.as_object(found), indent=2, ensure_ascii=False)
        self.held = textwrap.indent(text, "    ")

    def end(self) -> None:
        """The end of the object: what was translated before a break can be read."""
        self.put(f"{self.held}\n  ]\n}}\n" if self.held else "  ]\n}\n")


WRITERS: dict[str, type[TextWriter]] = {
    "text": TextWriter,
    "json": JsonWriter,
    "jsonl": JsonLinesWriter,
}
