"""The verbs of the grammar, every form written out, and what each takes."""
# ruff: noqa: E501  (a row of a table stays one line)

from dataclasses import dataclass
from typing import Literal, get_args

from annotated_transformer.data.grammar.nouns import Noun, nouns_of

Case = Literal["nominative", "accusative", "dative"]
CASES: tuple[Case, ...] = get_args(Case)


@dataclass(frozen=True, eq=False)
class Preposition:
    """A preposition in both languages and the case it governs here.

    `two_way` ones govern the dative for a place and the accusative for a direction.
    """

    english: tuple[str, ...]
    german: str
    case: Case
    two_way: bool = False


@dataclass(frozen=True, eq=False)
class Verb:
    """One verb in both languages.

    Attributes:
        third, base, participle: English forms (reads, read, read).
        particle: what stands behind the English verb (picks *up*, looks *for*); may be empty.
        splits: a pronoun goes before the particle (picks *him* up).
        prefix: the German separable prefix; empty for others. infinitive_stem, first and
            third_german are without it, the participle with it.
        auxiliary: haben or sein, for the perfect.
        subjects, objects: nouns that make sense. What an object is depends on the frame.
        places: kinds of place that a verb of rest or motion takes (its objects otherwise).
        preposition: the one of a governed phrase.
        stage: what one does with a thing first (1: find), next (2: repair), last (3: sell); two
            coordinated verbs go upwards. 0: not used in coordination.
        manners: English adverbs of manner that make sense.
    """

    third: str
    base: str
    participle: str
    particle: str
    splits: bool
    prefix: str
    infinitive_stem: str
    first: str
    third_german: str
    participle_german: str
    auxiliary: str
    frame: str
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]
    places: tuple[str, ...]
    preposition: Preposition | None
    stage: int
    manners: tuple[str, ...]

    @property
    def infinitive(self) -> str:
        """The German infinitive: anrufen."""
        return self.prefix + self.infinitive_stem


# English third person, base, participle, particle (~ before one that splits)
# | German: prefix/infinitive (or infinitive), ich-form, er-form, participle (s: perfect with sein)
# | subjects | objects | stage | manners
ACCUSATIVE = """
reads read read            | lesen lese liest gelesen                 | human | text press        | 2 | quickly slowly quietly
writes write written       | schreiben schreibe schreibt geschrieben  | human | text              | 0 | quickly slowly
buys buy bought            | kaufen kaufe kauft gekauft               | human | shop thing clothing owned food drink | 1 |
sells sell sold            | verkaufen verkaufe verkauft verkauft     | human | shop thing clothing owned food drink fed | 3 | quickly
sees see seen              | sehen sehe sieht gesehen                 | human animal | human animal thing vehicle view | 1 |
finds find found           | finden finde findet gefunden             | human | thing clothing flat fed | 1 |
looks look looked for      | suchen suche sucht gesucht               | human | lose human fed    | 0 |
needs need needed          | brauchen brauche braucht gebraucht       | human | thing clothing owned drink | 0 |
eats eat eaten             | essen esse isst gegessen                 | human | food              | 3 | quickly slowly
drinks drink drunk         | trinken trinke trinkt getrunken          | human | drink             | 3 | quickly slowly
cooks cook cooked          | kochen koche kocht gekocht               | human | cook              | 2 |
bakes bake baked           | backen backe backt gebacken              | human | bake              | 1 |
loves love loved           | lieben liebe liebt geliebt               | human | human animal      | 0 |
knows know known           | kennen kenne kennt gekannt               | human | human know        | 0 |
visits visit visited       | besuchen besuche besucht besucht         | human | human visit       | 0 |
opens open opened          | öffnen öffne öffnet geöffnet             | human | open              | 1 | slowly quietly carefully
closes close closed        | zu/machen mache macht zugemacht          | human | shut              | 3 | slowly quietly carefully
turns turn turned ~on      | ein/schalten schalte schaltet eingeschaltet | human | device         | 2 |
turns turn turned ~off     | aus/schalten schalte schaltet ausgeschaltet | human | device         | 3 |
washes wash washed         | waschen wasche wäscht gewaschen          | human | wash              | 2 | quickly carefully
cleans clean cleaned       | putzen putze putzt geputzt               | human | clean             | 2 | quickly carefully
tidies tidy tidied ~up     | auf/räumen räume räumt aufgeräumt        | human | tidy              | 2 | quickly
carries carry carried      | tragen trage trägt getragen              | human | carry             | 2 | slowly carefully
repairs repair repaired    | reparieren repariere repariert repariert | human | repair            | 2 | quickly carefully
paints paint painted       | malen male malt gemalt                   | human | paint animal view | 2 | quickly slowly
hears hear heard           | hören höre hört gehört                   | human animal | human animal | 1 |
invites invite invited     | ein/laden lade lädt eingeladen           | human | human             | 2 |
calls call called          | an/rufen rufe ruft angerufen             | human | human             | 0 |
picks pick picked ~up      | ab/holen hole holt abgeholt              | human | human             | 2 |
wakes wake woken ~up       | wecken wecke weckt geweckt               | human | human             | 2 | quietly
forgets forget forgotten   | vergessen vergesse vergisst vergessen    | human | lose              | 3 |
loses lose lost            | verlieren verliere verliert verloren     | human | lose              | 3 |
brings bring brought along | mit/bringen bringe bringt mitgebracht    | human | give kin pet piece | 2 |
takes take taken along     | mit/nehmen nehme nimmt mitgenommen       | human | give carry kin pet lose | 2 |
tries try tried ~on        | an/probieren probiere probiert anprobiert | human | clothing         | 2 |
hangs hang hung ~up        | auf/hängen hänge hängt aufgehängt        | human | hang              | 2 | carefully
throws throw thrown ~away  | weg/werfen werfe wirft weggeworfen       | human | flat food clothing | 3 |
feeds feed fed             | füttern füttere füttert gefüttert        | human | fed               | 2 |
chases chase chased        | jagen jage jagt gejagt                   | hunter | prey             | 0 |
greets greet greeted       | begrüßen begrüße begrüßt begrüßt         | human | human             | 2 | quietly loudly
understands understand understood | verstehen verstehe versteht verstanden | human | human text   | 0 |
looks look looked at       | an/sehen sehe sieht angesehen            | human animal | view animal human | 0 |
puts put put ~on           | an/ziehen ziehe zieht angezogen          | human | dress             | 2 | quickly slowly
takes take taken ~off      | aus/ziehen ziehe zieht ausgezogen        | human | dress             | 3 | quickly slowly
hides hide hidden          | verstecken verstecke versteckt versteckt | human | lose give         | 3 | quickly carefully
watches watch watched      | beobachten beobachte beobachtet beobachtet | human animal | human animal | 1 | quietly
"""

