"""German inflection as tables: articles, adjective endings, pronouns, and the verb by person."""

from dataclasses import dataclass
from typing import Literal

from annotated_transformer.data.grammar.nouns import Gender, Noun, Number
from annotated_transformer.data.grammar.verbs import CASES, Case, Verb

Person = Literal[1, 3]
# What adjectives, articles and pronouns agree with: a gender in the singular, or the plural.
Agreement = Literal["masculine", "feminine", "neuter", "plural"]

AGREEMENTS: tuple[Agreement, ...] = ("masculine", "feminine", "neuter", "plural")


def table(text: str) -> dict[tuple[Case, Agreement], str]:
    """A table with a row a case and a column an agreement; "-" is no ending (or no form)."""
    rows = [line.split() for line in text.strip().splitlines()]
    return {
        (case, agreement): "" if form == "-" else form
        for case, row in zip(CASES, rows, strict=True)
        for agreement, form in zip(AGREEMENTS, row, strict=True)
    }


#   masculine feminine neuter plural
DEFINITE = table("""
    der       die      das    die
    den       die      das    die
    dem       der      dem    den
""")
# dieser, jeder: the endings of the definite article.
DER_ENDINGS = table("""
    er        e        es     e
    en        e        es     e
    em        er       em     en
""")
# ein, kein, mein, sein, ihr, unser (ein itself has no plural).
EIN_ENDINGS = table("""
    -         e        -      e
    en        e        -      e
    em        er       em     en
""")
# After der, dieser, jeder.
WEAK = table("""
    e         e        e      en
    en        e        e      en
    en        en       en     en
""")
# After ein, kein, mein, sein, ihr, unser.
MIXED = table("""
    er        e        es     en
    en        e        es     en
    en        en       en     en
""")
# With no article, after a number, and in the plural after viele.
STRONG = table("""
    er        e        es     e
    en        e        es     e
    em        er       em     en
""")
RELATIVE = table("""
    der       die      das    die
    den       die      das    die
    dem       der      dem    denen
""")
# er, sie, es, sie: the third person.
PRONOUNS = table("""
    er        sie      es     sie
    ihn       sie      es     sie
    ihm       ihr      ihm    ihnen
""")
FIRST_PERSON: dict[tuple[Case, Number], str] = {
    ("nominative", "singular"): "ich",
    ("accusative", "singular"): "mich",
    ("dative", "singular"): "mir",
    ("nominative", "plural"): "wir",
    ("accusative", "plural"): "uns",
    ("dative", "plural"): "uns",
}

# A preposition and the definite article as one word.
CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("von", "dem"): "vom",
}

SEIN = ("bin", "ist", "sind")  # ich, er, wir and sie
HABEN = ("habe", "hat", "haben")
WERDEN = ("werde", "wird", "werden")


@dataclass(frozen=True, eq=False)
class Determiner:
    """What stands before adjective and noun.

    Attributes:
        english: singular and plural English form ("" where there is none).
        stem: German stem, to which `endings` are added.
        endings: by case and agreement.
        adjectives: the endings of adjectives after it.
    """

    english: tuple[str, str]
    stem: str
    endings: dict[tuple[Case, Agreement], str]
    adjectives: dict[tuple[Case, Agreement], str]


NO_ENDINGS = dict.fromkeys(DEFINITE, "")

THE = Determiner(("the", "the"), "", DEFINITE, WEAK)
THIS = Determiner(("this", "these"), "dies", DER_ENDINGS, WEAK)
EVERY = Determiner(("every", ""), "jed", DER_ENDINGS, WEAK)
A = Determiner(("a", ""), "ein", EIN_ENDINGS, MIXED)
NO = Determiner(("", ""), "kein", EIN_ENDINGS, MIXED)
BARE = Determiner(("", ""), "", NO_ENDINGS, STRONG)
MANY = Determiner(("", "many"), "viel", DER_ENDINGS, STRONG)
TWO = Determiner(("", "two"), "zwei", NO_ENDINGS, STRONG)
THREE = Determiner(("", "three"), "drei", NO_ENDINGS, STRONG)
POSSESSIVES = {
    english: Determiner((english, english), stem, EIN_ENDINGS, MIXED)
    for english, stem in {
        "my": "mein",
        "his": "sein",
        "her": "ihr",
        "our": "unser",
        "their": "ihr",
    }.items()
}


def agreement(gender: Gender, number: Number) -> Agreement:
    """What agrees with a noun of this gender in this number."""
    return "plural" if number == "plural" else gender


def noun_form(noun: Noun, case: Case, number: Number) -> str:
    """The German noun: den Jungen, den Kindern."""
    if number == "plural":
        return noun.plural_dative if case == "dative" else noun.plural
    return noun.singular if case == "nominative" else noun.oblique


def determiner_form(determiner: Determiner, case: Case, agrees: Agreement) -> str:
    """The German article or pronoun before a noun, "" where there is none."""
    return determiner.stem + determiner.endings[case, agrees]


def adjective_form(stem: str, determiner: Determiner, case: Case, agrees: Agreement) -> str:
    """The German adjective before a noun: der alte, ein alter, alter."""
    return stem + determiner.adjectives[case, agrees]


def pronoun_form(person: Person, agrees: Agreement, number: Number, case: Case) -> str:
    """The German personal pronoun."""
    return FIRST_PERSON[case, number] if person == 1 else PRONOUNS[case, agrees]


def by_person(forms: tuple[str, str, str], person: Person, number: Number) -> str:
    """One of (ich, er, wir and sie)."""
    if number == "plural":
        return forms[2]
    return forms[0] if person == 1 else forms[1]


def present_form(verb: Verb, person: Person, number: Number) -> str:
    """The present tense without the separable prefix: rufe, ruft, rufen."""
    return by_person((verb.first, verb.third_german, verb.infinitive_stem), person, number)
