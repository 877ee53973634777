"""Records all chats, draws the pictures, and updates the excerpts in docs/: `python -m tests.recordings`."""

from __future__ import annotations

import argparse
import asyncio

from config.logs import configure_logging
from tests.recordings import conversations, excerpts, family, pictures, telegram
from tests.recordings.chat_picture import drawn


async def record_all(*, with_embedded_model: bool) -> None:
    """Write all recordings and everything in docs/ that comes from them."""
    telegram.PAGE.write_text(await telegram.page(), encoding="utf-8")
    conversations.PAGE.write_text(await conversations.page(with_embedded_model=with_embedded_model), encoding="utf-8")
    family.PAGE.write_text(await family.page(), encoding="utf-8")
    chats = {name: await pictures.play(steps) for name, steps in pictures.RECORDINGS.items()}
    pictures.PAGE.write_text(pictures.page(chats), encoding="utf-8")
    for name, shown in chats.items():
        (excerpts.DOCS / name).write_text(drawn(shown, "Mneme"), encoding="utf-8")
    excerpts.PAGE.write_text(excerpts.updated(excerpts.PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.recordings", description=__doc__)
    parser.add_argument("--embedded", action="store_true", help="record the embedded model too, some minutes")
    configure_logging("error", "console")
    asyncio.run(record_all(with_embedded_model=parser.parse_args().embedded))
