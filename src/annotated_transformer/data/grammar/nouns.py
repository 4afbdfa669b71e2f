"""The nouns of the grammar, every form written out."""
# ruff: noqa: E501  (a row of a table stays one line)

from dataclasses import dataclass
from typing import Literal

Gender = Literal["masculine", "feminine", "neuter"]
Number = Literal["singular", "plural"]


@dataclass(frozen=True, eq=False)
class Noun:
    """One noun in both languages.

    Attributes:
        english: singular and plural. A mass noun (coffee) has an empty plural in both languages.
        gender: of the German noun.
        singular: German nominative singular.
        oblique: German accusative and dative singular; differs for weak nouns (den Jungen).
        plural: German plural, but for the dative.
        plural_dative: German dative plural.
        pronoun: the English pronoun that takes the noun up: he, she, it; empty for child and
            girl, where usage (English and German) is divided.
        kinds: what it is, so that verbs and adjectives can choose sensibly.
    """

    english: str
    english_plural: str
    gender: Gender
    singular: str
    oblique: str
    plural: str
    plural_dative: str
    pronoun: str
    kinds: frozenset[str]

    @property
    def human(self) -> bool:
        """Whether it is a person: who, not that."""
        return "human" in self.kinds


# English singular, plural | gender, German singular, plural | kinds.
# A third German form, in the middle, is the accusative and dative singular of a weak noun.
NOUN_TABLE = """
man men                 | m Mann Männer                        | human
teacher teachers        | m Lehrer Lehrer                      | human professional
doctor doctors          | m Arzt Ärzte                         | human professional
student students        | m Student Studenten Studenten        | human
neighbour neighbours    | m Nachbar Nachbarn Nachbarn          | human kin
baker bakers            | m Bäcker Bäcker                      | human professional
painter painters        | m Maler Maler                        | human
farmer farmers          | m Bauer Bauern Bauern                | human
boy boys                | m Junge Jungen Jungen                | human young
father fathers          | m Vater Väter                        | human kin single
son sons                | m Sohn Söhne                         | human kin young
brother brothers        | m Bruder Brüder                      | human kin
uncle uncles            | m Onkel Onkel                        | human kin
friend friends          | m Freund Freunde                     | human kin
king kings              | m König Könige                       | human single
policeman policemen     | m Polizist Polizisten Polizisten     | human professional
guest guests            | m Gast Gäste                         | human
woman women             | f Frau Frauen                        | human
mother mothers          | f Mutter Mütter                      | human kin single
daughter daughters      | f Tochter Töchter                    | human kin young
sister sisters          | f Schwester Schwestern               | human kin
aunt aunts              | f Tante Tanten                       | human kin
queen queens            | f Königin Königinnen                 | human single
waitress waitresses     | f Kellnerin Kellnerinnen             | human
actress actresses       | f Schauspielerin Schauspielerinnen   | human
nurse nurses            | f Krankenschwester Krankenschwestern | human professional
grandmother grandmothers| f Großmutter Großmütter              | human kin single
child children          | n Kind Kinder                        | human kin young
girl girls              | n Mädchen Mädchen                    | human young
dog dogs                | m Hund Hunde                         | animal pet hunter fed lap swim
cat cats                | f Katze Katzen                       | animal pet hunter fed lap
horse horses            | n Pferd Pferde                       | animal pet fed swim
bird birds              | m Vogel Vögel                        | animal flier prey fed
cow cows                | f Kuh Kühe                           | animal fed
pig pigs                | n Schwein Schweine                   | animal fed
mouse mice              | f Maus Mäuse                         | animal prey
bear bears              | m Bär Bären Bären                    | animal hunter swim
lion lions              | m Löwe Löwen Löwen                   | animal hunter
rabbit rabbits          | n Kaninchen Kaninchen                | animal pet prey fed lap
duck ducks              | f Ente Enten                         | animal flier prey fed swim
goat goats              | f Ziege Ziegen                       | animal fed
chicken chickens        | n Huhn Hühner                        | animal prey fed
book books              | n Buch Bücher                        | text flat give lose shop
letter letters          | m Brief Briefe                       | text flat give lose awaited open
newspaper newspapers    | f Zeitung Zeitungen                  | press flat give lose shop
poem poems              | n Gedicht Gedichte                   | text
story stories           | f Geschichte Geschichten             | text tale
novel novels            | m Roman Romane                       | text flat give shop
table tables            | m Tisch Tische                       | thing furniture support clean
chair chairs            | m Stuhl Stühle                       | thing furniture support carry repair
bed beds                | n Bett Betten                        | thing furniture support
lamp lamps              | f Lampe Lampen                       | thing device hang repair stand
clock clocks            | f Uhr Uhren                          | thing hang repair give
picture pictures        | n Bild Bilder                        | thing hang paint give flat view
knife knives            | n Messer Messer                      | thing flat wash lose
key keys                | m Schlüssel Schlüssel                | thing flat lose give
bag bags                | f Tasche Taschen                     | thing carry lose give hollow
bottle bottles          | f Flasche Flaschen                   | thing carry wash open stand hollow
cup cups                | f Tasse Tassen                       | thing wash stand hollow
plate plates            | m Teller Teller                      | thing wash stand
glass glasses           | n Glas Gläser                        | thing wash stand hollow
radio radios            | n Radio Radios                       | thing device repair
computer computers      | m Computer Computer                  | thing device repair
television televisions  | m Fernseher Fernseher                | thing device repair
umbrella umbrellas      | m Regenschirm Regenschirme           | thing carry lose give flat
present presents        | n Geschenk Geschenke                 | thing carry give open awaited
suitcase suitcases      | m Koffer Koffer                      | thing carry open shut lose hollow
box boxes               | f Kiste Kisten                       | thing carry open shut hollow
camera cameras          | f Kamera Kameras                     | thing repair lose give
window windows          | n Fenster Fenster                    | part open shut clean
door doors              | f Tür Türen                          | part open shut clean
coat coats              | m Mantel Mäntel                      | clothing hang lose dress
shirt shirts            | n Hemd Hemden                        | clothing wash dress
jacket jackets          | f Jacke Jacken                       | clothing hang lose wash dress
hat hats                | m Hut Hüte                           | clothing hang lose flat
skirt skirts            | m Rock Röcke                         | clothing wash dress
dress dresses           | n Kleid Kleider                      | clothing wash hang dress
car cars                | n Auto Autos                         | vehicle owned repair wash
bicycle bicycles        | n Fahrrad Fahrräder                  | vehicle owned repair clean
train trains            | m Zug Züge                           | vehicle line awaited
bus buses               | m Bus Busse                          | vehicle line awaited
ship ships              | n Schiff Schiffe                     | vehicle line awaited view
garden gardens          | m Garten Gärten                      | place enter view outdoor
house houses            | n Haus Häuser                        | place enter home by view
kitchen kitchens        | f Küche Küchen                       | place enter tidy clean inside
school schools          | f Schule Schulen                     | place reach by visit
park parks              | m Park Parks                         | place enter reach outdoor
forest forests          | m Wald Wälder                        | place enter outdoor road
city cities             | f Stadt Städte                       | place enter home visit know outdoor road
village villages        | n Dorf Dörfer                        | place enter home visit know outdoor road
hotel hotels            | n Hotel Hotels                       | place enter reach by inside
church churches         | f Kirche Kirchen                     | place reach by visit view
room rooms              | n Zimmer Zimmer                      | place enter tidy clean inside
library libraries       | f Bibliothek Bibliotheken            | place reach by inside
hospital hospitals      | n Krankenhaus Krankenhäuser          | place reach by
restaurant restaurants  | n Restaurant Restaurants             | place enter reach by inside
castle castles          | n Schloss Schlösser                  | place enter home reach visit view
museum museums          | n Museum Museen                      | place reach by visit
office offices          | n Büro Büros                         | place enter tidy inside
river rivers            | m Fluss Flüsse                       | water
lake lakes              | m See Seen                           | water
apple apples            | m Apfel Äpfel                        | food piece
pear pears              | f Birne Birnen                       | food piece
egg eggs                | n Ei Eier                            | food piece cook
cake cakes              | m Kuchen Kuchen                      | food piece bake
potato potatoes         | f Kartoffel Kartoffeln               | food piece cook
banana bananas          | f Banane Bananen                     | food piece
sausage sausages        | f Wurst Würste                       | food piece cook
bread -                 | n Brot -                             | food mass bake
soup -                  | f Suppe -                            | food mass cook
cheese -                | m Käse -                             | food mass
rice -                  | m Reis -                             | food mass cook
meat -                  | n Fleisch -                          | food mass cook
water -                 | n Wasser -                           | drink mass
coffee -                | m Kaffee -                           | drink mass
tea -                   | m Tee -                              | drink mass
milk -                  | f Milch -                            | drink mass
wine -                  | m Wein -                             | drink mass
juice -                 | m Saft -                             | drink mass
"""

