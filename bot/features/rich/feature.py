"""The feature rich messages."""

from __future__ import annotations

from bot.feature import Contributions, Feature
from bot.kernel import Kernel
from bot.telegram.part import Connection, TelegramPart


class RichFeature(Feature):
    name = "rich"

    async def open(self, kernel: Kernel) -> Contributions:
        from bot.features.rich.commands import SETTING, RichCommands

        commands = RichCommands(kernel.memory.preferences)
        return Contributions(commands=[commands], chat_settings=[SETTING], telegram=[_create_part])


def _create_part(connection: Connection) -> TelegramPart:
    from bot.features.rich.messages import RichFormat  # Needs Telegram's library

    preferences = connection.app.memory.preferences
    return TelegramPart(formats=[RichFormat(connection.bot, connection.server, preferences)])
