"""`training.find_bug`: six training loops that skip, double or misorder a step, or do not.

Which loops appear, in which order and under which letters is drawn per learner.
"""

from dataclasses import replace

from annotated_transformer.exercises.content import drawn_mistakes
from annotated_transformer.exercises.content.drawn_mistakes import Fault, says
from annotated_transformer.exercises.exercise import Exercise, Mistake

TRAIN = "        model.train()"
BATCHES = "        for x, y in batches:"
ZERO = "            optimizer.zero_grad()"
LOSS = "            loss = loss_of(model(x), y)"
BACKWARD = "            loss.backward()"
STEP = "            optimizer.step()"
SCHEDULE = "            schedule.step()"
MEASURE = (
    "        model.eval()",
    "        with torch.no_grad():",
    "            print(sum(loss_of(model(x), y) for x, y in held_out))",
)
EPOCHS = "    for epoch in range(epochs):"
RIGHT_BODY = (EPOCHS, TRAIN, BATCHES, ZERO, LOSS, BACKWARD, STEP, SCHEDULE, *MEASURE)


FAULTS = (
    Fault(
        "never-zeroed",
        "gradients of earlier batches are never set to zero",
        (EPOCHS, TRAIN, BATCHES, LOSS, BACKWARD, STEP, SCHEDULE, *MEASURE),
        "`zero_grad` is called for every batch",
        "`backward` adds to the gradients that are there. What does it add to here, in the second "
        "batch?",
    ),
    Fault(
        "zeroed-too-late",
        "the gradients are set to zero between the backward pass and the step that needs them",
        (EPOCHS, TRAIN, BATCHES, LOSS, BACKWARD, ZERO, STEP, SCHEDULE, *MEASURE),
        "no `zero_grad` stands between `backward` and `optimizer.step`",
        "Read the lines of one batch in order. What are the gradients when `optimizer.step` uses "
        "them?",
    ),
    Fault(
        "no-step",
        "the optimizer never makes a step",
        (EPOCHS, TRAIN, BATCHES, ZERO, LOSS, BACKWARD, SCHEDULE, *MEASURE),
        "`optimizer.step` is called",
        "Which line of the loop changes the parameters? `schedule.step` changes the rate only.",
    ),
    Fault(
        "backward-twice",
        "the gradients of every batch are added up twice",
        (
            *(EPOCHS, TRAIN, BATCHES, ZERO, LOSS),
            "            loss.backward(retain_graph=True)",
            *(BACKWARD, STEP, SCHEDULE, *MEASURE),
        ),
        "`backward` is called once a batch",
        "Count the calls of `backward` in one batch. What does the second add to?",
    ),
    Fault(
        "steps-twice",
        "the optimizer makes two steps with the gradients of one batch",
        (EPOCHS, TRAIN, BATCHES, ZERO, LOSS, BACKWARD, STEP, SCHEDULE, STEP, *MEASURE),
        "`optimizer.step` is called at most once a batch",
        "Count the calls of `optimizer.step` in one batch.",
    ),
    Fault(
        "eval-kept",
        "from the second epoch on the model trains in evaluation mode, without dropout",
        (
            "    model.train()",
            *(EPOCHS, BATCHES, ZERO, LOSS, BACKWARD, STEP, SCHEDULE, *MEASURE),
        ),
        "`model.train()` is called at the start of every epoch",
        "Follow `train` and `eval` through two epochs. In which mode does the second one begin?",
    ),
    Fault(
        "schedule-per-epoch",
        "the rate is changed once an epoch instead of once a step",
        (
            *(EPOCHS, TRAIN, BATCHES, ZERO, LOSS, BACKWARD, STEP),
            "        schedule.step()",
            *MEASURE,
        ),
        "`schedule.step` is called once a batch",
        "Look at how far `schedule.step` is indented. How often is it called?",
    ),
    Fault(
        "schedule-before-step",
        "the rate is advanced before the step that should use it, so the first rate is skipped",
        (EPOCHS, TRAIN, BATCHES, ZERO, LOSS, BACKWARD, SCHEDULE, STEP, *MEASURE),
        "`schedule.step` does not come before the first `optimizer.step`",
        "In which order do `optimizer.step` and `schedule.step` come? Which rate does the very "
        "first step use?",
    ),
    Fault(
        "trains-on-held-out",
        "the model is trained on the held-out batches too",
        (
            *RIGHT_BODY[: -len(MEASURE)],
            "        model.eval()",
            *("        for x, y in held_out:", ZERO, LOSS, "            print(loss.item())"),
            *(BACKWARD, STEP),
        ),
        "`held_out` is only measured, under `no_grad`",
        "What happens to `held_out` in the lower half? Which of its lines changes the parameters?",
    ),
    Fault(
        "nothing",
        "nothing is wrong",
        RIGHT_BODY,
        "",
        "Every line is there once and in its place: zero, loss, backward, step, schedule.",
    ),
)
SHOWN = 6


