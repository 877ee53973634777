"""What an import takes, table by table, and what each field of a row may be.

An export is a file like any other: somebody else can have written it. So only memory and the log are taken, and no
field goes into the database that this program could not have written there itself.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeGuard
from zoneinfo import ZoneInfo

from memory.clock import from_text
from memory.errors import StoreError
from memory.log.sessions import SHARED_OWNER, Address, SessionState
from memory.messages import Provenance, Role
from memory.reminders.recurrence import Repeat
from memory.reminders.reminder import ReminderState, TaskSound
from memory.reminders.request import LONGEST_TEXT
from memory.store.entry import Author, Operation, Priority, Proposal
from memory.store.erasure import ERASED
from memory.store.private import FIRST_ID
from memory.text.naming import name_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import StrEnum

Row = dict[str, object]
Check = Callable[[object], bool]

# characters of a content: a message has a million at most, a document two
_MOST_TEXT = 2_000_000
# the numbers after it are those of private talks
_MOST_ID = FIRST_ID - 1
_MOST_OWNER = (1 << 22) - 1
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def _is_text(value: object, most: int = _MOST_TEXT) -> TypeGuard[str]:
    if not isinstance(value, str) or len(value) > most:
        return False
    value.encode()  # half a surrogate pair raises
    return True


def _is_number(value: object, first: int, last: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and first <= value <= last


def _text(most: int = _MOST_TEXT, *, least: int = 0) -> Check:
    return lambda value: _is_text(value, most) and len(value) >= least


def _number(first: int = 0, last: int = _MOST_ID) -> Check:
    return lambda value: _is_number(value, first, last)


def _one_of(kind: type[StrEnum]) -> Check:
    values = frozenset(kind)
    return lambda value: isinstance(value, str) and value in values


def _words(*words: str) -> Check:
    return lambda value: isinstance(value, str) and value in words


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _moment(value: object) -> bool:
    return isinstance(value, str) and _MOMENT.fullmatch(value) is not None and from_text(value) is not None


def _wall_time(value: object) -> bool:
    return isinstance(value, str) and len(value) <= 30 and from_text(value).tzinfo is None


def _zone(value: object) -> bool:
    return isinstance(value, str) and ZoneInfo(value) is not None


def _real(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _json(is_right: Check) -> Check:
    return lambda value: _is_text(value) and is_right(json.loads(value))


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _tool_call(value: object) -> bool:
    return (
        isinstance(value, dict) and value.keys() == {"id", "name", "arguments"} and all(map(_is_text, value.values()))
    )


def _texts_by_name(value: object) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _proposal(value: object) -> bool:
    return _is_text(value) and Proposal.from_text(value).to_text() == value


_ID, _NAME, _FLAG = _number(1), _text(1_000, least=1), _number(0, 1)
_OWNER = _number(1, _MOST_OWNER)
_TEXTS = _json(_list_of(_is_text))
_SHORT = _text(4_000)

_ENTRY: Mapping[str, Check] = {
    "id": _ID,
    "owner_id": _OWNER,
    "kind": _NAME,
    "content": _text(),
    "tags": _TEXTS,
    "scope": _or_null(_SHORT),
    "priority": _one_of(Priority),
    "outcome": _or_null(_text()),
    "success_count": _number(),
    "failure_count": _number(),
    "steps": _or_null(_TEXTS),
    "reinforcement_count": _number(),
    "last_reinforced_at": _moment,
    "valid_from": _moment,
    "valid_until": _or_null(_moment),
    "superseded_by": _or_null(_ID),
    "source_message_id": _or_null(_ID),
    "author": _one_of(Author),
    "trusted": _FLAG,
    "created_at": _moment,
    "archived_at": _or_null(_moment),
    "deleted_at": _or_null(_moment),
    "subject": _or_null(_SHORT),
    "strength": _real,
    "line": _or_null(_text()),
    "unconfirmed": _or_null(_SHORT),
    "quote": _or_null(_text()),
    "proposal": _or_null(_proposal),
}
FIELDS: Mapping[str, Mapping[str, Check]] = {
    "owners": {"id": _OWNER, "name": lambda value: _NAME(value) and not str(value).startswith(ERASED)},
    "sessions": {
        "id": _NAME,
        "channel": _NAME,
        "chat_id": _NAME,
        "thread_id": _or_null(_NAME),
        "owner": _NAME,
        "state": _one_of(SessionState),
        "metadata": _json(_texts_by_name),
        "created_at": _moment,
        "updated_at": _moment,
        "activated": lambda _: True,  # what is told of the last turn only: it is left out
        "private": _FLAG,
    },
    "conversations": {
        "id": _ID,
        "session_id": _NAME,
        "owner_id": _OWNER,
        "started_at": _moment,
        "ended_at": _or_null(_moment),
        "consolidated_through": _number(),
        "consolidation_due": _number(),
    },
    "media": {
        "id": _ID,
        "owner_id": _OWNER,
        "session_id": _NAME,
        "kind": _NAME,
        "channel": _NAME,
        "file_id": _NAME,
        "unique_id": _NAME,
        "name": _or_null(_SHORT),
        "mime_type": _or_null(_SHORT),
        "size": _or_null(_number(0, 1 << 50)),
        "about": _or_null(_text()),
        "created_at": _moment,
    },
    "media_parts": {
        "id": _ID,
        "media_id": _ID,
        "owner_id": _OWNER,
        "number": _number(),
        "label": _SHORT,
        "content": _text(),
    },
    "turns": {
        "id": _ID,
        "conversation_id": _ID,
        "outcome": _words("answered", "stopped", "failed", "retried"),
        "failure": _or_null(_text()),
        "started_at": _moment,
        "finished_at": _moment,
        "note": _or_null(_words("due", "written")),
    },
    "messages": {
        "id": _ID,
        "conversation_id": _ID,
        "turn_id": _ID,
        "role": _one_of(Role),
        "content": _text(),
        "speaker": _or_null(_SHORT),
        "provenance": _or_null(_one_of(Provenance)),
        "tool_calls": _or_null(_json(_list_of(_tool_call))),
        "tool_call_id": _or_null(_SHORT),
        "created_at": _moment,
        "media": _or_null(_json(_list_of(_ID))),
    },
    "entries": _ENTRY,
    "names": {"owner_id": _OWNER, "key": _text(4_000), "name": _NAME, "entry_id": _ID, "is_alias": _FLAG},
    "imported": {
        "id": _ID,
        "owner_id": _OWNER,
        "program": _NAME,
        "source_id": _SHORT,
        "entry_id": _ID,
        "conversation_id": _or_null(_ID),
        "messages": _number(),
        "digest": _NAME,
        "undone": _FLAG,
        "learning_tries": _number(),
        "learned_through": _number(),
    },
    "markers": {
        "id": _ID,
        "conversation_id": _ID,
        "archive_name": _SHORT,
        "archive_id": _number(),
        "archived_at": _moment,
        "first_kept_message_id": _number(),
        "summary": _or_null(_text()),
        "trusted": _or_null(_FLAG),
    },
    "changes": {
        "id": _ID,
        "batch": _ID,
        "owner_id": _OWNER,
        "entry_id": _number(),
        "operation": _one_of(Operation),
        "author": _one_of(Author),
        "before": _or_null(_text(8 * _MOST_TEXT)),
        "after": _or_null(_text(8 * _MOST_TEXT)),
        "at": _moment,
        "undone_at": _or_null(_moment),
        "unwritten": _FLAG,
    },
    "reminders": {
        "id": _ID,
        "owner_id": _OWNER,
        "session_id": _NAME,
        "text": _text(LONGEST_TEXT, least=1),
        "repeat": _one_of(Repeat),
        "first": _wall_time,
        "zone": _zone,
        "days": lambda value: isinstance(value, str) and re.fullmatch(r"(?:[0-6](?:,[0-6]){0,6})?", value) is not None,
        "state": _one_of(ReminderState),
        "next_at": _or_null(_moment),
        "told_for": _or_null(_moment),
        "told_at": _or_null(_moment),
        "outbox_id": _or_null(_ID),
        "trusted": _FLAG,
        "entry_id": _or_null(_ID),
        "task": _or_null(_one_of(TaskSound)),
        "failures": _number(),
        "created_at": _moment,
    },
}
"""Of each table that an import takes what its fields may hold, in the order in which rows can refer to each other."""

LEFT_OUT: Mapping[str, str] = {
    "members": "who was let in",
    "inbox": "messages received",
    "outbox": "messages to be sent",
    "notices": "lines to be told",
    "preferences": "settings of chats",
    "usage": "figures of use",
}
"""What an export has besides, and an import leaves out: it could speak for others, and is no memory."""


def checked(table: str, row: Row) -> Row:
    """A row as it is taken. Raises StoreError for one that an export of Mneme can't have."""
    fields = FIELDS[table]
    if "private" not in fields and row.get("private") == 0:  # as exports of formats up to 39 say of every row
        row = {name: value for name, value in row.items() if name != "private"}
    if unknown := ", ".join(sorted(row.keys() - fields.keys())):
        raise StoreError(f"The export has {unknown} in {table}: it needs a newer Mneme.")
    wrong = next((name for name, value in row.items() if not _fits(fields[name], value)), None)
    if wrong is None and "id" in fields and "id" not in row:
        wrong = "id"
    if wrong is None and table in _WRONG_TOGETHER:
        wrong = _WRONG_TOGETHER[table](row)
    if wrong is not None:
        raise ValueError(f"{table}: a row with the {wrong} {str(row.get(wrong))[:50]!r}")
    return row | _AS_TAKEN[table](row) if table in _AS_TAKEN else row


