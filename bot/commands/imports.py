"""Commands on what comes from other programs, which are tapped under what they are about: /import_5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.commands.command import Access, Answer, CommandCall, CommandResult, WrongArgument, command, tapped_number
from config.texts import N_, _, ngettext
from memory.buttons import Button, undo_button
from memory.imports.importing import describe, format_left_out
from memory.imports.memories import is_list
from memory.imports.source import on_disk
from memory.messages import Role

if TYPE_CHECKING:
    from bot.jobs.import_learning import BackgroundImportLearning
    from memory.imports.importing import ForeignImport
    from memory.log.sessions import SessionService
    from memory.media.media import MediaStore
    from pipeline.media.files import MediaSources

LIST_NAME = "list.txt"
LEARN = "learn"


@dataclass(frozen=True, slots=True)
class ImportCommands:
    """What the commands do: each parses its argument, calls one service and returns text."""

    foreign: ForeignImport
    media: MediaStore
    sources: MediaSources
    sessions: SessionService
    learning: BackgroundImportLearning

    @command(
        "import", N_("Import a file or a list that you sent"), "[NUMBER|learn]", access=Access.MANAGERS, listed=False
    )
    async def import_(self, call: CommandCall) -> CommandResult:
        if call.session.private:
            raise WrongArgument(
                _("Nothing is kept of a private talk, so this was not: send /new to end it, then send it again.")
            )
        if call.argument.lower() == LEARN:
            return await self._learn(call.session.owner)
        if call.argument:
            number = tapped_number(call)
            media = await self.media.get(call.session.owner, int(number), call.session.id)
            if media is None:
                raise WrongArgument(_("There is no file {number}: send it again.", number=number))
            name, content = media.name, await self.sources.fetch(media)
        else:
            name, content = LIST_NAME, (await self._pasted(call)).encode()
        async with on_disk(name, content) as path:
            done = await self.foreign.run(path, call.session)
        text = "\n".join([describe(done.report), *format_left_out(done.report)])
        if done.change is None:
            return text
        rows = [(undo_button(done.change, ""),)]
        if done.report.memories:
            rows.append((Button(_("Confirm them all"), "/confirm imported"),))
        if done.report.conversations:
            rows.append((Button(_("Learn from the newest"), f"/import {LEARN}"),))
        return Answer(text, tuple(rows))

    async def _learn(self, owner: str) -> str:
        count = await self.learning.request(owner)
        if not count:
            return _("There is no imported conversation that I haven't learned from.")
        return ngettext(
            "I'll learn from the newest imported conversation in the background, and ask before I use what I learned.",
            "I'll learn from the {n} newest imported conversations in the background, and ask before I use what I"
            " learned. Send it again for the next ones.",
            count,
        )

    async def _pasted(self, call: CommandCall) -> str:
        """The newest list in the conversation."""
        messages = (await self.sessions.transcript(call.session.id)).messages
        for message in reversed(messages):
            if message.role is Role.USER and is_list(message.content):
                return message.content
        raise WrongArgument(_("I see no list here: paste one with lines such as “[2025-03-14] - I live in Lviv”."))
