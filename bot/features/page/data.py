"""Data and changes of the memory page, as JSON-compatible values, dataclasses and dates.

Each function works on the memory of the page's owner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bot.commands.memory_browser import FOREIGN, LOOKED_UP, describe_layer, describe_origin
from bot.commands.memory_changes import format_undo
from bot.services import MemoryServices
from config.texts import N_, _
from memory.browsing import ListedChange, ListedEntry
from memory.clock import Clock
from memory.errors import MemoryRefused
from memory.ledger.undo_outcomes import explain_nothing_undone
from memory.log.sessions import Session
from memory.search.recall_results import RecallResult
from memory.search.types import Filter
from memory.store.entry import Operation
from memory.transfer.file_importer import FileImporter

MAX_RESULTS = 20
MAX_CHANGE_TEXTS = 5

VERBS: dict[str, str] = {
    Operation.ADD: N_("Added"),
    Operation.RENAME: N_("Renamed"),
    Operation.ALIAS: N_("Named"),
    Operation.WRITE: N_("Changed"),
    Operation.REMOVE: N_("Forgot"),
    Operation.LEARN: N_("Learned"),
    Operation.RECORD: N_("Noted"),
    Operation.CONSOLIDATE: N_("Learned from a conversation"),
    Operation.EDIT: N_("Changed"),
    Operation.CONFIRM: N_("Confirmed"),
    Operation.COMPRESS: N_("Shortened"),
    Operation.IMPORT: N_("Imported"),
    Operation.SHARE: N_("Shared"),
    Operation.WITHDRAW: N_("Stopped sharing"),
}
"""The operations of listed changes, as people call them."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PageData:
    memory: MemoryServices
    session: Session
    clock: Clock
    importer: FileImporter | None

    @property
    def owner(self) -> str:
        return self.session.owner

    async def overview(self) -> Json:
        unsure = await self.memory.entries.list_unconfirmed(self.owner)
        growth = await self.memory.browser.count_by_month(self.owner)
        return {
            "owner": self.owner,
            "unsure": len(unsure),
            "imports": self.importer is not None,
            "imported": any(entry.author == "import" for entry in unsure),
            "growth": [{"month": month, "learned": learned, "holding": holding} for month, learned, holding in growth],
        }

    async def timeline(self, state: str, before: int | None) -> Json:
        listed = await self.memory.browser.read_timeline(self.owner, state, before)
        return {"entries": [self._entry_to_json(item) for item in listed]}

    async def entry(self, entry_id: int) -> Json:
        listed = await self.memory.browser.read_entry(self.owner, entry_id)
        if listed is None or listed.entry.name is None:
            raise MemoryRefused(_("This memory no longer exists."))
        return self._entry_to_json(listed)

    async def edit(self, entry_id: int, content: str) -> Json:
        # Raises for entries that are deleted or belong to another owner
        await self.entry(entry_id)
        await self.memory.entries.edit(self.owner, f"#{entry_id}", content)
        return await self.entry(entry_id)

    async def confirm(self, entry_id: int) -> Json:
        await self.entry(entry_id)
        await self.memory.entries.confirm(self.owner, f"#{entry_id}")
        return await self.entry(entry_id)

    async def confirm_imported(self) -> Json:
        count, _change = await self.memory.entries.confirm_imported(self.owner)
        return {"confirmed": count}

    async def forget(self, entry_id: int) -> Json:
        await self.entry(entry_id)
        await self.memory.entries.remove(self.owner, f"#{entry_id}")
        return {}

    async def search(self, words: str) -> Json:
        if not words.strip():
            return {"found": []}
        results = await self.memory.recall.recall(words, self.owner, Filter(), MAX_RESULTS, forgotten_too=True)
        ids = [result.hit.id for result in results if result.said is None]
        listed = await self.memory.browser.read_entries(self.owner, ids)
        return {"found": [self._result_to_json(result, listed) for result in results]}

    async def conversations(self, before: int | None) -> Json:
        return {"conversations": await self.memory.browser.read_conversations(self.owner, before)}

    async def conversation(self, conversation: int, from_message: int) -> Json:
        messages = await self.memory.browser.read_conversation(self.owner, conversation, from_message)
        if not messages:
            raise MemoryRefused(_("This conversation no longer exists."))
        return {
            "messages": [
                {
                    "id": message.id,
                    "role": message.role,
                    "speaker": message.speaker,
                    "provenance": message.provenance,
                    "text": message.content,
                    "at": message.created_at.isoformat(),
                }
                for message in messages
            ]
        }

    async def changes(self) -> Json:
        changes = await self.memory.browser.read_changes(self.owner)
        return {"changes": [_change_to_json(change) for change in changes]}

    async def undo(self, number: int) -> Json:
        """Undo a change. Raises MemoryRefused if that is impossible."""
        undone = await self.memory.undo.undo(self.owner, number)
        if undone is not None:
            return {"text": format_undo(undone)}
        return {"text": explain_nothing_undone(is_expired=await self.memory.undo.is_expired(self.owner, number))}

    async def file(self) -> Json:
        return {"text": await self.memory.long_term.read(self.owner)}

    async def write_file(self, before: str, after: str) -> Json:
        """Save the notes file. Raises MemoryRefused if it was changed by someone else."""
        await self.memory.long_term.rewrite(self.owner, before, after)
        return await self.file()

    async def last_request(self) -> Json:
        reasons = await self.memory.activation_log.read_last(self.session.id)
        notes = await self.memory.activation_log.read_recalled_entries(self.session.id)
        return {
            "memories": [
                {
                    "entry": None if reason.entry is None else reason.entry.id,
                    "content": None if reason.entry is None else reason.entry.content,
                    "layer": describe_layer(reason.layer),
                    "score": round(reason.score, 2),
                    "tokens": reason.tokens,
                }
                for reason in reasons
            ]
            + [
                {"entry": note.id, "content": note.content, "layer": _(LOOKED_UP), "score": None, "tokens": None}
                for note in notes
            ],
            "tokens": sum(reason.tokens for reason in reasons),
            "file": await self.memory.long_term.read_lines(self.owner),
        }

    async def import_file(self, path: Path, *, look: bool) -> Json:
        assert self.importer is not None, "otherwise the page has no imports"  # noqa: S101
        importing = self.importer.preview_file if look else self.importer.import_file
        return asdict(await importing(path, self.session))

    def _result_to_json(self, result: RecallResult, own: Mapping[int, ListedEntry]) -> Json:
        """Return an exchange with its place, an entry as in the timeline, or the text of another's shared entry.

        Args:
            own: The owner's entries among the results, by their ids.
        """
        hit = result.hit
        if result.said is not None:
            lines = [{"who": message.source, "text": message.text} for message in result.messages]
            return {"at": hit.created_at, "lines": lines, "conversation": hit.conversation_id, "message": hit.id}
        listed = own.get(hit.id)
        if listed is not None and listed.entry.name is not None:
            return {"entry": self._entry_to_json(listed)}
        return {"at": hit.created_at, "lines": [{"who": None, "text": hit.content}], "shared_by": hit.shared_by}

    def _entry_to_json(self, listed: ListedEntry) -> Json:
        entry, decay = listed.entry, self.memory.decay
        reinforced = entry.reinforcement_count, entry.last_reinforced_at
        return {
            "id": entry.id,
            "name": entry.name,
            "kind": str(entry.kind),
            "content": entry.content,
            "steps": entry.steps,
            "outcome": entry.outcome,
            "tags": entry.tags,
            "priority": entry.priority,
            "quote": entry.quote,
            "where": describe_origin(entry),
            "foreign": None if entry.trusted else _(FOREIGN),
            "at": entry.created_at,
            "valid_from": entry.valid_from,
            "valid_until": entry.valid_until,
            "unconfirmed": None if entry.unconfirmed is None else _(entry.unconfirmed),
            "superseded": entry.superseded_by is not None,
            "successor": listed.successor,
            "archived": entry.archived_at is not None,
            "strength": round(decay.score(entry.kind, *reinforced, self.clock()), 2),
            "fades": decay.compute_fading_time(entry.kind, *reinforced).date(),
            "source": listed.source,
        }


def _change_to_json(change: ListedChange) -> Json:
    texts = [f"{text} ({_('replaced')})" if text in change.replaced else text for text in change.texts]
    return {
        "number": change.number,
        "verb": _(VERBS[change.operation]) if change.operation in VERBS else change.operation,
        "at": change.at,
        "texts": texts[:MAX_CHANGE_TEXTS],
        "more": max(0, len(texts) - MAX_CHANGE_TEXTS),
        "in_file": change.in_file,
    }
