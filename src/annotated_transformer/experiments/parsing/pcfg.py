"""A probabilistic context-free grammar read off trees, and the best tree it gives a sentence.

The rival of chapter 14: rules and their probabilities are counted in a treebank, as in Charniak
(1996) and Klein and Manning (2003), and the most probable tree is found by the CKY algorithm.

- Functions are taken off labels (NP-SBJ is NP). A phrase of one part becomes one symbol with it
  (S+VP), so that every rule has two parts or a word.
- A rule of more than two parts is read from the left, A -> B A|<C-D>; what is left is named by its
  next `siblings` parts, so that rules that were never seen whole can be made of halves.
- With `parents` 1 a phrase's symbol says what it stands in (NP^<S>).
- Symbols are written here as `str` writes them.
- Words are tokens (`word_classes.tokens_of`).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotated_transformer.data.trees import Tree, leaf
from annotated_transformer.data.word_classes import RARE

Labels = tuple[str, ...]  # of a part of a tree, of the only part inside it, and so on inwards


class Symbol(NamedTuple):
    """What a grammar calls a part of a tree.

    Attributes:
        labels: its own.
        rest: None of a whole phrase, or a tag; else the next parts of what is left of the phrase.
        inside: what the phrase stands in; empty where the symbol does not say.
    """

    labels: Labels
    rest: tuple[Labels, ...] | None = None
    inside: Labels = ()

    def __str__(self) -> str:
        """S+VP, SBARQ|<SQ-.> or SQ^<SBARQ>."""
        text = "+".join(self.labels)
        if self.rest is not None:
            text += f"|<{'-'.join('+'.join(labels) for labels in self.rest)}>"
        return text + (f"^<{'+'.join(self.inside)}>" if self.inside else "")


@dataclass(frozen=True)
class Node:
    """A part of a binary tree: a symbol with two parts, or above one word with none."""

    symbol: Symbol
    parts: tuple["Node", ...] = ()

    def below(self) -> Iterator["Node"]:
        """This node and all below it, from the left."""
        yield self
        for part in self.parts:
            yield from part.below()


def binary(tree: Tree, siblings: int, parents: int) -> Node:
    """A tree with at most two parts everywhere (head of this module)."""
    only = tree.children[0]
    if tree.category == "ROOT" and len(tree.children) == 1 and isinstance(only, Tree):
        tree = only
    return _binary(tree, siblings, parents, inside=())


def _binary(tree: Tree, siblings: int, parents: int, inside: Labels) -> Node:
    labels: Labels = (_name(tree),)
    while not tree.is_tag and len(tree.children) == 1:
        (tree,) = (child for child in tree.children if isinstance(child, Tree))
        labels += (_name(tree),)
    if tree.is_tag:
        return Node(Symbol(labels))
    parts = [
        _binary(child, siblings, parents, labels if parents else ())
        for child in tree.children
        if isinstance(child, Tree)
    ]
    node = parts[-1]
    for place in range(len(parts) - 2, 0, -1):
        rest = tuple(part.symbol.labels for part in parts[place : place + siblings])
        node = Node(Symbol(labels, rest, inside), (parts[place], node))
    return Node(Symbol(labels, None, inside), (parts[0], node))


def _name(tree: Tree) -> str:
    return tree.label if tree.is_tag else tree.category or "X"


def tree_of(node: Node, leaves: Sequence[Tree]) -> Tree:
    """The tree that `binary` made a node of, above these words.

    Args:
        node: of as many words as there are leaves.
        leaves: words with their tags, which stand in the place of the tags of the node.
    """
    (tree,) = _parts(node, iter(leaves))
    return tree


def _parts(node: Node, leaves: Iterator[Tree]) -> list[Tree]:
    """What a node is in the tree: one part, or several if it is the rest of a phrase."""
    below = [tree for part in node.parts for tree in _parts(part, leaves)]
    if node.symbol.rest is not None:
        return below
    *outer, label = node.symbol.labels
    tree = Tree(label, tuple(below)) if node.parts else next(leaves)
    for label in reversed(outer):
        tree = Tree(label, (tree,))
    return [tree]


class Grammar:
    """Rules and their log-probabilities, counted in trees.

    Args:
        trees: the treebank.
        tokens: of each tree, what stands for its words.
        siblings: how many parts the rest of a phrase is named by, one at least (horizontal
            markovization).
        parents: 1 if symbols say what they stand in, else 0 (vertical markovization).

    Raises:
        ValueError: other numbers than these were given.
    """

    def __init__(
        self,
        trees: Iterable[Tree],
        tokens: Iterable[Sequence[str]],
        siblings: int = 2,
        parents: int = 1,
    ) -> None:
        if siblings < 1 or parents not in (0, 1):
            raise ValueError(
                f"siblings {siblings} and parents {parents} were given; siblings must be at least "
                "1, parents 0 or 1."
            )
        rules: Counter[tuple[Symbol, Symbol, Symbol]] = Counter()
        words: Counter[tuple[Symbol, str]] = Counter()
        roots: Counter[Symbol] = Counter()
        for tree, row in zip(trees, tokens, strict=True):
            root, left = binary(tree, siblings, parents), iter(row)
            roots[root.symbol] += 1
            for node in root.below():
                if node.parts:
                    rules[node.symbol, node.parts[0].symbol, node.parts[1].symbol] += 1
                else:
                    words[node.symbol, next(left)] += 1
        total: Counter[Symbol] = Counter()
        for (symbol, _, _), count in rules.items():
            total[symbol] += count
        for (symbol, _), count in words.items():
            total[symbol] += count
        self.symbols = sorted(total, key=str)  # of equally good trees the order chooses
        number = {symbol: place for place, symbol in enumerate(self.symbols)}

        def log_p(symbol: Symbol, count: int) -> float:
            return math.log(count / total[symbol])

        # Rules by their two parts, so that a pair of parts is looked at once for all its parents.
        pairs = sorted({(number[left], number[right]) for _, left, right in rules})
        place_of = {pair: place for place, pair in enumerate(pairs)}
        self.left, self.right = np.array(pairs, dtype=np.intp).reshape(-1, 2).T  # (pairs,) each
        rows = sorted(
            (number[symbol], place_of[number[left], number[right]], log_p(symbol, count))
            for (symbol, left, right), count in rules.items()
        )
        self.parent = np.array([row[0] for row in rows], dtype=np.intp)  # (rules,)
        self.pair = np.array([row[1] for row in rows], dtype=np.intp)  # (rules,)
        self.log_p = np.array([row[2] for row in rows], dtype=np.float32)  # (rules,)
        self.parents, self.starts = np.unique(self.parent, return_index=True)
        self.of_word: dict[str, list[tuple[int, float]]] = defaultdict(list)
        rare: Counter[Symbol] = Counter()
        for (symbol, token), count in words.items():
            self.of_word[token].append((number[symbol], log_p(symbol, count)))
            rare[symbol] += count * token.startswith(RARE)
        self.of_rare = [(number[tag], log_p(tag, count)) for tag, count in rare.items() if count]
        self.root = np.full(len(self.symbols), -np.inf, dtype=np.float32)
        for symbol, count in roots.items():
            self.root[number[symbol]] = math.log(count / sum(roots.values()))

    def best(self, tokens: Sequence[str]) -> tuple[Node, float] | None:
        """The most probable tree of a sentence and its log-probability in nats; None without one.

        The time grows with the cube of the words, the memory with their square: 0.9 GB for 134
        words and the grammar of GUM. A token that the grammar has not seen counts as a rare word of
        any class.
        """
        n = len(tokens)
        chart = np.full((n, n + 1, len(self.symbols)), -np.inf, dtype=np.float32)
        # Of each span what it is worth as the left and as the right half of each pair of symbols.
        lefts = np.empty((n, n + 1, len(self.left)), dtype=np.float32)
        rights = np.empty_like(lefts)
        for place, token in enumerate(tokens):
            for symbol, log_p in self.of_word.get(token) or self.of_rare:
                chart[place, place + 1, symbol] = log_p
        for width in range(1, n + 1):
            for first in range(n - width + 1):
                end = first + width
                if width > 1:
                    best = lefts[first, first + 1] + rights[first + 1, end]  # (pairs,)
                    for split in range(first + 2, end):
                        np.maximum(best, lefts[first, split] + rights[split, end], out=best)
                    log_ps = best[self.pair] + self.log_p  # (rules,)
                    if len(log_ps):
                        chart[first, end, self.parents] = np.maximum.reduceat(log_ps, self.starts)
                lefts[first, end] = chart[first, end].take(self.left)
                rights[first, end] = chart[first, end].take(self.right)
        whole = chart[0, n] + self.root  # (symbols,)
        top = int(whole.argmax())
        return (self._read(chart, 0, n, top), float(whole[top])) if whole[top] > -np.inf else None

    def _read(self, chart: NDArray[np.float32], first: int, end: int, symbol: int) -> Node:
        """The tree that gave a place of the chart its log-probability."""
        if end == first + 1:
            return Node(self.symbols[symbol])
        rules = slice(*np.searchsorted(self.parent, [symbol, symbol + 1]))
        pair, log_p = self.pair[rules], self.log_p[rules]
        splits = range(first + 1, end)
        left, right = self.left[pair], self.right[pair]
        found = [chart[first, split, left] + chart[split, end, right] + log_p for split in splits]
        at, rule = divmod(int(np.argmax(found)), len(pair))
        return Node(
            self.symbols[symbol],
            (
                self._read(chart, first, splits[at], int(left[rule])),
                self._read(chart, splits[at], end, int(right[rule])),
            ),
        )


def tagged(node: Node, words: Sequence[str]) -> list[Tree]:
    """These words under the tags that a tree of a grammar gives them."""
    tags = [part.symbol.labels[-1] for part in node.below() if not part.parts]
    return [leaf(word, tag) for tag, word in zip(tags, words, strict=True)]
