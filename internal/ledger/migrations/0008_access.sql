-- Tokens are few: all of them are read when a daemon starts. The hash is beside
-- the record, which is what the API shows.

CREATE TABLE tokens (
    id      TEXT    PRIMARY KEY,
    created INTEGER NOT NULL, -- nanoseconds since 1970
    hash    BLOB    NOT NULL,
    record  TEXT    NOT NULL
);

-- The audit trail. Ids are given by the daemon, before they are written.

CREATE TABLE calls (
    id        INTEGER PRIMARY KEY,
    owner_uid INTEGER NOT NULL, -- -1: not known
    time      INTEGER NOT NULL, -- nanoseconds since 1970
    record    TEXT    NOT NULL
);

CREATE INDEX calls_by_owner ON calls (owner_uid, id);
CREATE INDEX calls_by_time ON calls (time);
