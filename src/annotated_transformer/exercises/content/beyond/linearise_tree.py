"""`beyond.linearise_tree`: a parse tree as a sequence of tokens (section 6.3), and back."""

import ast
import re
from typing import Any

import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call

Tree = tuple[Any, ...]


def linearise_tree(given: Any, words: list[str] | None = None) -> Any:
    def tokens_of(node: "Tree") -> list[str]:
        label, *children = node
        if isinstance(children[0], str):  # a tag and its word
            return ["XX"]
        inside = [token for child in children for token in tokens_of(child)]
        return [f"({label}", *inside, f"){label}"]

    if words is None:
        return tokens_of(given)

    unused = iter(words)
    open_phrases: list[list[Any]] = [[]]  # each begins with its label; the first holds the root
    for token in given:
        if token.startswith("("):
            open_phrases.append([token[1:]])
        elif token.startswith(")"):
            finished = tuple(open_phrases.pop())
            open_phrases[-1].append(finished)
        else:
            leaf = token, next(unused)
            open_phrases[-1].append(leaf)
    return open_phrases[0][0]


def _by_recursion(given: Any, words: list[str] | None = None) -> Any:
    if words is None:
        tokens: list[str] = []

        def visit(node: Tree) -> None:
            if len(node) == 2 and isinstance(node[1], str):
                tokens.append("XX")
                return
            tokens.append("(" + node[0])
            for child in node[1:]:
                visit(child)
            tokens.append(")" + node[0])

        visit(given)
        return tokens
    at, left = 0, 0

    def read() -> Tree:
        nonlocal at, left
        token = given[at]
        at += 1
        if token == "XX":
            left += 1
            return "XX", words[left - 1]
        children = []
        while given[at] != ")" + token[1:]:
            children.append(read())
        at += 1
        return token[1:], *children

    return read()


def _by_a_list_of_things_to_do(given: Any, words: list[str] | None = None) -> Any:
    if words is None:
        tokens, to_do = [], [given]
        while to_do:
            node = to_do.pop()
            if isinstance(node, str):
                tokens.append(node)
            elif isinstance(node[1], str):
                tokens.append("XX")
            else:
                tokens.append(f"({node[0]}")
                to_do += [f"){node[0]}", *reversed(node[1:])]
        return tokens
    nodes: list[Any] = []
    used = 0
    for token in given:
        if token[0] == ")":
            start = max(place for place, node in enumerate(nodes) if node == "(" + token[1:])
            nodes[start:] = [(token[1:], *nodes[start + 1 :])]
        elif token[0] == "(":
            nodes.append(token)
        else:
            nodes.append(("XX", words[used]))
            used += 1
    return nodes[0]


def _by_text(given: Any, words: list[str] | None = None) -> Any:
    if words is None:
        text = repr(given)
        quoted = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
        text = re.sub(rf"\((?:{quoted}), (?:{quoted})\)", "XX", text)
        tokens, labels = [], []
        for opened, _, closed in re.findall(r"\('([^']*)'|(XX)|(\))", text):
            if opened:
                labels.append(opened)
            tokens.append(f"({opened}" if opened else f"){labels.pop()}" if closed else "XX")
        return tokens
    remaining = list(words)
    parts = []
    for token in given:
        if token == "XX":
            parts.append(f"('XX', {remaining.pop(0)!r}),")
        else:
            parts.append(f"({token[1:]!r}," if token[0] == "(" else "),")
    return ast.literal_eval("".join(parts).rstrip(","))


ONE_WORD = ("NP", ("NNP", "John"))
DOG: Tree = (
    "S",
    ("NP", ("NNP", "John")),
    ("VP", ("VBZ", "has"), ("NP", ("DT", "a"), ("NN", "dog"))),
    (".", "."),
)
GO = ("S", ("VP", ("VB", "Go")))
NESTED: Tree = (
    "NP",
    ("NP", ("NP", ("DT", "the"), ("NN", "end")), ("PP", ("IN", "of"), ("NP", ("NN", "day")))),
    ("PP", ("IN", "in"), ("NP", ("NP", ("NNP", "May")), ("-LRB-", "("), ("-RRB-", ")"))),
)
QUESTION: Tree = (
    "SBARQ",
    ("WHNP-1", ("WP", "Who")),
    ("SQ", ("VP", ("VBD", "saw"), ("NP", ("PRP$", "her"), ("NN", "saw")))),
    (".", "?"),
)
LEFT: Tree = ("S", ("S", ("S", ("VB", "Stop"))), ("CC", "and"), ("S", ("VB", "look")))


