"""Records the chat that README.md shows: `python -m docs.record` draws docs/conversation.svg and prints the text.

The real bot talks to a local Bot API server; only the model's own sentences are scripted. A test plays it again.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from config.logs import configure_logging
from docs.chat_picture import drawn
from docs.record_telegram import ANN, Clock, Recording, Shown, as_lines, running, scripted
from docs.telegram_scenes import Step, Waits, Writes, command
from tests.support.servers.model import ModelServer
from tests.support.servers.telegram import BotApiServer

PICTURE = Path(__file__).with_name("conversation.svg")
STEPS: tuple[Step, ...] = (
    Writes({"en": "I live in Kyiv."}, {"en": "Good to know!"}),
    Waits(24 * 20 - 1.5, changes=0),
    Writes({"en": "I moved from Kyiv to Lviv yesterday."}, {"en": "I hope you like it there."}),
    Writes({"en": "Where do I live?"}, {"en": "In Lviv."}),
    command("/memory why"),
    command("/undo"),
)


async def play() -> list[Shown]:
    """What came to stand in the chat."""
    with tempfile.TemporaryDirectory() as folder:
        async with BotApiServer() as telegram, ModelServer() as model:
            clock = Clock()
            telegram.register_chat(ANN)
            async with running(scripted(Path(folder), model), telegram, clock):
                return await Recording(telegram, model, clock, "en").play(STEPS)


def main() -> None:
    """Record."""
    configure_logging("error", "console")
    shown = asyncio.run(play())
    PICTURE.write_text(drawn(shown, "Mneme"), encoding="utf-8")
    print(as_lines(shown))


if __name__ == "__main__":
    main()
