package ledger

import (
	"context"
	"database/sql"
	"errors"
)

// statements are prepared once: parsing SQL costs more than running it here.
type statements struct {
	addBox, updateBox, deleteBox, addExec, updateExec     *sql.Stmt // write
	addReceipt, updateReceipt, deleteReceipt              *sql.Stmt // write
	box, boxes, boxesOf, find, exec, execs, lastExecs     *sql.Stmt // read
	receipt, receiptsOfOwner, receiptsOfBox               *sql.Stmt // read
	addSnapshot, updateSnapshot, deleteSnapshot           *sql.Stmt // write
	addTemplate, updateTemplate, deleteTemplate           *sql.Stmt // write
	snapshots, snapshotsOf, template, templates           *sql.Stmt // read
	snapshotNamed, snapshotLast, snapshotNames            *sql.Stmt // read
	stacks                                                *sql.Stmt // read
	addEvent, knowLayers                                  *sql.Stmt // write
	pruneBoxEvents, pruneOwnerEvents, pruneEvents         *sql.Stmt // write
	events, eventsOfOwner, eventsOfBox, lastEvent         *sql.Stmt // read
	saveConn, loseConns, pruneBox, pruneOwner, pruneConns *sql.Stmt // write
	conns, connsOfOwner, connsOfBox                       *sql.Stmt // read
	races                                                 raceStatements
}

// statement is one to be prepared.
type statement struct {
	to  **sql.Stmt
	db  *sql.DB
	sql string
}

