"""The database's past: ordered migrations, each a list of statements that runs in one transaction.

A migration that was released is never changed; what the store needs next is a new one at the end.
"""

from __future__ import annotations

Migration = tuple[str, ...]

SESSIONS_AND_LOG: Migration = (
    """
    CREATE TABLE sessions (
        id TEXT PRIMARY KEY,
        channel TEXT NOT NULL,
        chat_id TEXT NOT NULL,
        thread_id TEXT,
        owner TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'ACTIVE' CHECK (state IN ('ACTIVE', 'PAUSED', 'TERMINATED')),
        metadata TEXT NOT NULL DEFAULT '{}',
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE conversations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        started_at TEXT NOT NULL,
        ended_at TEXT
    )
    """,
    "CREATE UNIQUE INDEX current_conversation ON conversations (session_id) WHERE ended_at IS NULL",
    """
    CREATE TABLE turns (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        outcome TEXT NOT NULL CHECK (outcome IN ('answered', 'stopped', 'failed', 'retried')),
        failure TEXT,
        started_at TEXT NOT NULL,
        finished_at TEXT NOT NULL
    )
    """,
    "CREATE INDEX turns_of_conversation ON turns (conversation_id, id)",
    """
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        turn_id INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
        role TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant', 'tool')),
        content TEXT NOT NULL,
        speaker TEXT,
        provenance TEXT,
        tool_calls TEXT,
        tool_call_id TEXT,
        created_at TEXT NOT NULL
    )
    """,
    "CREATE INDEX messages_of_conversation ON messages (conversation_id, id)",
    "CREATE INDEX messages_of_turn ON messages (turn_id)",
    """
    CREATE TABLE markers (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
        archive_name TEXT NOT NULL,
        archived_at TEXT NOT NULL,
        first_kept_message_id INTEGER NOT NULL
    )
    """,
    "CREATE INDEX markers_of_conversation ON markers (conversation_id, id)",
)

ENTRIES: Migration = (
    """
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner TEXT NOT NULL,
        kind TEXT NOT NULL,
        content TEXT NOT NULL,
        tags TEXT NOT NULL DEFAULT '[]',
        scope TEXT,
        priority TEXT NOT NULL DEFAULT 'normal',
        outcome TEXT,
        success_count INTEGER NOT NULL DEFAULT 0,
        steps TEXT,
        reinforcement_count INTEGER NOT NULL DEFAULT 1,
        last_reinforced_at TEXT NOT NULL,
        valid_from TEXT NOT NULL,
        superseded_by INTEGER REFERENCES entries (id),
        source_message_id INTEGER,
        author TEXT NOT NULL,
        trusted INTEGER NOT NULL DEFAULT 1,
        created_at TEXT NOT NULL,
        archived_at TEXT,
        deleted_at TEXT
    )
    """,
    "CREATE INDEX entries_of_owner ON entries (owner, kind, id)",
    # names and aliases stand in one table, so that one constraint keeps them unique together
    """
    CREATE TABLE names (
        owner TEXT NOT NULL,
        name TEXT NOT NULL,
        entry_id INTEGER NOT NULL REFERENCES entries (id) ON DELETE CASCADE,
        is_alias INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (owner, name)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX names_of_entry ON names (entry_id)",
)

MAILBOX: Migration = (
    """
    CREATE TABLE inbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        channel TEXT NOT NULL,
        update_id INTEGER NOT NULL,
        session_id TEXT NOT NULL,
        payload TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'held', 'done')),
        received_at TEXT NOT NULL,
        UNIQUE (channel, update_id)
    )
    """,
    "CREATE INDEX inbox_waiting ON inbox (channel, id) WHERE state <> 'done'",
    """
    CREATE TABLE outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        channel TEXT NOT NULL,
        session_id TEXT NOT NULL,
        turn_id INTEGER REFERENCES turns (id) ON DELETE SET NULL,
        text TEXT NOT NULL,
        reply_to TEXT,
        preview_id TEXT,
        state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'given up')),
        message_ids TEXT NOT NULL DEFAULT '[]',
        failure TEXT,
        created_at TEXT NOT NULL,
        settled_at TEXT
    )
    """,
    "CREATE INDEX outbox_waiting ON outbox (channel, session_id, id) WHERE state = 'waiting'",
)

ACCESS_AND_USAGE: Migration = (
    """
    CREATE TABLE members (
        channel TEXT NOT NULL,
        user_id INTEGER NOT NULL,
        since TEXT NOT NULL,
        PRIMARY KEY (channel, user_id)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE claim_codes (
        channel TEXT PRIMARY KEY,
        digest TEXT NOT NULL,
        expires_at TEXT NOT NULL,
        failures INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE usage (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        session_id TEXT,
        purpose TEXT NOT NULL,
        model TEXT NOT NULL,
        prompt_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL
    )
    """,
    "CREATE INDEX usage_by_time ON usage (at)",
)

FAST_DELETION: Migration = (
    # without it each deleted turn looks through the whole outbox for replies that refer to it
    "CREATE INDEX outbox_of_turn ON outbox (turn_id)",
)

MIGRATIONS: tuple[Migration, ...] = (SESSIONS_AND_LOG, ENTRIES, MAILBOX, ACCESS_AND_USAGE, FAST_DELETION)
