"""Both ways between trees and tokens, in steps that can be replaced one at a time."""

from collections.abc import Callable
from typing import Any

from annotated_transformer.exercises.exercise import Candidate

Tokens = list[str]
Write = Callable[[Any], Any]
Read = Callable[[Tokens, Tokens], Any]


def is_word(node: Any) -> bool:
    return isinstance(node[1], str)


def written_by(
    opening: Callable[[str], Tokens] = lambda label: [f"({label}"],
    closing: Callable[[str], Tokens] = lambda label: [f"){label}"],
    word: Callable[[str, str], Tokens] = lambda tag, word: ["XX"],
    children: Callable[[tuple[Any, ...]], tuple[Any, ...]] = lambda children: children,
) -> Write:
    def write(node: Any) -> Tokens:
        if is_word(node):
            return word(*node)
        inside = [token for child in children(node[1:]) for token in write(child)]
        return [*opening(node[0]), *inside, *closing(node[0])]

    return write


def read_by(
    word: Callable[[str, str], Any] = lambda token, word: (token, word),
    label: Callable[[str], str] = lambda token: token[1:],
    order: Callable[[Tokens], Tokens] = lambda words: words,
    phrase: Callable[[list[Any]], Any] = tuple,
) -> Read:
    def read(tokens: Tokens, words: Tokens) -> Any:
        words_left = iter(order(words))
        stack: list[list[Any]] = [[]]
        for token in tokens:
            if token.startswith("("):
                stack.append([label(token)])
            elif token.startswith(")"):
                finished = phrase(stack.pop())
                stack[-1].append(finished)
            else:
                stack[-1].append(word(token, next(words_left)))
        return stack[0][0]

    return read


def both(write: Write | None = None, read: Read | None = None) -> Candidate:
    """One function for both ways; the way that is left out is right."""
    write, read = write or written_by(), read or read_by()

    def implementation(given: Any, words: Tokens | None = None) -> Any:
        return write(given) if words is None else read(given, words)

    return implementation
