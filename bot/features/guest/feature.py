"""The feature guest mode."""

from __future__ import annotations

from bot.feature import Contributions, Feature
from bot.features.guest.settings import GuestSettings
from bot.kernel import Kernel
from bot.telegram.part import Connection, TelegramPart
from config.errors import ConfigurationError
from config.settings import MemoryScope, Settings


class GuestFeature(Feature):
    name = "guest"

    def check_settings(self, settings: Settings) -> None:
        if settings.group(GuestSettings).guest_memory and settings.memory_scope is MemoryScope.SHARED:
            raise ConfigurationError(
                "GUEST_MEMORY=true needs a separate memory for each chat, and MEMORY_SCOPE=shared has one for all: set "
                "MEMORY_SCOPE=chat, or GUEST_MEMORY=false."
            )

    def why_off(self, settings: Settings) -> str | None:
        return None if settings.telegram_bot_token is not None else "TELEGRAM_BOT_TOKEN is not set"

    async def open(self, kernel: Kernel) -> Contributions:
        return Contributions(telegram=[_create_part])


def _create_part(connection: Connection) -> TelegramPart:
    from bot.features.guest.mode import GuestMode  # Needs Telegram's library

    app, remembers = connection.app, connection.app.settings.group(GuestSettings).guest_memory
    private, tasks = app.database.private, connection.tasks
    mode = GuestMode(connection.bot, connection.access, app.runner, private, tasks, remembers=remembers)
    return TelegramPart(handlers=[mode])
