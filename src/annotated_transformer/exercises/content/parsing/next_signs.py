"""`parsing.next_signs`: what a row may go on with, so that it becomes a tree of the sentence."""

import re
from collections import Counter

import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def next_signs(row: list[str], words: list[str], labels: list[str]) -> set[str]:
    if not row:
        return {"(ROOT"}
    written = 0  # words
    open_labels = []  # of phrases, the innermost last
    for sign in row:
        if sign.startswith("("):
            open_labels.append(sign[1:])
        elif sign.startswith(")"):
            open_labels.pop()
        else:
            written += 1
    if not open_labels:
        return {"</s>"}
    signs = set()
    waiting = words[written:]
    if waiting:
        signs |= {f"({label}" for label in labels}
        signs.add(waiting[0])
    innermost = open_labels[-1]
    is_empty = row[-1].startswith("(")
    may_close = not is_empty and (innermost != "ROOT" or not waiting)
    if may_close:
        signs.add(f"){innermost}")
    return signs


def _by_recursion(row: list[str], words: list[str], labels: list[str]) -> set[str]:
    """Reads a phrase as a grammar would: what may come where the row breaks off is handed back."""

    def phrase(place: int, label: str, word: int) -> tuple[int, int] | set[str]:
        """Behind an opening sign: where the phrase ends and which word is next, or the signs."""
        begun = place
        while place < len(row):
            if row[place][0] == "(":
                inner = phrase(place + 1, row[place][1:], word)
                if isinstance(inner, set):
                    return inner
                place, word = inner
            elif row[place][0] == ")":
                return place + 1, word
            else:
                place, word = place + 1, word + 1
        answer = {"(" + label for label in labels} | {words[word]} if word < len(words) else set()
        if place > begun and not (label == "ROOT" and word < len(words)):
            answer.add(")" + label)
        return answer

    if not row:
        return {"(ROOT"}
    end = phrase(1, "ROOT", 0)
    return end if isinstance(end, set) else {"</s>"}


def _by_text(row: list[str], words: list[str], labels: list[str]) -> set[str]:
    """Strikes finished phrases from the row until only open ones are left."""
    text = " ".join(row)
    left = words[len(re.findall(r"(?:^| )[^() ]\S*", text)) :]
    finished = re.compile(r"\((\S+)(?: [^()\s]\S*)+ \)\1(?= |$)")
    while finished.search(text):
        text = finished.sub("#", text)
    opened = re.findall(r"\((\S+)", text)
    if not opened:
        return {"</s>"} if row else {"(ROOT"}
    may = {left[0], *("(" + label for label in labels)} if left else set()
    if not text.endswith("(" + opened[-1]) and (len(opened) > 1 or not left):
        may.add(")" + opened[-1])
    return may


def _by_trying_all(row: list[str], words: list[str], labels: list[str]) -> set[str]:
    """Every sign there is, and of each whether the row would still be the beginning of a tree."""
    if row[-1:] == [")ROOT"] and row.count("(ROOT") == row.count(")ROOT"):
        return {"</s>"}

    def can_become_a_tree(longer: list[str]) -> bool:
        stack: list[list[str]] = []  # of each open phrase the signs in it
        left = list(words)
        for place, sign in enumerate(longer):
            if sign[0] == "(":
                if (sign == "(ROOT") != (place == 0) or (place and not left):
                    return False
                stack.append([sign])
            elif sign[0] == ")":
                if not stack or stack[-1][0][1:] != sign[1:] or len(stack[-1]) == 1:
                    return False
                stack.pop()
                if stack:
                    stack[-1].append("a phrase")
                elif left:
                    return False
            else:
                if not stack or not left or left.pop(0) != sign:
                    return False
                stack[-1].append(sign)
        return True

    brackets = [bracket + label for label in [*labels, "ROOT"] for bracket in "()"]
    return {sign for sign in [*words, *brackets] if can_become_a_tree([*row, sign])}


def _by_looking_back(row: list[str], words: list[str], labels: list[str]) -> set[str]:
    """From the end of the row to the bracket that nothing behind it closes."""
    kinds = Counter(sign[0] if sign[0] in "()" else "word" for sign in row)
    if kinds["("] == kinds[")"]:
        return {"</s>" if row else "(ROOT"}
    closed, place = 0, len(row) - 1
    while closed or row[place][0] != "(":
        closed += {"(": -1, ")": 1}.get(row[place][0], 0)
        place -= 1
    allowed = {f"({label}" for label in labels}
    if kinds["word"] == len(words):
        allowed.clear()
    else:
        allowed |= {words[kinds["word"]]}
    if place < len(row) - 1 and (place > 0 or kinds["word"] == len(words)):
        allowed.add(row[place].replace("(", ")", 1))
    return allowed


