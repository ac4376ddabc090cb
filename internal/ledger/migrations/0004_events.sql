-- Events have no foreign key: they outlive their box, until newer ones push
-- them out. AUTOINCREMENT, so that an id never comes twice.

CREATE TABLE events (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_uid INTEGER NOT NULL,
    box       TEXT    NOT NULL,
    record    TEXT    NOT NULL
);

CREATE INDEX events_by_owner ON events (owner_uid, id);
CREATE INDEX events_by_box ON events (box, id);

-- In one step with what is added: the table cannot grow without end.
CREATE TRIGGER events_pruned AFTER INSERT ON events BEGIN
    DELETE FROM events WHERE id <= NEW.id - 10000;
END;
