-- The layers, and the roots, that this ledger has heard of. Only those are ever
-- swept: what lies in the store and is not here is somebody's work that this
-- ledger lost, or never had.

CREATE TABLE layers (id TEXT PRIMARY KEY) WITHOUT ROWID;

INSERT OR IGNORE INTO layers SELECT e.value FROM boxes, json_each(boxes.record, '$.layers') e;
INSERT OR IGNORE INTO layers SELECT e.value FROM snapshots, json_each(snapshots.record, '$.layers') e;
INSERT OR IGNORE INTO layers SELECT e.value FROM templates, json_each(templates.record, '$.layers') e;
INSERT OR IGNORE INTO layers
    SELECT value FROM (
        SELECT json_extract(record, '$.saving') AS value FROM boxes
        UNION SELECT json_extract(record, '$.base.root') FROM boxes
        UNION SELECT json_extract(record, '$.base.root') FROM snapshots
        UNION SELECT json_extract(record, '$.base.root') FROM templates)
    WHERE value IS NOT NULL AND value <> '';
