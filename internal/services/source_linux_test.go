package services

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/freezer"
	"github.com/forkbox/forkbox/internal/services/copying"
	"github.com/forkbox/forkbox/internal/services/servicetest"
)

// TestMain has the test be the process that holds a freeze.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == copying.HolderName {
		os.Exit(copying.RunHolder())
	}
	os.Exit(m.Run())
}

// sourceAt is the PostgreSQL that has its socket in a directory.
func sourceAt(t *testing.T, dir string) copying.Source {
	t.Helper()
	s := search(t, 0, func(s forkbox.Service) bool { return slices.Contains(s.Sockets, dir+"/.s.PGSQL.5432") })
	if s == nil {
		t.Fatal("it is not found")
	}
	source, err := SourceOf(*s)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// bank fills a database whose sums are always equal, and has it used until the
// test ends.
func bank(t *testing.T, dir string) {
	t.Helper()
	servicetest.RunPostgreSQL(t, "psql", "-h", dir, "-U", "me", "-d", "postgres", "-c", "CREATE EXTENSION amcheck")
	servicetest.RunPostgreSQL(t, "pgbench", "-h", dir, "-U", "me", "-i", "-s", "1", "-q", "postgres")
	cmd := servicetest.PostgreSQLCommand(t, "pgbench", "-h", dir, "-U", "me", "-n", "-c", "2", "-T", "600", "postgres")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for sums(t, dir)[3] == "0" {
		time.Sleep(time.Millisecond)
	}
}

// sums are those of accounts, branches and tellers and of what was moved, and how
// often that was.
func sums(t *testing.T, dir string) []string {
	t.Helper()
	const query = "SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(bbalance) FROM pgbench_branches)," +
		" (SELECT coalesce(sum(delta), 0) FROM pgbench_history), (SELECT count(*) FROM pgbench_history)"
	out := servicetest.RunPostgreSQL(t, "psql", "-h", dir, "-U", "me", "-d", "postgres", "-At", "-c", query)
	return strings.Split(strings.TrimSpace(out), "|")
}

// checkBank starts a server on a copy and looks at it.
func checkBank(t *testing.T, data string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(data, "postmaster.pid")); err == nil {
		t.Error("the copy says that a server runs on it")
	}
	dir := servicetest.PostgreSQLDir(t)
	servicetest.StartPostgreSQL(t, dir, data)
	if s := sums(t, dir); s[0] != s[1] || s[1] != s[2] || s[3] == "0" {
		t.Errorf("the sums differ: %q", s)
	}
	servicetest.RunPostgreSQL(t, "pg_amcheck", "-h", dir, "-U", "me", "--heapallindexed", "postgres")
}

// takeBank copies a service under load to a directory that its user reaches.
func takeBank(t *testing.T, source copying.Source, way string) (copying.Taken, func(string) string) {
	t.Helper()
	to := servicetest.PostgreSQLDir(t)
	at := func(path string) string { return filepath.Join(to, filepath.Base(path)) }
	taken, err := copying.Take(t.Context(), []copying.Source{source}, copying.Options{
		Put: func(path string) (string, error) { return at(path), nil }, MaxPause: time.Minute, Way: way,
	})
	if err != nil {
		t.Fatal(err)
	}
	if taken.Way != way || taken.Files < 500 || taken.Bytes < 20<<20 {
		t.Errorf("%+v", taken)
	}
	t.Logf("%+v", taken)
	return taken, at
}

// A PostgreSQL whose log lies behind a link.
func TestPostgreSQLByDelta(t *testing.T) {
	dir, data, wal := servicetest.PostgreSQL(t)
	source := sourceAt(t, dir)
	if source.Online != nil {
		t.Errorf("its log lies elsewhere, and yet it would be copied with %q", source.Online.Argv)
	}
	bank(t, dir)
	for range 3 {
		_, at := takeBank(t, source, copying.Delta)
		// In a box the log is where it is; here the copy is beside it.
		link := filepath.Join(at(data), "pg_wal")
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(at(wal), link); err != nil {
			t.Fatal(err)
		}
		checkBank(t, at(data))
	}
}

func TestPostgreSQLOnline(t *testing.T) {
	dir, data := servicetest.PostgreSQLWhole(t)
	source := sourceAt(t, dir)
	if source.Online == nil {
		t.Fatalf("it cannot copy itself: %+v", source)
	}
	u, err := user.LookupId(fmt.Sprint(source.UID))
	if err != nil {
		t.Skip(err)
	}
	bank(t, dir)
	servicetest.RunPostgreSQL(t, "psql", "-h", dir, "-U", "me", "-d", "postgres", "-c", fmt.Sprintf("CREATE ROLE %q REPLICATION LOGIN", u.Username))
	for range 3 {
		taken, at := takeBank(t, source, copying.Engine)
		if taken.Paused != 0 {
			t.Errorf("it stood still for %s", taken.Paused)
		}
		checkBank(t, at(data))
	}
}

