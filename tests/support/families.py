"""A bot of a family, in several chats."""

from __future__ import annotations

from bot.kernel import App
from memory.store.entry import Entry
from tests.support.bot_api.server import BotApiServer
from tests.support.serving import ANN, GROUP, list_texts

BOB, EVE = 5005, 6006
KEY = "the spare key is at Olga's"
FAMILY = {"memory_scope": "family", "telegram_allowed_ids": f"{ANN},{BOB},{GROUP}"}


async def send_and_wait(
    telegram: BotApiServer, text: str, user: int = ANN, chat: int | None = None, name: str = ""
) -> str:
    """Send a message and return the newest message of the bot in the chat."""
    chat = chat or user
    before = len(telegram.list_sent(chat))
    telegram.user_says(
        text,
        chat_id=chat,
        chat_type="supergroup" if chat < 0 else "private",
        user_id=user,
        first_name=name or {ANN: "Ann", BOB: "Bob", EVE: "Eve"}[user],
    )
    await telegram.wait_for(lambda: len(telegram.list_sent(chat)) > before)
    return list_texts(telegram, chat)[-1]


async def share_key(telegram: BotApiServer, app: App, user: int = ANN) -> Entry:
    """Store the place of the key and share it with the family."""
    await send_and_wait(telegram, f"/remember {KEY}", user)
    (entry,) = await app.memory.entries.list(f"telegram:{user}", "note")
    await send_and_wait(telegram, f"/share_{entry.id}", user)
    return entry
