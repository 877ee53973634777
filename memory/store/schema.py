"""What the database holds: `schema.sql`, and the migrations that later versions add to it.

A migration that was released is never changed; what the store needs next is a new one at the end.
"""

from __future__ import annotations

import sqlite3
from functools import cache
from importlib.resources import files

Migration = tuple[str, ...]

FIRST_FORMAT = 46
"""The format of `schema.sql`. Those before it were never released.

Its last table is no view: SQLite's integrity check of versions before 3.42 looks for loose pages only then.
"""
MIGRATIONS: tuple[Migration, ...] = (
    # 47: what a model's provider wants back with an answer, as JSON; of which model without tools a chat was told
    ("ALTER TABLE messages ADD COLUMN provider_data TEXT", "ALTER TABLE preferences ADD COLUMN toolless TEXT"),
    # 48: the cost of a call as the provider tells it; `cost` is computed from its tokens
    ("ALTER TABLE usage ADD COLUMN told_cost REAL",),
    # 49: how long a memory matters (`Nature`); states that the weekly tidying had archived as faded come back
    (
        "ALTER TABLE entries ADD COLUMN nature TEXT NOT NULL DEFAULT 'state'",
        "CREATE INDEX entries_on_page ON entries (owner_id) WHERE line IS NOT NULL OR nature = 'vital'",
        "UPDATE entries SET archived_at = NULL WHERE archived_at IS NOT NULL AND superseded_by IS NULL",
    ),
    # 50: words that are forgotten, by their place in a message. through: the newest message by then; batch: the change
    # that has marked them, whose undo takes that back
    (
        """CREATE TABLE forgotten (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_id INTEGER NOT NULL REFERENCES owners (id) ON DELETE CASCADE,
    batch INTEGER,
    entry_id INTEGER NOT NULL,
    message_id INTEGER NOT NULL,
    digest TEXT NOT NULL,
    begin_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    through INTEGER NOT NULL,
    at TEXT NOT NULL
)""",
        "CREATE INDEX forgotten_of_owner ON forgotten (owner_id)",
    ),
    # 51: the name that a member of a group is logged under, as it is written, whatever they call themselves later
    ("ALTER TABLE speakers ADD COLUMN name TEXT",),
)
"""The migrations to the formats after it, in order. Each is a list of statements that run in one transaction."""
NEWEST_FORMAT = FIRST_FORMAT + len(MIGRATIONS)

REBUILD: Migration = ("INSERT INTO search (search) VALUES ('rebuild')",)
"""Makes the search index anew; follows every change of what memory/text/words.py makes of a text."""
INDEXES = ("search", "search_parts")
"""The tables of FTS5: of entries and messages, and of the parts of documents."""
PART_BITS = 40
"""A row of the search index is its owner's number, shifted by so many bits, and its own."""


@cache
def schema() -> Migration:
    statements: list[str] = []
    started = ""
    for piece in files(__package__).joinpath("schema.sql").read_text(encoding="utf-8").split(";"):
        started += f"{piece};"
        # a trigger has semicolons of its own: SQLite knows where a statement ends
        if sqlite3.complete_statement(started):
            statements.append(started)
            started = ""
    return tuple(statements)


def unreadable(name: str, version: int, newest: int = NEWEST_FORMAT) -> str | None:
    """Why a program that knows formats up to `newest` can't use `name` of format `version`; None: it can."""
    if version > newest:
        return (
            f"{name} was written by a newer Mneme (format {version}, this one knows {newest}): upgrade Mneme, or "
            "restore an older backup."
        )
    if version < FIRST_FORMAT:
        return (
            f"{name} was written by an early Mneme (format {version}, this one begins with {FIRST_FORMAT}): take it "
            "along with `mneme export DIR` of that version and `mneme import DIR` of this one, into a new data "
            "directory."
        )
    return None
