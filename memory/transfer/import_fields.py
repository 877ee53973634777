"""Validation of the rows of an import.

An export may have been written by anyone. So only memory and the log are imported, and each field must have a value
that this program could have written itself, which is checked by its name or its type in the schema. The schema's own
constraints apply too.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from zoneinfo import ZoneInfo

import aiosqlite

from memory.clock import from_text
from memory.errors import StoreError
from memory.log.sessions import SHARED_OWNER, Address
from memory.messages import Provenance
from memory.store.entry import Author, Nature, Operation, Priority, Proposal
from memory.store.erasure import ERASED
from memory.store.private import FIRST_ID
from memory.text.wording import make_name_key

Row = dict[str, object]
Check = Callable[[object], bool]
Fields = Mapping[str, Mapping[str, Check]]
"""The checks of each imported table by field name."""

TAKEN = (
    "owners",
    "sessions",
    "conversations",
    "media",
    "media_parts",
    "turns",
    "messages",
    "entries",
    "names",
    "imported",
    "import_edits",
    "import_names",
    "markers",
    "changes",
    "forgotten",
    "reminders",
)
"""The imported tables in the order of their references."""
LEFT_OUT: Mapping[str, str] = {
    "members": "who was let in",
    "contacts": "names of people and groups",
    "family": "who belongs to the family",
    "inbox": "messages received",
    "outbox": "messages to be sent",
    "notices": "lines to be told",
    "preferences": "settings of chats",
    "usage": "figures of use",
}
"""Tables of an export that are not imported, since they could grant access or send messages, with descriptions."""

# A message has up to a million characters, a document two.
_MAX_TEXT_CHARS = 2_000_000
MAX_REMINDER_CHARS = 500
# Higher ids belong to private talks.
_MAX_ID = FIRST_ID - 1
_MAX_OWNER_ID = (1 << 22) - 1
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def _text(max_chars: int = _MAX_TEXT_CHARS, *, min_chars: int = 0) -> Check:
    def check(value: object) -> bool:
        # Half a surrogate pair raises.
        return isinstance(value, str) and min_chars <= len(value) <= max_chars and value.encode() is not None

    return check


def _number(first: int = 0, last: int = _MAX_ID) -> Check:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and first <= value <= last


def _real(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _one_of(kind: type[StrEnum]) -> Check:
    return lambda value: isinstance(value, str) and value in frozenset(kind)


def _moment(value: object) -> bool:
    return isinstance(value, str) and _MOMENT.fullmatch(value) is not None and from_text(value) is not None


def _json(is_right: Check) -> Check:
    return lambda value: isinstance(value, str) and is_right(json.loads(value))


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _texts_by_name(value: object) -> bool:
    return isinstance(value, dict) and all(map(_text(), value.values()))


_OF_CALL = {"id", "name", "arguments"}
_NAME, _FLAG = _text(1_000, min_chars=1), _number(0, 1)
_BY_TYPE: Mapping[str, Check] = {"TEXT": _text(), "INTEGER": _number(), "REAL": _real}
_BY_NAME: Mapping[str, Check] = {
    "owner_id": _number(1, _MAX_OWNER_ID),
    **dict.fromkeys(("name", "kind", "channel", "chat_id", "owner", "session_id"), _NAME),
    **dict.fromkeys(("trusted", "private", "is_alias", "is_user", "undone", "unwritten"), _FLAG),
    **dict.fromkeys(("at", "valid_from", "valid_until", "told_for"), _moment),
    **dict.fromkeys(("before", "after"), _text(8 * _MAX_TEXT_CHARS)),
    **dict.fromkeys(("tags", "steps"), _json(_list_of(_text()))),
    "priority": _one_of(Priority),
    "nature": _one_of(Nature),
    "author": _one_of(Author),
    "operation": _one_of(Operation),
    "provenance": _one_of(Provenance),
    "metadata": _json(_texts_by_name),
    "tool_calls": _json(_list_of(lambda call: _texts_by_name(call) and _parse_row(call).keys() == _OF_CALL)),
    "media": _json(_list_of(_number(1))),
    "proposal": lambda value: isinstance(value, str) and Proposal.from_text(value).to_text() == value,
    "size": _number(0, 1 << 50),
    "text": _text(MAX_REMINDER_CHARS, min_chars=1),
    "first": lambda value: isinstance(value, str) and len(value) <= 30 and from_text(value).tzinfo is None,
    "zone": lambda value: isinstance(value, str) and ZoneInfo(value) is not None,
    "days": lambda value: isinstance(value, str) and re.fullmatch(r"(?:[0-6](?:,[0-6]){0,6})?", value) is not None,
}


async def read_fields(connection: aiosqlite.Connection) -> Fields:
    return {
        table: {
            row["name"]: _allow_null(
                _build_check(table, row["name"], row["type"]), may_be=not (row["notnull"] or row["pk"])
            )
            for row in await connection.execute_fetchall(f"PRAGMA table_info({table})")
        }
        for table in TAKEN
    }


def _build_check(table: str, name: str, kind: str) -> Check:
    if table == "owners":
        return (
            _BY_NAME["owner_id"] if name == "id" else lambda value: _NAME(value) and not str(value).startswith(ERASED)
        )
    if name == "id":
        return _number(1) if kind == "INTEGER" else _NAME
    return _moment if name.endswith("_at") else _BY_NAME.get(name, _BY_TYPE[kind])


def _allow_null(check: Check, *, may_be: bool) -> Check:
    return lambda value: check(value) if value is not None else may_be


def check_row(fields: Fields, table: str, row: Row) -> Row:
    """Return a row as it is imported. Raise StoreError or ValueError if it is invalid."""
    if "private" not in fields[table] and row.get("private") == 0:  # Exports of formats up to 39 have this column.
        row = {name: value for name, value in row.items() if name != "private"}
    if unknown := ", ".join(sorted(row.keys() - fields[table].keys())):
        raise StoreError(f"The export has {unknown} in {table}: it needs a newer Mneme.")
    wrong = next((name for name, value in row.items() if not _fits(fields[table][name], value)), None)
    if wrong is None and "id" in fields[table] and "id" not in row:
        wrong = "id"
    match table if wrong is None else None:
        case "sessions":
            wrong = _find_wrong_session_field(row)
        case "names":
            wrong = None if row.get("key") == make_name_key(str(row.get("name"))) else "key"
        case "changes":
            wrong = _find_wrong_change_field(fields, row)
    if wrong is not None:
        raise ValueError(f"{table}: a row with the {wrong} {str(row.get(wrong))[:50]!r}")
    if table == "sessions":
        return row | {"activated": None, "private": 0}  # Neither applies here.
    if table == "entries":
        return row | {"shared_at": None, "shared_by": None}  # People share entries again in this installation.
    return row | _reset_reminder(row) if table == "reminders" else row


def _fits(check: Check, value: object) -> bool:
    try:
        return check(value)
    # Parsers and the list of time zones raise these.
    except (ValueError, KeyError, TypeError, OSError, RecursionError):
        return False


def _find_wrong_session_field(row: Row) -> str | None:
    thread = row.get("thread_id")
    address = Address(str(row.get("channel")), str(row.get("chat_id")), thread if isinstance(thread, str) else None)
    if row.get("id") != address.session_id:
        return "id"
    return None if row.get("owner") in (address.owner, SHARED_OWNER) else "owner"


def _find_wrong_change_field(fields: Fields, row: Row) -> str | None:
    """Check that a change has valid former states, since /undo restores them."""
    before = row.get("before")
    if row.get("entry_id") == 0:
        return None if before is not None and row.get("after") is not None else "before"
    is_right = before is None or _fits(lambda text: _is_snapshot(fields, row, json.loads(str(text))), before)
    return None if is_right else "before"


def _is_snapshot(fields: Fields, change: Row, state: object) -> bool:
    """Return True if a former state is valid. /undo writes its fields into the entry."""
    of_entry, row = fields["entries"], _parse_row(_parse_row(state).get("row"))
    same = row.get("id") == change.get("entry_id") and row.get("owner_id") == change.get("owner_id")
    has_its_fields = same and row.keys() <= of_entry.keys() and row.keys() >= {"content", "deleted_at", "archived_at"}
    named = _list_of(lambda item: isinstance(item, list) and len(item) == 2 and _NAME(item[0]) and item[1] in (0, 1))
    fit = has_its_fields and all(_fits(of_entry[name], value) for name, value in row.items())
    return fit and _parse_row(state).keys() == {"row", "names"} and named(_parse_row(state)["names"])


def _parse_row(value: object) -> Row:
    return value if isinstance(value, dict) else {}


def _reset_reminder(row: Row) -> Row:
    """Return the changed columns of a reminder. It is due again if its message was in the outbox."""
    again = {"state": "waiting", "next_at": row.get("told_for")}
    return {"outbox_id": None} | (again if row.get("state") == "telling" else {})


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
    "a change by another's import": "SELECT 1 FROM import_edits d JOIN messages m ON m.id = d.message_id"
    " JOIN conversations c ON c.id = m.conversation_id JOIN entries e ON e.id = d.entry_id"
    " WHERE e.owner_id <> c.owner_id",
    "a part of another's document": "SELECT 1 FROM media_parts p JOIN media m ON m.id = p.media_id"
    " WHERE p.owner_id <> m.owner_id",
    "a change of another's memory": "SELECT 1 FROM changes c JOIN entries e ON e.id = c.entry_id"
    " WHERE c.owner_id <> e.owner_id",
    "a change of two memories": "SELECT 1 FROM changes GROUP BY batch HAVING count(DISTINCT owner_id) > 1",
}
"""Inconsistencies between rows, with a query that finds each."""
