"""Wrong forms of `beyond.linearise_tree`: the brackets, their labels and their order."""

from functools import partial
from typing import Any

from annotated_transformer.exercises.content.beyond.linearise_steps import (
    Tokens,
    Write,
    both,
    is_word,
    written_by,
)
from annotated_transformer.exercises.exercise import Mistake


def _nothing(*given: str) -> Tokens:
    return []


def _breadth_first(tree: Any, closed: str = "at-once") -> Tokens:
    tokens, level = [], [tree]
    opened: Tokens = []
    while level:
        below: list[Any] = []
        for node in level:
            if is_word(node):
                tokens.append("XX")
            else:
                tokens += [f"({node[0]}", *([f"){node[0]}"] if closed == "at-once" else [])]
                opened.append(f"){node[0]}")
                below += node[1:]
        level = below
    ends = {"root": opened[:1], "in-order": opened, "in-reverse": opened[::-1]}
    return [*tokens, *ends.get(closed, [])]


def _collapsed(tree: Any) -> Tokens:
    """A phrase whose only child is a phrase is left out."""
    while not is_word(tree) and len(tree) == 2 and not is_word(tree[1]):
        tree = tree[1]
    if is_word(tree):
        return ["XX"]
    inside = [token for child in tree[1:] for token in _collapsed(child)]
    return [f"({tree[0]}", *inside, f"){tree[0]}"]


def _one_word_phrases_as_words(tree: Any) -> Tokens:
    if is_word(tree) or (len(tree) == 2 and is_word(tree[1])):
        return ["XX"]
    inside = [token for child in tree[1:] for token in _one_word_phrases_as_words(child)]
    return [f"({tree[0]}", *inside, f"){tree[0]}"]


def _closed_by_parent(tree: Any, parent: str | None = None) -> Tokens:
    if is_word(tree):
        return ["XX"]
    inside = [token for child in tree[1:] for token in _closed_by_parent(child, tree[0])]
    return [f"({tree[0]}", *inside, f"){parent or tree[0]}"]


def _nested(tree: Any) -> Any:
    if is_word(tree):
        return "XX"
    return [f"({tree[0]}", *map(_nested, tree[1:]), f"){tree[0]}"]


def _without_the_root(tree: Any) -> Tokens:
    return written_by()(tree)[1:-1]


_UNLABELLED = (
    "The closing brackets have no label: `)` instead of `)NP`. Each phrase is closed by its own "
    "token, ')' + label, so that the model says which phrase it ends."
)
_UNLABELLED_OPENING = (
    "The opening brackets have no label: `(` instead of `(NP`. The label belongs to both "
    "brackets, '(' + label and ')' + label."
)
_SEPARATE = (
    "Bracket and label are separate tokens. They are one, '(NP' and ')NP': the sequence is "
    "shorter, and a token is a whole step of the tree."
)
_NO_CLOSING = (
    "The closing tokens are missing, so nobody can tell where a phrase ends. After the tokens of "
    "the children comes ')' + label."
)

_LEVELS = (
    "The tree is read level by level. A phrase's tokens stand between its two brackets: go down "
    "into each child before the next."
)