def words_of(tree: Tree) -> list[str]:
    """The sentence, from left to right."""
    if isinstance(tree[1], str):
        return [tree[1]]
    return [word for child in tree[1:] for word in words_of(child)]


def _tokens(name: str, tree: Tree, isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(tree)

    return Case(f"the tree {name}", make, isolates=isolates)


def _back(name: str, tree: Tree, isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(linearise_tree(tree), words_of(tree))

    return Case(f"the tokens {name}", make, isolates=isolates)


LINEARISE_TREE = Exercise(
    id="beyond.linearise_tree",
    title="A tree as a sequence",
    kind="code",
    difficulty=3,
    minutes=20,
    signature=(
        "linearise_tree(tree: tuple) -> list[str]; "
        "linearise_tree(tokens: list[str], words: list[str]) -> tree"
    ),
    statement=(
        "A tree is a tuple: a word with its part of speech, (tag, word), both strings, or a "
        "phrase, (label, child, child, ...), each child a tree. linearise_tree(tree) returns "
        "its tokens from left to right: a phrase is '(label', the tokens of its children, "
        "')label'; every word with its tag, punctuation included, is the one token 'XX'. So "
        "('S', ('VP', ('VB', 'Go'))) gives ['(S', '(VP', 'XX', ')VP', ')S']. With the words of "
        "the sentence as second argument it goes back: linearise_tree(tokens, words) returns "
        "the tree in which the n-th 'XX' is ('XX', n-th word). Labels stay as they are; the "
        "tokens are well-formed and the tree has at least one phrase. Inputs are left "
        "untouched."
    ),
    objective="Turn parsing into translation, as section 6.3 does: words in, a sequence of "
    "brackets out.",
    prerequisite="Section 6.3 of the paper",
    hints=(
        "Write down by hand the tokens of ('S', ('NP', ('NNP', 'John')), ('VP', ('VBZ', 'runs'))). "
        "How many of its seven strings come out, and how many tokens are there?",
        "To the tokens: recursion, the label before and after the children. How do you tell a "
        "word from a phrase? Back: keep a stack of open phrases; an opening token starts one, a "
        "closing token finishes the last and hands it to the one below.",
        "A node is a word when node[1] is a string: ['XX']. Otherwise ['(' + label] + tokens of "
        "the children + [')' + label]. Back: '(' pushes [label], 'XX' appends ('XX', next word) "
        "to the top, ')' pops the top and appends it as a tuple to what is below.",
    ),
    reference=linearise_tree,
    explanation=(
        "A model that maps sequences to sequences needs the tree as a sequence. The form is that "
        "of 'Grammar as a Foreign Language', whose setting the paper takes over. Closing brackets "
        "carry their label, so that the model says at each end which phrase it ends, and a "
        "missing bracket can be noticed; one token for '(NP' instead of two keeps the sequence "
        "short. The words are left out because the input has them already; they come back in "
        "order. The tags become XX, since bracket scores do not count them and a model that need "
        "not predict them does a little better. So the way back gives the tree, but not its tags."
    ),
    cases=(
        _tokens("of one word", ONE_WORD, "the tokens of a single phrase with a single word"),
        _tokens("of 'Go'", GO, "the nesting: a phrase in a phrase"),
        _back("of 'Go' and the word", GO, "the way back: a phrase in a phrase"),
        _back("of 'John' and the word", ONE_WORD, "the way back from a single phrase"),
        _tokens("of 'John has a dog .'", DOG, "the order of brackets and words"),
        _back("of 'John has a dog .' and its words", DOG, "the way back with several children"),
        _tokens(
            "of 'the end of day in May ( )'",
            NESTED,
            "equal labels inside each other, and words that are brackets",
        ),
        _back(
            "of 'the end of day in May ( )' and its words",
            NESTED,
            "the way back with equal labels inside each other",
        ),
        _tokens("of 'Who saw her saw ?'", QUESTION, "labels of several letters"),
        _back("of 'Who saw her saw ?' and its words", QUESTION, "words that occur twice"),
        _tokens("of 'Stop and look'", LEFT),
        _back("of 'Stop and look' and its words", LEFT),
    ),
    mistakes=page(__file__, linearise_tree),
    alternatives=(_by_recursion, _by_a_list_of_things_to_do, _by_text),
    starter=(
        "def linearise_tree(tree, words=None):\n"
        "    \"\"\"A tree -> ['(S', ..., 'XX', ..., ')S']; with words, tokens -> the tree.\"\"\"\n"
        "    ...  # your code"
    ),
)
