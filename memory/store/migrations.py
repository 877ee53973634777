"""The database's past: ordered migrations, each a list of statements that runs in one transaction.

A migration that was released is never changed; what the store needs next is a new one at the end. So this module only
grows, and stays one: read from its top it is what the database has become.
"""

from __future__ import annotations

Migration = tuple[str, ...]

SESSIONS_AND_LOG: Migration = (
    # owners are numbered, so that a number can stand for one in the search index
    "CREATE TABLE owners (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE)",
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
        owner_id INTEGER NOT NULL REFERENCES owners (id),
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
        archive_id INTEGER NOT NULL,
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
        owner_id INTEGER NOT NULL REFERENCES owners (id),
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
    "CREATE INDEX superseded_entries ON entries (superseded_by) WHERE superseded_by IS NOT NULL",
    "CREATE INDEX entries_of_owner ON entries (owner_id, kind, id)",
    # names and aliases stand in one table, so that one constraint keeps them unique together
    """
    CREATE TABLE names (
        owner_id INTEGER NOT NULL REFERENCES owners (id),
        key TEXT NOT NULL,
        name TEXT NOT NULL,
        entry_id INTEGER NOT NULL REFERENCES entries (id) ON DELETE CASCADE,
        is_alias INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (owner_id, key)
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
    # without it each deleted turn looks through the whole outbox for replies that refer to it
    "CREATE INDEX outbox_of_turn ON outbox (turn_id)",
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

CHANGES: Migration = (
    # One row for each entry that an operation touched, `before` a snapshot as JSON; or, with entry 0, a change of
    # MEMORY.md, `before` and `after` its text.
    """
    CREATE TABLE changes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        batch INTEGER NOT NULL,
        owner_id INTEGER NOT NULL REFERENCES owners (id),
        entry_id INTEGER NOT NULL,
        operation TEXT NOT NULL,
        author TEXT NOT NULL,
        before TEXT,
        after TEXT,
        at TEXT NOT NULL,
        undone_at TEXT
    )
    """,
    "CREATE INDEX changes_of_owner ON changes (owner_id, batch) WHERE undone_at IS NULL",
)

SEARCH: Migration = (
    # the messages of the log that a person would look for: what was said, not what tools were told
    """
    CREATE VIEW spoken AS
    SELECT m.* FROM messages m JOIN turns t ON t.id = m.turn_id
    WHERE m.content <> '' AND t.outcome <> 'retried'
        AND (m.role = 'user' OR m.role = 'assistant' AND m.speaker IS NULL)
    """,
    # What the index holds. It stores no text of its own but reads these views, which call the functions of
    # memory/text/words.py: an entry stands in an even row, a message in an odd one.
    """
    CREATE VIEW searchable_entries AS
    SELECT e.id, 2 * e.id AS row, 'o' || e.owner_id AS owner, indexable(e.content) AS body,
        indexable((SELECT n.name FROM names n WHERE n.entry_id = e.id AND NOT n.is_alias)) AS name,
        indexable(e.tags) AS tags, indexable(e.scope) AS scope, NULL AS speaker, date_words(e.created_at) AS date,
        NULL AS previous, NULL AS next, NULL AS second_previous, NULL AS second_next
    FROM entries e WHERE e.deleted_at IS NULL
    """,
    """
    CREATE VIEW searchable_messages AS
    SELECT m.id, 2 * m.id + 1 AS row, 'o' || c.owner_id AS owner, indexable(m.content) AS body,
        NULL AS name, NULL AS tags, NULL AS scope,
        indexable(coalesce(m.speaker, m.role)) AS speaker, date_words(m.created_at) AS date,
        indexable((SELECT p.content FROM spoken p
            WHERE p.conversation_id = m.conversation_id AND p.id < m.id ORDER BY p.id DESC LIMIT 1)) AS previous,
        indexable((SELECT n.content FROM spoken n
            WHERE n.conversation_id = m.conversation_id AND n.id > m.id ORDER BY n.id LIMIT 1)) AS next,
        indexable((SELECT p.content FROM spoken p WHERE p.conversation_id = m.conversation_id AND p.id < m.id
            ORDER BY p.id DESC LIMIT 1 OFFSET 1)) AS second_previous,
        indexable((SELECT n.content FROM spoken n WHERE n.conversation_id = m.conversation_id AND n.id > m.id
            ORDER BY n.id LIMIT 1 OFFSET 1)) AS second_next
    FROM spoken m JOIN conversations c ON c.id = m.conversation_id
    """,
    """
    CREATE VIEW searchable AS
    SELECT * FROM searchable_entries UNION ALL SELECT * FROM searchable_messages
    """,
    """
    CREATE VIRTUAL TABLE search USING fts5 (
        owner, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next,
        content = 'searchable', content_rowid = 'row', tokenize = 'porter unicode61 remove_diacritics 2'
    )
    """,
)

CONSOLIDATION: Migration = (
    # what a fact is about; of the facts about one subject only the newest is not superseded
    "ALTER TABLE entries ADD COLUMN subject TEXT",
    "CREATE INDEX entries_by_subject ON entries (owner_id, subject) WHERE subject IS NOT NULL",
    # the ids of the last message that was consolidated, and of the last that is to be
    "ALTER TABLE conversations ADD COLUMN consolidated_through INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE conversations ADD COLUMN consolidation_due INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX versions_of_memory ON changes (owner_id, id) WHERE entry_id = 0",
    "CREATE INDEX due_conversations ON conversations (id) WHERE consolidation_due > consolidated_through",
)

ACTIVATION: Migration = (
    # until now nobody could give a priority: each kind gets its own
    """
    UPDATE entries SET priority = CASE kind WHEN 'policy' THEN 'critical' WHEN 'workflow' THEN 'high'
        WHEN 'pitfall' THEN 'high' WHEN 'architecture' THEN 'high' WHEN 'decision' THEN 'medium'
        WHEN 'preference' THEN 'medium' ELSE 'normal' END
    """,
    "ALTER TABLE entries ADD COLUMN failure_count INTEGER NOT NULL DEFAULT 0",
    # The strength of an entry in half-lives, which time does not change: an index can give the strongest. It is
    # derived, and the triggers are the only ones who write it. `strength` is memory/store/decay.py's.
    "ALTER TABLE entries ADD COLUMN strength REAL NOT NULL DEFAULT 0",
    "CREATE TABLE decay (half_life_days REAL NOT NULL)",
    "INSERT INTO decay VALUES (90)",
    """
    CREATE TRIGGER strength_of_new AFTER INSERT ON entries BEGIN
        UPDATE entries SET strength =
            strength(reinforcement_count, last_reinforced_at, (SELECT half_life_days FROM decay)) WHERE id = new.id;
    END
    """,
    """
    CREATE TRIGGER strength_of_reinforced AFTER UPDATE OF reinforcement_count, last_reinforced_at ON entries BEGIN
        UPDATE entries SET strength =
            strength(reinforcement_count, last_reinforced_at, (SELECT half_life_days FROM decay)) WHERE id = new.id;
    END
    """,
    """
    CREATE TRIGGER strength_of_all AFTER UPDATE ON decay BEGIN
        UPDATE entries SET strength = strength(reinforcement_count, last_reinforced_at, new.half_life_days);
    END
    """,
    "UPDATE decay SET half_life_days = 90",
    """
    CREATE INDEX strongest_entries ON entries (owner_id, kind, priority, strength)
    WHERE superseded_by IS NULL AND archived_at IS NULL AND deleted_at IS NULL
    """,
    # what the last turn of a session had in its request, as JSON, for /memory why
    "ALTER TABLE sessions ADD COLUMN activated TEXT",
    # quiet lines that wait for a session's next reply
    """
    CREATE TABLE notices (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner_id INTEGER NOT NULL REFERENCES owners (id) ON DELETE CASCADE,
        text TEXT NOT NULL,
        at TEXT NOT NULL
    )
    """,
    "CREATE INDEX notices_of_owner ON notices (owner_id, id)",
    # when the scheduler's jobs ran last, so that they catch up after a downtime
    "CREATE TABLE jobs (name TEXT PRIMARY KEY, ran_at TEXT NOT NULL) WITHOUT ROWID",
)

REBUILD: Migration = ("INSERT INTO search (search) VALUES ('rebuild')",)
"""Makes the search index anew; follows every change of what memory/text/words.py makes of a text."""

PURGE: Migration = (
    "CREATE INDEX removed_entries ON entries (deleted_at) WHERE deleted_at IS NOT NULL",
    "CREATE INDEX changes_by_time ON changes (at)",
)

ENDPOINTS: Migration = (
    # of each model at each address: what it refuses in a request (a list of names as JSON), and its window
    """
    CREATE TABLE endpoints (
        url TEXT NOT NULL,
        model TEXT NOT NULL,
        refused TEXT NOT NULL DEFAULT '[]',
        refused_at TEXT,
        context_tokens INTEGER,
        output_tokens INTEGER,
        asked_at TEXT,
        PRIMARY KEY (url, model)
    ) WITHOUT ROWID
    """,
)

_COLUMNS = "owner, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next"
_LEAVE = f"INSERT INTO search (search, rowid, {_COLUMNS}) SELECT 'delete', row, {_COLUMNS} FROM searchable_entries"
_ENTER = f"INSERT INTO search (rowid, {_COLUMNS}) SELECT row, {_COLUMNS} FROM searchable_entries"
_INDEXED = "content, tags, scope, created_at, owner_id, deleted_at"
_OLD, _NEW = "WHEN NOT old.is_alias", "WHEN NOT new.is_alias"

INDEX_BY_TRIGGERS: Migration = (
    # An entry is in the index while it has the name that it goes by, so that a new one enters once, with its name.
    "DROP VIEW searchable_entries",
    """
    CREATE VIEW searchable_entries AS
    SELECT e.id, 2 * e.id AS row, 'o' || e.owner_id AS owner, indexable(e.content) AS body,
        indexable(n.name) AS name, indexable(e.tags) AS tags, indexable(e.scope) AS scope, NULL AS speaker,
        date_words(e.created_at) AS date, NULL AS previous, NULL AS next, NULL AS second_previous, NULL AS second_next
    FROM entries e JOIN names n ON n.entry_id = e.id AND NOT n.is_alias WHERE e.deleted_at IS NULL
    """,
    # A row leaves the index before the write that changes it, with the very text that it was put in with.
    f"CREATE TRIGGER entry_leaves BEFORE UPDATE OF {_INDEXED} ON entries BEGIN {_LEAVE} WHERE id = old.id; END",
    f"CREATE TRIGGER entry_enters AFTER UPDATE OF {_INDEXED} ON entries BEGIN {_ENTER} WHERE id = new.id; END",
    f"CREATE TRIGGER entry_is_gone BEFORE DELETE ON entries BEGIN {_LEAVE} WHERE id = old.id; END",
    f"CREATE TRIGGER name_enters AFTER INSERT ON names {_NEW} BEGIN {_ENTER} WHERE id = new.entry_id; END",
    f"CREATE TRIGGER name_is_gone BEFORE DELETE ON names {_OLD} BEGIN {_LEAVE} WHERE id = old.entry_id; END",
    f"CREATE TRIGGER name_leaves BEFORE UPDATE ON names {_OLD} BEGIN {_LEAVE} WHERE id = old.entry_id; END",
    f"CREATE TRIGGER name_is_new AFTER UPDATE ON names {_NEW} BEGIN {_ENTER} WHERE id = new.entry_id; END",
)

LEDGER: Migration = (
    # the line of MEMORY.md that was written for an entry
    "ALTER TABLE entries ADD COLUMN line TEXT",
    # a change of MEMORY.md that is not known to be in the file yet
    "ALTER TABLE changes ADD COLUMN unwritten INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX unwritten_changes ON changes (id) WHERE unwritten",
)

PROVENANCE: Migration = (
    # until now an answer, a tool's result and an archive did not tell what they were made of: whatever came after a
    # foreign text in its conversation may quote it
    """
    UPDATE messages SET provenance = 'foreign' FROM (SELECT conversation_id, min(id) AS first FROM messages
        WHERE role = 'user' AND provenance <> 'typed' GROUP BY conversation_id) f
    WHERE messages.conversation_id = f.conversation_id AND messages.id > f.first AND role IN ('assistant', 'tool')
    """,
    """
    UPDATE entries SET trusted = 0 WHERE kind = 'archive' AND EXISTS (
        SELECT 1 FROM markers k JOIN messages f ON f.conversation_id = k.conversation_id
            AND f.id < k.first_kept_message_id
        WHERE k.archive_id = entries.id AND f.role = 'user' AND f.provenance <> 'typed')
    """,
    "CREATE INDEX markers_of_archive ON markers (archive_id)",
)

NOTES: Migration = (
    # whether the turn's line in the daily note is due or written; a retried turn's written one is to be taken out
    "ALTER TABLE turns ADD COLUMN note TEXT CHECK (note IN ('due', 'written'))",
    "UPDATE turns SET note = 'written' WHERE outcome = 'answered'",
    "CREATE INDEX unsettled_notes ON turns (id) WHERE note = 'due' OR note = 'written' AND outcome = 'retried'",
)

_WITH_OUTCOME = f"{_INDEXED}, outcome"

OUTCOMES: Migration = (
    # how an episode ended is searched like what happened
    "DROP VIEW searchable_entries",
    """
    CREATE VIEW searchable_entries AS
    SELECT e.id, 2 * e.id AS row, 'o' || e.owner_id AS owner,
        indexable(e.content || coalesce(char(10) || e.outcome, '')) AS body,
        indexable(n.name) AS name, indexable(e.tags) AS tags, indexable(e.scope) AS scope, NULL AS speaker,
        date_words(e.created_at) AS date, NULL AS previous, NULL AS next, NULL AS second_previous, NULL AS second_next
    FROM entries e JOIN names n ON n.entry_id = e.id AND NOT n.is_alias WHERE e.deleted_at IS NULL
    """,
    "DROP TRIGGER entry_leaves",
    "DROP TRIGGER entry_enters",
    f"CREATE TRIGGER entry_leaves BEFORE UPDATE OF {_WITH_OUTCOME} ON entries BEGIN {_LEAVE} WHERE id = old.id; END",
    f"CREATE TRIGGER entry_enters AFTER UPDATE OF {_WITH_OUTCOME} ON entries BEGIN {_ENTER} WHERE id = new.id; END",
    *REBUILD,
)

EVIDENCE: Migration = (
    # why a memory is not confirmed, in the words for a person; NULL: it is
    "ALTER TABLE entries ADD COLUMN unconfirmed TEXT",
    # the words of the message it came from that bear it out
    "ALTER TABLE entries ADD COLUMN quote TEXT",
    # from when on it is history
    "ALTER TABLE entries ADD COLUMN valid_until TEXT",
    "CREATE INDEX unconfirmed_entries ON entries (owner_id) WHERE unconfirmed IS NOT NULL",
)

DELIVERY: Migration = (
    # the channel's own id of the message in an update: an edit is about the same one
    "ALTER TABLE inbox ADD COLUMN message_id TEXT",
    "CREATE INDEX inbox_of_message ON inbox (channel, session_id, message_id) WHERE message_id IS NOT NULL",
    # an update that can't be read, as it came
    """
    CREATE TABLE set_aside (
        channel TEXT NOT NULL,
        update_id INTEGER NOT NULL,
        session_id TEXT NOT NULL,
        payload TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (channel, update_id)
    ) WITHOUT ROWID
    """,
    # the message in a chat that shows the beginning of an answer and is to become it
    """
    CREATE TABLE previews (
        channel TEXT NOT NULL,
        session_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        PRIMARY KEY (channel, session_id)
    ) WITHOUT ROWID
    """,
    # what an update has done to memory, so that it is not done again when the update is worked on anew
    "CREATE TABLE effects (cause TEXT PRIMARY KEY, at TEXT NOT NULL) WITHOUT ROWID",
)

MEDIA: Migration = (
    # what was sent besides words, by reference: the channel keeps the bytes
    """
    CREATE TABLE media (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner_id INTEGER NOT NULL REFERENCES owners (id),
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        channel TEXT NOT NULL,
        file_id TEXT NOT NULL,
        unique_id TEXT NOT NULL,
        name TEXT,
        mime_type TEXT,
        size INTEGER,
        about TEXT,
        created_at TEXT NOT NULL,
        UNIQUE (owner_id, session_id, unique_id)
    )
    """,
    "CREATE INDEX media_of_session ON media (session_id)",
    # the text of a document, cut into parts that a model can read one by one; of a recording what is said in it
    """
    CREATE TABLE media_parts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        media_id INTEGER NOT NULL REFERENCES media (id) ON DELETE CASCADE,
        owner_id INTEGER NOT NULL REFERENCES owners (id),
        number INTEGER NOT NULL,
        label TEXT NOT NULL,
        content TEXT NOT NULL,
        UNIQUE (media_id, number)
    )
    """,
    """
    CREATE VIEW searchable_parts AS
    SELECT id AS row, 'o' || owner_id AS owner, indexable(content) AS body FROM media_parts
    """,
    """
    CREATE VIRTUAL TABLE search_parts USING fts5 (
        owner, body, content = 'searchable_parts', content_rowid = 'row',
        tokenize = 'porter unicode61 remove_diacritics 2'
    )
    """,
    """
    CREATE TRIGGER part_enters AFTER INSERT ON media_parts BEGIN
        INSERT INTO search_parts (rowid, owner, body) SELECT row, owner, body FROM searchable_parts WHERE row = new.id;
    END
    """,
    """
    CREATE TRIGGER part_leaves BEFORE DELETE ON media_parts BEGIN
        INSERT INTO search_parts (search_parts, rowid, owner, body)
            SELECT 'delete', row, owner, body FROM searchable_parts WHERE row = old.id;
    END
    """,
    # the numbers of what a message tells of, as JSON
    "ALTER TABLE messages ADD COLUMN media TEXT",
)

INDEXES = ("search", "search_parts")
"""The tables of FTS5: of entries and messages, and of the parts of documents."""

VECTORS: Migration = (
    "CREATE TABLE embedding_models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    # Derived from what stands in the index, by its rows there; model 0: to be made anew. Whoever holds them in
    # memory learns by the ids what is new.
    """
    CREATE TABLE vectors (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        row INTEGER NOT NULL UNIQUE,
        owner_id INTEGER NOT NULL,
        conversation_id INTEGER,
        model_id INTEGER NOT NULL,
        signs BLOB NOT NULL,
        vector BLOB NOT NULL
    )
    """,
    "CREATE INDEX signs_of_owner ON vectors (owner_id, model_id, id, row, conversation_id, signs)",
    "CREATE INDEX vectors_of_model ON vectors (model_id)",
    """
    CREATE TRIGGER message_loses_vector AFTER DELETE ON messages BEGIN
        DELETE FROM vectors WHERE row = 2 * old.id + 1;
    END
    """,
    """
    CREATE TRIGGER retried_lose_vectors AFTER UPDATE OF outcome ON turns WHEN new.outcome = 'retried' BEGIN
        DELETE FROM vectors WHERE row IN (SELECT 2 * id + 1 FROM messages WHERE turn_id = new.id);
    END
    """,
    """
    CREATE TRIGGER entry_loses_vector AFTER DELETE ON entries BEGIN
        DELETE FROM vectors WHERE row = 2 * old.id;
    END
    """,
    """
    CREATE TRIGGER changed_entry_loses_vector AFTER UPDATE OF content, outcome, deleted_at, owner_id ON entries BEGIN
        UPDATE vectors SET model_id = 0, signs = x'', vector = x'' WHERE row = 2 * new.id;
    END
    """,
)

BUTTONS: Migration = (
    # line: the row that a button stands in; said: what who presses it says; pressed_by: the press, in the inbox
    """
    CREATE TABLE buttons (
        id TEXT PRIMARY KEY,
        outbox_id INTEGER NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
        line INTEGER NOT NULL,
        label TEXT NOT NULL,
        said TEXT NOT NULL,
        in_place INTEGER NOT NULL,
        asker TEXT,
        expires_at TEXT,
        pressed_by INTEGER
    )
    """,
    "CREATE INDEX buttons_of_reply ON buttons (outbox_id)",
    # the buttons of a quiet line that waits to be told, as JSON
    "ALTER TABLE notices ADD COLUMN buttons TEXT NOT NULL DEFAULT '[]'",
)

STRANGERS: Migration = (
    # whom the owner has let in, who has not claimed the bot
    "ALTER TABLE members ADD COLUMN let_in INTEGER NOT NULL DEFAULT 0",
    # about whom the owner is not to be asked again
    """
    CREATE TABLE refused (
        channel TEXT NOT NULL,
        user_id INTEGER NOT NULL,
        PRIMARY KEY (channel, user_id)
    ) WITHOUT ROWID
    """,
)

REMINDERS: Migration = (
    # `first` and `zone`: what the rhythm is counted from on a wall clock. `next_at`: when it is told next. `told_for`:
    # the hour that its newest message in the outbox is about. `entry_id`: the memory whose date it was offered for.
    """
    CREATE TABLE reminders (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner_id INTEGER NOT NULL REFERENCES owners (id),
        session_id TEXT NOT NULL,
        text TEXT NOT NULL,
        repeat TEXT NOT NULL CHECK (repeat IN ('once', 'daily', 'weekly', 'monthly', 'yearly')),
        first TEXT NOT NULL CHECK (first GLOB '[0-9][0-9][0-9][0-9]-*T*' AND datetime(first) IS NOT NULL),
        zone TEXT NOT NULL,
        days TEXT NOT NULL DEFAULT '' CHECK (days NOT GLOB '*[^0-6,]*'),
        state TEXT NOT NULL CHECK (state IN
            ('offered', 'waiting', 'telling', 'told', 'failed', 'done', 'cancelled')),
        next_at TEXT,
        told_for TEXT,
        told_at TEXT,
        outbox_id INTEGER,
        trusted INTEGER NOT NULL DEFAULT 1,
        entry_id INTEGER,
        created_at TEXT NOT NULL
    )
    """,
    "CREATE INDEX reminders_of_owner ON reminders (owner_id, state)",
    "CREATE INDEX reminders_waiting ON reminders (next_at) WHERE state = 'waiting'",
    "CREATE INDEX reminders_of_outbox ON reminders (outbox_id) WHERE outbox_id IS NOT NULL",
    "CREATE INDEX reminders_of_entry ON reminders (entry_id) WHERE entry_id IS NOT NULL",
    # with the very statement that settles its message: a reminder that arrived is told, one for somebody who is gone is
    # due again, and any other has failed
    """
    CREATE TRIGGER reminder_is_settled AFTER UPDATE OF state ON outbox WHEN new.state <> 'waiting' BEGIN
        UPDATE reminders SET told_at = new.settled_at, state = iif(state = 'telling', 'told', state)
            WHERE outbox_id = new.id AND state IN ('telling', 'waiting') AND new.state = 'sent';
        UPDATE reminders SET next_at = told_for, state = 'waiting'
            WHERE outbox_id = new.id AND state IN ('telling', 'waiting') AND new.state = 'given up'
                AND EXISTS (SELECT 1 FROM sessions WHERE id = new.session_id AND state = 'TERMINATED');
        UPDATE reminders SET state = 'failed'
            WHERE outbox_id = new.id AND state = 'telling' AND new.state = 'given up';
    END
    """,
)

PREFERENCES: Migration = (
    """
    CREATE TABLE preferences (
        chat TEXT PRIMARY KEY,
        language TEXT,
        client_language TEXT,
        zone TEXT,
        notices TEXT NOT NULL DEFAULT 'on' CHECK (notices IN ('on', 'quiet', 'off')),
        model TEXT
    )
    """,
)

REACTIONS: Migration = (
    # the messages that a reaction of ours may stand at while they wait for their turn
    """
    CREATE TABLE reactions (
        channel TEXT NOT NULL,
        session_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        PRIMARY KEY (channel, session_id, message_id)
    ) WITHOUT ROWID
    """,
)

COSTS: Migration = (
    # US dollars, by the prices of the day on which the call was made; NULL where they were not known
    "ALTER TABLE usage ADD COLUMN cost REAL",
)

DOCUMENTS: Migration = (
    # in the transaction of its message, so that neither is ever without the other, and gone with its delivery
    """
    CREATE TABLE documents (
        outbox_id INTEGER PRIMARY KEY REFERENCES outbox (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        content BLOB NOT NULL
    )
    """,
    """
    CREATE TRIGGER document_is_settled AFTER UPDATE OF state ON outbox WHEN new.state <> 'waiting' BEGIN
        DELETE FROM documents WHERE outbox_id = new.id;
    END
    """,
)

MOVES: Migration = (
    # chats that have got another id from their channel
    """
    CREATE TABLE moves (
        channel TEXT NOT NULL,
        former TEXT NOT NULL,
        present TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (channel, former)
    ) WITHOUT ROWID
    """,
)

TRACES: Migration = (
    # what was deleted and may still stand in the file or its log; indexed: it stood in the search index as well
    "CREATE TABLE traces (id INTEGER PRIMARY KEY AUTOINCREMENT, indexed INTEGER NOT NULL)",
)

_IN_PRIVATE = "EXISTS (SELECT 1 FROM sessions s WHERE s.id = new.session_id AND s.private)"

PRIVATE: Migration = (
    # whether nothing is kept of what is said in a session
    "ALTER TABLE sessions ADD COLUMN private INTEGER NOT NULL DEFAULT 0",
    # what came or was said meanwhile: triggers mark it, so that nobody who writes can forget to. Of the outbox only
    # those who answer can tell; a reminder, or a stranger who asks to be let in, is nothing that was said there
    "ALTER TABLE turns ADD COLUMN private INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE inbox ADD COLUMN private INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE outbox ADD COLUMN private INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE media ADD COLUMN private INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE media_parts ADD COLUMN private INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX private_turns ON turns (conversation_id) WHERE private",
    "CREATE INDEX private_inbox ON inbox (session_id, message_id) WHERE private",
    "CREATE INDEX private_outbox ON outbox (session_id) WHERE private",
    "CREATE INDEX private_media ON media (session_id) WHERE private",
    # a summary that is not kept as an entry, and whether all of it may be trusted
    "ALTER TABLE markers ADD COLUMN summary TEXT",
    "ALTER TABLE markers ADD COLUMN trusted INTEGER",
    # what is private is in nothing that is made of `spoken`: index, vectors, lists of mentions, consolidations
    "DROP VIEW spoken",
    """
    CREATE VIEW spoken AS
    SELECT m.* FROM messages m JOIN turns t ON t.id = m.turn_id
    WHERE m.content <> '' AND t.outcome <> 'retried' AND NOT t.private
        AND (m.role = 'user' OR m.role = 'assistant' AND m.speaker IS NULL)
    """,
    "DROP VIEW searchable_parts",
    """
    CREATE VIEW searchable_parts AS
    SELECT id AS row, 'o' || owner_id AS owner, indexable(content) AS body FROM media_parts WHERE NOT private
    """,
    """
    CREATE TRIGGER turn_is_private AFTER INSERT ON turns WHEN EXISTS (SELECT 1 FROM conversations c
        JOIN sessions s ON s.id = c.session_id WHERE c.id = new.conversation_id AND s.private)
    BEGIN
        UPDATE turns SET private = 1, note = NULL WHERE id = new.id;
    END
    """,
    f"""
    CREATE TRIGGER media_is_private AFTER INSERT ON media WHEN {_IN_PRIVATE} BEGIN
        UPDATE media SET private = 1 WHERE id = new.id;
    END
    """,
    # an update is marked when it is dealt with, since one that comes may stand behind a /private, or behind a /new
    f"""
    CREATE TRIGGER update_is_private AFTER UPDATE OF state ON inbox WHEN new.state <> 'queued' AND {_IN_PRIVATE} BEGIN
        UPDATE inbox SET private = 1 WHERE id = new.id;
    END
    """,
    # what comes to its end only after its private talk: a reply that could not be sent, an edit, a button's press
    f"""
    CREATE TRIGGER late_reply_is_emptied AFTER UPDATE OF state ON outbox
    WHEN new.state <> 'waiting' AND new.private AND NOT {_IN_PRIVATE} BEGIN
        UPDATE outbox SET text = '', failure = NULL WHERE id = new.id;
        DELETE FROM buttons WHERE outbox_id = new.id;
        INSERT INTO traces (indexed) VALUES (0);
    END
    """,
    f"""
    CREATE TRIGGER late_update_is_emptied AFTER UPDATE OF state ON inbox
    WHEN new.state = 'done' AND new.message_id IS NOT NULL AND NOT {_IN_PRIVATE} AND (
        EXISTS (SELECT 1 FROM inbox i WHERE i.session_id = new.session_id AND i.message_id = new.message_id
            AND i.private)
        -- a press does not tell the topic
        OR EXISTS (SELECT 1 FROM outbox o, json_each(o.message_ids) m WHERE o.private AND m.value = new.message_id
            AND (o.session_id = new.session_id OR o.session_id GLOB new.session_id || ':*')))
    BEGIN
        UPDATE inbox SET payload = '{{}}', private = 1 WHERE id = new.id;
        INSERT INTO traces (indexed) VALUES (0);
    END
    """,
)

NOTICES: Migration = (
    # what nobody chose is by the settings
    "ALTER TABLE preferences RENAME TO former_preferences",
    """
    CREATE TABLE preferences (
        chat TEXT PRIMARY KEY,
        language TEXT,
        client_language TEXT,
        zone TEXT,
        notices TEXT CHECK (notices IN ('on', 'quiet', 'off')),
        model TEXT
    )
    """,
    """
    INSERT INTO preferences (chat, language, client_language, zone, notices, model)
        SELECT chat, language, client_language, zone, notices, model FROM former_preferences
    """,
    "DROP TABLE former_preferences",
    # whether a reply comes without a sound
    "ALTER TABLE outbox ADD COLUMN silent INTEGER NOT NULL DEFAULT 0",
)

QUESTIONS: Migration = (
    # whether a button may be pressed again and again, and whether it is a question that is answered by a reply
    "ALTER TABLE buttons ADD COLUMN again INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE buttons ADD COLUMN by_reply INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX questions ON buttons (outbox_id) WHERE by_reply",
)

PUBLISHED: Migration = (
    # what a channel was told of the bot, such as its menu, as a hash
    """
    CREATE TABLE published (
        channel TEXT NOT NULL,
        what TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        PRIMARY KEY (channel, what)
    ) WITHOUT ROWID
    """,
)

PART_BITS = 40
"""An owner's rows of the index are those whose bits above these are the owner's number."""
_PARTS_COLUMNS = "body, name, tags, scope, speaker, date, previous, next, second_previous, second_next"
_PARTS_LEAVE = f"""
INSERT INTO search (search, rowid, {_PARTS_COLUMNS}) SELECT 'delete', row, {_PARTS_COLUMNS} FROM searchable_entries
"""
_PARTS_ENTER = f"INSERT INTO search (rowid, {_PARTS_COLUMNS}) SELECT row, {_PARTS_COLUMNS} FROM searchable_entries"

PARTS: Migration = (
    # The owner was a token of each row. In a large memory most of a search's time went into walking that token's list,
    # and into counting it for BM25. Now what one owner has lies together, in a range of rows.
    *(f"DROP TRIGGER {name}" for name in ("entry_leaves", "entry_enters", "entry_is_gone", "name_enters")),
    *(f"DROP TRIGGER {name}" for name in ("name_is_gone", "name_leaves", "name_is_new")),
    "DROP TABLE search",
    *(f"DROP VIEW {name}" for name in ("searchable", "searchable_entries", "searchable_messages")),
    f"""
    CREATE VIEW searchable_entries AS
    SELECT e.id, (e.owner_id << {PART_BITS}) + 2 * e.id AS row,
        indexable(e.content || coalesce(char(10) || e.outcome, '')) AS body,
        indexable(n.name) AS name, indexable(e.tags) AS tags, indexable(e.scope) AS scope, NULL AS speaker,
        date_words(e.created_at) AS date, NULL AS previous, NULL AS next, NULL AS second_previous, NULL AS second_next
    FROM entries e JOIN names n ON n.entry_id = e.id AND NOT n.is_alias WHERE e.deleted_at IS NULL
    """,
    f"""
    CREATE VIEW searchable_messages AS
    SELECT m.id, (c.owner_id << {PART_BITS}) + 2 * m.id + 1 AS row, indexable(m.content) AS body,
        NULL AS name, NULL AS tags, NULL AS scope,
        indexable(coalesce(m.speaker, m.role)) AS speaker, date_words(m.created_at) AS date,
        indexable((SELECT p.content FROM spoken p
            WHERE p.conversation_id = m.conversation_id AND p.id < m.id ORDER BY p.id DESC LIMIT 1)) AS previous,
        indexable((SELECT n.content FROM spoken n
            WHERE n.conversation_id = m.conversation_id AND n.id > m.id ORDER BY n.id LIMIT 1)) AS next,
        indexable((SELECT p.content FROM spoken p WHERE p.conversation_id = m.conversation_id AND p.id < m.id
            ORDER BY p.id DESC LIMIT 1 OFFSET 1)) AS second_previous,
        indexable((SELECT n.content FROM spoken n WHERE n.conversation_id = m.conversation_id AND n.id > m.id
            ORDER BY n.id LIMIT 1 OFFSET 1)) AS second_next
    FROM spoken m JOIN conversations c ON c.id = m.conversation_id
    """,
    """
    CREATE VIEW searchable AS
    SELECT * FROM searchable_entries UNION ALL SELECT * FROM searchable_messages
    """,
    f"""
    CREATE VIRTUAL TABLE search USING fts5 (
        {_PARTS_COLUMNS},
        content = 'searchable', content_rowid = 'row', tokenize = 'porter unicode61 remove_diacritics 2'
    )
    """,
    f"""
    CREATE TRIGGER entry_leaves BEFORE UPDATE OF {_WITH_OUTCOME} ON entries BEGIN {_PARTS_LEAVE} WHERE id = old.id; END
    """,
    f"""
    CREATE TRIGGER entry_enters AFTER UPDATE OF {_WITH_OUTCOME} ON entries BEGIN {_PARTS_ENTER} WHERE id = new.id; END
    """,
    f"CREATE TRIGGER entry_is_gone BEFORE DELETE ON entries BEGIN {_PARTS_LEAVE} WHERE id = old.id; END",
    f"CREATE TRIGGER name_enters AFTER INSERT ON names {_NEW} BEGIN {_PARTS_ENTER} WHERE id = new.entry_id; END",
    f"CREATE TRIGGER name_is_gone BEFORE DELETE ON names {_OLD} BEGIN {_PARTS_LEAVE} WHERE id = old.entry_id; END",
    f"CREATE TRIGGER name_leaves BEFORE UPDATE ON names {_OLD} BEGIN {_PARTS_LEAVE} WHERE id = old.entry_id; END",
    f"CREATE TRIGGER name_is_new AFTER UPDATE ON names {_NEW} BEGIN {_PARTS_ENTER} WHERE id = new.entry_id; END",
    *REBUILD,
)

MESSAGES_ONCE: Migration = (
    # bot, chat and number of the message that an update brings: one message is one, however many updates bring it
    "ALTER TABLE inbox ADD COLUMN new_message TEXT",
    "CREATE UNIQUE INDEX inbox_messages ON inbox (channel, new_message) WHERE new_message IS NOT NULL",
)

SPEAKERS: Migration = (
    # whose name is whose in a group. key: the name in one case and without accents, as people would take it for another
    """
    CREATE TABLE speakers (
        owner_id INTEGER NOT NULL REFERENCES owners (id) ON DELETE CASCADE,
        key TEXT NOT NULL,
        speaker_id TEXT NOT NULL,
        PRIMARY KEY (owner_id, key)
    ) WITHOUT ROWID
    """,
)

PROPOSALS: Migration = (
    # what confirming an entry does besides: see memory/ledger/proposals.py
    "ALTER TABLE entries ADD COLUMN proposal TEXT",
    # an action may be written in several steps, so its number is not always the newest row's
    "CREATE INDEX changes_by_batch ON changes (batch)",
)

SNOWBALL: Migration = (
    # Cyrillic words have Snowball's stems
    *REBUILD,
    "INSERT INTO search_parts (search_parts) VALUES ('rebuild')",
    # all vectors of an owner are compared, so their signs need no index
    "DROP TRIGGER changed_entry_loses_vector",
    "DROP INDEX signs_of_owner",
    "ALTER TABLE vectors DROP COLUMN signs",
    "CREATE INDEX vectors_of_owner ON vectors (owner_id, model_id, id)",
    """
    CREATE TRIGGER changed_entry_loses_vector AFTER UPDATE OF content, outcome, deleted_at, owner_id ON entries BEGIN
        UPDATE vectors SET model_id = 0, vector = x'' WHERE row = 2 * new.id;
    END
    """,
)

ATTEMPTS: Migration = (
    # in how many runs of the program work on it was begun, and the last of these: what is not done then has ended them
    "ALTER TABLE inbox ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE inbox ADD COLUMN run TEXT",
    "CREATE TABLE job_attempts (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID",
)

MIGRATIONS: tuple[Migration, ...] = (
    SESSIONS_AND_LOG,
    ENTRIES,
    MAILBOX,
    ACCESS_AND_USAGE,
    CHANGES,
    SEARCH,
    PURGE,
    REBUILD,
    CONSOLIDATION,
    ACTIVATION,
    ENDPOINTS,
    INDEX_BY_TRIGGERS,
    LEDGER,
    PROVENANCE,
    NOTES,
    OUTCOMES,
    EVIDENCE,
    DELIVERY,
    MEDIA,
    VECTORS,
    BUTTONS,
    STRANGERS,
    REMINDERS,
    PREFERENCES,
    REACTIONS,
    COSTS,
    DOCUMENTS,
    MOVES,
    TRACES,
    PRIVATE,
    NOTICES,
    QUESTIONS,
    PUBLISHED,
    PARTS,
    MESSAGES_ONCE,
    SPEAKERS,
    PROPOSALS,
    SNOWBALL,
    ATTEMPTS,
)
