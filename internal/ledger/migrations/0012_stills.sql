-- The data of services at one moment.

CREATE TABLE stills (
    id        TEXT    PRIMARY KEY,
    owner_uid INTEGER NOT NULL,
    taken     INTEGER NOT NULL, -- nanoseconds since 1970
    record    TEXT    NOT NULL
);

CREATE INDEX stills_by_owner ON stills (owner_uid, taken);
