-- A column for what is queried; the rest of a record is JSON, so that a new
-- field needs no migration.

CREATE TABLE boxes (
    id        TEXT PRIMARY KEY,
    owner_uid INTEGER NOT NULL,
    name      TEXT    NOT NULL,
    state     TEXT    NOT NULL,
    created   INTEGER NOT NULL, -- nanoseconds since 1970
    env       TEXT    NOT NULL, -- large, and never changes
    record    TEXT    NOT NULL,
    UNIQUE (owner_uid, name)
);

-- Only boxes that are doing something: a restart reads these and no others.
CREATE INDEX boxes_active ON boxes (state) WHERE state <> 'stopped';

CREATE TABLE execs (
    box    TEXT    NOT NULL REFERENCES boxes (id) ON DELETE CASCADE,
    id     INTEGER NOT NULL,
    record TEXT    NOT NULL,
    PRIMARY KEY (box, id)
) WITHOUT ROWID;
