"""The command that takes memory along: /export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.chat.commands import Answer, Command, CommandCall, CommandResult
from config.texts import N_, _, ngettext
from memory.custody.export_files import TooLarge
from memory.messages import Document

if TYPE_CHECKING:
    from memory.clock import Clock, ZoneOf
    from memory.custody.forgetting import Extent, Forgetting
    from memory.custody.portable import Portable

MOST_BYTES = 50_000_000
"""What Telegram takes of a bot (Bot API: 50 MB), and what is reasonable to hold at once for any channel."""


class ExportCommand:
    """Gives an owner all that is remembered, as a file."""

    def __init__(self, portable: Portable, forgetting: Forgetting, clock: Clock, zone_of: ZoneOf) -> None:
        self._portable = portable
        self._forgetting = forgetting
        self._clock = clock
        self._zone_of = zone_of

    def commands(self) -> list[Command]:
        """The command."""
        return [Command("export", N_("Get everything that I remember as a file"), self.export, repeatable=True)]

    async def export(self, call: CommandCall) -> CommandResult:
        """/export"""
        owner = call.session.owner
        extent = await self._forgetting.extent(owner)
        if not (extent.messages or extent.entries or extent.files or extent.reminders):
            return _("There is nothing to export: nothing was said or remembered here yet.")
        try:
            packed = await self._portable.zipped(owner, MOST_BYTES)
        except TooLarge:
            return _(
                "What I remember is more than the {megabytes} MB that can be sent: run "
                "`mneme export DIR --owner {owner}` on the machine that I run on.",
                megabytes=MOST_BYTES // 1_000_000,
                owner=owner,
            )
        name = f"mneme-export-{self._clock().astimezone(self._zone_of(call.session.id)):%Y-%m-%d}.zip"
        return Answer(_told(extent, name), document=Document(name, packed))


def _told(extent: Extent, name: str) -> str:
    """What is in the file, and how it is taken elsewhere: less than the 1,024 characters of a caption."""
    amounts = (
        (extent.messages, ngettext("{n} message", "{n} messages", extent.messages)),
        (extent.entries, ngettext("{n} memory", "{n} memories", extent.entries)),
        (extent.files, ngettext("{n} file of Markdown", "{n} files of Markdown", extent.files)),
        (extent.reminders, ngettext("{n} reminder", "{n} reminders", extent.reminders)),
    )
    lines = (
        _("**All that I remember here:** {what}", what=", ".join(said for amount, said in amounts if amount)),
        _("To read are the folders `memory` and `entries`, for programs is `rows`."),
        _("Keys and passwords are taken out. Of photos and files that you sent there is what was read in them."),
        _("To take it elsewhere: `mneme import {name}` in a new installation.", name=name),
    )
    return "\n".join(lines)
