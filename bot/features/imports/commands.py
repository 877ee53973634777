"""The command that imports a file or a pasted list. The user clicks it below the file: /import_5."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bot.commands.command import Access, Answer, CommandCall, CommandResult, WrongArgument, command, tapped_number
from bot.features.imports.importing import ForeignImport
from bot.features.imports.job import BackgroundImportLearning
from bot.features.imports.memories import is_list
from bot.features.imports.reporting import UnknownUser, describe, format_left_out
from bot.features.imports.source import write_temporarily
from bot.services import MemoryServices
from config.texts import N_, _, format_number, ngettext, shorten_to_line
from memory.buttons import Button, create_undo_button
from memory.messages import Role
from pipeline.media.files import MediaSources

LIST_NAME = "list.txt"
LEARN = "learn"
PROGRESS_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class ImportCommands:
    services: MemoryServices
    imports: ForeignImport
    sources: MediaSources
    learning: BackgroundImportLearning

    @command(
        "import",
        N_("Import a file or a list that you sent"),
        "[NUMBER [as NAME]|learn]",
        access=Access.MANAGERS,
        listed=False,
    )
    async def import_(self, call: CommandCall) -> CommandResult:
        if call.session.private:
            raise WrongArgument(
                _("This wasn't saved, because the conversation is private: end it with /new, then send this again.")
            )
        if call.argument.lower() == LEARN:
            return await self._learn(call.session.owner)
        # An "as" without a name means that no speaker is the user.
        reference, has_name, me = re.sub(r"\s+as$", " as ", call.argument).partition(" as ")
        if reference:
            number = tapped_number(replace(call, argument=reference))
            media = await self.services.media.get(call.session.owner, number, call.session.id)
            if media is None:
                raise WrongArgument(_("There is no file {number}: send it again.", number=number))
            name, content = media.name, await self.sources.fetch(media)
        else:
            name, content = LIST_NAME, (await self._find_pasted_list(call)).encode()
        async with write_temporarily(name, content) as path:
            try:
                done = await self.imports.run(
                    path,
                    call.session,
                    _Progress(call.show_progress),
                    me=me.strip() if has_name else None,
                    ask_user=True,
                )
            except UnknownUser as question:
                return _ask_who_is_user(question.speakers, reference)
        text = "\n".join([describe(done.report), *format_left_out(done.report)])
        if done.change is None:
            return text
        rows = [(create_undo_button(done.change, ""),)]
        if done.report.memories:
            rows.append((Button(_("Confirm all"), "/confirm imported"),))
        if done.report.conversations:
            rows.append((Button(_("Learn from the newest"), f"/import {LEARN}"),))
        return Answer(text, tuple(rows))

    async def _learn(self, owner: str) -> str:
        count = await self.learning.request(owner)
        if not count:
            return _("There are no imported conversations left to learn from.")
        return ngettext(
            "I'll learn from the newest imported conversation in the background, and ask you before I use what I"
            " learned.",
            "I'll learn from the {n} newest imported conversations in the background, and ask you before I use what I"
            " learned. Send the command again for the next ones.",
            count,
        )

    async def _find_pasted_list(self, call: CommandCall) -> str:
        messages = (await self.services.sessions.read_transcript(call.session.id)).messages
        for message in reversed(messages):
            if message.role is Role.USER and is_list(message.content):
                return message.content
        raise WrongArgument(
            _("I can't find a list here: paste one with lines such as “[2025-03-14] - I live in Lviv”.")
        )


class _Progress:
    """Shows the progress of an import every few seconds."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._next = time.monotonic() + PROGRESS_SECONDS

    def __call__(self, written: int, total: int) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PROGRESS_SECONDS
            self._show(
                _(
                    "Importing: {n} of {total} messages and memories. /stop stops it.",
                    n=format_number(written),
                    total=format_number(total),
                )
            )


def _ask_who_is_user(speakers: Sequence[str], reference: str) -> Answer:
    """Ask which speaker is the user, with a button for each of them."""
    rows = [(Button(shorten_to_line(name), f"/import {reference} as {name}", name),) for name in speakers]
    none = Button(_("None of them"), f"/import {reference} as")
    text = _(
        "Which of these is you? Your messages are stored as yours, those of the others under their names. You can also"
        " send /import {number} as NAME: {names}.",
        number=reference.strip("_"),
        names=", ".join(speakers),
    )
    return Answer(text, (*rows, (none,)))
