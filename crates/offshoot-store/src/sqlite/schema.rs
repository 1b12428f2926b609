//! The tables.
//!
//! `trees`, `agents`, `runs`, `entries`, `commands` and the journal of files
//! (`file_changes`, `blobs`) are the store's own; the `chat_*` tables are the
//! guide's (PER-02, 04, 06) and a projection. Entries are never changed: a
//! trigger says so to whoever else opens the file, and each keeps the form it was
//! written in. A new version adds a step to
//! the end and raises `VERSION`; it changes no step.

use rusqlite::Connection;

/// The version this code reads and writes.
pub(super) const VERSION: i64 = STEPS.len() as i64;

/// `ofsh`: says that a file is ours.
pub(super) const APPLICATION_ID: i64 = 0x6f66_7368;

/// What leads from one version to the next, from an empty file on.
const STEPS: [&[&str]; 5] = [
    &[LOG, CHAT],
    &[AGENTS_FREE_TO_GO, JOURNAL],
    &[UNSETTLED],
    &[FORMS],
    &[ASKS],
];

/// Brings the tables from one version to another, within a transaction of the caller.
///
/// An empty file has version 0. A step may make a table anew, so foreign keys have to be off
/// meanwhile.
pub(super) fn upgrade(connection: &Connection, from: i64, to: i64) -> rusqlite::Result<()> {
    for (version, step) in (1..=to).zip(STEPS) {
        if version > from {
            connection.execute_batch(&step.concat())?;
        }
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", to)
}

const LOG: &str = "
CREATE TABLE trees (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    epoch INTEGER NOT NULL,
    owned INTEGER NOT NULL,
    pos INTEGER NOT NULL DEFAULT 0,
    updated_at INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE agents (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tree INTEGER NOT NULL REFERENCES trees,
    parent INTEGER REFERENCES agents,
    definition TEXT NOT NULL,
    depth INTEGER NOT NULL,
    inspectable INTEGER NOT NULL
) STRICT;
CREATE INDEX agents_tree ON agents (tree);

-- A run that is settled and not delivered is mail (R14).
CREATE TABLE runs (
    agent INTEGER NOT NULL REFERENCES agents,
    run INTEGER NOT NULL,
    tree INTEGER NOT NULL,
    parent INTEGER,
    settled_pos INTEGER,
    status TEXT,
    delivered_pos INTEGER,
    PRIMARY KEY (agent, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_unsettled_parent ON runs (parent) WHERE settled_pos IS NULL;
CREATE INDEX runs_unsettled_tree ON runs (tree) WHERE settled_pos IS NULL;

CREATE TABLE entries (
    tree INTEGER NOT NULL,
    pos INTEGER NOT NULL,
    agent INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (tree, pos),
    UNIQUE (agent, seq)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER entries_are_final BEFORE UPDATE ON entries
BEGIN
    SELECT RAISE(ABORT, 'entries are never changed');
END;

CREATE TABLE commands (
    arrival INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tree INTEGER NOT NULL REFERENCES trees,
    agent TEXT NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    receipt TEXT
) STRICT;
CREATE INDEX commands_pending ON commands (tree, arrival) WHERE receipt IS NULL;
";

// Ids of messages may be chosen by clients, so they are unique within a session only.
const CHAT: &str = r#"
CREATE TABLE chat_sessions (
    id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    title TEXT,
    workspace_root TEXT,
    model_json TEXT NOT NULL,
    parent_id TEXT,
    parent_message_id TEXT,
    permissions_json TEXT NOT NULL DEFAULT '[]',
    metadata_json TEXT NOT NULL DEFAULT '{}',
    prompt_tokens INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0,
    reasoning_tokens INTEGER NOT NULL DEFAULT 0,
    cache_read INTEGER NOT NULL DEFAULT 0,
    cache_write INTEGER NOT NULL DEFAULT 0,
    total_tokens INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    archived_at INTEGER
) STRICT;
CREATE INDEX chat_sessions_agent ON chat_sessions (agent, updated_at);
CREATE INDEX chat_sessions_workspace ON chat_sessions (workspace_root, updated_at);
CREATE INDEX chat_sessions_parent ON chat_sessions (parent_id);
CREATE INDEX chat_sessions_archived ON chat_sessions (archived_at);

CREATE TABLE chat_messages (
    id TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES chat_sessions ON DELETE CASCADE,
    role TEXT NOT NULL,
    metadata_json TEXT NOT NULL DEFAULT '{}',
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, id)
) STRICT;
CREATE INDEX chat_messages_session ON chat_messages (session_id, created_at);

CREATE TABLE chat_parts (
    id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    "index" INTEGER NOT NULL,
    type TEXT NOT NULL,
    data_json TEXT NOT NULL,
    tool_call_id TEXT,
    tool_state TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (session_id, id),
    FOREIGN KEY (session_id, message_id) REFERENCES chat_messages (session_id, id)
        ON DELETE CASCADE
) STRICT;
CREATE INDEX chat_parts_message ON chat_parts (message_id, "index");
CREATE INDEX chat_parts_call ON chat_parts (tool_call_id, session_id)
    WHERE tool_call_id IS NOT NULL;
"#;

// The parent of an agent was a foreign key of its own table. Without an index of its own, which
// every birth would pay for, that made the removal of an agent a walk through all of them. What it
// said is kept by the append, which finds the parent before it makes the child.
const AGENTS_FREE_TO_GO: &str = "
CREATE TABLE agents_anew (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tree INTEGER NOT NULL REFERENCES trees,
    parent INTEGER,
    definition TEXT NOT NULL,
    depth INTEGER NOT NULL,
    inspectable INTEGER NOT NULL
) STRICT;
INSERT INTO agents_anew SELECT key, id, tree, parent, definition, depth, inspectable FROM agents;
DROP TABLE agents;
ALTER TABLE agents_anew RENAME TO agents;
CREATE INDEX agents_tree ON agents (tree);
";

const JOURNAL: &str = "
-- What stood in files. A hash only finds contents; two that share one are two.
CREATE TABLE blobs (
    key INTEGER PRIMARY KEY,
    hash INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT;
CREATE INDEX blobs_hash ON blobs (hash);

-- In the order they were recorded, across all trees.
CREATE TABLE file_changes (
    n INTEGER PRIMARY KEY,
    tree INTEGER NOT NULL REFERENCES trees,
    agent INTEGER NOT NULL,
    definition TEXT NOT NULL,
    call TEXT NOT NULL,
    path TEXT NOT NULL,
    before INTEGER REFERENCES blobs,
    after INTEGER REFERENCES blobs,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX file_changes_tree ON file_changes (tree);
CREATE INDEX file_changes_path ON file_changes (path);
CREATE INDEX file_changes_before ON file_changes (before);
CREATE INDEX file_changes_after ON file_changes (after);
";

// One index in the place of two: every run enters it when it opens and leaves it when it settles.
const UNSETTLED: &str = "
DROP INDEX runs_unsettled_parent;
DROP INDEX runs_unsettled_tree;
CREATE INDEX runs_unsettled ON runs (tree, parent) WHERE settled_pos IS NULL;
";

// Which form of `offshoot_types::stored` an event is in. Whatever was written before is in the first.
const FORMS: &str = "
ALTER TABLE entries ADD COLUMN form INTEGER NOT NULL DEFAULT 1;
";

// What somebody has to answer: where the entry is that asks. It goes with the decision or the outcome.
const ASKS: &str = "
CREATE TABLE asks (
    agent INTEGER NOT NULL REFERENCES agents,
    call TEXT NOT NULL,
    tree INTEGER NOT NULL REFERENCES trees,
    pos INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    PRIMARY KEY (agent, call)
) STRICT, WITHOUT ROWID;
CREATE INDEX asks_tree ON asks (tree);
";
