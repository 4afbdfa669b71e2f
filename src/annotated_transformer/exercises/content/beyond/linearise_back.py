"""Wrong forms of `beyond.linearise_tree` on the way back from tokens and words to the tree."""

from typing import Any

from annotated_transformer.exercises.content.beyond.linearise_steps import (
    Read,
    Tokens,
    both,
    read_by,
    written_by,
)
from annotated_transformer.exercises.exercise import Mistake


def _flat(tokens: Tokens, words: Tokens) -> Any:
    """Everything under the root: closing tokens are passed over."""
    left = iter(words)
    children: list[Any] = []
    for token in tokens[1:]:
        if token == "XX":
            children.append(("XX", next(left)))
    return (tokens[0][1:], *children)


def _never_closed(tokens: Tokens, words: Tokens) -> Any:
    """Each phrase is put into the one before it, as if none had ended."""
    left = iter(words)
    root: list[Any] = [tokens[0][1:]]
    top = root
    for token in tokens[1:]:
        if token.startswith("("):
            inner: list[Any] = [token[1:]]
            top.append(inner)
            top = inner
        elif token == "XX":
            top.append(("XX", next(left)))
    return _as_tuples(root)


def _as_tuples(node: Any) -> Any:
    return tuple(map(_as_tuples, node)) if isinstance(node, list) else node


def _by_label(tokens: Tokens, words: Tokens) -> Any:
    """A phrase ends at the first closing token with its label, wherever that belongs."""

    def read(at: int, used: int) -> tuple[Any, int]:
        end = tokens.index(")" + tokens[at][1:], at)
        children: list[Any] = []
        place = at + 1
        while place < end:
            if tokens[place] == "XX":
                children.append(("XX", words[used]))
                used += 1
            elif tokens[place].startswith("("):
                inner, used = read(place, used)
                children.append(inner)
                place = tokens.index(")" + tokens[place][1:], place)
            place += 1
        return (tokens[at][1:], *children), used

    return read(0, 0)[0]


def _emptied(tokens: Tokens, words: Tokens) -> Any:
    tree = read_by()(tokens, words)
    words.clear()
    return tree


def _tokens_emptied(tokens: Tokens, words: Tokens) -> Any:
    tree = read_by()(tokens, words)
    tokens.clear()
    return tree


def _both_emptied(tokens: Tokens, words: Tokens) -> Any:
    tree = _emptied(tokens, words)
    tokens.clear()
    return tree


def _words_ignored(given: Any, words: Tokens | None = None) -> Any:
    return written_by()(given) if words is None else ["XX"]


def _bracket_text(tree: Any) -> str:
    if isinstance(tree, str):
        return tree
    return "(" + " ".join(map(_bracket_text, tree)) + ")"


_LEAF = (
    "On the way back a word is not a pair. The n-th 'XX' becomes ('XX', n-th word): a tuple of the "
    "tag and the word, as in the tree that went in."
)
_ORDER = (
    "On the way back the words are not taken in the order of the sentence. The first 'XX' gets "
    "words[0], the next one words[1], and so on."
)
_EMPTIED = (
    "The tree is right, but a list that was passed in is emptied (`pop(0)` does this). Copy it "
    "first, or count the words used."
)
_CLOSING = (
    "On the way back closing tokens do not end the phrase, so that the nesting is lost. At a "
    "closing token the phrase on top of the stack is finished and goes into the one below."
)

