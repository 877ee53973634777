"""The operations of one change of an owner's memory.

The module is longer than most, since every operation is a method of `Change`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

import aiosqlite

from config.texts import _
from memory.clock import to_text
from memory.errors import MemoryRefused
from memory.ledger.change_reads import ChangeReads
from memory.ledger.page import Page, appending, format_line, get_line, replacing
from memory.messages import make_storable
from memory.store.decay import MAX_REINFORCEMENTS
from memory.store.entry import (
    MAX_RECORDED_RUNS,
    NO_DETAILS,
    Action,
    Author,
    Details,
    Entry,
    Kind,
    Nature,
    NewEntry,
    Priority,
    Proposal,
    build_kind_columns,
    inherit_nature,
)
from memory.store.entry_rows import (
    CURRENT,
    bind_name,
    generate_name,
    insert_entry,
    refuse_secret,
    require_free,
    validate_content,
    validate_name,
)
from memory.store.reinforcement import reinforce
from memory.store.scope import validate_scope
from memory.text.wording import make_name_key


class Change(ChangeReads):
    """One change of an owner's memory, within a transaction.

    Attributes:
        before: The former row and names, as JSON, of each entry that was touched. None for a new entry.
        is_written: Whether MEMORY.md has the change's edit.
        forgotten: Entries with source words to mark as forgotten.
        number: The number that `/undo` takes, once the change is committed.
    """

    def __init__(
        self,
        connection: aiosqlite.Connection,
        owner_id: int,
        page: Page,
        author: Author,
        moment: datetime,
        *,
        trusted: bool,
    ) -> None:
        super().__init__(connection, owner_id)
        self.author = author
        self.moment = moment
        self.before: dict[int, str | None] = {}
        self.is_written = True
        self.forgotten: list[Entry] = []
        self.number: int | None = None
        self._page = page
        self._trusted = trusted
        self._now = to_text(moment)

    @property
    def has_edited(self) -> bool:
        return self._page.is_changed

    async def add(self, new: NewEntry) -> Entry:
        """Create an entry. Raise MemoryRefused if its name is taken or its content must not be stored."""
        new = self._validate(new)
        name = new.name or await generate_name(self._connection, self.owner_id, new.stem, new.topic or new.content)
        return await self._get_by_id(await self._insert(name, new))

    async def write_alongside(
        self, entry: Entry, write: Callable[[aiosqlite.Connection, Entry], Awaitable[None]]
    ) -> None:
        """Write rows that belong to an entry, such as the marker of an archive, in the same transaction."""
        await write(self._connection, entry)

    async def rewrite(self, entry: Entry, content: str, details: Details = NO_DETAILS) -> Entry:
        """Replace an entry's content and details. The entry gets the author and trust of this change."""
        self._refuse_archive(entry)
        if self.author is Author.USER and content != entry.content:
            self.forgotten.append(entry)
        given = {
            "steps": json.dumps(details.steps, ensure_ascii=False) if details.steps is not None else None,
            "quote": details.quote,
            "subject": make_name_key(details.subject) if details.subject is not None else None,
            "nature": details.nature,
            "valid_from": to_text(details.valid_from) if details.valid_from is not None else None,
            "valid_until": to_text(details.valid_until) if details.valid_until is not None else None,
        }
        columns = {"content": validate_content(content), "author": self.author, "trusted": self._trusted}
        # A shared entry stays shared only if a person has written the new content.
        columns |= {} if self.author is Author.USER else {"shared_at": None, "shared_by": None}
        columns |= build_kind_columns(entry, details.kind) if details.kind is not None else {}
        await self._set(entry.id, columns | {name: value for name, value in given.items() if value is not None})
        rewritten = await self._get_by_id(entry.id)
        if rewritten.content != entry.content:
            await self._exchange_line(entry, rewritten)
        return await self._get_by_id(entry.id)

    async def supersede(self, former: Entry, new: NewEntry) -> Entry:
        """Add an entry that supersedes `former` and inherits its names, subject and scope.

        Raises ValueError if the new one is unconfirmed.
        """
        if new.unconfirmed is not None:
            raise ValueError("an unconfirmed memory supersedes nothing")
        inherited = Priority(former.priority) if new.kind == former.kind else None
        new = self._validate(
            replace(
                new,
                name=None,
                subject=new.subject or former.subject,
                scope=new.scope or former.scope,
                priority=new.priority or inherited,
                nature=inherit_nature(former, new.nature),
            )
        )
        # Released first, since the new entry takes over the names.
        await self._release_names(former)
        entry_id = await self._insert(former.name, new)
        await self._mark_superseded(former, entry_id, former.aliases, "until")
        return await self._get_by_id(entry_id)

    async def supersede_by_known(self, former: Entry, entry: Entry, word: str = "until") -> Entry:
        """Let an existing entry supersede `former`. The new name of `former` contains `word` and the date."""
        await self._release_names(former)
        nature = inherit_nature(former, entry.nature)
        await self._set(entry.id, {"subject": entry.subject or former.subject, "nature": nature})
        await self._mark_superseded(former, entry.id, (former.name, *former.aliases), word)
        return await self._get_by_id(entry.id)

    async def merge(self, entry: Entry, others: Iterable[Entry]) -> None:
        """Let an entry supersede its duplicates, and store the counts and priority that `entry` carries."""
        for other in others:
            # Read again, since each superseded entry may pass on its subject or its line.
            await self.supersede_by_known(other, await self._get_by_id(entry.id), "merged")
        columns = {
            "priority": entry.priority,
            "subject": entry.subject,
            "reinforcement_count": entry.reinforcement_count,
            "last_reinforced_at": to_text(entry.last_reinforced_at),
            "success_count": entry.success_count,
            "failure_count": entry.failure_count,
        }
        await self._set(entry.id, columns)

    async def rename(self, entry: Entry, new_name: str) -> Entry:
        """Change an entry's name. The old one becomes an alias."""
        target = validate_name(new_name)
        await require_free(self._connection, self.owner_id, target, but=entry.id)
        await self._touch(entry.id)
        await self._connection.execute("UPDATE names SET is_alias = 1 WHERE entry_id = ?", (entry.id,))
        # The new name may be an alias of the entry itself.
        await self._connection.execute(
            "DELETE FROM names WHERE owner_id = ? AND key = ?", (self.owner_id, make_name_key(target))
        )
        await bind_name(self._connection, self.owner_id, entry.id, target)
        return await self._get_by_id(entry.id)

    async def bind(self, entry: Entry, alias: str) -> Entry:
        await self._touch(entry.id)
        await bind_name(self._connection, self.owner_id, entry.id, validate_name(alias), is_alias=True)
        return await self._get_by_id(entry.id)

    async def remove(self, entry: Entry, *, is_asked: bool = False) -> None:
        """Delete an entry and mark its source words as forgotten.

        Args:
            is_asked: Whether the user's own words ask for it. Then a model may also delete an archive.
        """
        if not is_asked:
            self._refuse_archive(entry)
        self.forgotten.append(entry)
        await self._remove(entry)

    async def _remove(self, entry: Entry) -> None:
        await self._release_names(entry)
        await self._set(entry.id, {"deleted_at": self._now})
        await self._exchange_line(entry, None)

    async def confirm(self, entry: Entry) -> Entry:
        """Confirm an entry as the author of this change, and carry out its proposal. Raises MemoryRefused."""
        proposal = Proposal.from_text(entry.proposal) if entry.proposal is not None else Proposal()
        columns = {"author": self.author, "trusted": self._trusted}
        await self._set(entry.id, {"unconfirmed": None, "proposal": None, **columns})
        if proposal.action is not None:
            await self._carry_out(proposal)
            await self._remove(await self._get_by_id(entry.id))
        for number in proposal.replaces:
            if (former := await self._find_first(f"e.id = ? AND {CURRENT}", number)) is not None:
                await self.supersede_by_known(former, await self._get_by_id(entry.id))
        if entry.subject is not None and await self.find_current(entry.subject, but=entry.id) is not None:
            # An equal subject alone supersedes nothing, so this entry gets another one.
            await self._set(entry.id, {"subject": make_name_key(entry.name)})
        return await self._get_by_id(entry.id)

    async def share(self, entry: Entry, by: str) -> Entry:
        """Let the family read a current entry. `by` is the name of the person who shares it. Raises MemoryRefused."""
        if not await self.is_current(entry):
            raise MemoryRefused(
                _("{name} can't be shared: share a memory that is confirmed and wasn't replaced.", name=entry.name)
            )
        await self._set(entry.id, {"shared_at": self._now, "shared_by": by})
        return await self._get_by_id(entry.id)

    async def unshare(self, entry: Entry) -> Entry:
        await self._set(entry.id, {"shared_at": None, "shared_by": None})
        return await self._get_by_id(entry.id)

    async def withdraw(self, entry: Entry) -> Entry:
        """Stop sharing an entry, also in the recorded changes, so that no undo of its owner shares it again."""
        await self._connection.execute(
            "UPDATE changes SET before = json_set(before, '$.row.shared_at', NULL, '$.row.shared_by', NULL)"
            " WHERE entry_id = ? AND before IS NOT NULL",
            (entry.id,),
        )
        return await self.unshare(entry)

    async def propose(self, entry: Entry, doubt: str | None, proposal: str | None) -> None:
        await self._set(entry.id, {"unconfirmed": doubt, "proposal": proposal})

    async def put_aside(self, former: Entry, successor: Entry, doubt: str) -> None:
        """Replace a memory provisionally, until a model has judged whether `successor` supersedes it."""
        await self._set(former.id, {"unconfirmed": doubt})
        await self._exchange_line(former, successor)

    async def put_back(self, former: Entry) -> Entry:
        """Restore a memory that was put aside, with its line in MEMORY.md if there is room."""
        await self._set(former.id, {"unconfirmed": None})
        if former.line is not None and not await self._page.has_line(former.line):
            with contextlib.suppress(MemoryRefused):
                await self.edit_file(appending(former.line))
        return await self._get_by_id(former.id)

    async def end(self, entry: Entry) -> None:
        await self._set(entry.id, {"valid_until": self._now})

    async def _carry_out(self, proposal: Proposal) -> None:
        if proposal.action is Action.EDIT:
            edit = replacing(proposal.part, proposal.value) if proposal.part else appending(proposal.value)
            await self.edit_file(edit)
            return
        entry = await self._find_first("e.id = ?", proposal.entry)
        if entry is None:
            raise MemoryRefused(_("This memory no longer exists: there is nothing to do."))
        match proposal.action:
            case Action.WRITE:
                await self.rewrite(entry, proposal.value, Details(steps=proposal.steps or None))
            case Action.RENAME:
                await self.rename(entry, proposal.value)
            case Action.ALIAS:
                await self.bind(entry, proposal.value)
            case Action.REMOVE:
                await self.remove(entry)
            case Action.RECORD:
                await self.record_run(entry, success=proposal.value == "success")

    async def archive(self, entry: Entry) -> None:
        """Remove an entry from all prompts. It stays searchable."""
        await self._set(entry.id, {"archived_at": self._now})

    async def renew(self, entry: Entry) -> Entry:
        """Restart an entry's decay and restore it from the archive."""
        await self._set(entry.id, {"last_reinforced_at": self._now, "archived_at": None})
        return await self._get_by_id(entry.id)

    async def set_priority(self, entry: Entry, priority: Priority | str, *, as_told: bool = False) -> None:
        """Change an entry's priority. With `as_told` it also gets the author and trust of this change."""
        values = {"author": self.author, "trusted": entry.trusted or self._trusted} if as_told else {}
        await self._set(entry.id, {"priority": priority, **values})

    async def set_nature(self, entry: Entry, nature: Nature) -> Entry:
        await self._set(entry.id, {"nature": nature})
        return await self._get_by_id(entry.id)

    async def set_kind(self, entry: Entry, kind: Kind) -> Entry:
        """Change an entry's kind and set the default priority of that kind."""
        if columns := build_kind_columns(entry, kind):
            await self._set(entry.id, columns)
        return await self._get_by_id(entry.id)

    async def record_run(self, entry: Entry, *, success: bool) -> Entry:
        """Count a run of a workflow, which also reinforces it and restores it from the archive."""
        columns = {
            "success_count": min(entry.success_count + success, MAX_RECORDED_RUNS),
            "failure_count": min(entry.failure_count + (not success), MAX_RECORDED_RUNS),
            "reinforcement_count": min(entry.reinforcement_count + 1, MAX_REINFORCEMENTS),
        }
        await self._set(entry.id, {**columns, "archived_at": None})
        return await self._get_by_id(entry.id)

    async def reinforce(self, entry: Entry) -> Entry:
        """Count an explicit request to remember an entry. /undo doesn't take this back."""
        await reinforce(self._connection, entry.id, self._now)
        return await self._get_by_id(entry.id)

    async def read_page(self) -> str:
        return await self._page.read()

    async def edit_file(self, edit: Callable[[str], str]) -> None:
        await self._page.edit(edit)

    async def record_line(self, entry: Entry, line: str | None) -> None:
        """Record the line of MEMORY.md that belongs to an entry, or None."""
        await self._set(entry.id, {"line": line})

    async def _exchange_line(self, former: Entry, successor: Entry | None) -> None:
        """Replace a former entry's line in MEMORY.md by its successor's, unless a person has edited it."""
        line = get_line(former)
        # An entry that was superseded before has passed on its line, so an equal line belongs to another entry.
        if line is None or former.superseded_by is not None or not await self._page.has_line(line):
            return
        own = successor.line if successor is not None and successor.id != former.id else None
        new = own or (format_line(successor.content) if successor is not None else None)
        # If the new line exists already, the old one is only deleted.
        await self._page.replace_line(line, None if new is None or await self._page.has_line(new) else new)
        if successor is not None and new is not None and await self._page.has_line(new):
            await self.record_line(successor, new)

    def _validate(self, new: NewEntry) -> NewEntry:
        tags = tuple(make_storable(tag) for tag in new.tags)
        outcome, quote = (make_storable(text or "").strip() or None for text in (new.outcome, new.quote))
        refuse_secret(f"{json.dumps(tags, ensure_ascii=False)}\n{outcome}\n{quote}")
        return replace(
            new,
            name=validate_name(new.name) if new.name is not None else None,
            content=validate_content(new.content),
            tags=tags,
            scope=validate_scope(new.scope),
            outcome=outcome,
            quote=quote,
            author=self.author,
            # An unconfirmed entry may come from a foreign text, so it isn't trusted.
            trusted=self._trusted and new.unconfirmed is None,
        )

    def _refuse_archive(self, entry: Entry) -> None:
        if entry.kind == Kind.ARCHIVE and self.author in (Author.MODEL, Author.MCP):
            raise MemoryRefused(f"{entry.name} is an archive, which is never rewritten: add a note instead.")

    async def _insert(self, name: str, new: NewEntry) -> int:
        entry_id = await insert_entry(self._connection, self.owner_id, name, new, self._now)
        self.before[entry_id] = None
        return entry_id

    async def _release_names(self, entry: Entry) -> None:
        await self._touch(entry.id)
        await self._connection.execute("DELETE FROM names WHERE entry_id = ?", (entry.id,))

    async def _mark_superseded(self, former: Entry, successor_id: int, names: Iterable[str], word: str) -> None:
        """Mark an entry as superseded. It gets a dated name, its successor gets `names` as aliases and the line."""
        for name in names:
            await bind_name(self._connection, self.owner_id, successor_id, name, is_alias=True)
        dated = await self.find_free_name(f"{former.name} {word} {self.moment:%Y-%m-%d}")
        await bind_name(self._connection, self.owner_id, former.id, dated)
        await self._set(former.id, {"superseded_by": successor_id})
        await self._exchange_line(former, await self._get_by_id(successor_id))

    async def _touch(self, entry_id: int) -> None:
        # Only the first state counts, since /undo reverts the whole change.
        if entry_id in self.before:
            return
        (row,) = await self.read("SELECT * FROM entries WHERE id = ?", (entry_id,))
        names = await self.read(
            "SELECT name, is_alias FROM names WHERE entry_id = ? ORDER BY is_alias, key", (entry_id,)
        )
        state = {"row": dict(row), "names": [[*name] for name in names]}
        self.before[entry_id] = json.dumps(state, ensure_ascii=False)

    async def _set(self, entry_id: int, columns: Mapping[str, object]) -> None:
        await self._touch(entry_id)
        assignments = ", ".join(f"{column} = ?" for column in columns)
        await self._connection.execute(f"UPDATE entries SET {assignments} WHERE id = ?", (*columns.values(), entry_id))
