"""Commands that show memories: /memory and /recall, with their buttons."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from bot.commands.command import MEMORY, Access, Answer, CommandCall, CommandResult, WrongArgument, command
from bot.commands.memory_keyboards import (
    FILE,
    create_all_kinds_button,
    create_memory_buttons,
    entry_keyboard,
    forget_keyboard,
    kinds_keyboard,
)
from bot.services import MemoryServices
from config.texts import N_, _, ngettext, shorten_to_line
from memory.buttons import (
    Button,
    Notice,
    collect_rows,
    create_page_button,
    create_review_buttons,
    create_share_button,
)
from memory.errors import MemoryRefused
from memory.ledger.entries import EntryStore
from memory.log.sessions import Session
from memory.search.activation_candidates import Layer, format_record
from memory.search.activation_log import ActivationReason
from memory.search.memory_reader import ReadRequest
from memory.search.named_memories import NamedMemory
from memory.search.paging import NoSuchPage, ResultPage
from memory.search.types import Filter, Hit
from memory.store.entry import TYPED_KINDS, Author, Entry, Kind
from memory.text.wording import has_same_words

PAGE_SIZE = 10
MAX_RESULTS = 100
MAX_RECALLED_MESSAGES = 5
RECALL_RESULTS = 8
PAGE_TOKENS = 800
"""Size of a page of /recall all, which has to fit into one message."""
NOTHING_FOUND = N_("I didn't find anything about that.")
ALL = "all"
WHY = "why"
UNSURE = "unsure"
MEMORY_ARGUMENT = "[KIND|NAME|WORDS|unsure|why] [PAGE]"

_WHY = {
    Layer.BASELINE: N_("a rule that always applies"),
    Layer.CONTEXT: N_("it fits your message"),
    Layer.PROCEDURES: N_("it says how to do what you asked for"),
}
LOOKED_UP = N_("it was looked up")
FOREIGN = N_("not from the user's own words")


def describe_layer(layer: Layer) -> str:
    """Return why a memory of this layer was in the request."""
    return _(_WHY[layer])


_ORIGINS: Mapping[str, str] = {
    Author.USER: N_("you wrote it"),
    Author.MODEL: N_("the model noted it"),
    Author.CAPTURE: N_("from what you wrote"),
    Author.CONSOLIDATION: N_("learned from a conversation"),
    Author.COMPACTION: N_("the summary of a conversation"),
    Author.IMPORT: N_("imported"),
    Author.MCP: N_("from another program"),
}
SEARCH = "search"
EntryButtons = Callable[[Entry], Sequence[Button]]
"""Returns further buttons below an entry."""


@dataclass(frozen=True, slots=True)
class MemoryQueries:
    heading: ClassVar = MEMORY

    services: MemoryServices
    page: str | None
    buttons: Sequence[EntryButtons] = ()

    @command(
        "memory", N_("Show what I remember, and why I used it"), MEMORY_ARGUMENT, access=Access.MANAGERS, alone=True
    )
    async def memory(self, call: CommandCall) -> CommandResult:
        if not call.argument:
            # Mini Apps open in private chats only
            return await self._overview(call.session.owner, self.page if call.asker is None else None)
        owner = call.session.owner
        named = await parse_quoted_name(self.services.entries, owner, call.argument)
        if named is not None:
            return await self._entry(owner, named)
        hint = await hint_at_entry(
            self.services.entries,
            owner,
            call.argument,
            N_('There is also an entry called {name}: /memory "{name}" shows it.'),
        )
        if call.argument.lower() == WHY:
            of_file = len(await self.services.lookup.read_lines(owner))
            log, zone = self.services.activation_log, self.services.zone_of(owner)
            recalled = [
                f"- {at.astimezone(zone):%Y-%m-%d}: {shorten_to_line(text)}"
                for at, text in (await log.read_recalled(call.session.id))[:MAX_RECALLED_MESSAGES]
            ]
            reasons, notes = await log.read_last(call.session.id), await log.read_recalled_entries(call.session.id)
            return format_reasons(reasons, of_file, recalled, notes) + hint
        if call.argument.lower() == UNSURE:
            unsure = await self.services.entries.list_unconfirmed(owner, PAGE_SIZE + 1)
            choices = collect_rows(
                Notice("", (create_review_buttons(entry.id, entry.content),)) for entry in unsure[:PAGE_SIZE]
            )
            return Answer(format_unsure(unsure) + hint, choices)
        if call.argument.lower() == FILE.lower():
            lines = await self.services.lookup.read_lines(owner)
            return Answer(format_lines(lines), (*forget_keyboard(lines[:PAGE_SIZE]), (create_all_kinds_button(),)))
        searched = re.fullmatch(rf"{SEARCH}\s+(?P<words>\S.*)", call.argument, re.IGNORECASE | re.DOTALL)
        if searched is not None:
            return await self._search(owner, searched["words"], hint)
        subject, page = _split_page(call.argument)
        counts = await self.services.entries.count_by_kind(owner)
        kinds = (*Kind, *counts)
        kind = {label.lower(): option for option in kinds for label in (_(option), option)}.get(subject.lower())
        # If the kind has no such page, the argument can only be the name of an entry
        if kind is not None and not (hint and page > _pages(counts.get(kind, 0))):
            return await self._list_kind(owner, kind, page, counts.get(kind, 0), hint)
        try:
            return await self._entry(owner, call.argument)
        except MemoryRefused:  # There is no entry of that name
            found = await self._search(owner, call.argument, "")
            if found == _(NOTHING_FOUND):
                raise
            return found

    async def _entry(self, owner: str, name: str) -> CommandResult:
        entry = await self.services.entries.get(owner, name)
        is_own_alone = entry.unconfirmed is None and entry.shared_at is None
        may_share = is_own_alone and await self.services.sharing.includes(owner)
        rows = ((create_share_button(entry.id, entry.content),),) if may_share else ()
        added = [button for buttons_of in self.buttons for button in buttons_of(entry)]
        return Answer(format_entry(entry), (*rows, *entry_keyboard(entry, added)))

    async def _search(self, owner: str, argument: str, hint: str) -> CommandResult:
        """Return a page of entries that match the words. A trailing number that is no page belongs to the words."""
        kinds = tuple(await self.services.entries.count_by_kind(owner))
        words, page = _split_page(argument)
        hits = await self.services.search.find(words, owner, only=Filter(kinds), limit=MAX_RESULTS) if kinds else []
        if page > _pages(len(hits)):
            words, page = argument, 1
            hits = await self.services.search.find(words, owner, only=Filter(kinds), limit=MAX_RESULTS)
        of_file = [memory for memory in await self.services.lookup.find_meant(words, owner) if memory.is_line]
        if not hits:
            if of_file:
                return Answer(format_lines(of_file) + hint, forget_keyboard(of_file))
            return _(NOTHING_FOUND) + hint
        pages = _pages(len(hits))
        head = _("Found: {count}, page {page} of {pages}.", count=len(hits), page=page, pages=pages)
        after = f"\n\n{format_lines(of_file)}{hint}" if of_file else hint
        labels, shown_hits = (_("Back"), _("More")), hits[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
        return _page(head, f"{SEARCH} {words}", (page, pages), shown_hits, labels, after)

    async def _overview(self, owner: str, page: str | None) -> CommandResult:
        counts = await self.services.entries.count_by_kind(owner)
        of_file = len(await self.services.lookup.read_lines(owner))
        if not counts and not of_file:
            return _("I don't remember anything yet: tell me something, or send /remember TEXT.")
        newest = await self.services.entries.list_newest(owner, PAGE_SIZE)
        parts = ["\n".join([_("What I remember, newest first:"), *map(_line, newest)])] if newest else []
        kinds = [f"{_(kind)}: {count}" for kind, count in counts.items()]
        kinds += [f"{FILE}: {of_file}"] if of_file else []
        parts += [", ".join(kinds), _("/memory KIND lists one kind, and /memory WORDS searches everything.")]
        unsure = bool(await self.services.entries.list_unconfirmed(owner, 1))
        rows = (*create_memory_buttons(newest), *kinds_keyboard(counts, of_file, unsure=unsure))
        rows = rows if page is None else (*rows, (create_page_button(page),))
        return Answer("\n\n".join(parts), rows)

    async def _list_kind(self, owner: str, kind: str, page: int, count: int, hint: str) -> CommandResult:
        pages = _pages(count)
        if page > pages:
            raise WrongArgument(
                _(
                    "There is no page {page} of {kind}: choose one from 1 to {pages}.",
                    page=page,
                    kind=_(kind),
                    pages=pages,
                )
            )
        entries = await self.services.entries.list(owner, kind, limit=PAGE_SIZE, offset=(page - 1) * PAGE_SIZE)
        head = _("{kind}: {count}, page {page} of {pages}.", kind=_(kind), count=count, page=page, pages=pages)
        return _page(head, kind, (page, pages), entries, (_("Newer"), _("Older")), hint)

    @command("recall", N_("Search conversations and notes"), "[all] QUERY [PAGE]", access=Access.MANAGERS, alone=True)
    async def recall(self, call: CommandCall) -> str:
        if not call.argument:
            raise WrongArgument(_("/recall needs words to search for, such as: /recall spare key."))
        first, _space, subject = call.argument.partition(" ")
        if first.lower() == ALL and subject.strip():
            return await self._mentions(subject.strip(), call.session)
        results = await self.services.recall.recall(
            call.argument, call.session.owner, Filter(), RECALL_RESULTS, forgotten_too=True
        )
        if not results:
            return _(NOTHING_FOUND)
        return "\n".join(f"- {result.text}" for result in results)

    async def _mentions(self, argument: str, session: Session) -> str:
        """Return a page of all mentions of a subject. A trailing number that is no page belongs to the subject."""
        owner = session.owner
        subject, page = _split_page(argument)
        result_page: ResultPage | None = None
        if page > 1:
            with contextlib.suppress(NoSuchPage):
                result_page = await self.services.reading.find_every(
                    [subject], owner, ReadRequest(Filter(), page, PAGE_TOKENS)
                )
        if result_page is None:
            subject = argument
            result_page = await self.services.reading.find_every(
                [subject], owner, ReadRequest(Filter(), 1, PAGE_TOKENS)
            )
        if result_page is None:
            return _(NOTHING_FOUND)
        more = ngettext(
            "{command} shows {n} more.",
            "{command} shows {n} more.",
            result_page.left,
            command=f"/recall all {subject} {result_page.number + 1}",
        )
        return "\n".join([*result_page.lines, *(["", more] if result_page.left else [])])


async def parse_quoted_name(entries: EntryStore, owner: str, argument: str) -> str | None:
    """Return the name in quotes, or None if there are no quotes or they are part of an entry's name."""
    match = re.fullmatch(r"[\"'“„«‘](?P<name>.+)[\"'”“»’]", argument)
    return None if match is None or await entries.find(owner, argument) else match["name"]


