"""Export of memory: Markdown for people and JSON lines for machines."""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import json
import re
import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import aiosqlite

from config.secrets import mask_secrets
from memory.errors import StoreError
from memory.files.markdown import make_folder_name
from memory.store.database import Database
from memory.store.schema import NEWEST_FORMAT
from memory.transfer.archive import FILES, MANIFEST, FolderTarget, Manifest, Target, ZipTarget

_OF_OWNER = "owner_id IN (SELECT id FROM owners WHERE name = :owner)"
_OF_CONVERSATION = f"conversation_id IN (SELECT id FROM conversations WHERE {_OF_OWNER})"
_OF_SESSION = "session_id IN (SELECT id FROM sessions WHERE owner = :owner)"

TABLES: dict[str, str | None] = {
    "owners": "name = :owner",
    "sessions": f"id IN (SELECT session_id FROM conversations WHERE {_OF_OWNER}) OR owner = :owner",
    "conversations": _OF_OWNER,
    "media": _OF_OWNER,
    "media_parts": _OF_OWNER,
    "turns": _OF_CONVERSATION,
    "messages": _OF_CONVERSATION,
    "entries": _OF_OWNER,
    "names": _OF_OWNER,
    "imported": _OF_OWNER,
    "import_edits": f"message_id IN (SELECT id FROM messages WHERE {_OF_CONVERSATION})",
    "import_names": _OF_OWNER,
    "markers": _OF_CONVERSATION,
    "changes": _OF_OWNER,
    "forgotten": _OF_OWNER,
    "usage": _OF_SESSION,
    "inbox": _OF_SESSION,
    # By the turn, since the owner of a chat may have changed.
    "outbox": f"turn_id IN (SELECT id FROM turns WHERE {_OF_CONVERSATION}) OR turn_id IS NULL AND {_OF_SESSION}",
    "notices": _OF_OWNER,
    "reminders": _OF_OWNER,
    "preferences": "chat IN (SELECT channel || ':' || chat_id FROM sessions WHERE owner = :owner)",
    "members": None,
    "contacts": None,
    "family": None,
}
"""The exported tables in the order of their references, with an SQL condition for the rows of one owner.

Tables with None are only in a full export.
"""

