"""`positional.wavelengths`: how far the sinusoids reach (section 3.5)."""

import math

from annotated_transformer.exercises.exercise import Candidate, Exercise, Mistake


def answer() -> dict[str, float]:
    d_model = 512
    shortest = 2 * math.pi  # i = 0: the angle is the position itself
    longest = 2 * math.pi * 10000 ** ((d_model - 2) / d_model)  # i = 255, so 2i = 510
    return {"shortest": shortest, "longest": longest}


def _as_plain_numbers() -> dict[str, float]:
    return {"shortest": 6.28, "longest": 60611}


def _from_all_of_them() -> dict[str, float]:
    lengths = [2 * math.pi / 10000 ** (-2 * i / 512) for i in range(256)]
    return {"shortest": min(lengths), "longest": max(lengths)}


def _says(key: str, value: float) -> Candidate:
    return lambda: {key: value}


_TURN = 2 * math.pi
_LAST = 10000 ** (510 / 512)
_NO_TURN = (
    "the factor 2π is missing. A wave repeats when its angle has grown by 2π, so the wavelength is "
    "2π · 10000^(2i / d_model)."
)

# The key, a name, the wrong number, what to say.
_WRONG: tuple[tuple[str, str, float, str], ...] = (
    ("shortest", "no-turn", 1.0, "1 is 10000^0: " + _NO_TURN),
    ("shortest", "half-turn", math.pi, "π is half a turn. A sine repeats after 2π."),
    ("shortest", "quarter-turn", math.pi / 2, "π/2 is a quarter of a turn. A sine repeats at 2π."),
    (
        "shortest",
        "second-pair",
        _TURN * 10000 ** (2 / 512),
        "this is the second pair's. Pairs are counted from 0, and 10000^0 = 1.",
    ),
    (
        "shortest",
        "second-pair-no-turn",
        10000 ** (2 / 512),
        "this is 10000^(2/512): the pairs are counted from 0, not from 1, and " + _NO_TURN,
    ),
    (
        "shortest",
        "frequency",
        1 / _TURN,
        "1/2π is the frequency, turns a position. Asked for is its inverse, positions a turn.",
    ),
    ("shortest", "two", 2.0, "2 is the number of columns in a pair. The wave repeats after 2π."),
    (
        "shortest",
        "degrees",
        360.0,
        "360 is a turn in degrees. The angle of the first pair is pos radians, and a turn is 2π.",
    ),
    (
        "shortest",
        "zero",
        0.0,
        "0 is the exponent of the first pair. 10000^0 is 1, and a turn is 2π: 2π · 1.",
    ),
    (
        "shortest",
        "shared-out",
        _TURN / 512,
        "2π was divided by d_model. The first pair's angle is the position itself: 2π positions.",
    ),
    (
        "shortest",
        "width",
        512.0,
        "512 is the number of columns. A wavelength is counted in positions.",
    ),
    (
        "shortest",
        "is-longest",
        _TURN * _LAST,
        "this is the longest. The power 10000^(2i / d_model) is smallest for i = 0.",
    ),
    (
        "shortest",
        "is-longest-rounded",
        _TURN * 10000,
        "2π · 10000 is the paper's rounded longest. The shortest has i = 0.",
    ),
    (
        "shortest",
        "fast",
        _TURN / 10000,
        "2π / 10000 has the power on the wrong side. Its smallest value is 10000^0 = 1.",
    ),
    (
        "shortest",
        "turn-squared",
        _TURN**2,
        "2π was multiplied twice. The wave repeats when the angle has grown by 2π.",
    ),
    ("shortest", "rounded-down", 6.0, "6 is 2π cut off to a whole position. Give 2π itself."),
    ("shortest", "rounded-up", 7.0, "7 is 2π rounded up to a whole position. Give 2π itself."),
    ("longest", "no-turn", 10000.0, "10000 is no wavelength: " + _NO_TURN),
    (
        "longest",
        "last-pair-reaches-base",
        _TURN * 10000,
        "2π · 10000 = 62,832 is what the paper's text says, and no pair reaches it: the last has "
        "i = 255, so the exponent is 510 / 512 and not 1.",
    ),
    (
        "longest",
        "exponent-multiplied",
        _TURN * 10000 * 510 / 512,
        "10000 is multiplied by 510 / 512 here. 510 / 512 is the exponent: 2π · 10000^(510/512).",
    ),
    (
        "longest",
        "exponent-multiplied-no-turn",
        10000 * 510 / 512,
        "10000 is multiplied by 510 / 512 here, which is the exponent, and 2π is missing: "
        "2π · 10000^(510/512).",
    ),
    (
        "longest",
        "last-pair-no-turn",
        _LAST,
        "10000^(510/512) has the right exponent, but " + _NO_TURN,
    ),
    (
        "longest",
        "base-shared-out",
        _TURN * 10000 / 512,
        "10000 is divided by d_model. d_model stands in the exponent: 2π · 10000^(510/512).",
    ),
    (
        "longest",
        "base-1000",
        _TURN * 1000 ** (510 / 512),
        "the base is 1000 here. The paper's is 10000, ten times as much: count the zeros.",
    ),
    (
        "longest",
        "base-1000-to-the-end",
        _TURN * 1000,
        "2π · 1000 has 1000 as base and 1 as exponent. It is 2π · 10000^(510/512).",
    ),
    (
        "longest",
        "negative-exponent",
        _TURN / _LAST,
        "the sign of the exponent is wrong: 2π / 10000^(510/512). The angle is pos / 10000^(...), "
        "so the wave gets longer by that power: 2π · 10000^(510/512).",
    ),
    (
        "longest",
        "column-as-exponent",
        _TURN * 10000 ** (511 / 512),
        "511 is the number of the last column. Its pair has i = 255, and both columns share the "
        "exponent 2i / d_model = 510 / 512.",
    ),
    (
        "longest",
        "pair-before-last",
        _TURN * 10000 ** (508 / 512),
        "this is the pair before the last. There are 256 pairs, i = 0 to 255: 2i = 510.",
    ),
    (
        "longest",
        "half-exponent",
        _TURN * 10000 ** (255 / 512),
        "the exponent is i / d_model here. It is 2i / d_model, 510 / 512 for the last pair.",
    ),
    (
        "longest",
        "half-exponent-to-the-end",
        _TURN * 100,
        "2π · 100 has the exponent 256 / 512. i counts pairs up to 255, and the exponent is "
        "2i / d_model, 510 / 512.",
    ),
    (
        "longest",
        "half-exponent-no-turn",
        10000 ** (255 / 512),
        "the exponent is i / d_model here, and 2π is missing. It is 2π · 10000^(510/512).",
    ),
    (
        "longest",
        "double-exponent",
        _TURN * 10000 ** (1020 / 512),
        "the exponent is 4i / d_model here. The values 0, 2, ..., 510 are 2i already: 510 / 512.",
    ),
    (
        "longest",
        "double-exponent-to-the-end",
        _TURN * 10000**2,
        "2π · 10000² has the exponent 2. The largest is 510 / 512, just below 1.",
    ),
    (
        "longest",
        "exponent-511",
        _TURN * 10000 ** (1022 / 512),
        "i goes to 511 here. It counts pairs of columns, of which there are 256.",
    ),
    (
        "longest",
        "half-turn",
        math.pi * _LAST,
        "half a turn is counted. A sine repeats after 2π, not π.",
    ),
    (
        "longest",
        "half-turn-base",
        math.pi * 10000,
        "π · 10000 counts half a turn, and an exponent of 1. The wave repeats after 2π, and the "
        "last exponent is 510 / 512.",
    ),
    (
        "longest",
        "frequency",
        1 / (_TURN * _LAST),
        "this is the frequency, turns a position. Asked for is its inverse, positions a turn.",
    ),
    (
        "longest",
        "rate",
        1 / _LAST,
        "this is the angle of one step, in radians. A turn takes 2π divided by it.",
    ),
    (
        "longest",
        "divided-by-turn",
        _LAST / _TURN,
        "the power is divided by 2π. It is multiplied: 2π · 10000^(510/512).",
    ),
    (
        "longest",
        "base-divided-by-turn",
        10000 / _TURN,
        "10000 is divided by 2π. A wave repeats when pos / 10000^(510/512) reaches 2π: multiply.",
    ),
    (
        "longest",
        "is-shortest",
        _TURN,
        "2π is the shortest. The longest is that of the last pair, 2i = 510.",
    ),
    (
        "longest",
        "width",
        512.0,
        "512 is the number of columns. A wavelength is counted in positions.",
    ),
    (
        "longest",
        "times-width",
        _TURN * 512,
        "2π · 512 multiplies with the width. The wavelengths grow as powers of 10000.",
    ),
    (
        "longest",
        "degrees",
        360 * _LAST,
        "360 is a turn in degrees. The angle is in radians: a turn is 2π.",
    ),
    (
        "longest",
        "degrees-base",
        360 * 10000.0,
        "360 is a turn in degrees. The angle is in radians: a turn is 2π, and the last exponent is "
        "510 / 512.",
    ),
)

