"""Records telegram.md: every command and button in Telegram, in two languages."""

from __future__ import annotations

import tempfile
from pathlib import Path

from config.texts import LANGUAGES
from tests.recordings.player import ANN, BOB, Clock, Recording, running, scripted, section
from tests.recordings.scenes import LEARNED, LOOK, SCENES
from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says

PAGE = Path(__file__).with_name("telegram.md")
SPOKEN = ("en", "de")
HEAD = """\
# Mneme in Telegram

Every command and button, recorded with `python -m tests.recordings`. Only the model's sentences are scripted. Buttons
are in [brackets]. _in place_ means that the message with the button changes. The commands are the same in every
language.
"""


async def record(language: str) -> str:
    """Play all scenes in one language and return them as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        async with BotApiServer() as telegram, ModelServer() as model:
            clock = Clock()
            model.consolidation = lambda _request: Says(LEARNED[language])
            model.second_look = lambda _request: Says(LOOK)
            telegram.register_chat(ANN)
            telegram.register_chat(BOB, name="Bob")
            async with running(scripted(Path(folder), model), telegram, clock) as app:
                recording = Recording(app, telegram, model, clock, language)
                scenes = [section(scene.title[language], await recording.play(scene.steps)) for scene in SCENES]
    return "\n\n".join([f"# {LANGUAGES[language]}", *scenes])


async def page() -> str:
    """Return the content of telegram.md."""
    return "\n".join([HEAD, *[await record(language) for language in SPOKEN]]) + "\n"
