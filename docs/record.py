"""Records the conversation of docs/using.md: `python -m docs.record` writes docs/conversation.svg and prints the text.

Everything but the model's own sentences is what Mneme says: they are scripted here, so that a test can play it too.
"""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from bot.app import open_app
from bot.console.console import ConsoleChannel, console_address, typed_arrival
from config.logs import configure_logging
from config.settings import Settings
from tests.support.servers.model import ModelServer, Says

PICTURE = Path(__file__).with_name("conversation.svg")
WIDTH = 92
LEARNED = (
    '{"history_entry": "They got to know each other.", "memory_update": null,'
    ' "facts": [{"subject": "home city", "fact": "The user lives in Kyiv.", "kind": "fact"}]}'
)
SCRIPT = (
    ("I live in Kyiv. I prefer short answers.", "Good to know!"),
    ("/new", None),
    ("I moved from Kyiv to Lviv yesterday.", "I hope you like it there."),
    ("Where do I live?", "In Lviv."),
    ("/memory why", None),
    ("/undo", None),
)
"""What is typed, and what the model says; None: a command, which needs no model."""


async def play(data: Path) -> list[tuple[str, str]]:
    """Each message with the reply to it."""
    now = datetime(2026, 11, 21, 10, 9, tzinfo=UTC)
    exchanges: list[tuple[str, str]] = []
    async with ModelServer() as model:
        model.consolidation = lambda _: Says(LEARNED)
        model.script(*(Says(said) for _, said in SCRIPT if said is not None))
        settings = Settings.model_validate(
            {"mneme_data_dir": data, "openai_base_url": model.url, "llm_model": "scripted", "timezone": "UTC"}
        )
        async with open_app(settings, lambda: now) as app:
            address = console_address("local")
            for text, _ in SCRIPT:
                channel = ConsoleChannel()
                await app.runner.submit(typed_arrival(app, address, text, channel))
                await app.runner.idle(address.session_id)
                exchanges.append((text, "\n\n".join(channel.replies)))
                now += timedelta(minutes=1)
    return exchanges


def as_text(exchanges: list[tuple[str, str]]) -> str:
    """The conversation as docs/using.md shows it."""
    return "\n\n".join(f"> {asked}\n{answered}" for asked, answered in exchanges)


def main() -> None:
    """Record."""
    configure_logging("error", "console")
    with tempfile.TemporaryDirectory() as folder:
        exchanges = asyncio.run(play(Path(folder)))
    console = Console(record=True, width=WIDTH)
    for asked, answered in exchanges:
        console.print(Text(f"> {asked}", style="bold"))
        console.print(Markdown(answered))
        console.print()
    PICTURE.write_text(console.export_svg(title="mneme chat", unique_id="mneme"), encoding="utf-8")
    print(as_text(exchanges))


if __name__ == "__main__":
    main()
