-- Every change of state is an event now: one owner's must not push out another's,
-- and looking at each insert for what is too much would cost more than the insert.
-- So the ledger prunes now and then, by box, by owner and by age.

DROP TRIGGER events_pruned;

ALTER TABLE events ADD COLUMN time INTEGER NOT NULL DEFAULT 0; -- nanoseconds since 1970

UPDATE events SET time = unixepoch() * 1000000000;

-- Kinds have got nouns.
UPDATE events SET record = json_set(record, '$.kind', CASE record ->> 'kind'
    WHEN 'ttl-soon' THEN 'box.ends-soon'
    WHEN 'ttl' THEN 'box.time-up'
    WHEN 'idle' THEN 'box.idle'
    WHEN 'oom' THEN 'limit.memory'
    WHEN 'pids-limit' THEN 'limit.pids'
    WHEN 'disk-limit' THEN 'limit.disk'
    WHEN 'reserve' THEN 'limit.reserve'
    WHEN 'paused' THEN 'box.paused'
    WHEN 'resumed' THEN 'box.resumed'
    WHEN 'limits' THEN 'policy.limits'
    WHEN 'extended' THEN 'box.extended'
    WHEN 'timed-out' THEN 'exec.timed-out'
    WHEN 'network' THEN 'policy.network'
    WHEN 'clock' THEN 'box.clock'
    ELSE record ->> 'kind' END);
