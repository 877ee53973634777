"""Carrying out commands: who may, once, in the language of who asks, with a sentence whatever happens."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING

import structlog

from bot.chat.commands import GUARDED, OWNERS, CommandCall, parse_command
from config.texts import _, speaking
from memory.errors import MnemeError
from memory.log.sessions import SessionState
from memory.messages import Provenance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bot.chat.commands import Command, CommandResult
    from bot.chat.languages import Languages
    from memory.log.sessions import SessionService
    from memory.store.effects import Effects
    from pipeline.arrival import Arrival

log = structlog.get_logger(__name__)

SHOWN_CHARACTERS = 200
"""So much of a command is quoted that was carried out before a kill."""


class CommandRunner:
    """Knows the commands by name, and carries them out."""

    def __init__(
        self, table: Mapping[str, Command], sessions: SessionService, effects: Effects, languages: Languages
    ) -> None:
        self.table = table
        self._sessions = sessions
        self._effects = effects
        self._languages = languages

    def called_by(self, arrival: Arrival) -> Command | None:
        """The command that an arrival calls; /help for one that there is not."""
        if arrival.provenance is not Provenance.TYPED:
            return None  # what others wrote is read, never obeyed
        name = parse_command(arrival.text)[0]
        return self.table.get(name, self.table.get("help")) if name else None

    async def run(self, arrival: Arrival, command: Command) -> CommandResult:
        """What a command answers, or why it does not."""
        name, argument = parse_command(arrival.text)
        with speaking(await self._languages.of(arrival)):
            try:
                session = await self._sessions.get_or_create(arrival.address)
                if session.state is SessionState.TERMINATED:  # whoever blocked the bot is back
                    await self._sessions.set_state(session.id, SessionState.ACTIVE)
                async with arrival.channel.busy(arrival):
                    refused = await _forbidden(arrival, command)
                    if refused is not None:
                        return refused
                    return await self._once(arrival, command, CommandCall(session, name, argument))
            except MnemeError as error:
                return str(error)
            except Exception:
                log.exception("command_failed", command=name)
                return _("/{name} failed on my side: try again, or look into the log.", name=name)

    async def _once(self, arrival: Arrival, command: Command, call: CommandCall) -> CommandResult:
        """Run a command, unless what the inbox keeps of it was carried out before a kill and only not answered."""
        causes = [] if arrival.inbox_id is None or command.repeatable else [f"{arrival.inbox_id}/{command.name}"]
        if await self._effects.had_by(causes):
            asked = shorten(f"/{call.name} {call.argument}", SHOWN_CHARACTERS, placeholder=" ...")
            return _("This was done before I was interrupted, and not a second time: {asked}", asked=asked)
        with self._effects.caused_by(causes):
            return await command.run(call)


async def _forbidden(arrival: Arrival, command: Command) -> str | None:
    """What they are told who may not use a command; None for who may."""
    if command.name in GUARDED and not await arrival.channel.may_manage(arrival):
        return _("In a group /{name} is for its administrators and for the bot's owner.", name=command.name)
    if command.name in OWNERS and not await arrival.channel.is_owner(arrival):
        return _("/{name} is for the bot's owner.", name=command.name)
    return None
