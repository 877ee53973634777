"""Taking memory in: what `mneme export` or /export wrote comes into an empty installation, and nothing else does."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.errors import StoreError
from memory.files.markdown import folder_name
from memory.store.index import rebuilding
from memory.transfer.export_files import copy_files, rows_in, source_of
from memory.transfer.exporting import BATCH, CONTENTS, make_private
from memory.transfer.import_fields import FIELDS, LEFT_OUT, TOGETHER, checked

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import aiosqlite

    from memory.store.database import Database
    from memory.transfer.export_files import Source


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import has taken. left_out: what else was in the export, each with how much of it."""

    rows: int
    left_out: tuple[str, ...] = ()


class Importer:
    """Imports into an installation that holds no memory yet. `root` is the folder of the Markdown files."""

    def __init__(self, database: Database, root: Path) -> None:
        self._database = database
        self._root = root

    async def run(self, path: Path) -> Imported:
        """Take memory and log of an export, a folder or a zip file: all of that, or nothing. Raises StoreError."""
        with source_of(path) as source:
            return await self._import(path, source)

    async def _import(self, path: Path, source: Source) -> Imported:
        counts = await asyncio.to_thread(_read_contents, path, source)
        # copied beside their place first, and moved there when all else is done
        files = self._root.with_name(f".{self._root.name}.import")
        try:
            async with self._database.transaction() as connection:
                await self._require_empty(connection)
                # entries may refer to entries that come after them
                await connection.execute("PRAGMA defer_foreign_keys = ON")
                async with rebuilding(connection):
                    for table in (table for table in FIELDS if table in counts):
                        await _import_rows(connection, table, source / "rows" / f"{table}.jsonl", counts[table])
                    await _require_consistent(connection)
                owners = await connection.execute_fetchall("SELECT name FROM owners")
                folders = [folder_name(row["name"]) for row in owners]
                strange = await asyncio.to_thread(copy_files, source / "memory", files, folders)
                await asyncio.to_thread(make_private, files)
            await asyncio.to_thread(_move_tree, files, self._root)
        except (sqlite3.IntegrityError, ValueError, OverflowError) as error:
            raise StoreError(f"{path} is damaged ({error}): nothing was imported.") from error
        except OSError as error:
            raise StoreError(f"The files of {path} can't be imported ({error.strerror}).") from error
        finally:
            await asyncio.to_thread(shutil.rmtree, files, ignore_errors=True)
        left_out = [f"{what} ({counts[table]})" for table, what in LEFT_OUT.items() if counts.get(table)]
        left_out += [f"files that are no memory ({strange})"] if strange else []
        return Imported(sum(counts[table] for table in FIELDS if table in counts), tuple(left_out))

    async def _require_empty(self, connection: aiosqlite.Connection) -> None:
        for table in FIELDS:
            if list(await connection.execute_fetchall(f"SELECT 1 FROM {table} LIMIT 1")):
                raise StoreError(f"This installation is not empty ({table}): import into a new MNEME_DATA_DIR.")
        if await asyncio.to_thread(_holds_files, self._root):
            raise StoreError(f"This installation is not empty ({self._root}): import into a new MNEME_DATA_DIR.")


async def _import_rows(connection: aiosqlite.Connection, table: str, path: Source, expected: int) -> None:
    count = 0
    rows_left = rows_in(path)
    while rows := await asyncio.to_thread(lambda: [checked(table, row) for row in itertools.islice(rows_left, BATCH)]):
        count += len(rows)
        for columns, alike in itertools.groupby(rows, key=tuple):
            places = ", ".join("?" for _ in columns)
            await connection.executemany(
                f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})", [tuple(row.values()) for row in alike]
            )
    if count != expected:
        raise StoreError(f"{path} is damaged ({count} of {expected} rows): nothing was imported.")


async def _require_consistent(connection: aiosqlite.Connection) -> None:
    for what, query in TOGETHER.items():
        if list(await connection.execute_fetchall(f"{query} LIMIT 1")):
            raise ValueError(what)


def _read_contents(path: Path, source: Source) -> Mapping[str, int]:
    """How many rows of each table the export says that it has."""
    place = source / CONTENTS
    try:
        contents = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise StoreError(f"{path} holds no whole export: name the folder that `mneme export` wrote.") from error
    except OSError as error:
        raise StoreError(f"{path} can't be read ({error.strerror}): nothing was imported.") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{place} is damaged ({error}): nothing was imported.") from error
    if not isinstance(contents, dict) or not all(isinstance(count, int) for count in contents.values()):
        raise StoreError(f"{place} is damaged: nothing was imported.")
    if unknown := ", ".join(sorted(contents.keys() - FIELDS.keys() - LEFT_OUT.keys())):
        raise StoreError(f"The export has {unknown}: it needs a newer Mneme.")
    return contents


def _holds_files(folder: Path) -> bool:
    return any(path.is_file() and not path.name.startswith(".") for path in folder.rglob("*"))


def _move_tree(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.rmtree(target, ignore_errors=True)  # it holds no files, or else nothing would have been imported
        source.rename(target)
