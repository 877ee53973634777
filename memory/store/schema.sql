-- Everything that is kept, by subject. What is derived says so; all else is the truth.
-- Some columns call functions of the program: indexable and date_words (memory/text/words.py), strength
-- (memory/store/decay.py). Whoever changes what they make adds a migration that rebuilds what was made by them.

-- Owners, sessions and the log -----------------------------------------------------------------------------------

-- numbered, so that a number can stand for one in the search index
CREATE TABLE owners (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE);

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    thread_id TEXT,
    owner TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'ACTIVE' CHECK (state IN ('ACTIVE', 'PAUSED', 'TERMINATED')),
    metadata TEXT NOT NULL DEFAULT '{}',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    activated TEXT, -- what the last turn had in its request, as JSON, for /memory why
    private INTEGER NOT NULL DEFAULT 0 -- from /private to /new: what is said meanwhile is held in memory only
) WITHOUT ROWID;

CREATE TABLE conversations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    owner_id INTEGER NOT NULL REFERENCES owners (id),
    started_at TEXT NOT NULL,
    ended_at TEXT,
    -- the ids of the last message that was consolidated, and of the last that is to be
    consolidated_through INTEGER NOT NULL DEFAULT 0,
    consolidation_due INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX current_conversation ON conversations (session_id) WHERE ended_at IS NULL;
CREATE INDEX due_conversations ON conversations (id) WHERE consolidation_due > consolidated_through;

CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    outcome TEXT NOT NULL CHECK (outcome IN ('answered', 'stopped', 'failed', 'retried')),
    failure TEXT,
    started_at TEXT NOT NULL,
    finished_at TEXT NOT NULL,
    -- its line in the daily note; that of a retried turn is to be taken out
    note TEXT CHECK (note IN ('due', 'written'))
);
CREATE INDEX turns_of_conversation ON turns (conversation_id, id);
CREATE INDEX unsettled_notes ON turns (id) WHERE note = 'due' OR note = 'written' AND outcome = 'retried';

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
    created_at TEXT NOT NULL,
    media TEXT -- the numbers of what it is about, as JSON
);
CREATE INDEX messages_of_conversation ON messages (conversation_id, id);
CREATE INDEX messages_of_turn ON messages (turn_id);

-- where compactions cut
CREATE TABLE markers (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    archive_name TEXT NOT NULL,
    archive_id INTEGER NOT NULL,
    archived_at TEXT NOT NULL,
    first_kept_message_id INTEGER NOT NULL,
    summary TEXT, -- of a private talk, which has no archive
    trusted INTEGER
);
CREATE INDEX markers_of_conversation ON markers (conversation_id, id);
CREATE INDEX markers_of_archive ON markers (archive_id);

