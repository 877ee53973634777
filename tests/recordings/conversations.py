"""Records conversations.md: a first day in three languages, with a scripted model and with the embedded model.

The scripted part is always the same. The embedded model needs its weights (`mneme model pull`) and one or two minutes
per language.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

from benchmarks.small_learning import create_settings
from config.settings import Settings
from tests.recordings.player import ANN, Clock, Recording, running, scripted, section
from tests.recordings.scenes import CallbackHandler, Step, Writes
from tests.support.agreement import confirm_claims
from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import ChatRequest, Says

PAGE = Path(__file__).with_name("conversations.md")
SPOKEN = ("en", "de", "es")
HEAD = """\
# A first day with Mneme

The same messages in three languages: first with a scripted model that answers like a capable one (recorded with
`python -m tests.recordings`), then with the embedded model, which words its own answers (recorded with
`python -m tests.recordings --embedded`). Buttons are in [brackets]. The part with the embedded model is older: at that
time, facts were noted below the same answer. Today they are noted below the next one.
"""
ANSWER_TIMEOUT_SECONDS = 180.0
"""Timeout for an answer of the embedded model."""
TOMORROW = "2026-11-22T09:00"


def writes(en: str, de: str, es: str, *answers: str, photo: bool = False) -> Writes:
    """Create a message in each language.

    Args:
        answers: The answers of the scripted model, in the same order of languages.
    """
    said = dict(zip(SPOKEN, answers, strict=True)) if answers else {}
    return Writes({"en": en, "de": de, "es": es}, said, photo=photo)


DAY: tuple[Step, ...] = (
    writes(
        "Hi! I'm Tom, I work as a nurse and I have a cat called Pixel.",
        "Hallo! Ich heiße Lena, arbeite als Lehrerin und habe einen Hund namens Bruno.",
        "¡Hola! Soy Marta, trabajo de enfermera y tengo un loro que se llama Kiwi.",
        "Hi Tom! Say hello to Pixel.",
        "Hallo Lena! Grüß Bruno.",
        "¡Hola, Marta! Saludos a Kiwi.",
    ),
    writes("I live in Leeds.", "Ich wohne in Graz.", "Vivo en Vigo.", "Good to know.", "Schön.", "¡Qué bien!"),
    writes("What is my cat called?", "Wie heißt mein Hund?", "¿Cómo se llama mi loro?", "Pixel.", "Bruno.", "Kiwi."),
    writes(
        "What do you see?",
        "Was siehst du?",
        "¿Qué ves?",
        "I can't see it.",
        "Das kann ich nicht sehen.",
        "No puedo verlo.",
        photo=True,
    ),
    writes(
        "I moved from Leeds to York.",
        "Ich bin von Graz nach Linz gezogen.",
        "Me he mudado de Vigo a Lugo.",
        "I hope you like York.",
        "Gutes Einleben in Linz!",
        "¡Que te guste Lugo!",
    ),
    writes("Where do I live?", "Wo wohne ich?", "¿Dónde vivo?", "In York.", "In Linz.", "En Lugo."),
    Writes(
        {
            "en": "Remind me tomorrow at 9 to call Ann",
            "de": "Erinnere mich morgen um 9 an den Anruf bei Anna",
            "es": "Recuérdame mañana a las 9 llamar a Ana",
        },
        {
            "en": "I'll remind you tomorrow at 9:00.",
            "de": "Ich erinnere dich morgen um 9:00 Uhr.",
            "es": "Te lo recuerdo mañana a las 9:00.",
        },
        calls=(("reminder_set", {"text": "Ann", "when": TOMORROW}),),
    ),
    writes("/new", "/new", "/new"),
    writes(
        "What do you know about me?",
        "Was weißt du über mich?",
        "¿Qué sabes de mí?",
        "You are Tom, a nurse, live in York and have a cat, Pixel.",
        "Du heißt Lena, bist Lehrerin, wohnst in Linz und hast einen Hund, Bruno.",
        "Eres Marta, enfermera, vives en Lugo y tu loro se llama Kiwi.",
    ),
    writes(
        "Forget that I have a cat.",
        "Vergiss, dass ich einen Hund habe.",
        "Olvida que tengo un loro.",
        "One tap below and it is gone.",
        "Ein Tipp darunter genügt.",
        "Un toque abajo y listo.",
    ),
    CallbackHandler("Forget"),
    writes("/memory", "/memory", "/memory"),
)


def judged(request: ChatRequest) -> Says:
    """Judge captured statements as the scripted model: all are serious, and a new home replaces the last one."""
    prompt = str(request.messages[0]["content"])
    if "by their form alone" not in prompt:
        return Says(confirm_claims(prompt))
    known, _, claims = prompt.partition("## Claims")
    numbers = re.findall(r"^(K\d+)\. .*\b(?:Leeds|Graz|Vigo)\b", known, re.MULTILINE)
    has_moved = any(city in claims for city in ("York", "Linz", "Lugo"))
    return Says(json.dumps({"1": {"verdict": "follows", "replaces": numbers if has_moved else []}}))


async def played(language: str, settings: Settings | None, data: Path) -> str:
    """Play the day in one language and return it as Markdown.

    Args:
        settings: The settings of the embedded model. None means the scripted model.
    """
    clock = Clock()
    async with BotApiServer() as telegram, ModelServer() as model:
        telegram.register_chat(ANN)
        model.second_look = judged
        values = scripted(data, model) if settings is None else settings.model_dump(exclude_unset=True)
        async with running(values, telegram, clock) as app:
            recording = Recording(app, telegram, model, clock, language, ANSWER_TIMEOUT_SECONDS)
            return section(TITLES[language], await recording.play(DAY))


EMBEDDED = "# With the embedded model"
TITLES = {"en": "English", "de": "Deutsch", "es": "Español"}


async def scripted_part() -> str:
    """Play the day with the scripted model in all languages."""
    days = []
    for language in SPOKEN:
        with tempfile.TemporaryDirectory() as folder:
            days.append(await played(language, None, Path(folder)))
    return "\n\n".join(["# With a scripted model", *days])


async def embedded_part() -> str:
    """Play the day with the embedded model in all languages."""
    days = []
    for language in SPOKEN:
        with tempfile.TemporaryDirectory() as folder:
            days.append(await played(language, create_settings(Path(folder)), Path(folder)))
    return "\n\n".join([EMBEDDED, *days])


async def page(*, with_embedded_model: bool) -> str:
    """Return the content of conversations.md.

    Args:
        with_embedded_model: Play the day with the embedded model too, instead of keeping the recorded part.
    """
    if with_embedded_model:
        embedded = await embedded_part()
    else:
        embedded = PAGE.read_text(encoding="utf-8").partition(f"\n{EMBEDDED}\n")[2]
        embedded = f"{EMBEDDED}\n{embedded}".rstrip()
    return "\n".join([HEAD, await scripted_part(), "", embedded]) + "\n"