DATIVE = """
helps help helped          | helfen helfe hilft geholfen              | human | human fed   | 0 |
thanks thank thanked       | danken danke dankt gedankt               | human | human       | 0 |
follows follow followed    | folgen folge folgt gefolgt s             | human animal | human animal | 0 | slowly quietly
trusts trust trusted       | vertrauen vertraue vertraut vertraut     | human | human pet   | 0 |
answers answer answered    | antworten antworte antwortet geantwortet | human | human       | 0 | quickly quietly loudly
congratulates congratulate congratulated | gratulieren gratuliere gratuliert gratuliert | human | human | 0 |
listens listen listened to | zu/hören höre hört zugehört              | human | human       | 0 | quietly
belongs belong belonged to | gehören gehöre gehört gehört             | thing clothing owned pet home | human | 0 |
"""

DITRANSITIVE = """
gives give given           | geben gebe gibt gegeben                  | human | give piece mass | 0 |
shows show shown           | zeigen zeige zeigt gezeigt               | human | thing flat clothing owned view pet | 0 |
sends send sent            | schicken schicke schickt geschickt       | human | give        | 0 |
brings bring brought       | bringen bringe bringt gebracht           | human | give piece mass clothing | 0 |
lends lend lent            | leihen leihe leiht geliehen              | human | give clothing owned carry | 0 |
buys buy bought            | kaufen kaufe kauft gekauft               | human | give piece clothing | 0 |
reads read read            | vor/lesen lese liest vorgelesen          | human | text press  | 0 |
tells tell told            | erzählen erzähle erzählt erzählt         | human | tale        | 0 |
"""

INTRANSITIVE = """
sleeps sleep slept         | schlafen schlafe schläft geschlafen      | human animal |  | 0 |
works work worked          | arbeiten arbeite arbeitet gearbeitet     | human |         | 0 | quickly slowly quietly
plays play played          | spielen spiele spielt gespielt           | human pet |     | 0 | quietly loudly
dances dance danced        | tanzen tanze tanzt getanzt               | human |         | 0 | slowly
laughs laugh laughed       | lachen lache lacht gelacht               | human |         | 0 | loudly quietly
sings sing sung            | singen singe singt gesungen              | human flier |   | 0 | loudly quietly
cries cry cried            | weinen weine weint geweint               | human |         | 0 | loudly quietly
waits wait waited          | warten warte wartet gewartet             | human pet |     | 0 | quietly
gets get got up            | auf/stehen stehe steht aufgestanden s    | human |         | 0 | slowly quickly
falls fall fallen asleep   | ein/schlafen schlafe schläft eingeschlafen s | human animal | | 0 | quickly slowly
wakes wake woken up        | auf/wachen wache wacht aufgewacht s      | human animal |  | 0 | slowly
arrives arrive arrived     | an/kommen komme kommt angekommen s       | human line |    | 0 |
leaves leave left          | ab/fahren fahre fährt abgefahren s       | line |          | 0 | slowly
comes come come back       | zurück/kommen komme kommt zurückgekommen s | human pet |   | 0 | quickly
comes come come along      | mit/kommen komme kommt mitgekommen s     | human pet |     | 0 |
gets get got off           | aus/steigen steige steigt ausgestiegen s | human |         | 0 | quickly slowly
gets get got on            | ein/steigen steige steigt eingestiegen s | human |         | 0 | quickly slowly
goes go gone out           | aus/gehen gehe geht ausgegangen s        | human |         | 0 |
gives give given up        | auf/geben gebe gibt aufgegeben           | human |         | 0 |
"""

