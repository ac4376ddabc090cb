package ledger

import "database/sql"

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