async def hint_at_entry(entries: EntryStore, owner: str, name: str, hint: str) -> str:
    """Return a hint to an entry if its name has another meaning in a command, else an empty string.

    Args:
        hint: the untranslated text with a placeholder `name`.
    """
    entry = await entries.find(owner, name)
    return "" if entry is None else "\n\n" + _(hint, name=entry.name)


def format_reasons(
    reasons: Sequence[ActivationReason], of_file: int, recalled: Sequence[str] = (), notes: Sequence[Entry] = ()
) -> str:
    """Return the memories in the last request, each with its reason and source.

    Args:
        of_file: number of lines of MEMORY.md.
        recalled: a line for each quoted message.
        notes: entries that were quoted, or that the model's tools found.
    """
    lines: list[str] = []
    if count := len(reasons) + len(notes):
        lines.append(
            ngettext("{n} memory was used for the last answer:", "{n} memories were used for the last answer:", count)
        )
    by_reason: dict[str, list[str]] = {}
    for reason in reasons:
        text = _("a memory that was deleted since") if reason.entry is None else _with_source(reason.entry)
        by_reason.setdefault(_(_WHY[reason.layer]), []).append(text)
    if notes:
        by_reason.setdefault(_(LOOKED_UP), []).extend(map(_with_source, notes))
    for why, texts in by_reason.items():
        lines.append(f"{why[:1].upper()}{why[1:]}:")
        lines += (f"- {text}" for text in texts)
    if of_file:
        lines.append(
            ngettext(
                "MEMORY.md was used too ({n} line): /memory MEMORY.md shows it.",
                "MEMORY.md was used too ({n} lines): /memory MEMORY.md shows them.",
                of_file,
            )
        )
    if recalled:
        lines.append(_("Earlier messages were used, such as:"))
        lines += recalled
    return "\n".join(lines) or _("No memory was used for your last message.")


