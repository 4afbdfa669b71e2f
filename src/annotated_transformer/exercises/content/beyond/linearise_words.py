"""Wrong forms of `beyond.linearise_tree`: what becomes of the words and their tags."""

from functools import partial
from itertools import count
from typing import Any

from annotated_transformer.exercises.content.beyond.linearise_steps import (
    Tokens,
    Write,
    both,
    written_by,
)
from annotated_transformer.exercises.exercise import Mistake


def _nothing(*given: str) -> Tokens:
    return []


def _words_as_phrases(tree: Any) -> Tokens:
    """Without a case for words: the tag is taken for a label."""
    if isinstance(tree, str):
        return ["XX"]
    inside = [token for child in tree[1:] for token in _words_as_phrases(child)]
    return [f"({tree[0]}", *inside, f"){tree[0]}"]


def _runs_joined(tree: Any) -> Tokens:
    tokens: Tokens = []
    for token in written_by()(tree):
        if token != "XX" or tokens[-1:] != ["XX"]:
            tokens.append(token)
    return tokens


def _numbered(tree: Any, first: int) -> Tokens:
    number = count(first)
    return [f"XX{next(number)}" if token == "XX" else token for token in written_by()(tree)]


def _punctuation(tag: str, word: str) -> bool:
    return not tag[0].isalpha()


_UNLABELLED = (
    "The closing brackets have no label: `)` instead of `)NP`. Each phrase is closed by its own "
    "token, ')' + label, so that the model says which phrase it ends."
)
_TAGS = (
    "The part-of-speech tags are kept: `NNP`, `VBZ`, ... A word with its tag becomes the one "
    "token 'XX', because the tags are not scored and only make the task harder."
)
_WORDS = (
    "The words themselves stand among the tokens. The input sentence has them already: each word "
    "with its tag becomes 'XX'."
)
_PUNCTUATION = (
    "Punctuation is treated differently from words. Its tag becomes 'XX' as every other: one 'XX' "
    "for each word of the sentence."
)
_AS_PHRASES = (
    "A word is written as a phrase, its tag as a label in brackets. A word with its tag is the one "
    "token 'XX', without brackets: stop at nodes whose second part is a string."
)

_WRITINGS: tuple[tuple[str, Write, str], ...] = (
    ("tags-kept", written_by(word=lambda tag, word: [tag]), _TAGS),
    (
        "tags-kept-unlabelled-closing",
        written_by(closing=lambda label: [")"], word=lambda tag, word: [tag]),
        _UNLABELLED + " And the part-of-speech tags are kept; each becomes 'XX'.",
    ),
    ("tags-as-phrases", _words_as_phrases, _AS_PHRASES + " That keeps the tags, too."),
    (
        "tags-as-phrases-with-words",
        written_by(word=lambda tag, word: [f"({tag}", word, f"){tag}"]),
        _AS_PHRASES + " Tags and words are both kept here.",
    ),
    (
        "tags-as-phrases-with-words-unlabelled",
        written_by(closing=lambda label: [")"], word=lambda tag, word: [f"({tag}", word, ")"]),
        "This is the bracket notation of the treebank, cut into tokens: tags and words are kept, "
        "and closing brackets have no label. A word with its tag becomes 'XX', and a phrase is "
        "closed by ')' + label.",
    ),
    (
        "tags-in-brackets",
        written_by(word=lambda tag, word: [f"({tag}", f"){tag}"]),
        _AS_PHRASES + " That keeps the tags, too.",
    ),
    (
        "xx-in-brackets",
        written_by(word=lambda tag, word: ["(XX", ")XX"]),
        _AS_PHRASES,
    ),
    (
        "xx-around-the-word",
        written_by(word=lambda tag, word: ["(XX", word, ")XX"]),
        _AS_PHRASES + " The word itself is left out as well.",
    ),
    ("words-kept", written_by(word=lambda tag, word: [word]), _WORDS),
    ("tags-and-words-kept", written_by(word=lambda tag, word: [tag, word]), _TAGS + " " + _WORDS),
    (
        "words-after-xx",
        written_by(word=lambda tag, word: ["XX", word]),
        _WORDS + " Here they follow the 'XX'.",
    ),
    (
        "tag-and-word-in-one",
        written_by(word=lambda tag, word: [f"{tag}/{word}"]),
        _TAGS + " " + _WORDS,
    ),
    (
        "tag-and-word-joined",
        written_by(word=lambda tag, word: [f"{tag}_{word}"]),
        _TAGS + " " + _WORDS,
    ),
    (
        "tag-and-word-with-a-space",
        written_by(word=lambda tag, word: [f"{tag} {word}"]),
        _TAGS + " " + _WORDS,
    ),
    (
        "words-kept-unlabelled-closing",
        written_by(closing=lambda label: [")"], word=lambda tag, word: [word]),
        _UNLABELLED + " And the words are kept; each with its tag becomes 'XX'.",
    ),
    (
        "words-left-out",
        written_by(word=_nothing),
        "The words have no token at all, so their places in the tree are lost. Each word with its "
        "tag becomes 'XX'.",
    ),
    (
        "runs-of-words-joined",
        _runs_joined,
        "Neighbouring words share one 'XX'. Each word has its "
        "own: there are as many 'XX' as words.",
    ),
    (
        "punctuation-kept",
        written_by(word=lambda tag, word: [tag] if _punctuation(tag, word) else ["XX"]),
        _PUNCTUATION,
    ),
    (
        "punctuation-words-kept",
        written_by(word=lambda tag, word: [word] if _punctuation(tag, word) else ["XX"]),
        _PUNCTUATION,
    ),
    (
        "punctuation-left-out",
        written_by(word=lambda tag, word: [] if _punctuation(tag, word) else ["XX"]),
        _PUNCTUATION,
    ),
    *(
        (
            f"numbered-from-{first}",
            partial(_numbered, first=first),
            "The 'XX' are numbered. All words have the same token, 'XX'; their order says which "
            "is which.",
        )
        for first in (0, 1)
    ),
    (
        "small-xx",
        written_by(word=lambda tag, word: ["xx"]),
        "The token of a word is 'XX', in capitals.",
    ),
    (
        "one-x",
        written_by(word=lambda tag, word: ["X"]),
        "The token of a word is 'XX', two letters.",
    ),
    (
        "unk",
        written_by(word=lambda tag, word: ["<unk>"]),
        "The token of a word is 'XX', whatever the word: nothing is unknown here.",
    ),
)

WORD_MISTAKES = tuple(Mistake(name, both(write), sentence) for name, write, sentence in _WRITINGS)