// Reality's bytes are as they were: nothing of a service that does nothing changes
// because it is stopped and copied.
func TestAFreezeLeavesTheDataAsItIs(t *testing.T) {
	dir, data, wal := servicetest.PostgreSQL(t)
	source := sourceAt(t, dir)
	servicetest.RunPostgreSQL(t, "psql", "-h", dir, "-U", "me", "-d", "postgres", "-c", "CHECKPOINT")
	// Its own housekeeping may write in between: then that is tried again.
	for range 10 {
		before := hashes(t, data, wal)
		time.Sleep(100 * time.Millisecond)
		if !maps.Equal(before, hashes(t, data, wal)) {
			continue
		}
		takeDelta(t, source)
		if after := hashes(t, data, wal); maps.Equal(before, after) {
			return
		}
	}
	t.Error("the data changed each time")
}

func takeDelta(t *testing.T, source copying.Source) {
	t.Helper()
	to := t.TempDir()
	_, err := copying.Take(t.Context(), []copying.Source{source}, copying.Options{
		Put: func(path string) (string, error) { return filepath.Join(to, filepath.Base(path)), nil }, MaxPause: time.Minute, Way: copying.Delta,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// hashes are those of all files, with their times.
func hashes(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil
			}
			info, err := e.Info()
			if err != nil {
				return nil
			}
			if text, err := os.ReadFile(path); err == nil {
				all[path] = fmt.Sprintf("%v %v %x", info.Mode(), info.ModTime(), sha256.Sum256(text))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestSourcesOfRecipes(t *testing.T) {
	known, err := recipes()
	if err != nil {
		t.Fatal(err)
	}
	redis := *match(known, "redis-server")
	redis.Copy.Online = append([]string{"sh"}, redis.Copy.Online[1:]...) // it may not be installed
	for _, c := range []struct {
		paths  []string
		online bool
	}{
		{nil, true},
		{[]string{"/d/dump.rdb"}, true},
		{[]string{"/d/appendonlydir"}, false},
		{[]string{"/d/dump.rdb", "/d/appendonlydir"}, false},
	} {
		source := copying.Source{Paths: c.paths}
		redis.fill(&source, forkbox.Service{PID: os.Getpid(), Dir: "/d", Ports: []int{6379}})
		if (source.Online != nil) != c.online {
			t.Errorf("%q: %+v", c.paths, source.Online)
		}
		if c.online && (strings.Join(source.Online.Argv[1:], " ") != "-p 6379 --rdb -" || source.Paths[0] != "/d/dump.rdb") {
			t.Errorf("%q: %+v", c.paths, source)
		}
	}
	if _, err := SourceOf(forkbox.Service{Name: "gone", PID: 1 << 30}); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Error(err)
	}
}

// A worker that is no service writes to the database of one: it stands still as
// well, or the copy would be torn.
func TestWhoElseWritesStandsStill(t *testing.T) {
	dir := servicetest.PostgreSQLDir(t)
	web := servicetest.SQLite(t, dir, "wal")
	worker := servicetest.SQLiteOf(t, dir, "worker", web.Database())
	worker.Tell("move\n")
	s := search(t, 0, func(s forkbox.Service) bool { return s.PID == web.PID })
	if s == nil {
		t.Fatal("it is not found")
	}
	source, err := SourceOf(*s)
	if err != nil {
		t.Fatal(err)
	}
	FindOthers(&source)
	if !slices.Equal(source.Others, []int{worker.PID}) {
		t.Fatalf("%v write to it as well, and %d does", source.Others, worker.PID)
	}
	stops := 0
	together := func(int64, int64) {
		if freezer.State(web.PID) == 'T' {
			stops++
			if was := freezer.State(worker.PID); was != 'T' {
				t.Errorf("the service stands still, and the worker is %c", was)
			}
		}
	}
	for i := range 5 {
		to := t.TempDir()
		_, err := copying.Take(t.Context(), []copying.Source{source}, copying.Options{
			Put: func(path string) (string, error) { return filepath.Join(to, filepath.Base(path)), nil }, MaxPause: time.Minute, Way: copying.Delta,
			Progress: together,
		})
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("sqlite3", filepath.Join(to, "bank.db"), "pragma integrity_check; select sum(balance) from accounts").CombinedOutput()
		if string(out) != "ok\n0\n" || err != nil {
			t.Errorf("copy %d: %s %v", i, out, err)
		}
	}
	if stops == 0 {
		t.Error("nothing stood still")
	}
}

// A journal that there was when the service was looked for, and is none any more, is
// no reason not to copy.
func TestFilesThatComeAndGo(t *testing.T) {
	dir := t.TempDir()
	database := filepath.Join(dir, "bank.db")
	if err := os.WriteFile(database, []byte("SQLite format 3\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := forkbox.Service{Name: "lite", Recipe: generic, PID: os.Getpid(), Data: []forkbox.ServiceData{{Path: database}, {Path: database + "-journal"}}}
	source, err := SourceOf(s)
	if want := []string{database, database + "-journal", database + "-shm", database + "-wal"}; err != nil || !slices.Equal(source.Paths, want) {
		t.Errorf("%q %v", source.Paths, err)
	}
	s.Recipe = "postgresql"
	if _, err := SourceOf(s); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("the data of a database may be gone: %v", err)
	}
}