GENDERS: dict[str, Gender] = {"m": "masculine", "f": "feminine", "n": "neuter"}


def dative_plural(plural: str) -> str:
    """German nouns add -n in the dative plural, but for those that end in -n or -s."""
    return plural if not plural or plural[-1] in "ns" else plural + "n"


def pronoun_for(gender: Gender, kinds: frozenset[str]) -> str:
    """The English pronoun for a noun of this German gender and kind."""
    if "human" not in kinds:
        return "it"
    return {"masculine": "he", "feminine": "she", "neuter": ""}[gender]


def parse_noun(line: str) -> Noun:
    """One line of NOUN_TABLE."""
    english, german, kinds_text = (part.split() for part in line.split("|"))
    letter, singular, *middle, plural = german
    gender, kinds = GENDERS[letter], frozenset(kinds_text)
    plural = plural.strip("-")
    return Noun(
        english=english[0],
        english_plural=english[1].strip("-"),
        gender=gender,
        singular=singular,
        oblique=middle[0] if middle else singular,
        plural=plural,
        plural_dative=dative_plural(plural),
        pronoun=pronoun_for(gender, kinds),
        kinds=kinds,
    )


NOUNS = tuple(parse_noun(line) for line in NOUN_TABLE.strip().splitlines())
NOUN = {noun.english: noun for noun in NOUNS}


def nouns_of(*kinds: str) -> tuple[Noun, ...]:
    """The nouns of any of these kinds, in the order of the table."""
    return tuple(noun for noun in NOUNS if noun.kinds & set(kinds))
