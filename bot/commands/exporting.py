"""Packing of a chat's memory into a file, for /export and the memory page."""

from __future__ import annotations

from bot.services import MemoryServices
from config.texts import _, ngettext
from memory.clock import Clock
from memory.errors import MnemeError
from memory.forgetting import Extent
from memory.log.sessions import Session
from memory.messages import Document
from memory.transfer.archive import TooLarge

MAX_EXPORT_BYTES = 50_000_000
"""Maximum size of an export. Telegram accepts 50 MB from bots, and other channels hold it in memory."""


class NotExported(MnemeError):
    """There is nothing to export, or too much."""


async def pack_export(services: MemoryServices, session: Session, clock: Clock) -> tuple[Extent, Document]:
    """Pack the memory of a session's owner. Raises NotExported and StoreError."""
    owner = session.owner
    extent = await services.forgetting.measure_extent(owner)
    if not (extent.messages or extent.entries or extent.files or extent.reminders):
        raise NotExported(_("There is nothing to export: this chat has no messages and no memories yet."))
    try:
        packed = await services.portable.export_zip(owner, MAX_EXPORT_BYTES)
    except TooLarge:
        raise NotExported(
            _(
                "My memory is larger than the {megabytes} MB that I can send: run `mneme export DIR --owner {owner}`"
                " on the machine that runs me.",
                megabytes=MAX_EXPORT_BYTES // 1_000_000,
                owner=owner,
            )
        ) from None
    day = clock().astimezone(services.zone_of(session.id))
    return extent, Document(f"mneme-export-{day:%Y-%m-%d}.zip", packed)


def describe_export(extent: Extent, name: str) -> str:
    """Describe the exported file within the 1,024 characters of a Telegram caption."""
    amounts = (
        (extent.messages, ngettext("{n} message", "{n} messages", extent.messages)),
        (extent.entries, ngettext("{n} memory", "{n} memories", extent.entries)),
        (extent.files, ngettext("{n} Markdown file", "{n} Markdown files", extent.files)),
        (extent.reminders, ngettext("{n} reminder", "{n} reminders", extent.reminders)),
    )
    lines = (
        _("**What I remember here:** {what}", what=", ".join(text for amount, text in amounts if amount)),
        _("The folders `memory` and `entries` are for you to read, and `rows` is for programs."),
        _("Passwords and keys are left out. Photos and files are included as the text that I read in them."),
        _("To move it to another machine, run `mneme import {name}` there.", name=name),
    )
    return "\n".join(lines)
