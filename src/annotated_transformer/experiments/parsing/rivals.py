"""What a parser has to beat: a tree that needs no model, and a grammar read off the same trees."""

from collections import Counter
from collections.abc import Iterable, Sequence

from annotated_transformer.data.trees import Tree
from annotated_transformer.data.word_classes import known_words, tokens_of
from annotated_transformer.evaluation.brackets import LEFT_OUT, brackets
from annotated_transformer.experiments.parsing.pcfg import Grammar, tagged, tree_of


def right_branching(leaves: Sequence[Tree], label: str) -> Tree:
    """Each phrase holds its first word and one phrase with the rest; last punctuation stands apart.

    Args:
        leaves: words with their tags; whether the last is punctuation is all that is asked of them.
        label: of every phrase.
    """
    ends = [leaf for leaf in leaves[-1:] if len(leaves) > 1 and leaf.label in LEFT_OUT]
    words = leaves[: len(leaves) - len(ends)]
    tree = words[-1]
    for leaf in reversed(words[:-1]):
        tree = Tree(label, (leaf, tree))
    return Tree("ROOT", (Tree(label, (tree,)) if tree.is_tag else tree, *ends))


class GrammarParser:
    """A PCFG that knows what its symbols stand in, and a coarser one where that one has no tree.

    Args:
        trees: the treebank.
    """

    def __init__(self, trees: Sequence[Tree]) -> None:
        self.known = known_words(trees)
        tokens = [tokens_of(list(tree.words()), self.known) for tree in trees]
        self.grammars = (
            Grammar(trees, tokens, siblings=2, parents=1),
            Grammar(trees, tokens, siblings=1, parents=0),
        )

    def parse(self, words: Sequence[str], leaves: Sequence[Tree] | None = None) -> Tree | None:
        """The best tree of a sentence; None if neither grammar has one.

        Args:
            words: of the sentence.
            leaves: what the tree stands on; the words under the tags that the grammar finds if
                None.
        """
        tokens = tokens_of(words, self.known)
        for grammar in self.grammars:
            if found := grammar.best(tokens):
                node, _ = found
                tree = tree_of(node, tagged(node, words) if leaves is None else leaves)
                return tree if tree.label == "ROOT" else Tree("ROOT", (tree,))
        return None


def most_frequent_label(trees: Iterable[Tree]) -> str:
    """Of the brackets of a treebank that are counted."""
    [(label, _)] = Counter(
        label for tree in trees for label, _, _ in brackets(tree)[0]
    ).most_common(1)
    return label
