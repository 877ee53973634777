"""Offers to import the exports of other programs that users send."""

from __future__ import annotations

from bot.features.imports.importing import ForeignImport
from bot.features.imports.items import ImportRefused
from bot.features.imports.reporting import ImportReport, format_counts, format_left_out
from bot.features.imports.source import could_be_export, write_temporarily
from config.texts import _
from memory.buttons import Button, Notice
from memory.media.media import Media
from pipeline.media.reading import Attachment, Offer


class ExportReader:
    def __init__(self, imports: ForeignImport) -> None:
        self._imports = imports

    async def read(self, attachment: Attachment, content: bytes) -> Offer | None:
        media, session = attachment.media, attachment.session
        # In a group, the import would go into the memory of all its members.
        is_own = attachment.arrival.speaker is None and not session.private
        if not is_own or not could_be_export(media.name, content):
            return None
        async with write_temporarily(media.name, content) as path:
            try:
                report = await self._imports.look(path, session)
            except ImportRefused as refusal:
                return _create_refusal(media, refusal) if refusal.is_export else None
        text = f"{media.model_label}, an export of {report.program}; the user is asked whether to import it"
        return Offer(text, _ask_to_import(media, report))


def _create_refusal(media: Media, refusal: ImportRefused) -> Offer:
    return Offer(f"{media.model_label}, an export that can't be imported; the user is told why", Notice(str(refusal)))


def _ask_to_import(media: Media, report: ImportReport) -> Notice:
    command = f"/import_{media.id}"
    question = _(
        "This is an export of {program}: {what}. {command} imports it, and /undo takes it back.",
        program=report.program,
        what=format_counts(report),
        command=command,
    )
    lines = [question, *format_left_out(report)]
    return Notice("\n".join(lines), ((Button(_("Import"), command, report.program),),))
