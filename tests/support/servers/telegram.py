"""The former place of `tests.support.bot_api.server`."""

from tests.support.bot_api.server import BotApiServer

__all__ = ["BotApiServer"]