const (
	sqlAddBox    = `INSERT INTO boxes (id, owner_uid, name, state, created, record, env) VALUES (?, ?, ?, ?, ?, ?, ?)`
	sqlUpdateBox = `UPDATE boxes SET owner_uid = ?, name = ?, state = ?, created = ?, record = ? WHERE id = ?`
	sqlDeleteBox = `DELETE FROM boxes WHERE id = ?`

	// One statement, so that two execs added at once get different ids. A
	// parameter that decides an order or a limit makes SQLite plan the statement
	// again for each value; as (SELECT ?) it does not, here and below.
	sqlAddExec = `INSERT INTO execs (box, id, record)
		SELECT ?1, coalesce(max(id), 0) + 1, ?2 FROM execs WHERE box = (SELECT ?1) RETURNING id`
	sqlUpdateExec = `UPDATE execs SET record = ? WHERE box = ? AND id = ?`

	sqlBox     = `SELECT record, env FROM boxes WHERE id = ?`
	sqlBoxes   = `SELECT record, env FROM boxes ORDER BY created, rowid`
	sqlBoxesOf = `SELECT record, env FROM boxes WHERE owner_uid = ? ORDER BY created, rowid`
	sqlActive  = `SELECT record, env FROM boxes WHERE state <> 'stopped' ORDER BY created, rowid`

	// Ranges and not LIKE, which would ignore case and use no index. The end
	// of the range is the prefix with the last character of Unicode added.
	// Two searches, each by its own index: left to itself with an OR (or
	// without the + that hides owner_uid from it) SQLite reads all of an
	// owner's boxes.
	sqlFind = `SELECT record, env FROM boxes WHERE rowid IN (
			SELECT rowid FROM boxes WHERE owner_uid = ?1 AND name >= ?2 AND name < ?3
			UNION ALL
			SELECT rowid FROM boxes WHERE +owner_uid = ?1 AND id >= ?2 AND id < ?3)
		ORDER BY id = ?2 OR name = ?2 DESC, created, rowid LIMIT (SELECT ?4)`

	sqlExec  = `SELECT id, record FROM execs WHERE box = ? AND id = ?`
	sqlExecs = `SELECT id, record FROM execs WHERE box = (SELECT ?) ORDER BY id`
	// A look into the index for each box, however many execs it had.
	sqlLastExecs = `SELECT e.id, e.record FROM boxes b JOIN execs e ON e.box = b.id
		WHERE b.owner_uid = ? AND e.id = (SELECT max(id) FROM execs WHERE box = b.id)`

	sqlAddReceipt      = `INSERT INTO receipts (id, owner_uid, box, state, created, record) VALUES (?, ?, ?, ?, ?, ?)`
	sqlUpdateReceipt   = `UPDATE receipts SET state = ?, record = ? WHERE id = ?`
	sqlDeleteReceipt   = `DELETE FROM receipts WHERE id = ?`
	sqlReceipt         = `SELECT record FROM receipts WHERE id = ?`
	sqlReceipts        = `SELECT record FROM receipts ORDER BY created DESC, rowid DESC`
	sqlReceiptsOfOwner = `SELECT record FROM receipts WHERE owner_uid = ? ORDER BY created DESC, rowid DESC`
	sqlReceiptsOfBox   = `SELECT record FROM receipts WHERE box = (SELECT ?) ORDER BY created, rowid`
	sqlAddSnapshot     = `INSERT INTO snapshots (id, box, owner_uid, name, auto, created, record) VALUES (?, ?, ?, ?, ?, ?, ?)`
	sqlUpdateSnapshot  = `UPDATE snapshots SET name = ?, record = ? WHERE id = ?`
	sqlDeleteSnapshot  = `DELETE FROM snapshots WHERE id = ?`
	sqlSnapshotNamed   = `SELECT record FROM snapshots WHERE box = ?1 AND (name = ?2 OR id = ?2) ORDER BY name = ?2 DESC LIMIT 1`
	sqlSnapshotLast    = `SELECT record FROM snapshots WHERE box = (SELECT ?) AND auto = 0 ORDER BY created DESC, rowid DESC LIMIT 1`
	sqlSnapshotNames   = `SELECT name FROM snapshots WHERE box = ?`
	sqlSnapshots       = `SELECT record FROM snapshots WHERE box = (SELECT ?) ORDER BY created, rowid`
	// A uid of -1 matches every user.
	sqlSnapshotsOf = `SELECT record FROM snapshots WHERE ?1 = -1 OR owner_uid = ?1 ORDER BY created, rowid`

	// One statement, so that it is as of one moment.
	sqlStacks = `SELECT record FROM boxes WHERE record LIKE '%"layers"%' OR record LIKE '%"saving"%' OR record LIKE '%"root"%'
		UNION ALL SELECT record FROM snapshots UNION ALL SELECT record FROM templates UNION ALL SELECT record FROM stills`

	sqlAddTemplate    = `INSERT INTO templates (id, owner_uid, name, created, record) VALUES (?, ?, ?, ?, ?)`
	sqlUpdateTemplate = `UPDATE templates SET name = ?, record = ? WHERE id = ?`
	sqlDeleteTemplate = `DELETE FROM templates WHERE id = ?`
	sqlTemplate       = `SELECT record FROM templates WHERE owner_uid = ? AND name = ?`
	sqlTemplates      = `SELECT record FROM templates WHERE ?1 = -1 OR owner_uid = ?1 ORDER BY created, rowid`

	sqlAddEvent      = `INSERT INTO events (owner_uid, box, time, record) VALUES (?, ?, ?, ?) RETURNING id`
	sqlEvents        = `SELECT id, record FROM events WHERE id > ?1 ORDER BY id LIMIT (SELECT ?2)`
	sqlEventsOfOwner = `SELECT id, record FROM events WHERE owner_uid = ?3 AND id > ?1 ORDER BY id LIMIT (SELECT ?2)`
	sqlEventsOfBox   = `SELECT id, record FROM events WHERE box = ?3 AND id > ?1 AND (?4 = -1 OR +owner_uid = ?4)
		ORDER BY id LIMIT (SELECT ?2)`
	// Also of those that are gone: ids go on from there.
	sqlLastEvent      = `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'`
	sqlPruneBoxEvents = `DELETE FROM events WHERE box = ?1 AND id <=
		(SELECT id FROM events WHERE box = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`
	sqlPruneOwnerEvents = `DELETE FROM events WHERE owner_uid = ?1 AND id <=
		(SELECT id FROM events WHERE owner_uid = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`
	// Ids and times go the same way, but for a clock that was set: the first that
	// is young enough, and all after it, stay.
	sqlPruneEvents = `DELETE FROM events WHERE id < coalesce((SELECT min(id) FROM events WHERE time >= ?1), 0)`

	sqlSaveConn = `INSERT INTO conns (id, owner_uid, box, state, time, record) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET state = excluded.state, record = excluded.record`
	sqlLoseConns = `UPDATE conns SET state = 'lost', record = json_set(record, '$.state', 'lost') WHERE state = 'open'`
	sqlPruneBox  = `DELETE FROM conns WHERE box = ?1 AND id <=
		(SELECT id FROM conns WHERE box = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`
	sqlPruneOwner = `DELETE FROM conns WHERE owner_uid = ?1 AND id <=
		(SELECT id FROM conns WHERE owner_uid = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`
	sqlPruneConns = `DELETE FROM conns WHERE time < ?1 AND id < (SELECT max(id) FROM conns)`
	sqlConns      = `SELECT record FROM
		(SELECT id, record FROM conns WHERE id > ?1 ORDER BY id DESC LIMIT ?2) ORDER BY id`
	sqlConnsOfOwner = `SELECT record FROM
		(SELECT id, record FROM conns WHERE owner_uid = ?3 AND id > ?1 ORDER BY id DESC LIMIT ?2) ORDER BY id`
	sqlConnsOfBox = `SELECT record FROM
		(SELECT id, record FROM conns WHERE box = ?3 AND id > ?1 AND (?4 = -1 OR +owner_uid = ?4)
		ORDER BY id DESC LIMIT ?2) ORDER BY id`

	sqlLanding = `SELECT record FROM receipts WHERE state = 'landing' ORDER BY created DESC, rowid DESC`
)

