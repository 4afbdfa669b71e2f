"""German inflection against whole paradigms written by hand."""

import pytest

from annotated_transformer.data.grammar.inflection import (
    AGREEMENTS,
    BARE,
    EVERY,
    MANY,
    NO,
    POSSESSIVES,
    PRONOUNS,
    RELATIVE,
    THE,
    THIS,
    THREE,
    TWO,
    A,
    Determiner,
    adjective_form,
    agreement,
    determiner_form,
    noun_form,
    present_form,
    pronoun_form,
)
from annotated_transformer.data.grammar.nouns import NOUN, NOUNS, Number
from annotated_transformer.data.grammar.verbs import CASES, VERBS, Verb
from annotated_transformer.data.grammar.words import ADJECTIVES, adjectives_for

STEM = {adjective.english: adjective.stem for adjective in ADJECTIVES}


def paradigm(determiner: Determiner, adjective: str, english: str, number: Number) -> list[str]:
    """Nominative, accusative and dative of determiner, adjective and noun."""
    noun = NOUN[english]
    agrees = agreement(noun.gender, number)
    return [
        " ".join(
            part
            for part in (
                determiner_form(determiner, case, agrees),
                adjective_form(STEM[adjective], determiner, case, agrees),
                noun_form(noun, case, number),
            )
            if part
        )
        for case in CASES
    ]


PARADIGMS = [
    (THE, "old", "man", "singular", "der alte Mann|den alten Mann|dem alten Mann"),
    (THE, "old", "woman", "singular", "die alte Frau|die alte Frau|der alten Frau"),
    (THE, "old", "book", "singular", "das alte Buch|das alte Buch|dem alten Buch"),
    (THE, "old", "book", "plural", "die alten Bücher|die alten Bücher|den alten Büchern"),
    (THIS, "new", "table", "singular", "dieser neue Tisch|diesen neuen Tisch|diesem neuen Tisch"),
    (THIS, "new", "lamp", "singular", "diese neue Lampe|diese neue Lampe|dieser neuen Lampe"),
    (THIS, "new", "house", "singular", "dieses neue Haus|dieses neue Haus|diesem neuen Haus"),
    (THIS, "new", "lamp", "plural", "diese neuen Lampen|diese neuen Lampen|diesen neuen Lampen"),
    (EVERY, "clever", "student", "singular",
     "jeder kluge Student|jeden klugen Studenten|jedem klugen Studenten"),
    (EVERY, "small", "cat", "singular", "jede kleine Katze|jede kleine Katze|jeder kleinen Katze"),
    (EVERY, "small", "child", "singular", "jedes kleine Kind|jedes kleine Kind|jedem kleinen Kind"),
    (A, "old", "man", "singular", "ein alter Mann|einen alten Mann|einem alten Mann"),
    (A, "old", "woman", "singular", "eine alte Frau|eine alte Frau|einer alten Frau"),
    (A, "old", "book", "singular", "ein altes Buch|ein altes Buch|einem alten Buch"),
    (NO, "good", "cake", "singular", "kein guter Kuchen|keinen guten Kuchen|keinem guten Kuchen"),
    (NO, "good", "book", "plural", "keine guten Bücher|keine guten Bücher|keinen guten Büchern"),
    (BARE, "hot", "coffee", "singular", "heißer Kaffee|heißen Kaffee|heißem Kaffee"),
    (BARE, "fresh", "milk", "singular", "frische Milch|frische Milch|frischer Milch"),
    (BARE, "cold", "water", "singular", "kaltes Wasser|kaltes Wasser|kaltem Wasser"),
    (BARE, "young", "woman", "plural", "junge Frauen|junge Frauen|jungen Frauen"),
    (MANY, "old", "house", "plural", "viele alte Häuser|viele alte Häuser|vielen alten Häusern"),
    (TWO, "red", "apple", "plural", "zwei rote Äpfel|zwei rote Äpfel|zwei roten Äpfeln"),
    (THREE, "black", "dog", "plural",
     "drei schwarze Hunde|drei schwarze Hunde|drei schwarzen Hunden"),
    (POSSESSIVES["my"], "dark", "room", "singular",
     "mein dunkles Zimmer|mein dunkles Zimmer|meinem dunklen Zimmer"),
    (POSSESSIVES["his"], "expensive", "coat", "singular",
     "sein teurer Mantel|seinen teuren Mantel|seinem teuren Mantel"),
    (POSSESSIVES["her"], "friendly", "sister", "singular",
     "ihre freundliche Schwester|ihre freundliche Schwester|ihrer freundlichen Schwester"),
    (POSSESSIVES["our"], "small", "garden", "singular",
     "unser kleiner Garten|unseren kleinen Garten|unserem kleinen Garten"),
    (POSSESSIVES["our"], "new", "picture", "plural",
     "unsere neuen Bilder|unsere neuen Bilder|unseren neuen Bildern"),
    (POSSESSIVES["their"], "tired", "neighbour", "singular",
     "ihr müder Nachbar|ihren müden Nachbarn|ihrem müden Nachbarn"),
    (THE, "big", "lion", "singular", "der große Löwe|den großen Löwen|dem großen Löwen"),
    (THE, "young", "policeman", "singular",
     "der junge Polizist|den jungen Polizisten|dem jungen Polizisten"),
    (THE, "poor", "boy", "plural", "die armen Jungen|die armen Jungen|den armen Jungen"),
]  # fmt: skip


