-- Receipts have no foreign key: they outlive their box.

CREATE TABLE receipts (
    id        TEXT PRIMARY KEY,
    owner_uid INTEGER NOT NULL,
    box       TEXT    NOT NULL,
    state     TEXT    NOT NULL,
    created   INTEGER NOT NULL, -- nanoseconds since 1970
    record    TEXT    NOT NULL
);

CREATE INDEX receipts_by_owner ON receipts (owner_uid, created);
CREATE INDEX receipts_by_box ON receipts (box, created);

-- A restart reads only those that were interrupted.
CREATE INDEX receipts_landing ON receipts (state) WHERE state = 'landing';