func (s *statements) prepare(ctx context.Context, write, read *sql.DB) error {
	for _, p := range append(s.races.all(write, read), []statement{
		{&s.addBox, write, sqlAddBox},
		{&s.updateBox, write, sqlUpdateBox},
		{&s.deleteBox, write, sqlDeleteBox},
		{&s.addExec, write, sqlAddExec},
		{&s.updateExec, write, sqlUpdateExec},
		{&s.box, read, sqlBox},
		{&s.boxes, read, sqlBoxes},
		{&s.boxesOf, read, sqlBoxesOf},
		{&s.find, read, sqlFind},
		{&s.exec, read, sqlExec},
		{&s.execs, read, sqlExecs},
		{&s.lastExecs, read, sqlLastExecs},
		{&s.addReceipt, write, sqlAddReceipt},
		{&s.updateReceipt, write, sqlUpdateReceipt},
		{&s.deleteReceipt, write, sqlDeleteReceipt},
		{&s.receipt, read, sqlReceipt},
		{&s.receiptsOfOwner, read, sqlReceiptsOfOwner},
		{&s.receiptsOfBox, read, sqlReceiptsOfBox},
		{&s.addSnapshot, write, sqlAddSnapshot},
		{&s.updateSnapshot, write, sqlUpdateSnapshot},
		{&s.deleteSnapshot, write, sqlDeleteSnapshot},
		{&s.snapshots, read, sqlSnapshots},
		{&s.snapshotNamed, read, sqlSnapshotNamed},
		{&s.snapshotLast, read, sqlSnapshotLast},
		{&s.snapshotNames, read, sqlSnapshotNames},
		{&s.stacks, read, sqlStacks},
		{&s.snapshotsOf, read, sqlSnapshotsOf},
		{&s.addTemplate, write, sqlAddTemplate},
		{&s.updateTemplate, write, sqlUpdateTemplate},
		{&s.deleteTemplate, write, sqlDeleteTemplate},
		{&s.template, read, sqlTemplate},
		{&s.templates, read, sqlTemplates},
		{&s.addEvent, write, sqlAddEvent},
		{&s.pruneBoxEvents, write, sqlPruneBoxEvents},
		{&s.pruneOwnerEvents, write, sqlPruneOwnerEvents},
		{&s.pruneEvents, write, sqlPruneEvents},
		{&s.knowLayers, write, sqlKnowLayers},
		{&s.events, read, sqlEvents},
		{&s.lastEvent, read, sqlLastEvent},
		{&s.eventsOfOwner, read, sqlEventsOfOwner},
		{&s.eventsOfBox, read, sqlEventsOfBox},
		{&s.saveConn, write, sqlSaveConn},
		{&s.loseConns, write, sqlLoseConns},
		{&s.pruneBox, write, sqlPruneBox},
		{&s.pruneOwner, write, sqlPruneOwner},
		{&s.pruneConns, write, sqlPruneConns},
		{&s.conns, read, sqlConns},
		{&s.connsOfOwner, read, sqlConnsOfOwner},
		{&s.connsOfBox, read, sqlConnsOfBox},
	}...) {
		stmt, err := p.db.PrepareContext(ctx, p.sql)
		if err != nil {
			return err
		}
		*p.to = stmt
	}
	return nil
}

