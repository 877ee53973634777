"""/share /unshare /shared: memories that a family shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bot.commands.command import (
    FAMILY,
    Access,
    Answer,
    CommandCall,
    CommandResult,
    WrongArgument,
    command,
    tapped_number,
)
from bot.commands.memory_browser import parse_quoted_name
from bot.commands.memory_changes import format_undo
from bot.services import MemoryServices
from config.texts import N_, _, shorten_to_line
from memory.buttons import Button, create_undo_button
from memory.store.entry import Entry

MAX_LISTED = 30


@dataclass(frozen=True, slots=True)
class SharingCommands:
    heading: ClassVar = FAMILY

    services: MemoryServices

    @command("share", N_("Share a memory with the family"), "NAME", access=Access.MANAGERS)
    async def share(self, call: CommandCall) -> CommandResult:
        entry, change = await self.services.sharing.share(
            call.session.owner, await self._parse_name(call), call.sender or call.asker or ""
        )
        text = _("Shared with the family: {content} (/undo takes it back)", content=shorten_to_line(entry.content))
        return Answer(text, ((create_undo_button(change, entry.content),),) if change is not None else ())

    @command("unshare", N_("Stop sharing a memory"), "NAME", access=Access.MANAGERS)
    async def unshare(self, call: CommandCall) -> str:
        return _format_unshared(await self.services.sharing.unshare(call.session.owner, await self._parse_name(call)))

    @command("withdraw", N_("Stop sharing another person's memory"), "NUMBER", access=Access.OWNER, listed=False)
    async def withdraw(self, call: CommandCall) -> CommandResult:
        entry, change = await self.services.sharing.withdraw(tapped_number(call))
        keyboard = ((Button(_("Undo"), f"/reshare_{change}", entry.content),),) if change is not None else ()
        return Answer(_format_unshared(entry), keyboard)

    @command("reshare", N_("Share it again"), "NUMBER", access=Access.OWNER, listed=False)
    async def reshare(self, call: CommandCall) -> str:
        undone = await self.services.sharing.share_again(tapped_number(call))
        return _("That was already undone.") if undone is None else format_undo(undone)

    @command("shared", N_("List what the family shares"), access=Access.MANAGERS, alone=True)
    async def shared(self, call: CommandCall) -> str:
        entries = await self.services.sharing.list_shared(call.session.owner)
        if not entries:
            return _("Nothing is shared yet: send /share NAME, or: remember for all: the spare key is at Ann's.")
        own = call.session.owner
        lines = [
            _(
                "{content} ({name}, {date}; {command})",
                content=shorten_to_line(entry.content),
                name=entry.shared_by,
                date=f"{entry.shared_at:%Y-%m-%d}",
                command=f"/{'unshare' if entry.owner == own else 'withdraw'}_{entry.id}",
            )
            for entry in entries[:MAX_LISTED]
        ]
        more = [_("... and more.")] if len(entries) > MAX_LISTED else []
        notes = [_("/unshare works only for your own memories; the bot's owner can withdraw any memory.")]
        return "\n".join([*(f"- {line}" for line in lines), *more, "", *notes])

    async def _parse_name(self, call: CommandCall) -> str:
        if not call.argument:
            raise WrongArgument(
                _("/{name} needs the name or number of a memory, as shown by /memory.", name=call.name),
            )
        return await parse_quoted_name(self.services.entries, call.session.owner, call.argument) or call.argument


def _format_unshared(entry: Entry) -> str:
    return _("No longer shared: {content}", content=shorten_to_line(entry.content))