_WRITINGS: tuple[tuple[str, Write, str], ...] = (
    ("unlabelled-closing", written_by(closing=lambda label: [")"]), _UNLABELLED),
    ("no-closing", written_by(closing=_nothing), _NO_CLOSING),
    (
        "no-opening",
        written_by(opening=_nothing),
        "The opening tokens are missing, so nobody can tell where a phrase begins. Before the "
        "tokens of the children comes '(' + label.",
    ),
    (
        "no-brackets",
        written_by(opening=_nothing, closing=_nothing),
        "Only the words' tokens are left. Each phrase opens with '(' + label and closes with "
        "')' + label.",
    ),
    (
        "labels-without-brackets",
        written_by(opening=lambda label: [label], closing=lambda label: [label]),
        "The labels stand without brackets, so beginning and end look alike. A phrase opens with "
        "'(' + label and closes with ')' + label.",
    ),
    ("unlabelled-opening", written_by(opening=lambda label: ["("]), _UNLABELLED_OPENING),
    (
        "no-labels",
        written_by(opening=lambda label: ["("], closing=lambda label: [")"]),
        "The brackets have no labels at all. The label belongs to both: '(' + label and "
        "')' + label.",
    ),
    (
        "separate-labels",
        written_by(opening=lambda label: ["(", label], closing=lambda label: [")", label]),
        _SEPARATE,
    ),
    (
        "separate-labels-unlabelled-closing",
        written_by(opening=lambda label: ["(", label], closing=lambda label: [")"]),
        _SEPARATE + " And the closing bracket has no label.",
    ),
    (
        "separate-labels-and-tags",
        written_by(
            opening=lambda label: ["(", label],
            closing=lambda label: [")", label],
            word=lambda tag, word: [tag],
        ),
        _SEPARATE + " The part-of-speech tags are kept besides: a word becomes 'XX'.",
    ),
    (
        "separate-labels-and-tags-unlabelled-closing",
        written_by(
            opening=lambda label: ["(", label],
            closing=lambda label: [")"],
            word=lambda tag, word: [tag],
        ),
        _SEPARATE + " The closing bracket has no label, and the part-of-speech tags are kept: "
        "each becomes 'XX'.",
    ),
    (
        "no-labels-and-tags",
        written_by(
            opening=lambda label: ["("],
            closing=lambda label: [")"],
            word=lambda tag, word: [tag],
        ),
        "The brackets have no labels at all, and the part-of-speech tags are kept. Write "
        "'(' + label and ')' + label, and 'XX' for each word with its tag.",
    ),
    (
        "one-string-unlabelled-closing",
        lambda tree: " ".join(written_by(closing=lambda label: [")"])(tree)),
        "This is one string, and its closing brackets have no label. A list of tokens is asked "
        "for, in which a phrase ends with ')' + label.",
    ),
    (
        "separate-labels-before-the-bracket",
        written_by(opening=lambda label: ["(", label], closing=lambda label: [label, ")"]),
        _SEPARATE + " The closing one has its label after the bracket.",
    ),
    (
        "label-before-the-closing-bracket",
        written_by(closing=lambda label: [f"{label})"]),
        "The closing token has its label before the bracket, `NP)`. It is ')' + label: `)NP`.",
    ),
    (
        "labels-before-the-brackets",
        written_by(opening=lambda label: [f"{label}("], closing=lambda label: [f"{label})"]),
        "The labels stand before the brackets. They follow them: '(' + label and ')' + label.",
    ),
    (
        "other-brackets",
        written_by(opening=lambda label: [f"<{label}>"], closing=lambda label: [f"</{label}>"]),
        "The tokens look like XML. Asked for are '(' + label and ')' + label.",
    ),
    (
        "square-brackets",
        written_by(opening=lambda label: [f"[{label}"], closing=lambda label: [f"]{label}"]),
        "The brackets are square. Asked for are '(' + label and ')' + label.",
    ),
    (
        "closed-by-an-opening-bracket",
        written_by(closing=lambda label: [f"({label}"]),
        "A phrase is closed by an opening token. The last token of a phrase is ')' + label.",
    ),
    (
        "closed-in-brackets",
        written_by(opening=lambda label: [f"({label})"], closing=lambda label: [f"(/{label})"]),
        "The tokens have a bracket on either side. Asked for are '(' + label and ')' + label.",
    ),
    (
        "space-in-the-tokens",
        written_by(opening=lambda label: [f"( {label}"], closing=lambda label: [f") {label}"]),
        "There is a space within the tokens. They are '(' + label and ')' + label, nothing "
        "between.",
    ),
    (
        "space-in-the-opening-tokens",
        written_by(opening=lambda label: [f"( {label}"]),
        "There is a space within the opening tokens. They are '(' + label, nothing between.",
    ),
    (
        "closed-by-the-parent",
        _closed_by_parent,
        "Closing brackets carry the label of the phrase "
        "around them. Each phrase is closed by its own label.",
    ),
    (
        "children-reversed",
        written_by(children=lambda children: children[::-1]),
        "The children come from right to left. The tokens follow the sentence, from left to right.",
    ),
    (
        "first-child-only",
        written_by(children=lambda children: children[:1]),
        "Only the first child of each phrase is visited. A phrase may have any number: "
        "`for child in tree[1:]`.",
    ),
    (
        "two-children-at-most",
        written_by(children=lambda children: children[:2]),
        "At most two children of each phrase are visited. A phrase may have any number: "
        "`for child in tree[1:]`.",
    ),
    (
        "first-child-skipped",
        written_by(children=lambda children: children[1:]),
        "The first child of each phrase is skipped. The label is tree[0] and the children are "
        "tree[1:].",
    ),
    ("breadth-first", _breadth_first, _LEVELS),
    *(
        (f"breadth-first-closed-{way}", partial(_breadth_first, closed=way), _LEVELS)
        for way in ("root", "in-order", "in-reverse", "never")
    ),
    (
        "single-phrases-collapsed",
        _collapsed,
        "A phrase whose only child is a phrase is left out. "
        "Every phrase of the tree has its two brackets.",
    ),
    (
        "one-word-phrases-as-words",
        _one_word_phrases_as_words,
        "A phrase of a single word is taken for a word, and its brackets are lost. Only (tag, "
        "word), two strings, is a word: look whether node[1] is a string, not at the length.",
    ),
    (
        "without-the-root",
        _without_the_root,
        "The root has lost its brackets. It is a phrase like "
        "the others: the first token is '(' + its label.",
    ),
    (
        "wrapped-in-top",
        lambda tree: ["(TOP", *written_by()(tree), ")TOP"],
        "A phrase TOP is put around the tree. The tokens are those of the tree alone.",
    ),
    (
        "root-closed-twice",
        lambda tree: [*written_by()(tree), f"){tree[0]}"],
        "The root is closed twice. Every opening token has one closing token.",
    ),
    (
        "sentence-marks",
        lambda tree: ["<s>", *written_by()(tree), "</s>"],
        "Marks for the beginning and end are added. The tokens are those of the tree alone; "
        "special symbols are the business of the batch.",
    ),
    (
        "labels-shortened",
        written_by(
            opening=lambda label: [f"({label.split('-')[0]}"],
            closing=lambda label: [f"){label.split('-')[0]}"],
        ),
        "Labels are cut at the hyphen (WHNP-1 becomes WHNP). Many programs do that before "
        "training, but here labels stay as they are.",
    ),
    (
        "lower-case",
        written_by(
            opening=lambda label: [f"({label.lower()}"], closing=lambda label: [f"){label.lower()}"]
        ),
        "The labels are in lower case. They stay as they are.",
    ),
    (
        "one-string",
        lambda tree: " ".join(written_by()(tree)),
        "This is one string. A list of tokens is asked for, as the model gets them: do without "
        "`' '.join`.",
    ),
    (
        "nested-lists",
        _nested,
        "The lists are nested as the tree is. The tokens are one flat list: "
        "`extend` with the tokens of a child, do not `append` its list.",
    ),
    (
        "tree-itself",
        lambda tree: tree,
        "The tree comes back as it is. Without words the function returns its tokens.",
    ),
)


BRACKET_MISTAKES = tuple(
    Mistake(name, both(write), sentence) for name, write, sentence in _WRITINGS
)
