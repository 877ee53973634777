"""Records pictures.md: the chats that are drawn in README.md and docs/import.md."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.recordings.player import ANN, Clock, Recording, Shown, running, scripted, section
from tests.recordings.scenes import CallbackHandler, Sends, Step, Waits, Writes, command
from tests.support import exports
from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer

PAGE = Path(__file__).with_name("pictures.md")
HEAD = """\
# The chats in the pictures

Recorded with `python -m tests.recordings`, which draws the pictures too. Only the model's sentences are scripted.
Buttons are in [brackets].
"""
CONVERSATION: tuple[Step, ...] = (
    Writes({"en": "I live in Kyiv."}, {"en": "Good to know!"}),
    Writes({"en": "What is in borshch?"}, {"en": "Beetroot, cabbage and a lot of patience."}),
    Waits(24 * 20 - 1.5, changes=0),
    Writes({"en": "I moved from Kyiv to Lviv yesterday."}, {"en": "I hope you like it there."}),
    Writes({"en": "Where do I live?"}, {"en": "In Lviv."}),
    command("/memory why"),
    command("/undo"),
)
TALKS = (
    ("How do I get wax off a table cloth?", "Let it harden, scrape it off, then iron it between paper."),
    (
        "We rented a boat called Galeb in Rovinj. What should we look at before we sail?",
        "The engine hours, the anchor chain, the life jackets and the weather.",
    ),
    ("Write a limerick on a heron.", "A heron who stood in the rain ..."),
)
"""Conversations with ChatGPT, one per row."""


def _export() -> bytes:
    conversations = []
    for number, talk in enumerate(TALKS):
        first = number * 10_000  # A week later.
        conversation = exports.create_chatgpt_conversation(first, len(talk))
        for at, words in enumerate(talk):
            conversation["mapping"][f"m{first + at}"]["message"]["content"]["parts"] = [words]
        conversations.append(conversation)
    with tempfile.TemporaryDirectory() as folder:
        return exports.write_zip(Path(folder) / "chatgpt.zip", {"conversations.json": conversations}).read_bytes()


IMPORT: tuple[Step, ...] = (
    Sends("chatgpt.zip", _export(), "Years of conversations! Shall I take them in?"),
    CallbackHandler("Import"),
    Writes({"en": "What was our boat in Rovinj called?"}, {"en": "Galeb. You rented it in March 2023."}),
    command("/memory why"),
)
RECORDINGS = {"conversation.svg": CONVERSATION, "import.svg": IMPORT}
"""The steps to play for each picture."""


async def play(steps: Sequence[Step]) -> list[Shown]:
    """Play the steps and return the messages in the chat."""
    with tempfile.TemporaryDirectory() as folder:
        async with BotApiServer() as telegram, ModelServer() as model:
            clock = Clock()
            telegram.register_chat(ANN)
            async with running(scripted(Path(folder), model), telegram, clock) as app:
                return await Recording(app, telegram, model, clock, "en").play(steps)


def page(chats: Mapping[str, Sequence[Shown]]) -> str:
    """Return the content of pictures.md.

    Args:
        chats: The messages of each picture.
    """
    sections = [section(f"docs/{name}", shown) for name, shown in chats.items()]
    return "\n".join([HEAD, "\n\n".join(sections)]) + "\n"
