// Package held finds files that a running process writes to. To replace one
// under it, or to delete it, loses what the process writes next; a database
// that is given other files than it has open is damaged.
package held

import (
	"path"
	"strings"
)

// stores are the directories of databases, by a file that each of them has.
// Such a directory is one thing: a server that runs on it may open any file of
// it at any moment.
var stores = []string{"PG_VERSION", "ibdata1", "aria_log_control", "WiredTiger"}

// besides is the SQLite database that a file beside it belongs to, "" if none.
// Its log and its journal are read as part of it, by the next process that opens
// it.
func besides(file string) string {
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if db, is := strings.CutSuffix(file, suffix); is {
			return db
		}
	}
	return ""
}

// databases finds the directories of databases that paths lie in.
type databases struct {
	exists func(string) bool
	top    map[string]string // directory → the database that it lies in, "" if none
}

// of is the topmost database that dir is or lies in.
func (d *databases) of(dir string) string {
	if found, known := d.top[dir]; known || dir == "/" {
		return found
	}
	found := d.of(path.Dir(dir))
	for i := 0; found == "" && i < len(stores); i++ {
		if d.exists(path.Join(dir, stores[i])) {
			found = dir
		}
	}
	d.top[dir] = found
	return found
}

// unnamed is said of a holder that is not found.
const unnamed = "held by a process that cannot be looked at"
