"""The bank of questions: each point has evidence, and each number is held by it."""

import pytest

from annotated_transformer.exercises.catalogue import ids
from annotated_transformer.interview.bank import SKILLS, Claim, Question, questions, read_topic
from evidence import is_there, strays

QUESTIONS = [*questions().values()]
SPOKEN = 170  # words a minute, of someone who speaks fast


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
class TestQuestion:
    def test_its_evidence_is_there(self, question: Question) -> None:
        missing = [one for claim in question.claims for one in claim.evidence if not is_there(one)]
        assert not missing

    def test_its_numbers_are_held(self, question: Question) -> None:
        every = [one for claim in question.claims for one in claim.evidence]
        found = [
            stray
            for claim in question.claims  # a point by its own evidence, what has none by all
            for stray in strays(claim.text, claim.evidence or every, question.text)
        ]
        found += strays(question.short, every, question.text)
        assert not found, 'give the section, the fact, or the sum "= 2 * 80" that holds it'

    def test_it_can_be_said_in_its_time(self, question: Question) -> None:
        assert words(question.answer.text) <= SPOKEN * question.seconds / 60
        assert words(question.short) <= 40

    def test_what_trains_it_is_there(self, question: Question) -> None:
        assert {*question.trains} <= {*ids()}

    def test_its_first_follow_up_is_not_the_last(self, question: Question) -> None:
        assert all("how do you know" not in one.question.lower() for one in question.follow_ups)


def test_there_are_sixty_and_each_skill_has_four() -> None:
    assert len(QUESTIONS) >= 60
    for skill in SKILLS:
        own = [question for question in QUESTIONS if question.skill == skill]
        assert len(own) >= 4, skill
        assert sum(question.level <= 2 for question in own) >= 2, skill


def test_a_chapter_has_one_box() -> None:
    boxes = [question.box for question in QUESTIONS if question.box]
    assert len({*boxes}) == len(boxes) == 17


def test_no_question_is_there_twice() -> None:
    texts = [question.text for question in QUESTIONS]
    assert len({*texts}) == len(texts) == len({question.id for question in QUESTIONS})


GOOD = """\
# Attention

## Why?
attention.why | everyone | level 1 | 60 s | equation

### Answer
Because.

### Points
- One. [02 The formula]
- Two. [fact s3_2_1.scale; = 2 * 3]
- Three. [cite su2021]
- Four. [= 2 ** 3]

### Sinks
- "No."
- "Never."

### Next
- *And?* So. [02 The formula]
- *Really?* Yes.

### How do you know?
Measured. [02 Measured]
"""


def test_a_topic_is_read() -> None:
    (question,) = read_topic("03_attention", GOOD).questions
    assert (question.id, question.seconds, question.trains) == ("attention.why", 60, ())
    assert [len(claim.evidence) for claim in question.points] == [1, 2, 1, 1]
    assert question.follow_ups[1].answer == Claim("Yes.")
    assert question.how.evidence[0].label == "chapter 2, “Measured”"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("# Attention\n", "Attention\n", "begins with"),
        ("attention.why", "heads.why", "begins with attention."),
        ("| equation", "", "say id"),
        ("| equation", "| charm", "the skill is 'charm'"),
        ("level 1", "level 4", "level 1 to 3"),
        ("everyone", "nobody", "the role is 'nobody'"),
        ("- Four. [= 2 ** 3]\n", "", "it has 3 points"),
        (" [cite su2021]", "", "no evidence for 'Three.'"),
        ("[= 2 ** 3]", "[= 2 ** x]", "no sum of numbers"),
        ("[= 2 ** 3]", "[= 8]", "a number by itself"),
        ("60 s | equation", "60 s | equation | box 2", "two digits"),
        ("[= 2 ** 3]", "[page 4]", "the evidence 'page 4'"),
        ("### Next", "### After", "missing"),
        ("- *And?* So. [02 The formula]", "- And? So.", "the question"),
        ("- One.", "One.", "a list"),
    ],
)
def test_what_is_not_well_formed_is_refused_by_name(old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    with pytest.raises(ValueError, match=complaint):
        read_topic("attention", GOOD.replace(old, new, 1))
