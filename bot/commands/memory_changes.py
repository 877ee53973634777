"""Commands that change or export memories: /remember /edit /confirm /forget /undo /export."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from typing import ClassVar

from bot.commands.command import (
    MEMORY,
    Access,
    Answer,
    CommandCall,
    CommandResult,
    WrongArgument,
    command,
    tapped_number,
)
from bot.commands.exporting import describe_export, pack_export
from bot.commands.memory_browser import hint_at_entry, parse_quoted_name
from bot.commands.memory_keyboards import forget_keyboard
from bot.services import MemoryServices
from config.numbers import NUMBER
from config.texts import N_, _, name_setting, ngettext, shorten_to_line
from memory.buttons import Button, create_edit_button, create_undo_button
from memory.clock import Clock
from memory.errors import MemoryRefused
from memory.forgetting import Extent
from memory.ledger.undo_outcomes import UndoResult, explain_nothing_undone
from memory.search.named_memories import is_proper_name
from memory.store.entry import Author, Entry, NewEntry
from memory.text.speaking import attribute

ALL = "all"
CONFIRMATION = "confirm"
REFUSAL = "keep"
IMPORTED = "imported"
DELETE_BUTTON_MINUTES = 10
MAX_UNDO_LINES = 8

# How a button refers to a line of MEMORY.md.
_LINE = re.compile(r"line:(?P<digest>[0-9a-f]{10})")
# An entry by number or quoted name, and its new text.
_EDIT = re.compile(rf"(?:(?P<number>#{NUMBER})|[\"“„«](?P<name>[^\"“”„«»]+)[\"“”»])\s+(?P<text>\S.*)", re.DOTALL)

# A generated name of an entry: it contains a hyphen or digit, unlike names of people.
_NAME_OF_ENTRY = re.compile(r"[\d\-_:/]")
MAX_NAMED_LISTED = 20
MAX_NAMED_BUTTONS = 8


@dataclass(frozen=True, slots=True)
class MemoryCommands:
    heading: ClassVar = MEMORY

    services: MemoryServices
    clock: Clock
    enabled: bool

    @command("remember", N_("Save a note"), "TEXT")
    async def remember(self, call: CommandCall) -> CommandResult:
        if not call.argument:
            raise WrongArgument(_("/remember needs a text, such as: /remember The spare key is at Ann's."))
        if not self.enabled:
            raise WrongArgument(name_setting(_("Memory is off, so nothing was saved."), "MEMORY_ENABLED"))
        if call.session.private:
            raise WrongArgument(
                _("This wasn't saved, because the conversation is private: end it with /new, then send this again.")
            )
        content = attribute(call.argument, call.speaker)
        existing = await self.services.learning.reinforce_known(call.session.owner, content, notes=True)
        if existing is not None:
            return _(
                "I already know that as **{name}**: {content}",
                name=existing.name,
                content=existing.content,
            )
        entry = await self.services.entries.add(call.session.owner, NewEntry(content))
        return await self._undoable(
            _("Remembered as **{name}**: {content}", name=entry.name, content=entry.content), entry
        )

    @command("edit", N_("Edit a memory"), "NAME", access=Access.MANAGERS)
    async def edit(self, call: CommandCall) -> CommandResult:
        if not call.argument:
            raise WrongArgument(_("/edit needs the name or number of a memory, such as /edit 12: see /memory."))
        owner = call.session.owner
        name, content = await self._split_edit(owner, call.argument)
        former = await self.services.entries.get(owner, name)
        if content is None:
            return _ask_for_text(former)
        entry = await self.services.entries.edit(owner, name, content)
        text = _("**{name}** now says: {content}", name=entry.name, content=entry.content)
        before = _("Before: {content}", content=former.content)
        return await self._undoable(f"{text}\n\n{before}", entry)

    async def _split_edit(self, owner: str, argument: str) -> tuple[str, str | None]:
        """Return the name or number of an entry, and its new text if the argument has one."""
        if (with_text := _EDIT.fullmatch(argument)) is not None:
            return with_text["number"] or with_text["name"], with_text["text"]
        entries = self.services.entries
        if (quoted := await parse_quoted_name(entries, owner, argument)) is not None:
            return quoted, None
        first, *rest = argument.split(maxsplit=1)
        if rest and await entries.find(owner, argument) is None and await entries.find(owner, first) is not None:
            return first, rest[0]
        return argument, None

    @command("confirm", N_("Confirm a memory that I wasn't sure about"), "NAME", access=Access.MANAGERS)
    async def confirm(self, call: CommandCall) -> CommandResult:
        if not call.argument:
            raise WrongArgument(
                _("/confirm needs the name or number of a memory that I'm not sure about: see /memory unsure.")
            )
        owner = call.session.owner
        # Entries with the name "imported" take precedence
        if call.argument.lower() == IMPORTED and await self.services.entries.find(owner, IMPORTED) is None:
            count, change = await self.services.entries.confirm_imported(owner)
            if change is None:
                return _("There are no imported memories to confirm.")
            text = ngettext(
                "{n} memory is confirmed (/undo takes it back)",
                "{n} memories are confirmed (/undo takes it back)",
                count,
            )
            return Answer(text, ((create_undo_button(change, ""),),))
        name = await parse_quoted_name(self.services.entries, owner, call.argument) or call.argument
        entry = await self.services.entries.confirm(owner, name)
        return await self._undoable(_("Confirmed: {content} (/undo takes it back)", content=entry.content), entry)

    @command("forget", N_("Delete an entry, or everything"), "NAME|all", access=Access.MANAGERS)
    async def forget(self, call: CommandCall) -> CommandResult:
        if not call.argument:
            raise WrongArgument(_("/forget needs the name or number of a memory (see /memory), or: /forget all."))
        owner, words = call.session.owner, call.argument.lower().split()
        # Any other text is the name of an entry
        if words not in ([ALL], [ALL, CONFIRMATION], [ALL, REFUSAL]):
            return await self._forget_one(owner, call.argument)
        if words == [ALL]:
            extent = format_extent(await self.services.forgetting.measure_extent(owner))
            warning = _(
                "This deletes {extent} permanently and can't be undone. To go ahead, send: {command}",
                extent=extent,
                command=f"/forget all {CONFIRMATION}",
            )
            warning += await hint_at_entry(
                self.services.entries,
                owner,
                ALL,
                N_('There is also an entry called {name}: /forget "{name}" deletes only that.'),
            )
            sure = Button(
                _("Delete everything"), f"/forget all {CONFIRMATION}", in_place=True, minutes=DELETE_BUTTON_MINUTES
            )
            return Answer(warning, ((sure, Button(_("Keep it"), f"/forget all {REFUSAL}", in_place=True)),))
        if REFUSAL in words:
            return _("Nothing was deleted.")
        gone = await self.services.forgetting.forget_all(call.session.owner)
        return _("Everything is forgotten: {extent}.", extent=format_extent(gone))

    async def _forget_one(self, owner: str, argument: str) -> CommandResult:
        """Forget the entry with a name, or offer memories that match the words."""
        if (line := _LINE.fullmatch(argument)) is not None:
            content, change = await self.services.long_term.remove_line(owner, line["digest"], Author.USER)
            text = _("Forgotten: {content} (/undo brings it back).", content=shorten_to_line(content))
            return Answer(text, ((create_undo_button(change, content),),)) if change is not None else text
        quoted = await parse_quoted_name(self.services.entries, owner, argument)
        if quoted is None and not argument.startswith("#") and (offer := await self._offer_named(owner, argument)):
            return offer
        if (
            quoted is None
            and not argument.startswith("#")
            and await self.services.entries.find(owner, argument) is None
        ):
            matches = await self.services.lookup.find_meant(argument, owner)
            if matches:
                lines = [f"- {shorten_to_line(memory.content)} ({memory.forget_command})" for memory in matches]
                return Answer("\n".join([_("Which of these should I forget?"), *lines]), forget_keyboard(matches))
        entry = await self.services.entries.remove(owner, quoted or argument)
        text = _("Forgotten: {content} (/undo brings it back).", content=shorten_to_line(entry.content))
        return await self._undoable(text, entry, editable=False)

    async def _offer_named(self, owner: str, name: str) -> Answer | None:
        """Offer all memories that mention a name. Return None for the name of an entry, or if fewer than two match."""
        if _NAME_OF_ENTRY.search(name):
            return None
        named = await self.services.lookup.find_naming(name, owner)
        is_entry = await self.services.entries.find(owner, name) is not None
        # A name that is also an entry's only counts as a person's if memories write it with a capital letter
        if len(named) < 2 or (is_entry and sum(is_proper_name(name, memory.content) for memory in named) < 2):
            return None
        count = len(named)
        title = ngettext(
            "{n} memory mentions {name}. Which should I forget?",
            "{n} memories mention {name}. Which should I forget?",
            count,
            name=name,
        )
        lines = [
            f"- {shorten_to_line(memory.content)} ({memory.forget_command})" for memory in named[:MAX_NAMED_LISTED]
        ]
        lines += [_("and {n} more", n=count - MAX_NAMED_LISTED)] if count > MAX_NAMED_LISTED else []
        everything = Button(ngettext("Forget all {n}", "Forget all {n}", count), f"/forgetnamed {name}", in_place=True)
        keyboard = ((everything,), *forget_keyboard(named[:MAX_NAMED_BUTTONS]))
        return Answer("\n".join([title, *lines]), keyboard)

    @command(
        "forgetnamed", N_("Forget all memories that mention a person"), "NAME", listed=False, access=Access.MANAGERS
    )
    async def forget_named(self, call: CommandCall) -> CommandResult:
        """Forget all memories that mention a name, after a click on the button below /forget NAME."""
        owner, name = call.session.owner, call.argument
        named = await self.services.lookup.find_naming(name, owner) if name else []
        if not named:
            return _("No memory mentions {name}.", name=name or "?")
        entries = [memory.entry_id for memory in named if memory.entry_id is not None]
        digests = [memory.reference.removeprefix("line:") for memory in named if memory.is_line]
        change = await self.services.entries.remove_all(owner, entries, digests)
        text = ngettext(
            "Forgotten: {n} memory that mentions {name} (/undo brings it back).",
            "Forgotten: {n} memories that mention {name} (/undo brings them back).",
            len(named),
            name=name,
        )
        rows = ((create_undo_button(change, name),),) if change is not None else ()
        remaining = await self.services.naming_traces.count(owner, name)
        if not remaining:
            return Answer(text, rows)
        left = _(
            "{messages} and {lines} of notes still mention {name}. If you mask the name there, it won't appear in"
            " answers any more. This can't be undone.",
            messages=ngettext("{n} message", "{n} messages", remaining.messages),
            lines=ngettext("{n} line", "{n} lines", remaining.lines),
            name=name,
        )
        mask = Button(_("Mask them too"), f"/masknamed {name}")
        return Answer(f"{text}\n\n{left}", (*rows, (mask,)))

    @command(
        "masknamed", N_("Mask a person's name in notes and messages"), "NAME", listed=False, access=Access.MANAGERS
    )
    async def mask_named(self, call: CommandCall) -> CommandResult:
        """Mask a name in notes and messages, after a click on the button below /forgetnamed NAME."""
        if not call.argument:
            raise WrongArgument(_("/masknamed needs the name to mask."))
        masked = await self.services.naming_traces.mask(call.session.owner, call.argument)
        return _(
            "Masked: {messages} and {lines} of notes that mention {name}.",
            messages=ngettext("{n} message", "{n} messages", masked.messages),
            lines=ngettext("{n} line", "{n} lines", masked.lines),
            name=call.argument,
        )

    async def _undoable(self, text: str, entry: Entry, *, editable: bool = True) -> CommandResult:
        change = await self.services.undo.find_newest(entry)
        if change is None:
            return text
        edit = (create_edit_button(entry.id, entry.content),) if editable else ()
        return Answer(text, ((create_undo_button(change, entry.content, entry.id), *edit),))

    @command("undo", N_("Undo the last change to memory"), access=Access.MANAGERS, offered=True)
    async def undo(self, call: CommandCall) -> str:
        """Undo the last change, with /undo_12 a given one, or with /undo_12_34 one memory of it."""
        change, _space, part = call.argument.partition(" ")
        number = tapped_number(replace(call, argument=change)) if change else None
        entry = tapped_number(replace(call, argument=part)) if part else None
        owner = call.session.owner
        undone = await self.services.undo.undo(owner, number, entry=entry)
        if undone is not None:
            return format_undo(undone)
        if number is None:
            return _("There is nothing to undo.")
        is_expired = await self.services.undo.is_expired(owner, number)
        reason = explain_nothing_undone(is_expired=is_expired)
        return f"{reason} {await self._still_possible(owner, entry)}" if is_expired else reason

    async def _still_possible(self, owner: str, entry: int | None) -> str:
        """Return how to change a memory that can no longer be restored by /undo."""
        if entry is not None:
            with contextlib.suppress(MemoryRefused):
                content = shorten_to_line((await self.services.entries.get(owner, f"#{entry}")).content)
                return _(
                    "This memory can still be changed by {edit} or deleted by {forget}: {content}",
                    edit=f"/edit_{entry}",
                    forget=f"/forget_{entry}",
                    content=content,
                )
        return _("You can still change or delete each memory: see /memory.")

    @command("export", N_("Download everything that I remember"), repeatable=True, access=Access.MANAGERS)
    async def export(self, call: CommandCall) -> CommandResult:
        extent, document = await pack_export(self.services, call.session, self.clock)
        return Answer(describe_export(extent, document.name), document=document)


def _ask_for_text(entry: Entry) -> Answer:
    """Ask for the new text of an entry. The text names a command for channels without questions."""
    command = f"/edit #{entry.id}"
    text = _(
        "What should it say instead? Reply to this message, or send {command} followed by the text. **{name}** now"
        " says: {content}",
        name=entry.name,
        command=command,
        content=entry.content,
    )
    return Answer(text, ((Button(_("The new text"), command, by_reply=True),),))


def format_extent(extent: Extent) -> str:
    parts = [
        ngettext("{n} message", "{n} messages", extent.messages),
        ngettext("{n} entry", "{n} entries", extent.entries),
        ngettext("{n} file", "{n} files", extent.files),
    ]
    parts += [ngettext("{n} reminder", "{n} reminders", extent.reminders)] if extent.reminders else []
    return _("{some} and {last}", some=", ".join(parts[:-1]), last=parts[-1])


def format_undo(undone: UndoResult) -> str:
    lines = [f"{_(outcome.effect)}: {shorten_to_line(outcome.text)}" for outcome in undone.outcomes]
    lines += [_("MEMORY.md was edited later, so I left it unchanged.")] if undone.left_as_edited else []
    if len(lines) <= 1:
        return lines[0] if lines else _("Undone: the changes to {names}.", names=", ".join(undone.names))
    more = [_("and {n} more", n=len(lines) - MAX_UNDO_LINES)] if len(lines) > MAX_UNDO_LINES else []
    return "\n".join(f"- {line}" for line in lines[:MAX_UNDO_LINES] + more)