def _with_source(entry: Entry) -> str:
    """Return the content with its source, and with the quote if its wording differs."""
    is_same = entry.quote is None or has_same_words(entry.quote, entry.content)
    quote = "" if is_same or entry.quote is None else f': "{shorten_to_line(entry.quote)}"'
    return f"{shorten_to_line(entry.content)} ({format_source(entry)}{quote})"


def format_lines(lines: Sequence[NamedMemory]) -> str:
    if not lines:
        return _("MEMORY.md contains only the entries.")
    shown = [f"- {shorten_to_line(line.content)} (`{line.forget_command}`)" for line in lines[:PAGE_SIZE]]
    more = [_("... and more.")] if len(lines) > PAGE_SIZE else []
    return "\n".join([_("In MEMORY.md, which is part of every request:"), *shown, *more])


def format_unsure(entries: Sequence[Entry]) -> str:
    if not entries:
        return _("There is nothing for you to confirm.")
    lines = [
        f"- {shorten_to_line(entry.content)} ({_(entry.unconfirmed or '')}) /confirm_{entry.id} /forget_{entry.id}"
        for entry in entries[:PAGE_SIZE]
    ]
    more = [_("... and more.")] if len(entries) > PAGE_SIZE else []
    return "\n".join([_("I'm not sure about these, and won't use them until you confirm them:"), *lines, *more])