-- who is called what in a group
CREATE TABLE speakers (
    owner_id INTEGER NOT NULL REFERENCES owners (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    speaker_id TEXT NOT NULL,
    PRIMARY KEY (owner_id, key)
) WITHOUT ROWID;

-- the messages that a person would look for: what was said, not what tools were told
CREATE VIEW spoken AS
    SELECT m.* FROM messages m JOIN turns t ON t.id = m.turn_id
    WHERE m.content <> '' AND t.outcome <> 'retried' AND m.role IN ('user', 'assistant');

-- What came from another program, so that it comes once: the messages of a conversation that were taken and what tells
-- them from others, or a memory. An imported answer has the program that gave it as its speaker.
CREATE TABLE imported (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_id INTEGER NOT NULL REFERENCES owners (id) ON DELETE CASCADE,
    program TEXT NOT NULL,
    source_id TEXT NOT NULL,
    entry_id INTEGER NOT NULL, -- the entry that tells of the import
    conversation_id INTEGER REFERENCES conversations (id) ON DELETE CASCADE,
    messages INTEGER NOT NULL,
    digest TEXT NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0, -- it is to be removed
    learning_tries INTEGER NOT NULL DEFAULT 0, -- to learn from it, that are left; 0: it is not asked for
    learned_through INTEGER NOT NULL DEFAULT 0 -- the last message that was learned from
);
CREATE INDEX imported_of_owner ON imported (owner_id, id);
CREATE INDEX imported_by_entry ON imported (entry_id);
CREATE UNIQUE INDEX imported_conversations ON imported (conversation_id) WHERE conversation_id IS NOT NULL;
CREATE INDEX undone_imports ON imported (id) WHERE undone;
CREATE INDEX imports_to_learn ON imported (owner_id) WHERE learning_tries;

-- Entries and what changed them ----------------------------------------------------------------------------------

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
    failure_count INTEGER NOT NULL DEFAULT 0,
    steps TEXT,
    reinforcement_count INTEGER NOT NULL DEFAULT 1,
    last_reinforced_at TEXT NOT NULL,
    -- derived, by the triggers below alone: in half-lives, which time does not change, so an index gives the strongest
    strength REAL NOT NULL DEFAULT 0,
    valid_from TEXT NOT NULL,
    valid_until TEXT, -- from when on it is history
    superseded_by INTEGER REFERENCES entries (id),
    subject TEXT, -- what a fact is about
    line TEXT, -- what was written into MEMORY.md for it
    unconfirmed TEXT, -- why not, in words for a person; NULL: it is confirmed
    quote TEXT, -- the words of the message that bear it out
    proposal TEXT, -- what follows once it is confirmed, as JSON
    shared_at TEXT, -- since when the family may know it; NULL: it is its owner's alone
    shared_by TEXT, -- the name of the person who shared it
    source_message_id INTEGER,
    author TEXT NOT NULL,
    trusted INTEGER NOT NULL DEFAULT 1,
    created_at TEXT NOT NULL,
    archived_at TEXT,
    deleted_at TEXT
);
CREATE INDEX entries_of_owner ON entries (owner_id, kind, id);
CREATE INDEX entries_by_subject ON entries (owner_id, subject) WHERE subject IS NOT NULL;
CREATE INDEX superseded_entries ON entries (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX removed_entries ON entries (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX unconfirmed_entries ON entries (owner_id) WHERE unconfirmed IS NOT NULL;
CREATE INDEX shared_entries ON entries (shared_at) WHERE shared_at IS NOT NULL;
CREATE INDEX strongest_entries ON entries (owner_id, kind, priority, strength)
    WHERE superseded_by IS NULL AND archived_at IS NULL AND deleted_at IS NULL;

-- The chats, by their owners, that read what was shared and may share: under MEMORY_SCOPE=family. from_settings: it is
-- so for as long as the settings let them in.
CREATE TABLE family (owner TEXT PRIMARY KEY, from_settings INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;

CREATE TABLE decay (half_life_days REAL NOT NULL);
INSERT INTO decay (half_life_days) VALUES (90);
CREATE TRIGGER strength_of_new AFTER INSERT ON entries BEGIN
    UPDATE entries SET strength =
        strength(reinforcement_count, last_reinforced_at, (SELECT half_life_days FROM decay)) WHERE id = new.id;
END;
CREATE TRIGGER strength_of_reinforced AFTER UPDATE OF reinforcement_count, last_reinforced_at ON entries BEGIN
    UPDATE entries SET strength =
        strength(reinforcement_count, last_reinforced_at, (SELECT half_life_days FROM decay)) WHERE id = new.id;
END;
CREATE TRIGGER strength_of_all AFTER UPDATE ON decay BEGIN
    UPDATE entries SET strength = strength(reinforcement_count, last_reinforced_at, new.half_life_days);
END;

-- names and aliases stand in one table, so that one constraint keeps them unique together
CREATE TABLE names (
    owner_id INTEGER NOT NULL REFERENCES owners (id),
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    entry_id INTEGER NOT NULL REFERENCES entries (id) ON DELETE CASCADE,
    is_alias INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (owner_id, key)
) WITHOUT ROWID;
CREATE INDEX names_of_entry ON names (entry_id);

-- A row for each entry that an operation touched, `before` a snapshot as JSON; or, with entry 0, a change of MEMORY.md,
-- `before` and `after` its text. What has the same batch is undone together.
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
    undone_at TEXT,
    unwritten INTEGER NOT NULL DEFAULT 0 -- a change of MEMORY.md that is not known to be in the file yet
);
CREATE INDEX changes_of_owner ON changes (owner_id, batch) WHERE undone_at IS NULL;
CREATE INDEX changes_by_batch ON changes (batch);
CREATE INDEX changes_by_time ON changes (at);
CREATE INDEX versions_of_memory ON changes (owner_id, id) WHERE entry_id = 0;
CREATE INDEX unwritten_changes ON changes (id) WHERE unwritten;

-- what an update has done to memory, so that it is not done again when the update is worked on anew
CREATE TABLE effects (cause TEXT PRIMARY KEY, at TEXT NOT NULL) WITHOUT ROWID;

-- The search index: derived from entries and messages -----------------------------------------------------------

-- It stores no text of its own but reads these views. An entry stands in an even row, a message in an odd one.
-- What is shared stands a second time in the part of owner 0, which the family searches beside each one's own.
CREATE VIEW searchable_entries AS
    SELECT e.id, (part.column1 * e.owner_id << 40) + 2 * e.id AS row,
        indexable(e.content || coalesce(char(10) || e.outcome, '')) AS body,
        indexable(n.name) AS name, indexable(e.tags) AS tags, indexable(e.scope) AS scope, NULL AS speaker,
        date_words(e.created_at) AS date, NULL AS previous, NULL AS next, NULL AS second_previous, NULL AS second_next
    FROM entries e JOIN names n ON n.entry_id = e.id AND NOT n.is_alias
    JOIN (VALUES (1), (0)) part ON part.column1 = 1 OR e.shared_at IS NOT NULL WHERE e.deleted_at IS NULL;
CREATE VIEW searchable_messages AS
    SELECT m.id, (c.owner_id << 40) + 2 * m.id + 1 AS row, indexable(m.content) AS body,
        NULL AS name, NULL AS tags, NULL AS scope,
        indexable(coalesce(m.speaker, m.role)) AS speaker, date_words(m.created_at) AS date,
        indexable((SELECT p.content FROM spoken p WHERE p.conversation_id = m.conversation_id AND p.id < m.id
            ORDER BY p.id DESC LIMIT 1)) AS previous,
        indexable((SELECT n.content FROM spoken n WHERE n.conversation_id = m.conversation_id AND n.id > m.id
            ORDER BY n.id LIMIT 1)) AS next,
        indexable((SELECT p.content FROM spoken p WHERE p.conversation_id = m.conversation_id AND p.id < m.id
            ORDER BY p.id DESC LIMIT 1 OFFSET 1)) AS second_previous,
        indexable((SELECT n.content FROM spoken n WHERE n.conversation_id = m.conversation_id AND n.id > m.id
            ORDER BY n.id LIMIT 1 OFFSET 1)) AS second_next
    FROM spoken m JOIN conversations c ON c.id = m.conversation_id;
CREATE VIEW searchable AS SELECT * FROM searchable_entries UNION ALL SELECT * FROM searchable_messages;
CREATE VIRTUAL TABLE search USING fts5 (
    body, name, tags, scope, speaker, date, previous, next, second_previous, second_next,
    content = 'searchable', content_rowid = 'row', tokenize = 'porter unicode61 remove_diacritics 2'
);

-- An entry is in the index while it has the name that it goes by, so that a new one enters once, with its name. A row
-- leaves the index before the write that changes it, with the very text that it was put in with. For messages, whose
-- neighbours are in the index too, memory/store/index.py does the same.
CREATE TRIGGER entry_leaves
    BEFORE UPDATE OF content, tags, scope, created_at, owner_id, deleted_at, outcome, shared_at ON entries BEGIN
    INSERT INTO search (search, rowid, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next)
        SELECT 'delete', row, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next
        FROM searchable_entries WHERE id = old.id;
END;
CREATE TRIGGER entry_enters
    AFTER UPDATE OF content, tags, scope, created_at, owner_id, deleted_at, outcome, shared_at ON entries BEGIN
    INSERT INTO search (rowid, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next)
        SELECT row, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next
        FROM searchable_entries WHERE id = new.id;
END;
CREATE TRIGGER entry_is_gone BEFORE DELETE ON entries BEGIN
    INSERT INTO search (search, rowid, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next)
        SELECT 'delete', row, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next
        FROM searchable_entries WHERE id = old.id;
END;
CREATE TRIGGER name_enters AFTER INSERT ON names WHEN NOT new.is_alias BEGIN
    INSERT INTO search (rowid, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next)
        SELECT row, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next
        FROM searchable_entries WHERE id = new.entry_id;
END;
CREATE TRIGGER name_is_gone BEFORE DELETE ON names WHEN NOT old.is_alias BEGIN
    INSERT INTO search (search, rowid, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next)
        SELECT 'delete', row, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next
        FROM searchable_entries WHERE id = old.entry_id;
END;
CREATE TRIGGER name_leaves BEFORE UPDATE ON names WHEN NOT old.is_alias BEGIN
    INSERT INTO search (search, rowid, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next)
        SELECT 'delete', row, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next
        FROM searchable_entries WHERE id = old.entry_id;
END;
CREATE TRIGGER name_is_new AFTER UPDATE ON names WHEN NOT new.is_alias BEGIN
    INSERT INTO search (rowid, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next)
        SELECT row, body, name, tags, scope, speaker, date, previous, next, second_previous, second_next
        FROM searchable_entries WHERE id = new.entry_id;
END;

-- Vectors: derived from what stands in the index, by its rows there ----------------------------------------------

CREATE TABLE embedding_models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- Model 0: to be made anew. Whoever holds them in memory learns by the ids what is new.
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    row INTEGER NOT NULL UNIQUE,
    owner_id INTEGER NOT NULL,
    conversation_id INTEGER,
    model_id INTEGER NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX vectors_of_model ON vectors (model_id);
CREATE INDEX vectors_of_owner ON vectors (owner_id, model_id, id);
CREATE TRIGGER message_loses_vector AFTER DELETE ON messages BEGIN
    DELETE FROM vectors WHERE row = 2 * old.id + 1;
END;
CREATE TRIGGER retried_lose_vectors AFTER UPDATE OF outcome ON turns WHEN new.outcome = 'retried' BEGIN
    DELETE FROM vectors WHERE row IN (SELECT 2 * id + 1 FROM messages WHERE turn_id = new.id);
END;
CREATE TRIGGER entry_loses_vector AFTER DELETE ON entries BEGIN
    DELETE FROM vectors WHERE row = 2 * old.id;
END;
CREATE TRIGGER changed_entry_loses_vector AFTER UPDATE OF content, outcome, deleted_at, owner_id ON entries BEGIN
    UPDATE vectors SET model_id = 0, vector = x'' WHERE row = 2 * new.id;
END;

-- What was sent besides words ------------------------------------------------------------------------------------

-- by reference: the channel keeps the bytes
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
);
CREATE INDEX media_of_session ON media (session_id);

-- the text of a document, cut into parts that a model can read one by one; of a recording what is said in it
CREATE TABLE media_parts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    media_id INTEGER NOT NULL REFERENCES media (id) ON DELETE CASCADE,
    owner_id INTEGER NOT NULL REFERENCES owners (id),
    number INTEGER NOT NULL,
    label TEXT NOT NULL,
    content TEXT NOT NULL,
    UNIQUE (media_id, number)
);
CREATE VIEW searchable_parts AS
    SELECT id AS row, 'o' || owner_id AS owner, indexable(content) AS body FROM media_parts;