@pytest.mark.parametrize(("determiner", "adjective", "noun", "number", "expected"), PARADIGMS)
def test_noun_phrases(
    determiner: Determiner, adjective: str, noun: str, number: Number, expected: str
) -> None:
    assert paradigm(determiner, adjective, noun, number) == expected.split("|")


def test_pronouns() -> None:
    rows = [[PRONOUNS[case, agrees] for agrees in AGREEMENTS] for case in CASES]
    assert rows == [
        ["er", "sie", "es", "sie"],
        ["ihn", "sie", "es", "sie"],
        ["ihm", "ihr", "ihm", "ihnen"],
    ]
    assert [pronoun_form(1, "plural", "singular", case) for case in CASES] == ["ich", "mich", "mir"]
    assert [pronoun_form(1, "plural", "plural", case) for case in CASES] == ["wir", "uns", "uns"]


def test_relative_pronouns() -> None:
    rows = [[RELATIVE[case, agrees] for agrees in AGREEMENTS] for case in CASES]
    assert rows == [
        ["der", "die", "das", "die"],
        ["den", "die", "das", "die"],
        ["dem", "der", "dem", "denen"],
    ]


DATIVE_PLURALS = """
Männern Lehrern Ärzten Studenten Nachbarn Bäckern Malern Bauern Jungen Vätern Söhnen Brüdern
Onkeln Freunden Königen Polizisten Gästen Frauen Müttern Töchtern Schwestern Tanten Königinnen
Kellnerinnen Schauspielerinnen Krankenschwestern Großmüttern Kindern Mädchen Hunden Katzen Pferden
Vögeln Kühen Schweinen Mäusen Bären Löwen Kaninchen Enten Ziegen Hühnern Büchern Briefen Zeitungen
Gedichten Geschichten Romanen Tischen Stühlen Betten Lampen Uhren Bildern Messern Schlüsseln
Taschen Flaschen Tassen Tellern Gläsern Radios Computern Fernsehern Regenschirmen Geschenken
Koffern Kisten Kameras Fenstern Türen Mänteln Hemden Jacken Hüten Röcken Kleidern Autos Fahrrädern
Zügen Bussen Schiffen Gärten Häusern Küchen Schulen Parks Wäldern Städten Dörfern Hotels Kirchen
Zimmern Bibliotheken Krankenhäusern Restaurants Schlössern Museen Büros Flüssen Seen Äpfeln Birnen
Eiern Kuchen Kartoffeln Bananen Würsten
"""


def test_every_dative_plural() -> None:
    assert [noun.plural_dative for noun in NOUNS if noun.plural] == DATIVE_PLURALS.split()


