-- Requests that came with a key, and what they were answered. The id is of the caller
-- and the key, which is kept nowhere; it opens the answer.

CREATE TABLE keyed (
    id        TEXT    PRIMARY KEY,
    owner_uid INTEGER NOT NULL,
    began     INTEGER NOT NULL, -- nanoseconds since 1970
    request   TEXT    NOT NULL,
    after     INTEGER NOT NULL, -- the latest event before it
    print     BLOB,
    status    INTEGER NOT NULL, -- 0: not known
    answer    BLOB
);

CREATE INDEX keyed_by_owner ON keyed (owner_uid, began);
CREATE INDEX keyed_by_time ON keyed (began);
