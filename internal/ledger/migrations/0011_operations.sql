-- Long work that goes on without its caller.

CREATE TABLE operations (
    id        TEXT    PRIMARY KEY,
    owner_uid INTEGER NOT NULL,
    began     INTEGER NOT NULL, -- nanoseconds since 1970
    ended     INTEGER NOT NULL, -- 0: it runs, or did when its daemon ended
    record    TEXT    NOT NULL
);

CREATE INDEX operations_by_owner ON operations (owner_uid, began);