MISTAKES = tuple(
    Mistake(f"{key}-{name}", _says(key, number), f"`{key}`: {sentence}")
    for key, name, number, sentence in _WRONG
)

WAVELENGTHS = Exercise(
    id="positional.wavelengths",
    title="From 2π to how far?",
    kind="number",
    difficulty=1,
    minutes=5,
    signature="answer() -> dict of two numbers",
    statement=(
        "d_model = 512. The encoding's pair i (columns 2i and 2i + 1, i from 0) has the angle "
        "pos / 10000^(2i / d_model). Return a dictionary with the 'shortest' and the 'longest' "
        "wavelength among all pairs: the number of positions, not rounded to a whole one, after "
        "which the pair's sine and cosine repeat. The paper's text gives the longest roughly; "
        "give that of the last pair there is."
    ),
    objective="Read a wavelength off the formula, and see that a text may round.",
    prerequisite="positional.sinusoidal",
    hints=(
        "By how much has the angle of a sine grown when it repeats? How many positions does that "
        "take in pair 0?",
        "Pair i repeats when pos / 10000^(2i / d_model) = 2π. How many pairs have 512 columns, and "
        "which is the last i when they are counted from 0?",
        "2π · 10000^0 is the shortest. The last pair is columns 510 and 511, so 2i = 510.",
    ),
    reference=answer,
    explanation=(
        "A wave repeats when its angle has grown by 2π: after 2π · 10000^(2i / d_model) positions. "
        "For i = 0 that is 2π, about 6.28. The paper says that the wavelengths run from 2π to "
        "10000 · 2π = 62,832; the last pair, i = 255, has the exponent 510 / 512, which gives "
        "60,611. The end of the progression is never reached."
    ),
    mistakes=MISTAKES,
    alternatives=(_as_plain_numbers, _from_all_of_them),
    starter='def answer():\n    return {"shortest": ..., "longest": ...}',
)
