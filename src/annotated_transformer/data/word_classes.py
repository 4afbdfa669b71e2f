"""Words as a parser sees them: the frequent as they are, the rare as classes by their looks.

A treebank of a few thousand sentences shows most of its words once, and a word seen once teaches
nothing of itself. So parsers have long put classes in their place (the Berkeley parser does): what
is known of "hyperinflation" is that it ends in -ion. The paper counts its vocabulary for parsing
in words too (16K).
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from annotated_transformer.data.trees import Tree

RARE = "◦"  # a class begins with it
# What stands for itself between spaces: the ends that English hangs on a word, words (also with
# points inside, as U.S., and behind a title), numbers, and other characters one by one.
WORD = re.compile(
    r"n['’]t\b|['’](?:s|re|m|ve|d|ll)\b|\.{2,}|--+"
    r"|(?:[A-Za-z]\.){2,}|(?:Mr|Mrs|Ms|Dr|St|No|Prof|vs|etc)\.(?=\s)"
    r"|\d+(?:[.,:]\d+)*[a-z]*|[^\W\d_](?:(?!n['’]t\b)[^\W_])*|\S",
    re.IGNORECASE,
)
ENDINGS = ("ing", "ed", "ly", "ion", "er", "est", "ity", "al", "s", "y")


def words_of_text(sentence: str) -> list[str]:
    """A sentence cut as treebanks cut it: "don't" is do and n't, "well-known" three words."""
    return WORD.findall(sentence)


def class_of(word: str, is_first: bool) -> str:
    """The class of a rare word: digits, a capital inside the sentence, a hyphen, its ending.

    Args:
        word: as it is written.
        is_first: whether the sentence begins with it, so that a capital says nothing.
    """
    name = RARE
    if re.search(r"\d", word):
        name += "0"
    if word[:1].isupper() and not is_first:
        name += "A"
    if "-" in word[1:-1]:
        name += "-"
    lower = word.lower()
    ending = (end for end in ENDINGS if lower.endswith(end) and len(lower) > len(end) + 2)
    return name + next(ending, "")


def tokens_of(words: Sequence[str], known: Collection[str]) -> list[str]:
    """A sentence as a parser sees it: lower-cased known words, and classes for the others.

    Args:
        words: of one sentence, in order.
        known: the words that are kept, as `known_words` gives them.
    """
    lower = [without_brackets(word.lower()) for word in words]
    return [
        token if token in known else class_of(word, is_first=place == 0)
        for place, (word, token) in enumerate(zip(words, lower, strict=True))
    ]


def numbers_of(words: Sequence[str]) -> list[str]:
    """What stands for each word in a row: its number in the sentence, #1, #2, ..."""
    return [f"#{number}" for number in range(1, len(words) + 1)]


def without_brackets(word: str) -> str:
    """A word as treebanks write it, so that no bracket in it looks like one of the tree's."""
    return word.replace("(", "-lrb-").replace(")", "-rrb-")


def known_words(trees: Iterable[Tree], at_least: int = 3, most: int = 6000) -> set[str]:
    """The words, lower-cased, that stand `at_least` times in these trees; at most so many of them.

    A sentence that occurs again is counted once, also if it stands under one root with others.
    """
    sentences = (part for tree in trees for part in _under_root(tree))
    counts = Counter(
        without_brackets(word.lower())
        for sentence in dict.fromkeys(sentences)
        for word in sentence.words()
    )
    return {word for word, count in counts.most_common(most) if count >= at_least}


def _under_root(tree: Tree) -> Iterator[Tree]:
    """The sentences of a tree: what its root holds, or all of it if it has none."""
    for part in tree.children if tree.category == "ROOT" else (tree,):
        if isinstance(part, Tree):
            yield part
