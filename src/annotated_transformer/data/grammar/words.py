"""Adjectives, adverbs, times and prepositions of the grammar, with what each goes with."""

from dataclasses import dataclass

from annotated_transformer.data.grammar.nouns import Noun
from annotated_transformer.data.grammar.verbs import Preposition


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective.

    Attributes:
        rank: its place before a noun: opinion 0, size 1, condition 2, age 3, colour 4. Two
            adjectives of one rank do not stand together (old and young, red and blue).
        predicate: the German form after "ist".
        stem: the German stem that takes endings.
        kinds: the kinds of noun it describes.
    """

    english: str
    rank: int
    predicate: str
    stem: str
    kinds: frozenset[str]


# English, rank | German predicate form (and the stem where it differs) | kinds of noun
ADJECTIVE_TABLE = """
old 3         | alt            | human animal thing text vehicle place clothing
young 3       | jung           | human animal
small 1       | klein          | human animal thing vehicle place piece part water
big 1         | groß           | animal thing vehicle place piece part water
new 3         | neu            | thing text press vehicle place clothing part
beautiful 0   | schön          | place clothing text view water
friendly 0    | freundlich     | human
famous 0      | berühmt        | professional text view visit
clever 0      | klug           | human pet
rich 2        | reich          | human
poor 2        | arm            | human
sad 2         | traurig        | human text
happy 2       | glücklich      | human
tired 2       | müde müd       | human animal
hungry 2      | hungrig        | human animal
sick 2        | krank          | human animal
strong 2      | stark          | human hunter
brave 0       | mutig          | human
lazy 0        | faul           | human pet
wild 2        | wild           | hunter flier
white 4       | weiß           | animal clothing furniture wash part
black 4       | schwarz        | animal clothing vehicle carry device
brown 4       | braun          | animal furniture carry
red 4         | rot            | clothing carry owned part
blue 4        | blau           | clothing carry owned wash
green 4       | grün           | clothing furniture owned part outdoor
yellow 4      | gelb           | clothing carry line
expensive 0   | teuer teur     | thing vehicle clothing drink
cheap 0       | billig         | thing clothing owned drink
heavy 1       | schwer         | carry furniture
long 1        | lang           | text press clothing line
short 1       | kurz           | text press
interesting 0 | interessant    | text press visit
boring 0      | langweilig     | text press
modern 3      | modern         | device vehicle by
broken 2      | kaputt         | repair part
clean 2       | sauber         | wash tidy clothing water
dark 2        | dunkel dunkl   | enter clothing
quiet 2       | ruhig          | place
empty 2       | leer           | hollow tidy line
fresh 2       | frisch         | food drink
good 0        | gut            | text food drink view professional
sweet 2       | süß            | piece drink
warm 2        | warm           | food clothing water
cold 2        | kalt           | drink cook tidy water
hot 2         | heiß           | cook drink
"""


def parse_adjective(line: str) -> Adjective:
    """One line of ADJECTIVE_TABLE."""
    english, german, kinds = (part.split() for part in line.split("|"))
    return Adjective(english[0], int(english[1]), german[0], german[-1], frozenset(kinds))


PASSING = ("sad", "happy", "tired", "hungry", "sick")  # states that a time goes with

ADJECTIVES = tuple(parse_adjective(line) for line in ADJECTIVE_TABLE.strip().splitlines())


def adjectives_for(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that can describe a noun."""
    return tuple(adjective for adjective in ADJECTIVES if adjective.kinds & noun.kinds)


@dataclass(frozen=True, eq=False)
class Phrase:
    """A fixed adverbial. Each word carries a letter; words with the same letter translate."""

    english: tuple[tuple[str, str], ...]
    german: tuple[tuple[str, str], ...]


def parse_phrase(line: str) -> Phrase:
    """One line such as `in:a the:a evening:b | am:a Abend:b`."""
    english, german = (
        tuple((word.partition(":")[0], word.partition(":")[2]) for word in part.split())
        for part in line.split("|")
    )
    return Phrase(english, german)


