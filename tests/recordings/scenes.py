"""The scenes of telegram.md: steps with their texts in each language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.servers.model_replies import Calls, Says

InLanguages = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Writes:
    """Ann writes a message.

    Attributes:
        answer: The model's answer.
        calls: The tool calls that the model makes first.
        changes: Number of messages that this adds or changes.
        answers_last: The message is a reply to the bot's newest message.
        photo: Ann sends a photo with `text` as its caption.
    """

    text: InLanguages
    answer: InLanguages = field(default_factory=dict)
    calls: tuple[tuple[str, object], ...] = ()
    changes: int = 1
    answers_last: bool = False
    photo: bool = False

    def model(self, language: str) -> list[Calls | Says]:
        """Return the model's responses in order."""
        called = [Calls(self.calls)] if self.calls else []
        return [*called, *([Says(self.answer[language])] if self.answer else [])]


@dataclass(frozen=True, slots=True)
class CallbackHandler:
    """Ann presses the newest button with a label that begins with `label` (in English).

    Attributes:
        name: The label in each language, if it isn't a text of Mneme's catalogues.
    """

    label: str = ""
    name: InLanguages = field(default_factory=dict)
    changes: int = 1


@dataclass(frozen=True, slots=True)
class Sends:
    """Ann sends a file, and the model answers."""

    name: str
    content: bytes
    answer: str
    changes: int = 1


@dataclass(frozen=True, slots=True)
class Comes:
    """A stranger without access writes."""

    text: str
    changes: int = 1


@dataclass(frozen=True, slots=True)
class Waits:
    """Some hours pass."""

    hours: float
    changes: int = 1


Step = Writes | Sends | CallbackHandler | Comes | Waits


@dataclass(frozen=True, slots=True)
class Scene:
    """A titled sequence of steps."""

    title: InLanguages
    steps: tuple[Step, ...]


def command(text: str, changes: int = 1) -> Writes:
    """Return a step with a command, which is the same in every language."""
    return Writes({"en": text, "de": text}, changes=changes)


LEARNED = {
    "en": (
        '{"history_entry": "They spoke of bees.", "memory_update": null, "facts": ['
        '{"subject": "bees", "fact": "The user keeps bees.", "kind": "fact", "message": 3, "quote": "I keep bees"},'
        '{"subject": "chess", "fact": "The user plays chess.", "kind": "fact"}]}'
    ),
    "de": (
        '{"history_entry": "Es ging um Bienen.", "memory_update": null, "facts": ['
        '{"subject": "Bienen", "fact": "Der Nutzer hält Bienen.", "kind": "fact", "message": 3,'
        ' "quote": "Ich halte Bienen"},'
        '{"subject": "Schach", "fact": "Der Nutzer spielt Schach.", "kind": "fact"}]}'
    ),
}
"""The model's consolidation of the conversation: one fact with a quote, one without."""
LOOK = '{"1": {"verdict": "follows", "message": 1}, "2": {"verdict": "unclear"}}'
"""The model's verification of both facts."""

SCENES = (
    Scene(
        {"en": "The first minutes", "de": "Die ersten Minuten"},
        (
            command("/start"),
            CallbackHandler("What can you do?"),
            Writes({"en": "I prefer tea.", "de": "Ich mag lieber Tee."}, {"en": "Me too!", "de": "Ich auch!"}),
            Writes({"en": "Hot or cold?", "de": "Heiß oder kalt?"}, {"en": "Hot.", "de": "Heiß."}),
            CallbackHandler("Undo", changes=2),
            command("/help"),
        ),
    ),
    Scene(
        {"en": "What is learned when a conversation ends", "de": "Was beim Ende eines Gesprächs gelernt wird"},
        (
            Writes(
                {"en": "Busy day: I keep bees, you know.", "de": "Viel los heute: Ich halte Bienen, weißt du."},
                {"en": "Lovely!", "de": "Wie schön!"},
            ),
            command("/new"),
            CallbackHandler("Right"),
            command("/memory unsure"),
        ),
    ),
    Scene(
        {"en": "What is remembered, seen and changed", "de": "Was gemerkt ist: ansehen und ändern"},
        (
            Writes({"en": "/remember The spare key is at Ann's.", "de": "/remember Der Ersatzschlüssel ist bei Anna."}),
            Writes(
                {"en": "Where is my spare key?", "de": "Wo ist mein Ersatzschlüssel?"},
                {"en": "At Ann's.", "de": "Bei Anna."},
            ),
            command("/memory why"),
            Writes({"en": "/recall spare key", "de": "/recall Ersatzschlüssel"}),
            command("/memory"),
            CallbackHandler(name={"en": "The spare key", "de": "Der Ersatzschlüssel"}),
            CallbackHandler("Edit"),
            Writes({"en": "The spare key is at Bob's.", "de": "Der Ersatzschlüssel ist bei Bob."}, answers_last=True),
            command("/memory search Bob"),
            CallbackHandler(name={"en": "The spare key", "de": "Der Ersatzschlüssel"}),
            CallbackHandler("Forget"),
            command("/undo"),
        ),
    ),
    Scene(
        {"en": "Reminders", "de": "Erinnerungen"},
        (
            Writes(
                {
                    "en": "Remind me tonight at 6 to feed the bees.",
                    "de": "Erinnere mich heute um 18 Uhr ans Bienenfüttern.",
                },
                {"en": "I will.", "de": "Mache ich."},
                (("reminder_set", {"text": "🐝", "when": "2026-11-21T18:00"}),),
            ),
            command("/reminders"),
            Waits(8),
            CallbackHandler("In an hour"),
            Waits(1),
            CallbackHandler("Done"),
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
            command("/private"),
            Writes({"en": "A secret.", "de": "Ein Geheimnis."}, {"en": "Safe with me.", "de": "Ist sicher."}),
            CallbackHandler("End and delete it"),
        ),
    ),
    Scene(
        {"en": "Settings", "de": "Einstellungen"},
        (
            command("/settings"),
            CallbackHandler("Notices"),
            CallbackHandler("Quiet"),
            CallbackHandler("All settings"),
            command("/timezone Kyiv"),
            command("/rich on"),
            command("/persona You are Ada."),
            command("/persona default"),
            command("/model"),
            CallbackHandler(name={"en": "another", "de": "another"}),
            command("/language"),
        ),
    ),
    Scene(
        {"en": "Somebody wants in", "de": "Jemand möchte herein"},
        (
            Comes("Hello?"),
            CallbackHandler("Let in"),
            command("/keepout 2002"),
            command("/letin"),
            command("/usage"),
        ),
    ),
    Scene(
        {"en": "Taking it along, and leaving nothing", "de": "Alles mitnehmen, nichts zurücklassen"},
        (
            command("/export"),
            command("/forget all"),
            CallbackHandler("Keep it"),
            command("/forget all"),
            CallbackHandler("Delete everything"),
            command("/memory"),
        ),
    ),
)
