"""Import of an export by `mneme export` or /export into an empty installation."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiosqlite

from memory.errors import StoreError
from memory.files.markdown import make_folder_name
from memory.store.database import Database
from memory.store.index import rebuilding
from memory.store.private_files import make_private_folder, touch_private_file
from memory.transfer.amounts import COUNTED, describe_amounts
from memory.transfer.archive import FILES, Manifest, Source, list_parts, open_archive, read_manifest
from memory.transfer.exporting import BATCH_ROWS, make_private
from memory.transfer.import_fields import LEFT_OUT, TAKEN, TOGETHER, Fields, check_row, read_fields

MAX_PARTS = 100_000
MAX_UNPACKED_BYTES = 4 * 1024**3
MAX_ROW_CHARS = 8 * 1024**2
"""A message has a million characters at most."""
_MAX_COUNTS_BYTES = 1024**2
"""The size of a file that counts the rows of each table."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The number of imported rows by table, and descriptions of the parts that were left out."""

    rows: Mapping[str, int]
    left_out: tuple[str, ...] = ()


class Importer:
    """Imports into an empty installation. `root` is the folder of the Markdown files."""

    def __init__(self, database: Database, root: Path) -> None:
        self._database = database
        self._root = root

    async def run(self, path: Path, *, dry_run: bool = False) -> ImportResult:
        """Import an export (a folder or zip file) completely or not at all. Raises StoreError.

        Args:
            dry_run: Do everything, and then take it back.
        """
        with open_archive(path, max_parts=MAX_PARTS, max_bytes=MAX_UNPACKED_BYTES) as source:
            return await self._import(path, source, dry_run=dry_run)

    async def _import(self, path: Path, source: Source, *, dry_run: bool) -> ImportResult:
        counts = await asyncio.to_thread(_read_contents, path, source)
        # Copied next to their final place first and renamed at the end.
        files = self._root.with_name(f".{self._root.name}.import")
        try:
            async with self._database.transaction() as connection:
                await self._require_empty(connection)
                # Entries may refer to later ones.
                await connection.execute("PRAGMA defer_foreign_keys = ON")
                async with rebuilding(connection):
                    fields = await read_fields(connection)
                    for table in (table for table in TAKEN if table in counts):
                        rows = source / "rows" / f"{table}.jsonl"
                        await _import_rows(connection, table, rows, counts[table], fields)
                    await _require_consistent(connection)
                owners = await connection.execute_fetchall("SELECT name FROM owners")
                folders = [make_folder_name(row["name"]) for row in owners]
                strange = await asyncio.to_thread(_copy_files, source / FILES, files, folders)
                await asyncio.to_thread(make_private, files)
                if dry_run:
                    await connection.rollback()
            if not dry_run:
                await asyncio.to_thread(_move_tree, files, self._root)
        except (sqlite3.IntegrityError, ValueError, OverflowError) as error:
            raise StoreError(f"{path} is damaged ({error}): nothing was changed.") from error
        except OSError as error:
            raise StoreError(f"The files of {path} can't be imported ({error.strerror}).") from error
        finally:
            await asyncio.to_thread(shutil.rmtree, files, ignore_errors=True)
        left_out = [f"{what} ({counts[table]})" for table, what in LEFT_OUT.items() if counts.get(table)]
        left_out += [f"files that are no memory ({strange})"] if strange else []
        return ImportResult({table: counts[table] for table in TAKEN if table in counts}, tuple(left_out))

    async def _require_empty(self, connection: aiosqlite.Connection) -> None:
        rows = {}
        for table in TAKEN:
            counted = await connection.execute_fetchall(f"SELECT count(*) FROM {table}")
            rows[table] = next(iter(counted))[0]
        if any(rows.values()):
            found = describe_amounts(rows) if any(rows[table] for table in COUNTED) else "it knows chats"
            raise StoreError(f"This installation is not empty ({found}): import into a new MNEME_DATA_DIR.")
        if await asyncio.to_thread(_has_files, self._root):
            raise StoreError(
                f"This installation is not empty (files in {self._root}): import into a new MNEME_DATA_DIR."
            )


async def _import_rows(
    connection: aiosqlite.Connection, table: str, path: Source, expected: int, fields: Fields
) -> None:
    count = 0
    rows_left = (check_row(fields, table, row) for row in _read_rows(path))
    while rows := await asyncio.to_thread(lambda: list(itertools.islice(rows_left, BATCH_ROWS))):
        count += len(rows)
        for columns, alike in itertools.groupby(rows, key=tuple):
            places = ", ".join("?" for _ in columns)
            await connection.executemany(
                f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", [tuple(row.values()) for row in alike]
            )
    if count != expected:
        raise StoreError(f"{path} is damaged ({count} of {expected} rows): nothing was changed.")


async def _require_consistent(connection: aiosqlite.Connection) -> None:
    for what, query in TOGETHER.items():
        if list(await connection.execute_fetchall(f"{query} LIMIT 1")):
            raise ValueError(what)


def _read_contents(path: Path, source: Source) -> Mapping[str, int]:
    manifest = _read_former_manifest(path, source) or read_manifest(path, source)
    if manifest.files:
        raise StoreError(f"{path} is a backup: `mneme restore` brings it back.")
    if unknown := ", ".join(sorted(manifest.rows.keys() - {*TAKEN} - LEFT_OUT.keys())):
        raise StoreError(f"The export has {unknown}: it needs a newer Mneme.")
    return manifest.rows


def _read_former_manifest(path: Path, source: Source) -> Manifest | None:
    """Read the manifest of an export from a Mneme of format 39 or older. None if it has another format."""
    place = source / "contents.json"
    try:
        with place.open("rb") as file:
            rows = json.loads(file.read(_MAX_COUNTS_BYTES))
        return Manifest(schema_version=0, rows=rows)
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is damaged ({place.name} says nothing of use): nothing was changed.") from error


def _copy_files(source: Source, target: Path, folders: Iterable[str]) -> int:
    """Copy the Markdown files of the given folders. Return the number of other files."""
    names = list(list_parts(source))
    wanted = [name for name in names if _is_memory(name, folders)]
    for name in wanted:
        make_private_folder((target / name).parent)
        touch_private_file(target / name)
        with (source / name).open("rb") as read, (target / name).open("wb") as written:
            shutil.copyfileobj(read, written)
    return len(names) - len(wanted)


def _is_memory(name: str, folders: Iterable[str]) -> bool:
    folder, _, file = name.rpartition("/")
    return folder in folders and file.endswith(".md") and not file.startswith(".")


def _read_rows(path: Source) -> Iterator[dict[str, object]]:
    """Yield the rows of a file. Raise StoreError if one is invalid."""
    try:
        # Only \n ends a row, since texts may contain other line breaks.
        with path.open("r", encoding="utf-8", newline="\n") as file:
            while line := file.readline(MAX_ROW_CHARS):
                row = _parse_row(line)
                if not _is_row(row):
                    raise ValueError("a line is no row")
                yield row
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing: nothing was changed.") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path} is damaged ({error}): nothing was changed.") from error


def _parse_row(line: str) -> Any:  # Any JSON value, which `_is_row` checks
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError("a line isn't valid JSON") from error


def _is_row(value: object) -> bool:
    values = (str, int, float, type(None))
    return isinstance(value, dict) and bool(value) and all(isinstance(v, values) for v in value.values())


def _has_files(folder: Path) -> bool:
    return any(path.is_file() and not path.name.startswith(".") for path in folder.rglob("*"))


def _move_tree(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.rmtree(target, ignore_errors=True)  # It has no files, which was checked before.
        source.rename(target)
