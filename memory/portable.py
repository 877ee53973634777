"""Taking memory along: everything as Markdown for people and JSON lines for machines, and back."""

from __future__ import annotations

import asyncio
import json
import shutil
from typing import TYPE_CHECKING

from memory.errors import StoreError
from memory.index import rebuild

if TYPE_CHECKING:
    from pathlib import Path

    import aiosqlite

    from memory.database import Database

_OF_OWNER = "owner_id IN (SELECT id FROM owners WHERE name = :owner)"
_OF_CONVERSATION = f"conversation_id IN (SELECT id FROM conversations WHERE {_OF_OWNER})"
_OF_SESSION = f"session_id IN (SELECT session_id FROM conversations WHERE {_OF_OWNER})"

TABLES: dict[str, str | None] = {
    "owners": "name = :owner",
    "sessions": f"id IN (SELECT session_id FROM conversations WHERE {_OF_OWNER}) OR owner = :owner",
    "conversations": _OF_OWNER,
    "turns": _OF_CONVERSATION,
    "messages": _OF_CONVERSATION,
    "entries": _OF_OWNER,
    "names": _OF_OWNER,
    "markers": _OF_CONVERSATION,
    "changes": _OF_OWNER,
    "usage": _OF_SESSION,
    "inbox": _OF_SESSION,
    "outbox": _OF_SESSION,
    "members": None,
}
"""Every table that is taken along, in the order in which rows can refer to each other, with what makes a row one
owner's; None: only in an export of all."""

_ORDER = {"names": "owner_id, key", "sessions": "id", "members": "channel, user_id"}


class Portable:
    """Exports and restores an installation's memory. `root` is the folder of the Markdown files."""

    def __init__(self, database: Database, root: Path) -> None:
        self._database = database
        self._root = root

    async def export(self, folder: Path, owner: str | None = None) -> int:
        """Write everything, or everything of one owner, into `folder`, which must not hold anything yet.

        `rows/TABLE.jsonl` has one row a line; `memory/` has the Markdown files as they are; `entries/` has the
        entries for people, one file a kind. Returns the number of rows. Raises StoreError.
        """
        await asyncio.to_thread(_make_empty, folder)
        count = 0
        async with self._database.snapshot() as connection:
            for table, condition in TABLES.items():
                if condition is None and owner is not None:
                    continue
                where = f" WHERE {condition}" if owner is not None else ""
                order = _ORDER.get(table, "id")
                rows = await connection.execute_fetchall(
                    f"SELECT * FROM {table}{where} ORDER BY {order}", {"owner": owner}
                )
                lines = [json.dumps(dict(row), ensure_ascii=False) for row in rows]
                await asyncio.to_thread(_write, folder / "rows" / f"{table}.jsonl", lines)
                count += len(lines)
            await _write_for_people(connection, folder / "entries", owner)
        await asyncio.to_thread(self._copy_files, folder / "memory", owner)
        return count

    async def restore(self, folder: Path) -> int:
        """Restore an export into this installation, which must be empty. Returns the number of rows.

        All of it is restored, or nothing. Raises StoreError.
        """
        texts = await asyncio.to_thread(_read_rows, folder / "rows")
        count = 0
        async with self._database.transaction() as connection:
            for table in TABLES:
                if list(await connection.execute_fetchall(f"SELECT 1 FROM {table} LIMIT 1")):
                    raise StoreError(f"This installation is not empty ({table}): import into a new MNEME_DATA_DIR.")
            # entries may refer to entries that come after them
            await connection.execute("PRAGMA defer_foreign_keys = ON")
            for table, rows in texts.items():
                count += await _insert(connection, table, rows)
            await rebuild(connection)
        await asyncio.to_thread(_copy_tree, folder / "memory", self._root)
        return count

    def _copy_files(self, target: Path, owner: str | None) -> None:
        if owner is None:
            _copy_tree(self._root, target)
        else:
            name = owner.replace("/", "_")
            _copy_tree(self._root / name, target / name)


async def _insert(connection: aiosqlite.Connection, table: str, rows: list[dict[str, object]]) -> int:
    known = {row["name"] for row in await connection.execute_fetchall(f"PRAGMA table_info({table})")}
    for row in rows:
        if not row.keys() <= known:
            raise StoreError(f"The export has {', '.join(row.keys() - known)} in {table}: it needs a newer Mneme.")
        columns, places = ", ".join(row), ", ".join("?" for _ in row)
        await connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})", tuple(row.values()))
    return len(rows)


async def _write_for_people(connection: aiosqlite.Connection, folder: Path, owner: str | None) -> None:
    rows = await connection.execute_fetchall(
        "SELECT o.name AS owner, e.kind, n.name, e.content, e.created_at FROM entries e"
        " JOIN owners o ON o.id = e.owner_id JOIN names n ON n.entry_id = e.id AND NOT n.is_alias"
        " WHERE e.deleted_at IS NULL AND (:owner IS NULL OR o.name = :owner) ORDER BY o.name, e.kind, e.id",
        {"owner": owner},
    )
    texts: dict[Path, list[str]] = {}
    for row in rows:
        path = folder / row["owner"].replace("/", "_") / f"{row['kind'].replace('/', '_')}.md"
        texts.setdefault(path, [f"# {row['kind']}"]).append(
            f"\n## {row['name']}\n\n{row['content']}\n\n_{row['created_at']}_"
        )
    for path, lines in texts.items():
        await asyncio.to_thread(_write, path, lines)


def _make_empty(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise StoreError(f"{folder} is not empty: name a new folder.")
    except OSError as error:
        raise StoreError(f"{folder} can't be used ({error.strerror}): name another folder.") from error


def _write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")


def _read_rows(folder: Path) -> dict[str, list[dict[str, object]]]:
    if not folder.is_dir():
        raise StoreError(f"{folder.parent} holds no export: name the folder that `mneme export` wrote.")
    texts: dict[str, list[dict[str, object]]] = {}
    for table in TABLES:
        path = folder / f"{table}.jsonl"
        if not path.exists():
            continue
        try:
            # only \n ends a row: the texts in it may hold every other kind of line break
            lines = path.read_text(encoding="utf-8").split("\n")
            texts[table] = [json.loads(line) for line in lines if line]
        except ValueError as error:
            raise StoreError(f"{path} is damaged ({error}): nothing was restored.") from error
    return texts


def _copy_tree(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
