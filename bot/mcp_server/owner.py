"""Whose memory other programs are served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.console.console import console_address
from bot.telegram import CHANNEL as TELEGRAM
from config.errors import ConfigurationError
from config.settings import MemoryScope
from memory.access import AccessList
from memory.clock import system_clock
from memory.log.sessions import SHARED_OWNER, Address

if TYPE_CHECKING:
    from bot.services import MemoryServices
    from config.settings import Settings


async def served_owner(settings: Settings, memory: MemoryServices, named: str | None = None) -> str:
    """The owner that is named, by `named` or MCP_OWNER; else the only one, or the private chat of the bot's owner.

    Raises ConfigurationError where that is nobody, or not clear.
    """
    owners = await memory.stats.owners()
    named = named or settings.mcp_owner
    if named is not None:
        if named not in owners:
            raise ConfigurationError(f"{named} has no memory here: {_listed(owners)}.")
        return named
    if settings.memory_scope is MemoryScope.SHARED:
        return SHARED_OWNER
    if len(owners) == 1:
        return owners[0]
    claimed = await AccessList(memory.database, TELEGRAM, system_clock).owners()
    # the ids of groups are negative
    people = claimed or [user for user in settings.telegram_allowed_ids if user > 0]
    if len(people) == 1:
        return Address(TELEGRAM, str(people[0])).owner
    if not owners and settings.telegram_bot_token is None:  # as `mneme chat` has it, where nothing else is set up
        return console_address("local").owner
    raise ConfigurationError(
        f"It is not clear whose memory is meant: {_listed(owners)}; name one with --owner or MCP_OWNER."
    )


def _listed(owners: list[str]) -> str:
    return f"there is that of {', '.join(owners)}" if owners else "nobody has talked with the bot yet"
