"""Reading and inserting rows of entries and names, and the rules for names and contents."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import fields
from sqlite3 import Row

import aiosqlite

from config.numbers import NUMBER, parse_number
from config.secrets import find_secret, mask_secrets
from config.texts import _, format_number
from memory.clock import from_text, to_text
from memory.errors import MemoryRefused, SecretRefused, UnknownName
from memory.messages import make_storable
from memory.store.entry import Entry, Kind, NewEntry, get_default_priority
from memory.text.wording import clean_name, find_free_name, find_telling_words, make_name_key

MAX_NAME_CHARS = 120
MAX_CONTENT_CHARS = 20_000
NAME_WORDS = 3
"""Number of distinctive words in a generated name."""
MAX_SUGGESTED_NAMES = 3
_FIELDS = [field.name for field in fields(Entry)]
_MOMENTS = ("last_reinforced_at", "created_at", "valid_from", "valid_until", "archived_at", "shared_at")
_NUMBER = re.compile(rf"#({NUMBER})")
Read = Callable[[str, tuple[object, ...]], Awaitable[list[Row]]]
"""Reads rows in a transaction or from the last commit."""

ENTRY_ROWS = (
    "SELECT e.*, o.name AS owner, (SELECT n.name FROM names n WHERE n.entry_id = e.id AND NOT n.is_alias) AS name,"
    " (SELECT json_group_array(n.name) FROM names n WHERE n.entry_id = e.id AND n.is_alias) AS aliases"
    " FROM entries e JOIN owners o ON o.id = e.owner_id"
)
"""SQL query for the rows that `entry_from_row` reads."""
CURRENT = "(e.superseded_by IS NULL AND e.unconfirmed IS NULL AND (e.valid_until IS NULL OR e.valid_until > present()))"
"""SQL condition: the entry `e` is confirmed, not past and not superseded."""
LIVE = f"{CURRENT} AND e.archived_at IS NULL AND e.deleted_at IS NULL"
"""SQL condition: the entry `e` may be in a prompt. The index of the strongest entries includes this condition."""


def sql_list(values: Iterable[str]) -> str:
    """Return constants such as kinds for an IN clause."""
    return ", ".join(f"'{value}'" for value in values)


def entry_from_row(row: Row) -> Entry:
    values = {name: row[name] for name in _FIELDS}
    values |= {name: tuple(json.loads(row[name] or "[]")) for name in ("aliases", "tags", "steps")}
    values |= {name: from_text(row[name]) for name in _MOMENTS if row[name]}
    return Entry(**values | {"kind": parse_kind(row["kind"]), "trusted": bool(row["trusted"])})


async def read_entries(read: Read, where: str, parameters: tuple[object, ...] = ()) -> list[Entry]:
    """Return the entries `e` of owners `o` that fulfil an SQL condition and are not deleted."""
    return [
        entry_from_row(row) for row in await read(f"{ENTRY_ROWS} WHERE e.deleted_at IS NULL AND {where}", parameters)
    ]


def parse_kind(text: str) -> Kind | str:
    """Return the kind, or the text itself if a newer version wrote a kind that this one does not know."""
    return Kind(text) if text in Kind._value2member_map_ else text


async def find_owner_id(read: Read, owner: str) -> int | None:
    rows = await read("SELECT id FROM owners WHERE name = ?", (owner,))
    return int(rows[0]["id"]) if rows else None


async def get_or_create_owner_id(connection: aiosqlite.Connection, owner: str) -> int:
    """Return the id of an owner, inserting a new row if needed. A chat keeps its owner when its id changes."""
    query = "SELECT id FROM owners WHERE name = ?"
    rows = list(await connection.execute_fetchall(query, (owner,)))
    if not rows:
        # A task that began before the chat's id changed, such as a consolidation, still uses the former one.
        moved = "SELECT o.id FROM moves m JOIN owners o ON o.name = m.channel || ':' || m.present"
        rows = list(await connection.execute_fetchall(f"{moved} WHERE m.channel || ':' || m.former = ?", (owner,)))
    if not rows:
        await connection.execute("INSERT INTO owners (name) VALUES (?)", (owner,))
        rows = list(await connection.execute_fetchall(query, (owner,)))
    return int(rows[0][0])


async def find_entry(read: Read, owner_id: int | None, name: str) -> Entry | None:
    """Return the entry with that name, alias or number (`#12`), or None."""
    # The number first: buttons refer to entries by it, and old entries may have such names.
    if (number := _NUMBER.fullmatch(name.strip())) is not None:
        numbered = await read_entries(read, "e.owner_id = ? AND e.id = ?", (owner_id, int(number[1])))
        if numbered:
            return numbered[0]
    key = "e.id = (SELECT entry_id FROM names WHERE owner_id = ? AND key = ?)"
    return next(iter(await read_entries(read, key, (owner_id, make_name_key(name)))), None)


async def find_mentioned_entry(read: Read, owner_id: int | None, reference: str) -> Entry | None:
    """Return the entry that a person refers to: like `find_entry`, and by its number without `#` if no name matches."""
    entry = await find_entry(read, owner_id, reference)
    if entry is None and parse_number(reference.strip()) is not None:
        return await find_entry(read, owner_id, f"#{reference.strip()}")
    return entry


async def get_entry(read: Read, owner_id: int | None, name: str) -> Entry:
    """Return the entry with that name, alias or number. Raise MemoryRefused with similar names if nothing is found."""
    entry = await find_mentioned_entry(read, owner_id, name)
    if entry is not None:
        return entry
    near = await _find_nearest_names(read, owner_id, name)
    called = name.strip()[:MAX_NAME_CHARS]
    if near:
        raise MemoryRefused(
            _("I don't remember anything called {name!r}: did you mean {near}?", name=called, near=", ".join(near))
        )
    text = _("I don't remember anything called {name!r}: /memory shows what I remember.", name=called)
    raise UnknownName(text, called)


async def insert_entry(connection: aiosqlite.Connection, owner_id: int, name: str, new: NewEntry, now: str) -> int:
    columns = {
        "owner_id": owner_id,
        "kind": new.kind,
        "content": new.content,
        "tags": json.dumps(new.tags, ensure_ascii=False),
        "scope": new.scope,
        "priority": new.priority or get_default_priority(new.kind),
        "last_reinforced_at": now,
        "valid_from": to_text(new.valid_from) if new.valid_from else now,
        "subject": make_name_key(new.subject) if new.subject else None,
        "source_message_id": new.source_message_id,
        "author": new.author,
        "trusted": new.trusted,
        "created_at": now,
        "outcome": new.outcome,
        "steps": json.dumps(new.steps, ensure_ascii=False) if new.steps else None,
        "quote": new.quote,
        "unconfirmed": new.unconfirmed,
        "valid_until": to_text(new.valid_until) if new.valid_until else None,
        "proposal": new.proposal,
        "shared_at": now if new.shared_by else None,
        "shared_by": new.shared_by,
        "nature": new.nature,
    }
    values = ", ".join(f":{name}" for name in columns)
    cursor = await connection.execute(f"INSERT INTO entries ({', '.join(columns)}) VALUES ({values})", columns)
    entry_id = int(cursor.lastrowid or 0)
    await bind_name(connection, owner_id, entry_id, name)
    return entry_id


async def cite(connection: aiosqlite.Connection, entry_ids: Iterable[int], turn_id: int) -> None:
    """Set the first message of a turn, once it is stored, as the source of the entries that the turn has made."""
    await connection.executemany(
        "UPDATE entries SET source_message_id = (SELECT min(id) FROM messages WHERE turn_id = ?) WHERE id = ?",
        [(turn_id, entry_id) for entry_id in entry_ids],
    )


async def bind_name(
    connection: aiosqlite.Connection, owner_id: int, entry_id: int, name: str, *, is_alias: bool = False
) -> None:
    """Give an entry a name or alias. Raise MemoryRefused with the other entry if the name is taken."""
    cursor = await connection.execute(
        "INSERT INTO names (owner_id, key, name, entry_id, is_alias) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (owner_id, make_name_key(name), name, entry_id, is_alias),
    )
    if cursor.rowcount == 0:
        await require_free(connection, owner_id, name)


async def require_free(connection: aiosqlite.Connection, owner_id: int, name: str, but: int | None = None) -> None:
    """Raise MemoryRefused if a name belongs to an entry other than `but`."""
    rows = await connection.execute_fetchall(
        "SELECT n.entry_id, n.is_alias, e.kind, c.name FROM names n JOIN entries e ON e.id = n.entry_id"
        " JOIN names c ON c.entry_id = n.entry_id AND NOT c.is_alias WHERE n.owner_id = ? AND n.key = ?",
        (owner_id, make_name_key(name)),
    )
    for row in rows:
        if row["entry_id"] != but:
            held = row["kind"]
            kind = _(held)
            raise MemoryRefused(
                _(
                    "The name {name!r} is taken by an alias of the {kind} {holder!r}: choose another, or change that"
                    " one.",
                    name=name,
                    kind=kind,
                    holder=row["name"],
                )
                if row["is_alias"]
                else _(
                    "The name {name!r} is taken by a {kind}: choose another, or change that one.", name=name, kind=kind
                )
            )


async def generate_name(connection: aiosqlite.Connection, owner_id: int, stem: str, topic: str) -> str:
    """Generate a readable name that is not taken, such as `archive-2026-02-07-docker-health-checks`."""
    # Secrets are removed here, since in the name they would lack the words by which they are recognized.
    words = find_telling_words(mask_secrets(topic).replace("[secret]", " "), NAME_WORDS) or ([] if stem else ["note"])
    return await find_free_entry_name(connection, owner_id, "-".join([*([stem] if stem else []), *words]))


async def find_free_entry_name(connection: aiosqlite.Connection, owner_id: int, target: str) -> str:
    """Return `target`, or the first of `target-2`, `target-3` ... that is not taken."""
    key = make_name_key(target)
    rows = await connection.execute_fetchall(
        # A prefix search as a range, so that it uses the index.
        "SELECT key FROM names WHERE owner_id = ? AND key >= ? AND key < ?",
        (owner_id, key, key + "\uffff"),
    )
    return find_free_name(target, {row[0] for row in rows})


def validate_name(name: str) -> str:
    """Return a name as it is stored. Raise MemoryRefused if it is invalid."""
    usable = clean_name(name)
    if not any(c.isprintable() and not c.isspace() for c in usable):
        raise MemoryRefused(_("A name can't be empty."))
    if _NUMBER.fullmatch(make_name_key(usable)):
        raise MemoryRefused(
            _(
                "A name can't be {name}, because numbers are used for memories: choose a name with a letter in it.",
                name=usable,
            )
        )
    if len(usable) > MAX_NAME_CHARS:
        raise MemoryRefused(
            _(
                "A name can't be longer than {most} characters, and this one has {has}.",
                most=MAX_NAME_CHARS,
                has=len(usable),
            )
        )
    refuse_secret(usable)
    return usable


def validate_content(content: str) -> str:
    """Return a content as it is stored. Raise MemoryRefused if it is empty, too long or contains a secret."""
    usable = make_storable(content).replace("\x00", "").strip()
    if not usable:
        raise MemoryRefused(_("I can't remember an empty text: write what the memory should say."))
    if len(usable) > MAX_CONTENT_CHARS:
        raise MemoryRefused(
            _(
                "A memory can have at most {most} characters, and this one has {has}: shorten it.",
                most=format_number(MAX_CONTENT_CHARS),
                has=format_number(len(usable)),
            )
        )
    refuse_secret(usable)
    return usable


def refuse_secret(text: str) -> None:
    """Raise MemoryRefused if a text contains a key, a token, a password or a card number."""
    if (secret := find_secret(text)) is not None:
        raise create_secret_error(secret)


def create_secret_error(secret: str) -> SecretRefused:
    return SecretRefused(
        _("This looks like {secret}, which I never store: leave it out and try again.", secret=_(secret))
    )


async def _find_nearest_names(read: Read, owner_id: int | None, name: str) -> list[str]:
    # Limited, since difflib compares with each name.
    rows = await read("SELECT key, name FROM names WHERE owner_id = ? ORDER BY entry_id DESC LIMIT 5000", (owner_id,))
    names = {row["key"]: row["name"] for row in rows}
    target = make_name_key(name)
    near = difflib.get_close_matches(target, names, n=MAX_SUGGESTED_NAMES)
    holding = [key for key in names if target and target in key and key not in near]
    return [names[key] for key in (*near, *holding)[:MAX_SUGGESTED_NAMES]]