class Draw(drawn_mistakes.Draw):
    listing = "loop"
    arguments = "model, optimizer, schedule, batches, held_out, epochs"


_PRINTED = Draw.of_places(FAULTS, (4, 7, 0, 9, 2, 5, 1, 8, 3, 6), (1, 5, 7, 9, 4, 0))


def _draw(seed: int) -> Draw:
    return Draw.of_seed(FAULTS, SHOWN, seed) if seed else _PRINTED


def listings(draw: Draw = _PRINTED) -> str:
    """The six loops as Python source."""
    return draw.listings()


def _statement(draw: Draw) -> str:
    return (
        "Six training loops. The model has dropout; the schedule is the paper's, a rate for every "
        "step, which `schedule.step()` advances; `loss_of` is the loss. Each loop has one fault "
        "or none. Return a dictionary with the letter that is true of it for 'loop_1' to "
        "'loop_6'. Not every letter occurs.\n\n"
        f"{draw.table_and_listings()}"
    )


_IN_WORDS = (
    "The answer is given in the words of the table. Give the letter that stands before them, as a "
    "string: 'A' to 'J'."
)


def _mistakes(draw: Draw) -> tuple[Mistake, ...]:
    """Every wrong letter for every loop, with what is there and where to look instead; and words
    in place of a letter.
    """
    mistakes = list(draw.wrong_letters(lambda *chosen: _not_so(draw, *chosen)))
    for position in range(len(draw.shown)):
        for other in draw.table:
            key = draw.key(position)
            name = f"{key}-in-words-{other.name}"
            mistakes.append(Mistake(name, says({key: other.described}), _IN_WORDS))
    return tuple(mistakes)


def _not_so(draw: Draw, key: str, fault: Fault, other: Fault) -> str:
    """What is there, where `other` was named."""
    if other.name == "nothing":
        return f"`{key}` is not in order ({draw.letter(other)})."
    return f"`{key}` does not have fault {draw.letter(other)}: there, {other.absent}."


def vary(seed: int) -> Exercise:
    """The exercise with loops and letters drawn for this learner; seed 0 is the book's."""
    draw = _draw(seed)
    return replace(
        FIND_BUG,
        statement=_statement(draw),
        reference=says(draw.answers()),
        mistakes=_mistakes(draw),
        alternatives=(),
    )


def answer() -> dict[str, str]:
    return {
        "loop_1": "G",  # backward, zero_grad, step: the step sees zeros
        "loop_2": "F",  # model.train() stands before the epochs, model.eval() in each
        "loop_3": "B",  # schedule.step() before optimizer.step()
        "loop_4": "D",  # every line once and in its place
        "loop_5": "A",  # optimizer.step() once before and once after schedule.step()
        "loop_6": "C",  # no zero_grad
    }


def _by_name() -> dict[str, str]:
    letters = {fault.name: _PRINTED.letter(fault) for fault in FAULTS}
    found = (
        "zeroed-too-late",
        "eval-kept",
        "schedule-before-step",
        "nothing",
        "steps-twice",
        "never-zeroed",
    )
    return {f"loop_{i}": letters[name] for i, name in enumerate(found, start=1)}


FIND_BUG = Exercise(
    id="training.find_bug",
    title="Name the fault in six training loops",
    kind="debug",
    difficulty=2,
    minutes=10,
    signature="answer() -> dict of six letters",
    statement=_statement(_PRINTED),
    objective="Read a training loop and see at once what is skipped, doubled or out of order.",
    prerequisite="training.accumulated_loss",
    hints=(
        "Write down in what order the lines of one batch must come. Which line needs what another "
        "one has made?",
        "Check four things in each loop: `zero_grad` (before `backward`, every batch), `step` "
        "(after `backward`, once), `schedule.step` (after `optimizer.step`, once a step), and "
        "`train` and `eval` over two epochs.",
        "zero_grad, loss, backward, optimizer.step, schedule.step: each once a batch, in this "
        "order; `model.train()` inside the loop over epochs. At most one of the six is so.",
    ),
    reference=answer,
    explanation=(
        "None of these faults raises an exception, and with most of them the loss still falls, "
        "which is why they live long. `backward` adds to gradients, so they must be zeroed for "
        "every batch, and not between `backward` and `step`. `eval` stays until somebody calls "
        "`train`. A schedule made for steps must be advanced at every step, after the optimizer's. "
        "And what is held out may be measured, never learned."
    ),
    mistakes=_mistakes(_PRINTED),
    alternatives=(_by_name, _PRINTED.answers),
    starter=_PRINTED.starter(),
    vary=vary,
)