CREATE VIRTUAL TABLE search_parts USING fts5 (
    owner, body, content = 'searchable_parts', content_rowid = 'row',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER part_enters AFTER INSERT ON media_parts BEGIN
    INSERT INTO search_parts (rowid, owner, body) SELECT row, owner, body FROM searchable_parts WHERE row = new.id;
END;
CREATE TRIGGER part_leaves BEFORE DELETE ON media_parts BEGIN
    INSERT INTO search_parts (search_parts, rowid, owner, body)
        SELECT 'delete', row, owner, body FROM searchable_parts WHERE row = old.id;
END;

-- Mail: what came and what is to be sent -------------------------------------------------------------------------

CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    channel TEXT NOT NULL,
    update_id INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    message_id TEXT, -- the channel's own id of the message: an edit is about the same one
    new_message TEXT, -- the same where the update brings it for the first time: it comes once, whatever its update's id
    payload TEXT NOT NULL, -- {}: of a private talk, or forgotten
    state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'held', 'done')),
    -- in how many runs of the program work on it was begun, and the last of these: what is not done then has ended them
    attempts INTEGER NOT NULL DEFAULT 0,
    run TEXT,
    received_at TEXT NOT NULL,
    UNIQUE (channel, update_id)
);
CREATE INDEX inbox_waiting ON inbox (channel, id) WHERE state <> 'done';
CREATE INDEX inbox_of_message ON inbox (channel, session_id, message_id) WHERE message_id IS NOT NULL;
CREATE UNIQUE INDEX inbox_messages ON inbox (channel, new_message) WHERE new_message IS NOT NULL;

