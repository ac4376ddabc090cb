package ledger

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/ledger/ledgertest"
)

func TestLedger(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) forkbox.Ledger {
		// A name that a URL would have to quote.
		return opened(t, filepath.Join(t.TempDir(), "led ger?#%41.db"))
	})
}

func opened(t testing.TB, path string) *SQLite {
	t.Helper()
	l, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestFilesArePrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such modes")
	}
	dir := t.TempDir()
	l := opened(t, filepath.Join(dir, "ledger.db"))
	defer l.Close()
	if err := l.AddBox(t.Context(), ledgertest.Box("aaaaaaaaaaaa", "one", 1)); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(f), info.Mode())
		}
	}
}

func TestOpenRefusesWhatItCannotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T)
		path    string
		code    forkbox.Code
		words   string
	}{
		{"newer", func(t *testing.T) { fromTheFuture(t, path) }, path, forkbox.Unsupported, "version 99"},
		{"corrupt", func(t *testing.T) { fill(t, path) }, path, forkbox.Internal, "not a database"},
		{"no directory", func(*testing.T) {}, filepath.Join(path, "no", "ledger.db"), forkbox.Internal, "cannot open ledger"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.prepare(t)
			_, err := Open(t.Context(), c.path)
			if err == nil || forkbox.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.words) {
				t.Fatalf("got %v, want %s and %q", err, c.code, c.words)
			}
			if e := err.(*forkbox.Error); len(e.Hints) == 0 {
				t.Errorf("%v has no hint", err)
			}
		})
	}
}

func fromTheFuture(t *testing.T, path string) {
	opened(t, path).Close()
	db, err := sql.Open("sqlite", source(path, false))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
}

func fill(t *testing.T, path string) {
	for _, suffix := range []string{"-wal", "-shm"} {
		os.Remove(path + suffix)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("this is not a ledger. ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A box is found by its beginning with an index each for name and id, or a
// prefix costs more with every box at rest (promise 9).
func TestFindUsesIndexes(t *testing.T) {
	l := opened(t, filepath.Join(t.TempDir(), "ledger.db"))
	defer l.Close()
	find := plan(t, l, sqlFind, 1, "a", "b", 2)
	for _, want := range []string{"(owner_uid=? AND name>? AND name<?)", "(id>? AND id<?)"} {
		if !strings.Contains(find, want) {
			t.Errorf("no %s in the plan:\n%s", want, find)
		}
	}
	races := plan(t, l, sqlFindRaces, 1, "a", "b", 2)
	for _, want := range []string{"(owner_uid=? AND name>? AND name<?)", "(id>? AND id<?)"} {
		if !strings.Contains(races, want) {
			t.Errorf("no %s in the plan:\n%s", want, races)
		}
	}
	for query, want := range map[string]string{
		sqlRacesRunning: "INDEX races_running", sqlRacesOf: "INDEX races_by_owner",
		sqlEvents: "USING INTEGER PRIMARY KEY", sqlEventsOfOwner: "INDEX events_by_owner", sqlEventsOfBox: "INDEX events_by_box",
		sqlConns: "USING INTEGER PRIMARY KEY", sqlConnsOfOwner: "INDEX conns_by_owner", sqlConnsOfBox: "INDEX conns_by_box",
		sqlLoseConns: "INDEX conns_open", sqlPruneBox: "INDEX conns_by_box", sqlPruneOwner: "INDEX conns_by_owner", sqlPruneConns: "INDEX conns_by_time",
	} {
		if events := plan(t, l, query, 1, 2, 3, 4); !strings.Contains(events, want) {
			t.Errorf("no %s in the plan:\n%s", want, events)
		}
	}
	if active := plan(t, l, sqlActive); !strings.Contains(active, "USING INDEX boxes_active") {
		t.Errorf("a restart reads the boxes at rest:\n%s", active)
	}
}

func plan(t *testing.T, l *SQLite, query string, args ...any) (plan string) {
	rows, err := l.read.Query("EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan += detail + "\n"
	}
	return plan
}