PLACED = """
lives live lived           | wohnen wohne wohnt gewohnt               | human | home    | 0 |
sits sit sat               | sitzen sitze sitzt gesessen              | human lap | enter by support | 0 | quietly
swims swim swum            | schwimmen schwimme schwimmt geschwommen s | human swim | water | 0 | quickly slowly
stands stand stood         | stehen stehe steht gestanden             | furniture | inside | 0 |
stands stand stood         | stehen stehe steht gestanden             | stand | support | 0 |
stands stand stood         | stehen stehe steht gestanden             | owned | by      | 0 |
lies lie lain              | liegen liege liegt gelegen               | flat lap | support | 0 |
"""

MOTION = """
goes go gone               | gehen gehe geht gegangen s               | human | enter reach | 0 | quickly slowly
runs run run               | laufen laufe läuft gelaufen s            | human | enter reach | 0 | quickly slowly
runs run run               | laufen laufe läuft gelaufen s            | animal | outdoor | 0 | quickly slowly
drives drive driven        | fahren fahre fährt gefahren s            | human | road reach | 0 | quickly slowly
comes come come            | kommen komme kommt gekommen s            | human | enter reach source | 0 | slowly
comes come come            | kommen komme kommt gekommen s            | animal | outdoor source | 0 | slowly
"""

PUT = """
puts put put               | legen lege legt gelegt                   | human | flat clothing | 0 | carefully quickly
"""

PREPOSITIONAL = """
waits wait waited          | warten warte wartet gewartet             | human pet | human awaited | 0 | quietly | for auf accusative
thinks think thought       | denken denke denkt gedacht               | human | human home    | 0 | | of an accusative
dreams dream dreamt        | träumen träume träumt geträumt           | human | human owned home   | 0 | | of von dative
talks talk talked          | sprechen spreche spricht gesprochen      | human | human text view visit animal | 0 | quietly loudly | about über accusative
laughs laugh laughed       | lachen lache lacht gelacht               | human | human tale pet | 0 | quietly loudly | about über accusative
talks talk talked          | sprechen spreche spricht gesprochen      | human | human         | 0 | quietly loudly | with mit dative
plays play played          | spielen spiele spielt gespielt           | human | human pet     | 0 | quietly loudly | with mit dative
dances dance danced        | tanzen tanze tanzt getanzt               | human | human         | 0 | slowly | with mit dative
works work worked          | arbeiten arbeite arbeitet gearbeitet     | human | human         | 0 | | for für accusative
looks look looked          | auf/passen passe passt aufgepasst        | human | young fed     | 0 | | after auf accusative
"""

COMPLEMENT = """
says say said              | sagen sage sagt gesagt                   | human |  | 0 |
knows know known           | wissen weiß weiß gewusst                 | human |  | 0 |
believes believe believed  | glauben glaube glaubt geglaubt           | human |  | 0 |
hopes hope hoped           | hoffen hoffe hofft gehofft               | human |  | 0 |
hears hear heard           | hören höre hört gehört                   | human |  | 0 |
notices notice noticed     | merken merke merkt gemerkt               | human |  | 0 |
asks ask asked             | fragen frage fragt gefragt               | human |  | 0 |
"""


def parse_preposition(column: list[str]) -> Preposition:
    """The last column of PREPOSITIONAL: English, German, case."""
    english, german, name = column
    (case,) = (case for case in CASES if case == name)
    return Preposition((english,), german, case)


def parse_verb(line: str, frame: str) -> Verb:
    """One line of a table above."""
    columns = [part.split() for part in line.split("|")]
    (third, base, participle, *particle), german, subjects, objects, (stage,), manners = columns[:6]
    prefix, _, stem = german[0].rpartition("/")
    word = particle[0] if particle else ""
    return Verb(
        third=third,
        base=base,
        participle=participle,
        particle=word.removeprefix("~"),
        splits=word.startswith("~") or word == "along",
        prefix=prefix,
        infinitive_stem=stem,
        first=german[1],
        third_german=german[2],
        participle_german=german[3],
        auxiliary="sein" if german[4:] == ["s"] else "haben",
        frame=frame,
        subjects=nouns_of(*subjects),
        objects=nouns_of(*objects),
        places=tuple(objects) if frame in ("placed", "motion") else (),
        preposition=parse_preposition(columns[6]) if len(columns) > 6 else None,
        stage=int(stage),
        manners=tuple(manners),
    )


TABLES = {
    "accusative": ACCUSATIVE,
    "dative": DATIVE,
    "ditransitive": DITRANSITIVE,
    "intransitive": INTRANSITIVE,
    "placed": PLACED,
    "motion": MOTION,
    "put": PUT,
    "prepositional": PREPOSITIONAL,
    "complement": COMPLEMENT,
}

VERBS: dict[str, tuple[Verb, ...]] = {
    frame: tuple(parse_verb(line, frame) for line in table.strip().splitlines())
    for frame, table in TABLES.items()
}