func (s *statements) close() error {
	var errs []error
	for _, stmt := range append(s.races.made(), []*sql.Stmt{
		s.addBox, s.updateBox, s.deleteBox, s.addExec, s.updateExec,
		s.box, s.boxes, s.boxesOf, s.find, s.exec, s.execs, s.lastExecs,
		s.addReceipt, s.updateReceipt, s.deleteReceipt, s.receipt, s.receiptsOfOwner, s.receiptsOfBox,
		s.addSnapshot, s.updateSnapshot, s.deleteSnapshot, s.snapshots, s.snapshotsOf,
		s.snapshotNamed, s.snapshotLast, s.snapshotNames, s.stacks,
		s.addTemplate, s.updateTemplate, s.deleteTemplate, s.template, s.templates,
		s.addEvent, s.pruneBoxEvents, s.pruneOwnerEvents, s.pruneEvents, s.knowLayers, s.events, s.eventsOfOwner, s.eventsOfBox, s.lastEvent,
		s.saveConn, s.loseConns, s.pruneBox, s.pruneOwner, s.pruneConns, s.conns, s.connsOfOwner, s.connsOfBox,
	}...) {
		if stmt != nil {
			errs = append(errs, stmt.Close())
		}
	}
	return errors.Join(errs...)
}

// raceStatements are those for races.
type raceStatements struct {
	add, update, delete                *sql.Stmt // write
	addEntries, dropEntries, saveEntry *sql.Stmt // write
	find, ofOwner                      *sql.Stmt // read
}

const (
	sqlAddRace    = `INSERT INTO races (id, owner_uid, name, state, created, record) VALUES (?, ?, ?, ?, ?, ?)`
	sqlUpdateRace = `UPDATE races SET name = ?, state = ?, record = ? WHERE id = ?`
	sqlDeleteRace = `DELETE FROM races WHERE id = ?`

	// All entries of a race in one statement, from a list in JSON.
	sqlAddEntries = `INSERT INTO race_entries (race, place, name, record)
		SELECT ?1, key, value ->> 'name', value FROM json_each(?2)`
	sqlDropEntries = `DELETE FROM race_entries WHERE race = ?`
	sqlSaveEntry   = `UPDATE race_entries SET record = ? WHERE race = ? AND name = ?`

	// One statement, so that a race and its entries are of one moment.
	sqlRaceAndEntries = `SELECT r.record, (SELECT '[' || group_concat(record, ',') || ']' FROM
			(SELECT record FROM race_entries WHERE race = r.id ORDER BY place)) FROM races r `
	sqlNewestRace   = ` ORDER BY r.created DESC, r.rowid DESC`
	sqlRaces        = sqlRaceAndEntries + sqlNewestRace
	sqlRacesOf      = sqlRaceAndEntries + `WHERE r.owner_uid = ?` + sqlNewestRace
	sqlRacesRunning = sqlRaceAndEntries + `WHERE r.state = 'running'` + sqlNewestRace

	// See sqlFind for why it is written like this.
	sqlFindRaces = sqlRaceAndEntries + `WHERE r.rowid IN (
			SELECT rowid FROM races WHERE owner_uid = ?1 AND name >= ?2 AND name < ?3
			UNION ALL
			SELECT rowid FROM races WHERE +owner_uid = ?1 AND id >= ?2 AND id < ?3)
		ORDER BY r.id = ?2 OR r.name = ?2 DESC, r.created DESC, r.rowid DESC LIMIT (SELECT ?4)`
)

func (s *raceStatements) all(write, read *sql.DB) []statement {
	return []statement{
		{&s.add, write, sqlAddRace},
		{&s.update, write, sqlUpdateRace},
		{&s.delete, write, sqlDeleteRace},
		{&s.addEntries, write, sqlAddEntries},
		{&s.dropEntries, write, sqlDropEntries},
		{&s.saveEntry, write, sqlSaveEntry},
		{&s.find, read, sqlFindRaces},
		{&s.ofOwner, read, sqlRacesOf},
	}
}

func (s *raceStatements) made() []*sql.Stmt {
	return []*sql.Stmt{s.add, s.update, s.delete, s.addEntries, s.dropEntries, s.saveEntry, s.find, s.ofOwner}
}