# With the present and with modal verbs; with the perfect; with the future.
PRESENT_TIMES = """
today:a | heute:a
now:a | jetzt:a
in:a the:a evening:b | am:a Abend:b
in:a the:a morning:b | am:a Morgen:b
on:a Monday:b | am:a Montag:b
on:a Sunday:b | am:a Sonntag:b
every:a day:b | jeden:a Tag:b
in:a summer:b | im:a Sommer:b
in:a winter:b | im:a Winter:b
"""
PERFECT_TIMES = """
today:a | heute:a
this:a morning:b | heute:a Morgen:b
this:a week:b | diese:a Woche:b
"""
FUTURE_TIMES = """
tomorrow:a | morgen:a
next:a week:b | nächste:a Woche:b
on:a Monday:b | am:a Montag:b
on:a Sunday:b | am:a Sonntag:b
in:a the:a evening:b | am:a Abend:b
in:a summer:b | im:a Sommer:b
"""


def parse_phrases(table: str) -> tuple[Phrase, ...]:
    """Every line of a table of times."""
    return tuple(parse_phrase(line) for line in table.strip().splitlines())


TIMES = {
    "present": parse_phrases(PRESENT_TIMES),
    "modal": parse_phrases(PRESENT_TIMES),
    "perfect": parse_phrases(PERFECT_TIMES),
    "future": parse_phrases(FUTURE_TIMES),
}

FREQUENCIES = {"often": "oft", "always": "immer", "sometimes": "manchmal", "never": "nie"}
MANNERS = {
    "quickly": "schnell",
    "slowly": "langsam",
    "loudly": "laut",
    "quietly": "leise",
    "carefully": "vorsichtig",
}

PREPOSITIONS = {
    "in": Preposition(("in",), "in", "dative", two_way=True),
    "on": Preposition(("on",), "auf", "dative", two_way=True),
    "under": Preposition(("under",), "unter", "dative", two_way=True),
    "behind": Preposition(("behind",), "hinter", "dative", two_way=True),
    "in front of": Preposition(("in", "front", "of"), "vor", "dative", two_way=True),
    "next to": Preposition(("next", "to"), "neben", "dative", two_way=True),
    "into": Preposition(("into",), "in", "accusative", two_way=True),
    "put on": Preposition(("on",), "auf", "accusative", two_way=True),
    "put under": Preposition(("under",), "unter", "accusative", two_way=True),
    "put next to": Preposition(("next", "to"), "neben", "accusative", two_way=True),
    "to": Preposition(("to",), "zu", "dative"),
    "from": Preposition(("from",), "aus", "dative"),
    "with": Preposition(("with",), "mit", "dative"),
    "without": Preposition(("without",), "ohne", "accusative"),
    "for": Preposition(("for",), "für", "accusative"),
}

# Which preposition goes with which kind of place.
PLACE_PREPOSITIONS = {
    "enter": ("in",),
    "outdoor": ("in",),
    "inside": ("in",),
    "home": ("in",),
    "water": ("in",),
    "by": ("in front of", "behind", "next to"),
    "support": ("on", "under", "next to"),
}
DIRECTION_PREPOSITIONS = {
    "enter": ("into",),
    "outdoor": ("into",),
    "road": ("into",),
    "reach": ("to",),
    "source": ("from",),
}
PUT_PREPOSITIONS = ("put on", "put under", "put next to")

# German forms: ich and er, wir and sie.
MODALS = {
    "can": ("kann", "können"),
    "must": ("muss", "müssen"),
    "wants to": ("will", "wollen"),
    "may": ("darf", "dürfen"),
    "should": ("sollte", "sollten"),
}
REASONS = {"because": "weil", "although": "obwohl"}
TIMINGS = {
    "when": "wenn",
    "if": "wenn",
    "while": "während",
    "before": "bevor",
}
CONJUNCTIONS = {**REASONS, **TIMINGS}
