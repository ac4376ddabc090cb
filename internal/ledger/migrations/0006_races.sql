-- Entries have rows of their own: a race of a hundred approaches changes one of
-- them at a time.

CREATE TABLE races (
    id        TEXT PRIMARY KEY,
    owner_uid INTEGER NOT NULL,
    name      TEXT    NOT NULL,
    state     TEXT    NOT NULL,
    created   INTEGER NOT NULL, -- nanoseconds since 1970
    record    TEXT    NOT NULL, -- without its entries
    UNIQUE (owner_uid, name)
);

CREATE INDEX races_by_owner ON races (owner_uid, created);

-- Only those that a restart has to go on with.
CREATE INDEX races_running ON races (state) WHERE state = 'running';

CREATE TABLE race_entries (
    race   TEXT    NOT NULL REFERENCES races (id) ON DELETE CASCADE,
    place  INTEGER NOT NULL,
    name   TEXT    NOT NULL,
    record TEXT    NOT NULL,
    PRIMARY KEY (race, place),
    UNIQUE (race, name)
) WITHOUT ROWID;
