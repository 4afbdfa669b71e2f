"""Constituency trees (section 6.3): read from brackets, written as a row for a model to predict.

Written as in Vinyals et al. (2015), "Grammar as a Foreign Language", which section 6.3 follows:
every phrase opens with its label and closes with it, and every part-of-speech tag is XX, so that
(S (NP (NNP John)) (VP (VBZ sleeps))) becomes (S (NP XX )NP (VP XX )VP )S. Or with a token for each
word in the place of XX: (S (NP john )NP (VP sleeps )VP )S.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

from annotated_transformer.errors import WorkError

TOKEN = re.compile(r"[()]|[^\s()]+")
ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
NAMES = {bracket: name for name, bracket in ESCAPED.items()}
ANY_TAG = "XX"


@dataclass(frozen=True)
class Tree:
    """A phrase with its parts, or a part-of-speech tag with its word.

    Attributes:
        label: NP-SBJ, VP, NN, ...
        children: the parts, in order; of a tag the word alone.
    """

    label: str
    children: tuple["Tree | str", ...]

    @property
    def is_tag(self) -> bool:
        """Whether this is a part-of-speech tag above its word."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    @property
    def category(self) -> str:
        """The label without its functions: NP of NP-SBJ, and -LRB- of -LRB-."""
        return self.label if self.label.startswith("-") else re.split("[-=]", self.label)[0]

    def words(self) -> Iterator[str]:
        """The sentence, brackets in it as they look in text."""
        for child in self.children:
            if isinstance(child, str):
                yield ESCAPED.get(child, child)
            else:
                yield from child.words()


def parse(text: str) -> Tree:
    """One tree in brackets, such as (ROOT (NP (NN Introduction))).

    Raises:
        ValueError: the brackets do not close, or stand where none may; the message says where.
    """
    stack: list[tuple[str, list[Tree | str]]] = []
    tokens = list(TOKEN.finditer(text))
    for number, token in enumerate(tokens):
        if token[0] == "(":
            follows = tokens[number + 1][0] if number + 1 < len(tokens) else ""
            stack.append(("" if follows in ("(", ")") else follows, []))
        elif token[0] == ")":
            if not stack:
                raise ValueError(f"the bracket at character {token.start() + 1} closes nothing")
            label, children = stack.pop()
            if not children:
                raise ValueError(f"the phrase that ends at character {token.end()} is empty")
            if len(children) > 1 and any(isinstance(child, str) for child in children):
                raise ValueError(
                    f"the phrase that ends at character {token.end()} holds a word without a tag"
                )
            tree = Tree(label, tuple(children))
            if not stack:
                if number + 1 < len(tokens):
                    raise ValueError(f"the tree ends at character {token.end()} and text follows")
                return tree
            stack[-1][1].append(tree)
        elif not stack:
            raise ValueError("a tree begins with a bracket")
        elif tokens[number - 1][0] != "(":
            stack[-1][1].append(token[0])
    raise ValueError(f"{len(stack)} brackets are not closed" if stack else "there is no tree")


def read_trees(lines: Iterator[str], where: str) -> list[Tree]:
    """One tree a line. Raises WorkError, naming the line, for one that is none."""
    trees = []
    for number, line in enumerate(lines, start=1):
        try:
            trees.append(parse(line))
        except ValueError as error:
            raise WorkError(f"{where}, line {number}, is no tree in brackets: {error}") from error
    return trees


def linearise(tree: Tree, word_tokens: Iterable[str] | None = None) -> str:
    """A tree as a row of tokens for a model to predict (head of this module).

    Args:
        tree: the tree.
        word_tokens: what stands for each word, in order; XX for all if None.
    """
    return " ".join(_tokens(tree, repeat(ANY_TAG) if word_tokens is None else iter(word_tokens)))


def _tokens(tree: Tree, word_tokens: Iterator[str]) -> Iterator[str]:
    if tree.is_tag:
        yield next(word_tokens)
        return
    yield f"({tree.category}"
    for child in tree.children:
        if isinstance(child, Tree):
            yield from _tokens(child, word_tokens)
    yield f"){tree.category}"


def delinearise(
    row: str, leaves: Sequence[Tree], word_tokens: Sequence[str] | None = None
) -> tuple[Tree, bool]:
    """The tree of a row that a model wrote, whatever it wrote, and whether the row was one.

    A row is well formed if each phrase that opens closes with its own label, holds something, all
    of it is one phrase, and it has the token of each word in its place. One that is not is mended
    so that the tree has exactly these words: any token that is no bracket stands for the next word;
    a token that closes a phrase closes those inside it too, or nothing if no such phrase is open;
    at the end all are closed; words without a token hang on the last phrase that was open, a token
    without a word is nothing, and so is a phrase without words. Where more than one phrase, or a
    word, is left at the top, a phrase without a label holds them.

    Args:
        row: tokens, as `linearise` writes them.
        leaves: the words of the sentence with their tags, in order; at least one.
        word_tokens: what should stand for each word; XX for all if None.
    """
    root: list[Tree | str] = []
    open_phrases: list[tuple[str, list[Tree | str]]] = []
    expected = [ANY_TAG] * len(leaves) if word_tokens is None else list(word_tokens)
    waiting = list(zip(leaves, expected, strict=True))[::-1]
    well_formed = True

    def close() -> None:
        label, parts = open_phrases.pop()
        if parts:
            (open_phrases[-1][1] if open_phrases else root).append(Tree(label, tuple(parts)))

    for token in row.split():
        if token.startswith("("):
            well_formed &= bool(open_phrases) or not root
            open_phrases.append((token[1:], []))
        elif token.startswith(")"):
            labels = [label for label, _ in open_phrases]
            well_formed &= bool(labels) and labels[-1] == token[1:] and bool(open_phrases[-1][1])
            if token[1:] in labels:
                while open_phrases[-1][0] != token[1:]:
                    close()
                close()
        elif waiting:
            leaf, should_be = waiting.pop()
            well_formed &= bool(open_phrases) and token == should_be
            (open_phrases[-1][1] if open_phrases else root).append(leaf)
        else:
            well_formed = False
    well_formed &= not open_phrases and not waiting and len(root) == 1
    left = [leaf for leaf, _ in reversed(waiting)]
    if open_phrases:
        open_phrases[-1][1].extend(left)
        while open_phrases:
            close()
    else:
        root.extend(left)
    only = root[0] if len(root) == 1 else None
    is_phrase = isinstance(only, Tree) and not only.is_tag
    return (only if isinstance(only, Tree) and is_phrase else Tree("", tuple(root))), well_formed


def leaf(word: str, tag: str = ANY_TAG) -> Tree:
    """A word under its tag; brackets are written as treebanks do, so that it can be read again."""
    written = NAMES.get(word, word).replace("(", NAMES["("]).replace(")", NAMES[")"])
    return Tree(tag, (written,))


def leaves_of(tree: Tree) -> Iterator[Tree]:
    """The words of a tree with their tags, in order."""
    if tree.is_tag:
        yield tree
        return
    for child in tree.children:
        if isinstance(child, Tree):
            yield from leaves_of(child)


def in_brackets(tree: Tree) -> str:
    """A tree as text, the other way round from `parse`."""
    parts = (part if isinstance(part, str) else in_brackets(part) for part in tree.children)
    return f"({tree.label} {' '.join(parts)})"