def _fits(check: Check, value: object) -> bool:
    try:
        return check(value)
    except (ValueError, KeyError, OSError, RecursionError):  # what its own parser, or the list of zones, refuses
        return False


def _wrong_in_session(row: Row) -> str | None:
    address = Address(str(row.get("channel")), str(row.get("chat_id")), _as_text(row.get("thread_id")))
    if row.get("id") != address.session_id:
        return "id"
    return None if row.get("owner") in (address.owner, SHARED_OWNER) else "owner"


def _wrong_in_name(row: Row) -> str | None:
    return None if row.get("key") == name_key(str(row.get("name"))) else "key"


def _wrong_in_change(row: Row) -> str | None:
    """A change of MEMORY.md has its texts; of an entry, what that was before, if anything."""
    before = row.get("before")
    if row.get("entry_id") == 0:
        return None if before is not None and row.get("after") is not None else "before"
    return None if before is None or _fits(lambda _: _is_snapshot(row, json.loads(str(before))), before) else "before"


def _is_snapshot(change: Row, state: object) -> bool:
    """Whether a change can be taken back with this: /undo writes each of its fields, by its name, into the entry."""
    if not isinstance(state, dict) or state.keys() != {"row", "names"} or not isinstance(state["row"], dict):
        return False
    row = state["row"]
    same = row.get("id") == change.get("entry_id") and row.get("owner_id") == change.get("owner_id")
    has_its_fields = same and row.keys() <= _ENTRY.keys() and row.keys() >= {"content", "deleted_at", "archived_at"}
    named = _list_of(lambda item: isinstance(item, list) and len(item) == 2 and _NAME(item[0]) and item[1] in (0, 1))
    return has_its_fields and all(_fits(_ENTRY[name], value) for name, value in row.items()) and named(state["names"])


