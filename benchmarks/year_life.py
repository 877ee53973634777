"""A year of a life in two languages: a person's facts, questions and changes.

Each value of an attribute is a unique word in the script, so that it can be recognised in a prompt. The lists were
written before any code was run on them.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
MAX_HOUR = 22
SHORT_SHARE = 0.35
"""Share of small talk that consists of one or two words."""
EN_SHARE = 0.65
"""Share of small talk in English."""
ATTRIBUTES = Path(__file__).parent / "year_attributes.txt"
SETS = Path(__file__).parent.parent / "tests" / "sets"
EN, DE = "en", "de"

_RELATIONS = """
sister|Schwester|f|Marlene|v
brother|Bruder|m|Torben|v
mother|Mutter|f|Roswitha|v
father|Vater|m|Eckart|v
wife|Frau|f|Solveig|v
daughter|Tochter|f|Leonie|v
son|Sohn|m|Jasper|v
best friend|beste Freundin|f|Katinka|
boss|Chefin|f|Ottilie,Friederike|
neighbour|Nachbar|m|Wendelin,Gernot|
cousin|Cousin|m|Lorenz|
aunt|Tante|f|Hedwig|
grandmother|Großmutter|f|Walburga|
godchild|Patenkind|n|Quentin|
trainer|Trainer|m|Ansgar,Bertold|
"""
"""People: English, German, gender, successive names, and v if the name is vital."""
_CITIES = (
    "Husby Kiel Mölln Stade Jever Norden Bocholt Coesfeld Detmold Lemgo Minden Bünde Melle Diepholz "
    "Bremen Kassel Passau Görlitz Husum Cottbus Marburg Aurich Siegen Zwickau Ulm Fulda Worms Celle Goslar Wismar Trier"
    " Hameln Bayreuth Erfurt Gera Jena Plauen Soest Viersen Xanten Speyer Lindau"
).split()
_TRADES = (
    "carpenter/Tischlerin optician/Augenoptiker baker/Bäckerin surveyor/Landvermesser florist/Floristin"
    " librarian/Bibliothekar pilot/Pilotin beekeeper/Imker locksmith/Schlosserin notary/Notarin chemist/Chemikerin"
    " plumber/Klempner tailor/Schneiderin roofer/Dachdecker midwife/Hebamme glazier/Glaserin welder/Schweißer"
    " translator/Dolmetscherin barista/Barista geologist/Geologin upholsterer/Polsterer cellist/Cellistin"
    " electrician/Elektriker dietician/Ernährungsberaterin"
).split()
_HOBBIES = (
    "chess/Schach fencing/Fechten pottery/Töpfern rowing/Rudern origami/Origami archery/Bogenschießen"
    " knitting/Stricken bouldering/Klettern curling/Curling falconry/Falknerei sailing/Segeln judo/Judo"
    " calligraphy/Kalligrafie astronomy/Astronomie billiards/Billard diving/Tauchen embroidery/Sticken"
    " geocaching/Geocaching beatboxing/Beatboxen gliding/Segelfliegen darts/Darts surfing/Surfen"
).split()

_THINGS = {
    EN: (
        "printer spinach lamp bicycle pump umbrella pumpkin projector kettle stapler cushion lentils compass zipper"
        " drill garlic curtain blender ladder carpet noodle mirror"
    ).split(),
    DE: (
        "Drucker Spinat Lampe Luftpumpe Schirm Kürbis Beamer Wasserkocher Tacker Kissen Linsen Kompass Reißverschluss"
        " Bohrer Knoblauch Vorhang Mixer Leiter Teppich Nudeln Spiegel"
    ).split(),
}
_SHORT = {
    EN: (
        "Thanks!|Ok|Haha, yes|Good idea|And shorter, please|Go on|Why?|No, the other way round|Perfect|Hm, I'm not sure"
        "|Yes please|That's too long|Again, please|Nice|Never mind|What else?|Are you sure?|Great, thank you|lol"
    ).split("|"),
    DE: (
        "Danke!|Ok|Haha, ja|Gute Idee|Und bitte kürzer|Weiter|Warum?|Nein, andersherum|Perfekt|Hm, ich weiß nicht"
        "|Ja bitte|Das ist zu lang|Noch einmal bitte|Schön|Schon gut|Was noch?|Bist du sicher?|Super, danke|Gute Nacht"
    ).split("|"),
}
_EVENTS = {
    EN: (
        "Yesterday we ate {x} at a place by the river.",
        "Today I bought a new {x} at the market.",
        "We watched a film about a {x} last night.",
        "This morning I lost my {x} on the bus.",
    ),
    DE: (
        "Gestern haben wir am Fluss {x} gegessen.",
        "Heute habe ich auf dem Markt {x} gekauft.",
        "Wir haben gestern Abend einen Film über {x} gesehen.",
        "Heute früh habe ich im Bus {x} verloren.",
    ),
}
_NOTES = {
    EN: ("Remember that the {x} is in box {n}.", "Please remember that parcel {n} with the {x} comes on Friday."),
    DE: ("Merk dir, dass {x} in Kiste {n} liegt.", "Merke dir bitte: Paket {n} mit {x} kommt am Freitag."),
}
_STATES = {
    EN: ("I'm on sick leave until {until} because of my {x}.", "Until {until} I'm staying with friends, {x} included."),
    DE: ("Bis zum {until} bin ich krankgeschrieben wegen {x}.", "Bis zum {until} wohnt Besuch bei uns, mit {x}."),
}
ANSWERS = (
    "That sounds good. I would take it slowly and look at it again tomorrow, when there is more time for the details.",
    "Sure. Start with the easier half, then decide whether the rest is worth the effort; usually it is not much work.",
    "Das klingt gut. Ich würde es ruhig angehen und morgen noch einmal in Ruhe darauf schauen.",
    "Gern. Am besten fängst du mit dem leichteren Teil an und entscheidest danach, ob sich der Rest lohnt.",
    "Here is a short version, which you can change as you like. Tell me if it should be friendlier or shorter.",
)


class Purpose(StrEnum):
    """Purpose of a message."""

    TELLS = "tells"
    ASKS = "asks"
    TALK = "talk"
    EVENT = "event"
    NOTE = "note"
    TEMPORARY = "temporary state"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Attribute:
    """Something about the person or related people, with its successive values."""

    key: str
    subjects: dict[str, tuple[str, ...]]
    statement: dict[str, str]
    question: dict[str, str]
    values: tuple[dict[str, str], ...]
    is_vital: bool

    def format_statement(self, version: int, language: str) -> str:
        """Return the sentence that states a value."""
        return self.statement[language].format(v=self.values[version][language])


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that a perfect extractor finds in a message. For events and temporary states `version` is None."""

    text: str
    subject: dict[str, str]
    attribute: Attribute | None = None
    version: int | None = None
    language: str = EN
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One message of the script. `minute` counts from the start of the year."""

    minute: int
    text: str
    purpose: Purpose
    facts: tuple[Fact, ...] = ()


@dataclass
class Life:
    """The script: attributes, the days on which they take their values, and all messages."""

    attributes: list[Attribute]
    days: dict[str, list[int]]
    languages: dict[tuple[str, int], str]
    lines: list[Line] = field(default_factory=list)
    talk: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_value: dict[str, tuple[Attribute, int]] = {}
        for attribute in self.attributes:
            for version, value in enumerate(attribute.values):
                for word in value.values():
                    if self._by_value.setdefault(word.casefold(), (attribute, version)) != (attribute, version):
                        raise ValueError(f"{word} is a value of two attributes")
        words = sorted(self._by_value, key=len, reverse=True)
        self._pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)")
        self.talk = {
            spoken: [text for text in texts if not self._pattern.search(text.casefold())]
            for spoken, texts in _read_talk().items()
        }

    def recognise(self, text: str) -> dict[str, int]:
        """Return the newest value of each attribute that a text contains."""
        found: dict[str, int] = {}
        for word in self._pattern.findall(text.casefold()):
            attribute, version = self._by_value[word]
            found[attribute.key] = max(version, found.get(attribute.key, 0))
        return found

    def list_current(self, day: int) -> Iterator[tuple[Attribute, int]]:
        """Yield the attributes told up to the end of a day, with their newest values."""
        for attribute in self.attributes:
            told = [version for version, at in enumerate(self.days[attribute.key]) if at <= day]
            if told:
                yield attribute, told[-1]


def make_life(days: int, seed: int, notes: int = 1) -> Life:
    """Write the script of a life.

    Args:
        days: its length.
        notes: number of requests per day to remember something.
    """
    source = random.Random(seed)
    attributes = [attribute for attribute in _create_attributes(source) if attribute.values]
    told: dict[str, list[int]] = {}
    languages: dict[tuple[str, int], str] = {}
    for attribute in attributes:
        # Vital facts come up in the first days, others at any time
        latest = 330 - 12 * len(attribute.values)
        first = source.randrange(0, 10) if attribute.is_vital else int(min(latest, source.expovariate(1 / 55)))
        later = sorted(source.sample(range(first + 8, 360), len(attribute.values) - 1))
        told[attribute.key] = [first, *later]
        for version in range(len(attribute.values)):
            languages[attribute.key, version] = source.choice((EN, DE))
    life = Life(attributes, told, languages)
    for day in range(days):
        life.lines += _write_day(life, day, source, notes)
    return life


def _read_talk() -> dict[str, list[str]]:
    """Return ordinary messages without lasting facts by language, from the labelled test sets."""
    rows = [
        row
        for name in ("capture_registers.json", "capture_sentences.json")
        for row in json.loads((SETS / name).read_text(encoding="utf-8"))
        if row["pattern"] is None
    ]
    talk = {spoken: [row["text"] for row in rows if row["language"] == spoken] for spoken in (EN, DE)}
    for line in (SETS / "other_messages.txt").read_text(encoding="utf-8").splitlines():
        language, _, text = line.partition(" ")
        if language in talk:
            parts = re.split(r"\{(.*?)\}", text, maxsplit=1)
            talk[language] += (
                [f"{parts[0]}{word}{parts[2]}" for word in parts[1].split("|")] if len(parts) > 2 else [text]
            )
    unrelated = json.loads((SETS / "unrelated_messages.json").read_text(encoding="utf-8"))
    for messages in unrelated.values():
        if isinstance(messages, dict):
            for spoken in talk:
                talk[spoken] += messages.get(spoken, [])
    return talk


def _create_attributes(source: random.Random) -> Iterator[Attribute]:
    for row in (ATTRIBUTES.read_text(encoding="utf-8")).splitlines():
        if row.startswith("#"):
            continue
        key, subjects_en, subjects_de, says_en, says_de, asks_en, asks_de, values, vital = row.split("|")
        yield Attribute(
            key,
            {EN: tuple(subjects_en.split(",")), DE: tuple(subjects_de.split(","))},
            {EN: says_en, DE: says_de},
            {EN: asks_en, DE: asks_de},
            tuple(_parse_value(value) for value in values.split(",")),
            vital == "v",
        )
    cities, trades, hobbies = (source.sample(names, len(names)) for names in (_CITIES, _TRADES, _HOBBIES))
    for row in _RELATIONS.strip().splitlines():
        en, de, gender, names, vital = row.split("|")
        mein = "Meine" if gender == "f" else "Mein"
        people = f"{mein} {de}"
        moves, works, plays = source.choice((1, 2, 3)), source.choice((1, 2, 2)), source.choice((1, 1, 2))
        yield _create_person_attribute(
            en, de, "name", "Name", f"My {en} is called {{v}}.", f"{people} heißt {{v}}.",
            f"What is my {en} called?", f"Wie heißt {people[0].lower()}{people[1:]}?", names.split(","),
            is_vital=vital == "v",
        )  # fmt: skip
        yield _create_person_attribute(
            en, de, "city", "Wohnort", f"My {en} lives in {{v}}.", f"{people} wohnt in {{v}}.",
            f"Where does my {en} live?", f"Wo wohnt {people[0].lower()}{people[1:]}?",
            [cities.pop() for _ in range(min(moves, len(cities)))] if cities else [],
        )  # fmt: skip
        yield _create_person_attribute(
            en, de, "job", "Beruf", f"My {en} works as a {{v}}.", f"{people} arbeitet als {{v}}.",
            f"What is the job of my {en}?", f"Als was arbeitet {people[0].lower()}{people[1:]}?",
            [trades.pop() for _ in range(min(works, len(trades)))] if trades else [],
        )  # fmt: skip
        yield _create_person_attribute(
            en, de, "hobby", "Hobby", f"The hobby of my {en} is {{v}}.", f"{people} hat als Hobby {{v}}.",
            f"What is the hobby of my {en}?", f"Welches Hobby hat {people[0].lower()}{people[1:]}?",
            [hobbies.pop() for _ in range(min(plays, len(hobbies)))] if hobbies else [],
        )  # fmt: skip


def _create_person_attribute(
    en: str, de: str, what: str, was: str, says_en: str, says_de: str, asks_en: str, asks_de: str,
    values: list[str], *, is_vital: bool = False,
) -> Attribute:  # fmt: skip
    return Attribute(
        f"{en} {what}",
        {EN: (f"{en}: {what}", f"{en}'s {what}"), DE: (f"{de}: {was}", f"{was} {de}")},
        {EN: says_en, DE: says_de},
        {EN: asks_en, DE: asks_de},
        tuple(_parse_value(value) for value in values),
        is_vital,
    )


def _parse_value(text: str) -> dict[str, str]:
    en, _, de = text.partition("/")
    return {EN: en, DE: de or en}


def _write_day(life: Life, day: int, source: random.Random, notes: int) -> list[Line]:
    count = source.choice((3, 6, 9, 11, 12, 12, 13, 14, 16, 24))
    lines: list[tuple[str, Purpose, tuple[Fact, ...]]] = []
    for attribute in life.attributes:
        for version, at in enumerate(life.days[attribute.key]):
            if at == day:
                language = life.languages[attribute.key, version]
                lines.append(
                    (
                        _format_telling(attribute, version, language, source),
                        Purpose.TELLS,
                        (_create_fact(attribute, version, language),),
                    )
                )
    asked = [(attribute, version) for attribute, version in life.list_current(day - 1) if _is_used(attribute)]
    for attribute, _version in source.sample(asked, min(2, len(asked))):
        lines.append((attribute.question[source.choice((EN, DE))], Purpose.ASKS, ()))
    for number in range(notes if notes != 1 else source.choice((0, 1, 1, 2))):
        language = source.choice((EN, DE))
        text = source.choice(_NOTES[language]).format(x=source.choice(_THINGS[language]), n=day * 10 + number + 1000)
        lines.append((text, Purpose.NOTE, ()))
    if source.random() < 0.6:
        language = source.choice((EN, DE))
        text = source.choice(_EVENTS[language]).format(x=source.choice(_THINGS[language]))
        lines.append(
            (
                text,
                Purpose.EVENT,
                (Fact(text, {EN: f"event of day {day}", DE: f"Ereignis von Tag {day}"}, language=language),),
            )
        )
    if source.random() < 0.06:
        language = source.choice((EN, DE))
        until = (BEGIN + timedelta(days=day + source.randrange(3, 15))).date().isoformat()
        text = source.choice(_STATES[language]).format(until=until, x=source.choice(_THINGS[language]))
        subject = {EN: f"state of day {day}", DE: f"Zustand von Tag {day}"}
        lines.append((text, Purpose.TEMPORARY, (Fact(text, subject, language=language, until=until),)))
    lines += [_choose_small_talk(life, source) for _ in range(count - len(lines))]
    source.shuffle(lines)
    minutes = sorted(source.randrange(7 * 60, MAX_HOUR * 60) for _ in lines)
    start = day * 24 * 60
    result = [Line(start + minute, *line) for minute, line in zip(minutes, lines, strict=True)]
    # A conversation ends in the evening, on busy days also at noon
    if count > 12:
        result.insert(len(result) // 2, Line(result[len(result) // 2].minute, "/new", Purpose.NEW))
    return [*result, Line(start + MAX_HOUR * 60 + 30, "/new", Purpose.NEW)]


def _choose_small_talk(life: Life, source: random.Random) -> tuple[str, Purpose, tuple[Fact, ...]]:
    """Return an ordinary message, rarely repeated, or a short one that continues the conversation."""
    language = EN if source.random() < EN_SHARE else DE
    text = source.choice(_SHORT[language])
    if source.random() > SHORT_SHARE:
        text = " ".join(source.sample(life.talk[language], source.choice((1, 1, 2))))
    return text, Purpose.TALK, ()


def _is_used(attribute: Attribute) -> bool:
    """Return True for the third of the attributes that the person asks for now and then."""
    return random.Random(attribute.key).random() < 0.35


def _format_telling(attribute: Attribute, version: int, language: str, source: random.Random) -> str:
    text = attribute.format_statement(version, language)
    if version:
        lead = source.choice(
            {
                EN: ("News: ", "By the way, things changed. ", ""),
                DE: ("Neuigkeit: ", "Es hat sich etwas geändert. ", ""),
            }[language]
        )
        return f"{lead}{text}"
    return text


def _create_fact(attribute: Attribute, version: int, language: str) -> Fact:
    wording = random.Random(f"{attribute.key} {version}").randrange(2)
    subject = {spoken: attribute.subjects[spoken][wording] for spoken in (EN, DE)}
    text = f"{'The user says' if language == EN else 'Laut Benutzer'}: {attribute.format_statement(version, language)}"
    return Fact(text, subject, attribute, version, language)
