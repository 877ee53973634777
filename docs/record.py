"""Records the chats in README.md and docs/import.md: `python -m docs.record` draws them and prints their text.

The real bot uses a local Bot API server. Only the model's sentences are scripted. A test plays the chats again.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from config.logs import configure_logging
from docs.chat_picture import drawn
from docs.record_telegram import ANN, Clock, Recording, Shown, as_lines, running, scripted
from docs.telegram_scenes import CallbackHandler, Sends, Step, Waits, Writes, command
from tests.support import exports
from tests.support.servers.model import ModelServer
from tests.support.servers.telegram import BotApiServer

FOLDER = Path(__file__).parent
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


def main() -> None:
    """Record all chats and print their text."""
    configure_logging("error", "console")
    for name, steps in RECORDINGS.items():
        shown = asyncio.run(play(steps))
        (FOLDER / name).write_text(drawn(shown, "Mneme"), encoding="utf-8")
        print(as_lines(shown), end="\n\n")


if __name__ == "__main__":
    main()