_READINGS: tuple[tuple[str, Read, str], ...] = (
    ("back-words-alone", read_by(word=lambda token, word: word), _LEAF + " Here it is the word."),
    ("back-tags-alone", read_by(word=lambda token, word: token), _LEAF + " Here it is 'XX' alone."),
    (
        "back-tag-tuples",
        read_by(word=lambda token, word: (token,)),
        _LEAF + " The word is missing.",
    ),
    (
        "back-word-tuples",
        read_by(word=lambda token, word: (word,)),
        _LEAF + " The 'XX' is missing.",
    ),
    (
        "back-word-before-tag",
        read_by(word=lambda token, word: (word, token)),
        _LEAF + " The tag comes first.",
    ),
    (
        "back-tag-twice",
        read_by(word=lambda token, word: (token, token)),
        _LEAF + " The words are not used.",
    ),
    (
        "back-word-twice",
        read_by(word=lambda token, word: (word, word)),
        _LEAF + " The tag is 'XX'.",
    ),
    (
        "back-one-string",
        read_by(word=lambda token, word: f"{token} {word}"),
        _LEAF + " Here it is one string.",
    ),
    ("back-reversed-words", read_by(order=lambda words: words[::-1]), _ORDER),
    ("back-sorted-words", read_by(order=sorted), _ORDER),
    (
        "back-first-word",
        read_by(order=lambda words: words[:1] * len(words)),
        _ORDER + " Here every 'XX' gets the first word.",
    ),
    (
        "back-shifted-words",
        read_by(order=lambda words: words[1:] + words[:1]),
        _ORDER + " Here it starts at the second one.",
    ),
    (
        "back-distinct-words",
        read_by(order=lambda words: (list(dict.fromkeys(words)) + words)[: len(words)]),
        _ORDER + " Words that occur twice must not be merged.",
    ),
    (
        "back-labels-with-brackets",
        read_by(label=lambda token: token),
        "On the way back the labels keep their bracket, '(NP'. The label is the token without its "
        "first character: `token[1:]`.",
    ),
    (
        "back-first-letter-of-the-label",
        read_by(label=lambda token: token[1]),
        "On the way back only the first letter of each label is left. The label is all but the "
        "bracket: `token[1:]`.",
    ),
    (
        "back-label-one-letter-short",
        read_by(label=lambda token: token[1:-1]),
        "On the way back the labels have lost their last letter. Only the bracket goes: "
        "`token[1:]`.",
    ),
    (
        "back-labels-left-out",
        read_by(phrase=lambda node: tuple(node[1:])),
        "On the way back the labels are left out. A phrase is (label, child, child, ...).",
    ),
    (
        "back-label-last",
        read_by(phrase=lambda node: (*node[1:], node[0])),
        "On the way back the label stands at the end. A phrase is (label, child, child, ...).",
    ),
    (
        "back-children-reversed",
        read_by(phrase=lambda node: (node[0], *reversed(node[1:]))),
        "On the way back the children of each phrase are in reverse order. They come as in the "
        "sentence, from left to right.",
    ),
    (
        "back-children-in-a-list",
        read_by(phrase=lambda node: (node[0], node[1:])),
        "On the way back the children are in a list of their own. A phrase is "
        "(label, child, child, ...), the children directly after the label.",
    ),
    (
        "back-last-child-only",
        read_by(phrase=lambda node: (node[0], node[-1])),
        "On the way back only the last child of each phrase is left. All of them follow the label.",
    ),
    (
        "back-first-child-only",
        read_by(phrase=lambda node: (node[0], node[1])),
        "On the way back only the first child of each phrase is left. All of them follow the "
        "label.",
    ),
    (
        "back-single-phrases-collapsed",
        read_by(
            phrase=lambda node: node[1] if len(node) == 2 and node[1][0] != "XX" else tuple(node)
        ),
        "On the way back a phrase whose only child is a phrase is left out. Every phrase stays.",
    ),
    (
        "back-one-word-phrases-collapsed",
        read_by(phrase=lambda node: node[1] if len(node) == 2 else tuple(node)),
        "On the way back a phrase with a single child is left out. Every phrase stays.",
    ),
    (
        "back-dictionaries",
        read_by(phrase=lambda node: {node[0]: node[1:]}),
        "On the way back the phrases are dictionaries. They are tuples, as in the tree that went "
        "in: (label, child, child, ...).",
    ),
    (
        "back-in-a-list",
        lambda tokens, words: [read_by()(tokens, words)],
        "On the way back the tree stands in a list (the stack's lowest entry). Return the tree "
        "itself, the first and only thing in it.",
    ),
    (
        "back-children-of-the-root",
        lambda tokens, words: read_by()(tokens, words)[1:],
        "On the way back the root's label is missing: only its children are returned. The first "
        "token opens the root, which is a phrase like the others.",
    ),
    (
        "back-first-child-of-the-root",
        lambda tokens, words: read_by()(tokens, words)[1],
        "On the way back only the first child of the root is returned. The first token opens the "
        "root: return that phrase.",
    ),
    (
        "back-last-child-of-the-root",
        lambda tokens, words: read_by()(tokens, words)[-1],
        "On the way back the last child of the root is returned, the phrase that was closed last "
        "but one. Return the root.",
    ),
    ("back-flat", _flat, _CLOSING + " Here all words lie directly under the root."),
    ("back-never-closed", _never_closed, _CLOSING),
    (
        "back-closed-by-label",
        _by_label,
        "On the way back a phrase ends at the next closing token with its label, which may belong "
        "to a phrase of the same label inside it. A closing token ends the phrase that was opened "
        "last: use a stack.",
    ),
    ("back-words-emptied", _emptied, _EMPTIED + " It is `words`."),
    ("back-tokens-emptied", _tokens_emptied, _EMPTIED + " It is the list of tokens."),
    ("back-both-emptied", _both_emptied, _EMPTIED + " Both are."),
    (
        "back-as-text",
        lambda tokens, words: _bracket_text(read_by()(tokens, words)),
        "The way back gives a string in brackets. Asked for is the tree: tuples in tuples.",
    ),
    (
        "back-tokens-with-words",
        lambda tokens, words: [
            words[tokens[:at].count("XX")] if token == "XX" else token
            for at, token in enumerate(tokens)
        ],
        "With words given, the tokens come back with the words filled in. Asked for is the tree: "
        "tuples in tuples.",
    ),
    (
        "back-tokens",
        lambda tokens, words: tokens,
        "With words given, the tokens come back as they are. Asked for is the tree: tuples in "
        "tuples.",
    ),
    (
        "back-missing",
        lambda tokens, words: None,
        "The way back is missing: with words given, nothing is returned. Build the tree from "
        "tokens and words.",
    ),
)

BACK_MISTAKES = (
    *(Mistake(name, both(read=read), sentence) for name, read, sentence in _READINGS),
    Mistake(
        "back-ignored",
        _words_ignored,
        "`words` is taken but not looked at, so the list of tokens is read as if it were a tree. "
        "When words are given, the first argument is a list of tokens, and the tree is asked for.",
    ),
    Mistake(
        "back-not-taken",
        lambda given: written_by()(given),
        "The function takes the tree alone. It has a second argument, `words=None`: when it is "
        "given, the first argument is a list of tokens, and the tree is asked for.",
    ),
)