def describe_origin(entry: Entry) -> str:
    return f"{_(entry.kind)}, {_(_ORIGINS.get(entry.author, entry.author))}"


def format_source(entry: Entry) -> str:
    facts = [describe_origin(entry), f"{entry.created_at:%Y-%m-%d}"]
    if not entry.trusted:
        facts.append(_(FOREIGN))
    return ", ".join(facts)


def format_entry(entry: Entry) -> str:
    names = f"**{entry.name}**" + (" " + _("(also {names})", names=", ".join(entry.aliases)) if entry.aliases else "")
    content = entry.content
    if entry.steps:
        content += f"\n\n{format_record(entry.success_count, entry.failure_count)}"
    if entry.quote:
        content += "\n\n" + _('Said: "{quote}"', quote=shorten_to_line(entry.quote))
    if entry.outcome:
        content += "\n\n" + _("Outcome: {outcome}", outcome=entry.outcome)
    facts = [format_source(entry)]
    facts += [_("priority {priority}", priority=_(entry.priority))] if entry.kind in TYPED_KINDS else []
    facts += [_("for {scope}", scope=entry.scope)] if entry.scope else []
    facts += [", ".join(f"#{tag}" for tag in entry.tags)] if entry.tags else []
    facts += [_("not confirmed: {why}", why=_(entry.unconfirmed))] if entry.unconfirmed is not None else []
    facts += [_("until {day}", day=f"{entry.valid_until:%Y-%m-%d}")] if entry.valid_until is not None else []
    facts += [_("replaced")] if entry.superseded_by is not None else []
    facts += [_("archived")] if entry.archived_at is not None else []
    return f"{names}\n\n{content}\n\n_{', '.join(facts)}_"


def _pages(count: int) -> int:
    return max(1, -(-count // PAGE_SIZE))


def _split_page(argument: str) -> tuple[str, int]:
    match = re.fullmatch(r"(?P<what>.*\S)\s+(?P<page>[1-9][0-9]{0,5})", argument)
    return (match["what"], int(match["page"])) if match else (argument, 1)


def _page(
    head: str,
    listed: str,
    position: tuple[int, int],
    memories: Sequence[Entry | Hit],
    labels: Sequence[str],
    after: str,
) -> Answer:
    """Return a page of memories with a button for each, and buttons for the previous and next page.

    Args:
        listed: the argument of /memory that lists these memories.
        position: page number and number of pages.
        labels: texts of the buttons back and forth.
    """
    page, pages = position
    if page < pages:
        head += " " + _("{command} shows more.", command=f"/memory {listed} {page + 1}")
    lines = [_line(memory) for memory in memories]
    neighbours = [
        Button(label, f"/memory {listed} {to}", in_place=True)
        for label, to in zip(labels, (page - 1, page + 1), strict=True)
        if 1 <= to <= pages
    ]
    return Answer(
        "\n".join([head, "", *lines]) + after,
        (*create_memory_buttons(memories), (*neighbours, create_all_kinds_button())),
    )


def _line(memory: Entry | Hit) -> str:
    """Return a memory as a line: its content, a mark if it was replaced, and the command that shows it."""
    history = f" ({_('replaced')})" if memory.superseded_by is not None else ""
    return f"- {shorten_to_line(memory.content)}{history} /memory_{memory.id}"
