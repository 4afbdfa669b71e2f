"""How the command `translate` writes what it found: plain lines, one object, an object a line."""

import json
import textwrap
from collections.abc import Callable, Iterator, Sequence

from annotated_transformer.cli.search import Found, Search
from annotated_transformer.cli.translation_files import one_line

Write = Callable[[str], None]  # takes whole lines, each with its newline


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
        asked = ("engine", "beam", "alpha", "max_extra")
        head = json.dumps({name: getattr(self.search, name) for name in asked}, indent=2)
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
