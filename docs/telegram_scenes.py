"""What is done in the recording of docs/telegram.md: scenes of steps, with what people say in each language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.servers.model import Calls, Says

InLanguages = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Writes:
    """Ann writes. answer: what the model says; calls: what it calls before. changes: messages that come of it."""

    text: InLanguages
    answer: InLanguages = field(default_factory=dict)
    calls: tuple[tuple[str, object], ...] = ()
    changes: int = 1

    def model(self, language: str) -> list[Calls | Says]:
        """What the model says, in the order of its requests."""
        called = [Calls(self.calls)] if self.calls else []
        return [*called, *([Says(self.answer[language])] if self.answer else [])]


@dataclass(frozen=True, slots=True)
class Presses:
    """Ann presses the newest button with a label, in English here; values: what stands in it."""

    label: str
    values: Mapping[str, str] = field(default_factory=dict)
    changes: int = 1


@dataclass(frozen=True, slots=True)
class Comes:
    """A stranger writes, whom nobody has let in."""

    text: str
    changes: int = 1


@dataclass(frozen=True, slots=True)
class Waits:
    """So many hours pass."""

    hours: float
    changes: int = 1


Step = Writes | Presses | Comes | Waits


@dataclass(frozen=True, slots=True)
class Scene:
    """Steps that belong together."""

    title: InLanguages
    steps: tuple[Step, ...]


def command(text: str, changes: int = 1) -> Writes:
    """A command, which is the same in every language."""
    return Writes({"en": text, "de": text}, changes=changes)


SCENES = (
    Scene(
        {"en": "The first minutes", "de": "Die ersten Minuten"},
        (
            command("/start"),
            Presses("What do you know of me?"),
            Writes({"en": "I prefer tea.", "de": "Ich mag lieber Tee."}, {"en": "Noted!", "de": "Gemerkt!"}),
            Presses("Undo"),
            command("/help"),
        ),
    ),
    Scene(
        {"en": "What is remembered", "de": "Was ich mir merke"},
        (
            Writes(
                {"en": "/remember The spare key is at Ann's.", "de": "/remember Der Ersatzschlüssel ist bei Anna."},
            ),
            Writes(
                {"en": "I live in Kyiv.", "de": "Ich wohne in Kiew."},
                {"en": "A beautiful city.", "de": "Eine schöne Stadt."},
            ),
            Writes(
                {"en": "Where is my spare key?", "de": "Wo ist mein Ersatzschlüssel?"},
                {"en": "At Ann's.", "de": "Bei Anna."},
            ),
            command("/memory why"),
            Writes({"en": "/recall key", "de": "/recall Schlüssel"}),
            command("/memory"),
            command("/undo"),
        ),
    ),
    Scene(
        {"en": "The conversation", "de": "Das Gespräch"},
        (
            Writes(
                {"en": "Tell me a joke.", "de": "Erzähl mir einen Witz."},
                {"en": "Two bees meet …", "de": "Treffen sich zwei Bienen …"},
            ),
            Writes({"en": "/retry", "de": "/retry"}, {"en": "A bee walks into a bar …", "de": "Kommt eine Biene …"}),
            command("/stop"),
            command("/compact"),
            command("/status"),
            command("/new"),
            command("/private"),
            Writes({"en": "A secret.", "de": "Ein Geheimnis."}, {"en": "Safe with me.", "de": "Ist sicher."}),
            command("/new"),
        ),
    ),
)
