-- Connections have no foreign key: they outlive their box for a while. Their
-- ids are given by the engine, before they are written.

CREATE TABLE conns (
    id        INTEGER PRIMARY KEY,
    owner_uid INTEGER NOT NULL,
    box       TEXT    NOT NULL,
    state     TEXT    NOT NULL,
    time      INTEGER NOT NULL, -- nanoseconds since 1970
    record    TEXT    NOT NULL
);

CREATE INDEX conns_by_owner ON conns (owner_uid, id);
CREATE INDEX conns_by_box ON conns (box, id);
CREATE INDEX conns_by_time ON conns (time);

-- A restart marks those that were open as lost, and reads no others.
CREATE INDEX conns_open ON conns (state) WHERE state = 'open';