-- an update that can't be read, as it came
CREATE TABLE set_aside (
    channel TEXT NOT NULL,
    update_id INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    payload TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (channel, update_id)
) WITHOUT ROWID;

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    channel TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn_id INTEGER REFERENCES turns (id) ON DELETE SET NULL,
    text TEXT NOT NULL,
    reply_to TEXT,
    preview_id TEXT,
    silent INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'given up')),
    message_ids TEXT NOT NULL DEFAULT '[]',
    failure TEXT,
    created_at TEXT NOT NULL,
    settled_at TEXT
);
-- without it each deleted turn looks through the whole outbox for replies that refer to it
CREATE INDEX outbox_of_turn ON outbox (turn_id);
CREATE INDEX outbox_waiting ON outbox (channel, session_id, id) WHERE state = 'waiting';

-- a document that goes with a reply, until that is settled
CREATE TABLE documents (
    outbox_id INTEGER PRIMARY KEY REFERENCES outbox (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    content BLOB NOT NULL,
    is_voice INTEGER NOT NULL DEFAULT 0
);
CREATE TRIGGER document_is_settled AFTER UPDATE OF state ON outbox WHEN new.state <> 'waiting' BEGIN
    DELETE FROM documents WHERE outbox_id = new.id;
END;

CREATE TABLE buttons (
    id TEXT PRIMARY KEY,
    outbox_id INTEGER NOT NULL REFERENCES outbox (id) ON DELETE CASCADE,
    line INTEGER NOT NULL,
    label TEXT NOT NULL,
    said TEXT NOT NULL, -- the command that a press stands for
    in_place INTEGER NOT NULL,
    again INTEGER NOT NULL DEFAULT 0,
    by_reply INTEGER NOT NULL DEFAULT 0,
    asker TEXT,
    expires_at TEXT,
    pressed_by INTEGER
);
CREATE INDEX buttons_of_reply ON buttons (outbox_id);
CREATE INDEX questions ON buttons (outbox_id) WHERE by_reply;

-- the message in a chat that shows the beginning of an answer and is to become it
CREATE TABLE previews (
    channel TEXT NOT NULL,
    session_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    PRIMARY KEY (channel, session_id)
) WITHOUT ROWID;

-- messages on which the bot's reaction stands, which is to be taken away
CREATE TABLE reactions (
    channel TEXT NOT NULL,
    session_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    PRIMARY KEY (channel, session_id, message_id)
) WITHOUT ROWID;

-- quiet lines that wait for an owner's next reply
CREATE TABLE notices (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_id INTEGER NOT NULL REFERENCES owners (id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    at TEXT NOT NULL,
    buttons TEXT NOT NULL DEFAULT '[]'
);
CREATE INDEX notices_of_owner ON notices (owner_id, id);

-- the former ids of groups that became supergroups
CREATE TABLE moves (
    channel TEXT NOT NULL,
    former TEXT NOT NULL,
    present TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (channel, former)
) WITHOUT ROWID;

-- menus that a channel was given, so that the same is not given again
CREATE TABLE published (
    channel TEXT NOT NULL,
    what TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    PRIMARY KEY (channel, what)
) WITHOUT ROWID;

-- Deletions ------------------------------------------------------------------------------------------------------

-- what was deleted and may still stand in a file
CREATE TABLE traces (id INTEGER PRIMARY KEY AUTOINCREMENT);

-- Reminders ------------------------------------------------------------------------------------------------------

CREATE TABLE reminders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_id INTEGER NOT NULL REFERENCES owners (id),
    session_id TEXT NOT NULL,
    text TEXT NOT NULL,
    repeat TEXT NOT NULL CHECK (repeat IN ('once', 'daily', 'weekly', 'monthly', 'yearly')),
    first TEXT NOT NULL CHECK (first GLOB '[0-9][0-9][0-9][0-9]-*T*' AND datetime(first) IS NOT NULL),
    zone TEXT NOT NULL,
    days TEXT NOT NULL DEFAULT '' CHECK (days NOT GLOB '*[^0-6,]*'),
    state TEXT NOT NULL CHECK (state IN ('offered', 'waiting', 'telling', 'told', 'failed', 'done', 'cancelled')),
    next_at TEXT,
    told_for TEXT,
    told_at TEXT,
    outbox_id INTEGER,
    trusted INTEGER NOT NULL DEFAULT 1,
    entry_id INTEGER,
    task TEXT CHECK (task IN ('aloud', 'quiet')), -- it is done by a turn, whose answer comes so; NULL: it is only told
    failures INTEGER NOT NULL DEFAULT 0, -- of a task, in a row
    created_at TEXT NOT NULL
);
CREATE INDEX reminders_of_owner ON reminders (owner_id, state);
CREATE INDEX reminders_waiting ON reminders (next_at) WHERE state = 'waiting';
CREATE INDEX reminders_of_outbox ON reminders (outbox_id) WHERE outbox_id IS NOT NULL;
CREATE INDEX reminders_of_entry ON reminders (entry_id) WHERE entry_id IS NOT NULL;
-- a reminder is told when its message is sent; one for a chat that was left waits until the chat is back
CREATE TRIGGER reminder_is_settled AFTER UPDATE OF state ON outbox WHEN new.state <> 'waiting' BEGIN
    UPDATE reminders SET told_at = new.settled_at, state = iif(state = 'telling', 'told', state)
        WHERE outbox_id = new.id AND state IN ('telling', 'waiting') AND new.state = 'sent';
    UPDATE reminders SET next_at = told_for, state = 'waiting'
        WHERE outbox_id = new.id AND state IN ('telling', 'waiting') AND new.state = 'given up'
            AND EXISTS (SELECT 1 FROM sessions WHERE id = new.session_id AND state = 'TERMINATED');
    UPDATE reminders SET state = 'failed'
        WHERE outbox_id = new.id AND state = 'telling' AND new.state = 'given up';
END;

-- People, preferences and the running of the service -------------------------------------------------------------

CREATE TABLE members (
    channel TEXT NOT NULL,
    user_id INTEGER NOT NULL,
    since TEXT NOT NULL,
    let_in INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (channel, user_id)
) WITHOUT ROWID;
CREATE TABLE refused (channel TEXT NOT NULL, user_id INTEGER NOT NULL, PRIMARY KEY (channel, user_id)) WITHOUT ROWID;
CREATE TABLE claim_codes (
    channel TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE preferences (
    chat TEXT PRIMARY KEY,
    language TEXT,
    client_language TEXT,
    zone TEXT,
    notices TEXT CHECK (notices IN ('on', 'quiet', 'off')),
    voice TEXT CHECK (voice IN ('auto', 'always', 'never')),
    model TEXT,
    tools TEXT -- what was settled on tools of other servers, as JSON: by tool, always or never
);

CREATE TABLE usage (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    session_id TEXT,
    purpose TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost REAL
);
CREATE INDEX usage_by_time ON usage (at);

-- of each model at each address: what it refuses in a request (a list of names as JSON), and its window
CREATE TABLE endpoints (
    url TEXT NOT NULL,
    model TEXT NOT NULL,
    refused TEXT NOT NULL DEFAULT '[]',
    refused_at TEXT,
    context_tokens INTEGER,
    output_tokens INTEGER,
    asked_at TEXT,
    PRIMARY KEY (url, model)
) WITHOUT ROWID;

-- when the scheduler's jobs ran last, so that they catch up after a downtime; and how often they were begun in vain
CREATE TABLE jobs (name TEXT PRIMARY KEY, ran_at TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE job_attempts (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;

-- what the Markdown files and skills say, where the database is replicated: by their path in the data directory
CREATE TABLE file_copies (
    path TEXT PRIMARY KEY,
    content BLOB NOT NULL,
    size INTEGER NOT NULL,
    changed INTEGER NOT NULL -- nanoseconds of the file's last change
);