def _case(row: str, words: str, labels: str, isolates: str | None = None) -> Case:
    parts = row.split(), words.split(), labels.split()
    signs = f"the row {row}" if row else "an empty row"
    number = len(parts[1])

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(*map(list, parts))

    return Case(f"{signs} for {number} word{'s' * (number > 1)}", make, isolates=isolates)


NEXT_SIGNS = Exercise(
    id="parsing.next_signs",
    title="What may come next in a tree",
    kind="code",
    difficulty=3,
    minutes=12,
    signature=(
        "next_signs(row: list of str, words: list of str, labels: list of str) -> set of str"
    ),
    statement=(
        "A parser writes a tree as a row of signs, such as `(ROOT (NP #1 #2 )NP )ROOT` and then "
        "the end, `</s>`. `row` is a list of the signs written so far, none or more, and can still "
        "become a tree; `words` is a list of what stands for the words, in order: "
        "`['#1', '#2']`, or `['XX', 'XX']`, where all look alike; `labels` a list of the "
        "labels that phrases inside ROOT may have. Return the set of all signs that may come next. "
        "A row begins with `(ROOT`, and behind `)ROOT` comes `</s>`. In between a phrase with any "
        "of the labels may open, as long as a word waits; the next word may come, in whatever "
        "phrase; and the innermost open phrase may close, with its own label, if it holds a word "
        "or a phrase, but ROOT only when no word waits. No word begins with a round bracket."
    ),
    objective="Let a model of sequences write nothing but trees.",
    prerequisite="beyond.linearise_tree",
    hints=(
        "Four things decide: is the row empty, which phrases are open, does a word wait, and does "
        "the innermost phrase hold anything? Find each for `(ROOT (S (NP #1 )NP` and two words.",
        "Go through the row with a stack: an opening sign puts its label on, a closing sign takes "
        "one off, anything else is a word and is counted. The innermost phrase is empty exactly "
        "if the last sign has opened it.",
        "An empty row gives `{'(ROOT'}`, an empty stack behind a row `{'</s>'}`. Else "
        "`waiting = words[written:]`; if it holds any, add '(' + each label and `waiting[0]`; if "
        "`row[-1]` opens nothing, and the stack's top is not ROOT or nothing waits, add ')' + top.",
    ),
    reference=next_signs,
    explanation=(
        "The row says all by itself: a stack of what is open, a count of the words, and whether "
        "the last sign was an opening one. A search hides every other sign, by minus infinity in "
        "the place of its logit, and then whatever it writes is a tree of the sentence: no bracket "
        "is left open, no word lost. Each rule keeps a promise. Nothing opens behind the last "
        "word, since it could never be filled; ROOT waits for all words, since nothing comes "
        "behind it; an empty phrase does not close, since it spans nothing. There is always a sign "
        "left. One thing is not promised: an end, since `(NP (NP (NP` may go on as long as a word "
        "waits. A real search bounds the length besides."
    ),
    cases=(
        _case("", "#1 #2", "NP VP", "the beginning"),
        _case("(ROOT #1 )ROOT", "#1", "NP VP", "the end"),
        _case("(ROOT (NP #1", "#1", "NP VP", "a phrase that can only close"),
        _case("(ROOT", "#1 #2", "S NP VP", "what may come while nothing can close"),
        _case("(ROOT (NP", "#1 #2 #3", "NP PP", "an empty phrase: it may not close"),
        _case("(ROOT (NP #1", "#1 #2 #3", "NP VP S"),
        _case("(ROOT (NP #1 )NP", "#1", "NP VP S", "the end of ROOT, when no word waits"),
        _case("(ROOT #1", "#1 #2", "FRAG NP", "ROOT while a word waits"),
        _case(
            "(ROOT (S (NP #1 #2 )NP",
            "#1 #2 #3",
            "S NP VP PP",
            "a phrase that may close while a word waits",
        ),
        _case("(ROOT (S (NP #1 )NP (VP #2 (NP #3 #4", "#1 #2 #3 #4", "S NP VP"),
        _case("(ROOT (S (NP XX XX )NP (VP", "XX XX XX XX", "S NP VP SBAR"),
        _case("(ROOT (S (NP XX XX )NP (VP XX", "XX XX XX", "S NP VP SBAR"),
        _case("(ROOT (NP (NP #1 )NP (PP #2 (NP #3 )NP", "#1 #2 #3 #4", "NP PP"),
        _case("(ROOT (S (VP #1 (NP #2 )NP )VP )S", "#1 #2", "S NP VP"),
        _case("(ROOT (S (NP #1 )NP (VP #2 )VP )S )ROOT", "#1 #2", "S NP VP"),
    ),
    mistakes=page(__file__, next_signs),
    alternatives=(_by_recursion, _by_text, _by_trying_all, _by_looking_back),
    starter=(
        "def next_signs(row, words, labels):\n"
        "    \"\"\"['(ROOT', '(NP'], ['#1'], ['NP', 'VP'] -> {'(NP', '(VP', '#1'}.\"\"\"\n"
        "    ...  # your code"
    ),
)