_ORDER = {
    "names": "owner_id, key",
    "import_names": "owner_id, program, name",
    "sessions": "id",
    "preferences": "chat",
    "members": "channel, user_id",
    "contacts": "channel, number",
    "family": "owner",
}
BATCH_ROWS = 1_000
# Roles, states and times are most of the values and never secrets.
_PLAIN = re.compile(r"[a-z]{1,12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Exporter:
    """Exports the memory of an installation. `root` is the folder of the Markdown files."""

    def __init__(self, database: Database, root: Path) -> None:
        self._database = database
        self._root = root

    async def export(self, folder: Path, owner: str | None = None, *, with_secrets: bool = False) -> dict[str, int]:
        """Export everything, or one owner's memory, into an empty folder. Raises StoreError.

        Return the number of rows by table.

        `rows/TABLE.jsonl` has one row per line, `memory/` the Markdown files, and `entries/` the entries as readable
        text, one file per kind.

        Args:
            with_secrets: Include keys and passwords in texts, instead of `[secret]`.
        """
        if owner is not None and not await self._database.value("SELECT 1 FROM owners WHERE name = ?", (owner,)):
            raise StoreError(f"{owner} has no data: choose an owner from `mneme memory list`.")
        try:
            await asyncio.to_thread(_make_empty, folder, self._root)
            rows = await self._write(FolderTarget(folder), owner, with_secrets=with_secrets)
            await asyncio.to_thread(make_private, folder)
        except OSError as error:
            raise StoreError(f"{folder} can't be written ({error.strerror}): choose another folder.") from error
        return rows

    async def export_zip(self, owner: str, max_bytes: int) -> bytes:
        """Return one owner's export as a zip file without secrets, made in memory. Raises TooLarge and StoreError."""
        file = io.BytesIO()
        try:
            with ZipTarget(file, max_bytes) as target:
                await self._write(target, owner, with_secrets=False)
        except OSError as error:
            raise StoreError(
                f"A file of the memory can't be read ({error.strerror}): check its owner and permissions."
            ) from error
        return file.getvalue()

    async def _write(self, target: Target, owner: str | None, *, with_secrets: bool) -> dict[str, int]:
        async with self._database.snapshot() as connection:
            counts = {
                table: await _write_rows(connection, table, condition, target, owner, with_secrets=with_secrets)
                for table, condition in TABLES.items()
                if condition is not None or owner is None
            }
            await _write_for_people(connection, target, owner)
        part = make_folder_name(owner) if owner is not None else ""
        await asyncio.to_thread(_write_files, self._root / part, f"{FILES}/{part}".rstrip("/"), target, with_secrets)
        # Last, so that an incomplete export has no manifest.
        manifest = Manifest(schema_version=NEWEST_FORMAT, rows=counts)
        await asyncio.to_thread(target.put, MANIFEST, manifest.model_dump_json(exclude_defaults=True).encode())
        return counts


async def _write_rows(
    connection: aiosqlite.Connection,
    table: str,
    condition: str | None,
    target: Target,
    owner: str | None,
    *,
    with_secrets: bool,
) -> int:
    count = 0
    where = condition if owner is not None else "true"
    async with connection.execute(
        f"SELECT * FROM {table} WHERE {where} ORDER BY {_ORDER.get(table, 'id')}",
        {"owner": owner},
    ) as cursor:
        async for rows in _fetch_batches(cursor):
            await asyncio.to_thread(target.append, f"rows/{table}.jsonl", _dump_rows(rows, with_secrets=with_secrets))
            count += len(rows)
    return count


def _dump_rows(rows: Iterable[sqlite3.Row], *, with_secrets: bool) -> Iterator[str]:
    """Yield rows as JSON. Masking secrets is slow, so this runs in the thread that writes them."""
    for row in rows:
        yield json.dumps(dict(row) if with_secrets else _mask(dict(row)), ensure_ascii=False)


def _mask(value: object) -> Any:  # The type of the value.
    """Mask the secrets in a value, also in columns with JSON."""
    if isinstance(value, dict):
        return {key: _mask(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_mask(part) for part in value]
    if not isinstance(value, str) or _PLAIN.fullmatch(value):
        return value
    if value[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            held = json.loads(value)
            masked = _mask(held)
            return value if masked == held else json.dumps(masked, ensure_ascii=False)
    return mask_secrets(value)


def _write_files(folder: Path, name: str, target: Target, with_secrets: bool) -> None:
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        inside = f"{name}/{path.name}"
        if path.name.startswith("."):
            continue
        if path.is_dir():
            _write_files(path, inside, target, with_secrets)
        else:
            target.put(
                inside, path.read_bytes() if with_secrets or path.suffix != ".md" else _read_without_secrets(path)
            )


def _read_without_secrets(path: Path) -> bytes:
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    return mask_secrets(text).encode("utf-8", "surrogateescape")


async def _fetch_batches(cursor: aiosqlite.Cursor) -> AsyncIterator[list[sqlite3.Row]]:
    """Yield rows in batches, at least an empty one, so that every table has a file."""
    rows = list(await cursor.fetchmany(BATCH_ROWS))
    yield rows
    while rows := list(await cursor.fetchmany(BATCH_ROWS)):
        yield rows


async def _write_for_people(connection: aiosqlite.Connection, target: Target, owner: str | None) -> None:
    titled: set[str] = set()
    async with connection.execute(
        "SELECT o.name AS owner, e.kind, n.name, e.content, e.outcome, e.created_at FROM entries e"
        " JOIN owners o ON o.id = e.owner_id JOIN names n ON n.entry_id = e.id AND NOT n.is_alias"
        " WHERE e.deleted_at IS NULL AND (:owner IS NULL OR o.name = :owner) ORDER BY o.name, e.kind, e.id",
        {"owner": owner},
    ) as cursor:
        async for rows in _fetch_batches(cursor):
            for name, alike in itertools.groupby(rows, key=_make_file_name):
                lines = [_format_for_people(row) for row in alike]
                title = [] if name in titled else [f"# {PurePosixPath(name).stem}"]
                titled.add(name)
                await asyncio.to_thread(target.append, name, [*title, *lines])


def _format_for_people(row: sqlite3.Row) -> str:
    ended = f"\n\nOutcome: {row['outcome']}" if row["outcome"] else ""
    return f"\n## {row['name']}\n\n{row['content']}{ended}\n\n_{row['created_at']}_"


def _make_file_name(row: sqlite3.Row) -> str:
    return f"entries/{make_folder_name(row['owner'])}/{make_folder_name(row['kind'])}.md"


def _make_empty(folder: Path, root: Path) -> None:
    if folder.resolve().is_relative_to(root.resolve()):
        raise StoreError(f"{folder} is inside of what is exported: name a folder elsewhere.")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if any(folder.iterdir()):
        raise StoreError(f"{folder} is not empty: choose a new folder.")
    folder.chmod(0o700)  # An existing folder may have been readable by others.


def make_private(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.exists():
            path.chmod(0o700 if path.is_dir() else 0o600)