def _reminder_as_taken(row: Row) -> Row:
    """One whose message was on its way is due again: the message is not taken."""
    again = {"state": ReminderState.WAITING.value, "next_at": row.get("told_for")}
    return {"outbox_id": None} | (again if row.get("state") == ReminderState.TELLING else {})


def _as_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


# which field of a row does not go with the others, if any
_WRONG_TOGETHER: Mapping[str, Callable[[Row], str | None]] = {
    "sessions": _wrong_in_session,
    "names": _wrong_in_name,
    "changes": _wrong_in_change,
}
_AS_TAKEN: Mapping[str, Callable[[Row], Row]] = {
    "sessions": lambda _: {"activated": None, "private": 0},
    "reminders": _reminder_as_taken,
}

TOGETHER: Mapping[str, str] = {
    "a name of another's memory": "SELECT 1 FROM names n JOIN entries e ON e.id = n.entry_id"
    " WHERE n.owner_id <> e.owner_id",
    "a memory without a name": "SELECT 1 FROM entries e WHERE e.deleted_at IS NULL"
    " AND (SELECT count(*) FROM names n WHERE n.entry_id = e.id AND NOT n.is_alias) <> 1",
    "a memory in the place of another's": "SELECT 1 FROM entries e JOIN entries s ON s.id = e.superseded_by"
    " WHERE s.owner_id <> e.owner_id",
    "a message in two conversations": "SELECT 1 FROM messages m JOIN turns t ON t.id = m.turn_id"
    " WHERE m.conversation_id <> t.conversation_id",
    "a summary of another's": "SELECT 1 FROM markers k JOIN conversations c ON c.id = k.conversation_id"
    " JOIN entries e ON e.id = k.archive_id WHERE e.owner_id <> c.owner_id",
    "an import of another's": "SELECT 1 FROM imported i JOIN conversations c ON c.id = i.conversation_id"
    " WHERE i.owner_id <> c.owner_id",
    "a part of another's document": "SELECT 1 FROM media_parts p JOIN media m ON m.id = p.media_id"
    " WHERE p.owner_id <> m.owner_id",
    "a change of another's memory": "SELECT 1 FROM changes c JOIN entries e ON e.id = c.entry_id"
    " WHERE c.owner_id <> e.owner_id",
    "a change of two memories": "SELECT 1 FROM changes GROUP BY batch HAVING count(DISTINCT owner_id) > 1",
}
"""What rows may not be together, each with the query that finds it."""
