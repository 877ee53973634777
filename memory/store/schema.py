"""The schema of the database: `schema.sql` and the migrations since.

Never change a migration that was released. Append a new one.
"""

from __future__ import annotations

import sqlite3
from functools import cache
from importlib.resources import files

Migration = tuple[str, ...]

FIRST_FORMAT = 46
"""The format of `schema.sql`. Earlier ones were never released.

Its last statement must create a table, not a view. Otherwise SQLite's integrity check before version 3.42 doesn't find
stray pages.
"""
_COLUMNS = "body, name, tags, scope, speaker, date, previous, next, second_previous, second_next"
_WITHOUT_SPEAKER = (
    "SELECT m.id FROM messages m JOIN imported i ON i.conversation_id = m.conversation_id"
    " WHERE i.program IN ('Telegram', 'WhatsApp') AND m.speaker IS NULL"
)
_OF_THESE = "FROM searchable_messages WHERE id IN (SELECT id FROM temp.without_speaker)"
MIGRATIONS: tuple[Migration, ...] = (
    # 47: the provider's data to send back with an answer, as JSON. The model without tools that a chat was notified of.
    ("ALTER TABLE messages ADD COLUMN provider_data TEXT", "ALTER TABLE preferences ADD COLUMN toolless TEXT"),
    # 48: the cost of a call as reported by the provider. `cost` is computed from its tokens.
    ("ALTER TABLE usage ADD COLUMN told_cost REAL",),
    # 49: how long a memory matters (`Nature`). States that the weekly consolidation had archived are restored.
    (
        "ALTER TABLE entries ADD COLUMN nature TEXT NOT NULL DEFAULT 'state'",
        "CREATE INDEX entries_on_page ON entries (owner_id) WHERE line IS NOT NULL OR nature = 'vital'",
        "UPDATE entries SET archived_at = NULL WHERE archived_at IS NOT NULL AND superseded_by IS NULL",
    ),
    # 50: positions of forgotten words in messages. `through` is the newest message at that time, `batch` the
    # marking change, which removes the mark when it is undone.
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
    # 51: the name under which a member of a group is logged, which doesn't follow later changes of their name.
    ("ALTER TABLE speakers ADD COLUMN name TEXT",),
    # 52: the character of the bot in a chat.
    ("ALTER TABLE preferences ADD COLUMN persona TEXT",),
    # 53: every so many days, weeks, months or years; which weekday of the month, -1 for the last.
    (
        "ALTER TABLE reminders ADD COLUMN every INTEGER NOT NULL DEFAULT 1",
        "ALTER TABLE reminders ADD COLUMN nth INTEGER NOT NULL DEFAULT 0",
    ),
    # 54: titles of imported conversations, searched like names. Ids of messages in the other program. Messages that an
    # import added to the conversations of another, or changed: `former` is the text before, NULL if added. The user's
    # names in other programs. A message of a messenger without a speaker isn't the user's.
    (
        "ALTER TABLE conversations ADD COLUMN title TEXT",
        "ALTER TABLE messages ADD COLUMN source_id TEXT",
        f"CREATE TEMP TABLE without_speaker AS {_WITHOUT_SPEAKER}",
        f"INSERT INTO search (search, rowid, {_COLUMNS}) SELECT 'delete', row, {_COLUMNS} {_OF_THESE}",
        "UPDATE messages SET speaker = 'Deleted account' WHERE id IN (SELECT id FROM temp.without_speaker)",
        f"INSERT INTO search (rowid, {_COLUMNS}) SELECT row, {_COLUMNS} {_OF_THESE}",
        "DROP TABLE temp.without_speaker",
        "DROP VIEW searchable_messages",
        """CREATE VIEW searchable_messages AS
    SELECT m.id, (c.owner_id << 40) + 2 * m.id + 1 AS row, indexable(m.content) AS body,
        indexable(c.title) AS name, NULL AS tags, NULL AS scope,
        indexable(coalesce(m.speaker, m.role)) AS speaker, date_words(m.created_at) AS date,
        indexable((SELECT p.content FROM spoken p WHERE p.conversation_id = m.conversation_id AND p.id < m.id
            ORDER BY p.id DESC LIMIT 1)) AS previous,
        indexable((SELECT n.content FROM spoken n WHERE n.conversation_id = m.conversation_id AND n.id > m.id
            ORDER BY n.id LIMIT 1)) AS next,
        indexable((SELECT p.content FROM spoken p WHERE p.conversation_id = m.conversation_id AND p.id < m.id
            ORDER BY p.id DESC LIMIT 1 OFFSET 1)) AS second_previous,
        indexable((SELECT n.content FROM spoken n WHERE n.conversation_id = m.conversation_id AND n.id > m.id
            ORDER BY n.id LIMIT 1 OFFSET 1)) AS second_next
    FROM spoken m JOIN conversations c ON c.id = m.conversation_id""",
        """CREATE TABLE import_edits (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
    entry_id INTEGER NOT NULL,
    former TEXT,
    undone INTEGER NOT NULL DEFAULT 0
)""",
        "CREATE INDEX import_edits_of_message ON import_edits (message_id)",
        "CREATE INDEX import_edits_of_entry ON import_edits (entry_id)",
        "CREATE INDEX undone_import_edits ON import_edits (id) WHERE undone",
        """CREATE TABLE import_names (
    owner_id INTEGER NOT NULL REFERENCES owners (id) ON DELETE CASCADE,
    program TEXT NOT NULL,
    name TEXT NOT NULL,
    is_user INTEGER NOT NULL,
    PRIMARY KEY (owner_id, program, name)
) WITHOUT ROWID""",
    ),
    # 55: names of people and groups by the channel's ids, for the owner. Whether a reply removes the keyboard with
    # which people were chosen.
    (
        """CREATE TABLE contacts (
    channel TEXT NOT NULL,
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    username TEXT,
    PRIMARY KEY (channel, number)
) WITHOUT ROWID""",
        "ALTER TABLE outbox ADD COLUMN hides_keyboard INTEGER NOT NULL DEFAULT 0",
    ),
)
"""Statements of each migration after FIRST_FORMAT, in order."""
NEWEST_FORMAT = FIRST_FORMAT + len(MIGRATIONS)

REBUILD: Migration = ("INSERT INTO search (search) VALUES ('rebuild')",)
"""Rebuilds the search index. Every change of the output of memory/text/words.py needs this as a migration."""
INDEXES = ("search", "search_parts")
"""The FTS5 tables: for entries and messages, and for parts of documents."""
PART_BITS = 40
"""The row number in the search index is the owner's id, shifted by this number of bits, plus the row's own number."""


@cache
def read_schema() -> Migration:
    statements: list[str] = []
    started = ""
    for piece in files(__package__).joinpath("schema.sql").read_text(encoding="utf-8").split(";"):
        started += f"{piece};"
        # A trigger contains semicolons, so SQLite decides where a statement ends.
        if sqlite3.complete_statement(started):
            statements.append(started)
            started = ""
    return tuple(statements)


def explain_unreadable(name: str, version: int, newest: int = NEWEST_FORMAT) -> str | None:
    """Explain why a database with format `version` can't be used by a program for `newest`. Return None if it can."""
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