def test_weak_nouns_and_no_others_change_in_the_singular() -> None:
    weak = {noun.singular: noun.oblique for noun in NOUNS if noun.singular != noun.oblique}
    assert weak == {
        "Student": "Studenten",
        "Nachbar": "Nachbarn",
        "Bauer": "Bauern",
        "Junge": "Jungen",
        "Polizist": "Polizisten",
        "Bär": "Bären",
        "Löwe": "Löwen",
    }


def every_verb() -> list[Verb]:
    return [verb for verbs in VERBS.values() for verb in verbs]


def find(infinitive: str) -> Verb:
    return next(verb for verb in every_verb() if verb.infinitive == infinitive)


@pytest.mark.parametrize(
    ("infinitive", "forms"),
    [
        ("lesen", "lese liest lesen gelesen haben"),
        ("anrufen", "rufe ruft rufen angerufen haben"),
        ("einladen", "lade lädt laden eingeladen haben"),
        ("vergessen", "vergesse vergisst vergessen vergessen haben"),
        ("mitnehmen", "nehme nimmt nehmen mitgenommen haben"),
        ("wegwerfen", "werfe wirft werfen weggeworfen haben"),
        ("füttern", "füttere füttert füttern gefüttert haben"),
        ("reparieren", "repariere repariert reparieren repariert haben"),
        ("anprobieren", "probiere probiert probieren anprobiert haben"),
        ("helfen", "helfe hilft helfen geholfen haben"),
        ("folgen", "folge folgt folgen gefolgt sein"),
        ("fahren", "fahre fährt fahren gefahren sein"),
        ("laufen", "laufe läuft laufen gelaufen sein"),
        ("aufstehen", "stehe steht stehen aufgestanden sein"),
        ("einschlafen", "schlafe schläft schlafen eingeschlafen sein"),
        ("schlafen", "schlafe schläft schlafen geschlafen haben"),
        ("ankommen", "komme kommt kommen angekommen sein"),
        ("schwimmen", "schwimme schwimmt schwimmen geschwommen sein"),
        ("stehen", "stehe steht stehen gestanden haben"),
        ("wissen", "weiß weiß wissen gewusst haben"),
        ("aufpassen", "passe passt passen aufgepasst haben"),
        ("vorlesen", "lese liest lesen vorgelesen haben"),
    ],
)
def test_verbs(infinitive: str, forms: str) -> None:
    verb = find(infinitive)
    found = [present_form(verb, 1, "singular"), present_form(verb, 3, "singular")]
    found += [present_form(verb, 3, "plural"), verb.participle_german, verb.auxiliary]
    assert found == forms.split()
    assert present_form(verb, 1, "plural") == present_form(verb, 3, "plural")


def test_separable_verbs_as_a_whole() -> None:
    for verb in every_verb():
        assert verb.infinitive.endswith("n")
        assert not verb.third_german.startswith(verb.prefix or "-")
        if verb.prefix and verb.infinitive != "anprobieren":
            assert verb.participle_german.startswith(verb.prefix + "ge")
        # The ich-form is the infinitive with -e, but for wissen.
        if verb.infinitive not in ("wissen", "füttern"):
            assert verb.first == verb.infinitive_stem.removesuffix("n")


def test_one_verb_has_the_same_forms_in_every_table() -> None:
    forms: dict[str, set[tuple[str, ...]]] = {}
    for verb in every_verb():
        key = (verb.first, verb.third_german, verb.participle_german, verb.auxiliary)
        forms.setdefault(verb.infinitive, set()).add(key)
    assert {name for name, found in forms.items() if len(found) > 1} == set()


def test_english_words_determine_the_german_ones() -> None:
    assert len(NOUN) == len(NOUNS) == len({noun.singular for noun in NOUNS})
    assert len(STEM) == len(ADJECTIVES) == len({adjective.stem for adjective in ADJECTIVES})
    plurals = [noun.english_plural for noun in NOUNS if noun.plural]
    assert len(set(plurals)) == len(plurals)
    assert not set(plurals) & set(NOUN)  # no "sheep": number is always to be seen


def test_every_noun_can_be_described() -> None:
    for noun in NOUNS:
        assert len({adjective.rank for adjective in adjectives_for(noun)}) >= 2, noun.english
