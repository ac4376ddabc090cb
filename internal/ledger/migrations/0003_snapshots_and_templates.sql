-- Snapshots go with their box. Templates stand for themselves.

CREATE TABLE snapshots (
    id        TEXT PRIMARY KEY,
    box       TEXT    NOT NULL REFERENCES boxes (id) ON DELETE CASCADE,
    owner_uid INTEGER NOT NULL,
    name      TEXT    NOT NULL,
    auto      INTEGER NOT NULL, -- made by a rollback
    created   INTEGER NOT NULL, -- nanoseconds since 1970
    record    TEXT    NOT NULL,
    UNIQUE (box, name)
);

CREATE INDEX snapshots_by_owner ON snapshots (owner_uid, created);

CREATE TABLE templates (
    id        TEXT PRIMARY KEY,
    owner_uid INTEGER NOT NULL,
    name      TEXT    NOT NULL,
    created   INTEGER NOT NULL, -- nanoseconds since 1970
    record    TEXT    NOT NULL,
    UNIQUE (owner_uid, name)
);
