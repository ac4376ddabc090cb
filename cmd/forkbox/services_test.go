//go:build linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/services/servicetest"
)

// serviceWorld has a PostgreSQL of its own, with a table of counts.
type serviceWorld struct {
	*limitWorld
	dir, data string
}

func newServiceWorld(t *testing.T) *serviceWorld {
	t.Helper()
	dir, data, _ := servicetest.PostgreSQL(t)
	w := &serviceWorld{newLimitWorld(t, calm), dir, data}
	w.sql("create table counts (n int)")
	w.sql("insert into counts select generate_series(1, 1000)")
	return w
}

// psql is the command that asks a database, the machine's or a box's.
func (w *serviceWorld) psql(query string) []string {
	return []string{"psql", "-X", "-q", "-A", "-t", "-h", w.dir, "-U", "me", "-d", "postgres", "-c", query}
}

// sql asks the machine's database.
func (w *serviceWorld) sql(query string) string {
	w.Helper()
	argv := w.psql(query)
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		w.Fatalf("%s: %v\n%s", query, err, out)
	}
	return strings.TrimSpace(string(out))
}

// ask asks the database of a box.
func (w *serviceWorld) ask(box, query string) string {
	w.Helper()
	return strings.TrimSpace(w.must(append([]string{"exec", box, "--"}, w.psql(query)...)...))
}

// services are those of a box.
func (w *serviceWorld) services(box string) []forkbox.BoxService {
	w.Helper()
	var list struct{ Services []forkbox.BoxService }
	w.ok(json.Unmarshal([]byte(w.must("services", "ls", "--json", box)), &list))
	return list.Services
}

// TestServicesComeAlong: boxes have copies of a database, each with the data of one
// moment, at the same address, and what one does to its copy neither the machine's
// nor another has.
func TestServicesComeAlong(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	w.must("new", "--name", "one", "--with", w.data, "--pause", "1m")
	w.must("new", "--name", "two", "--with", w.data, "--pause", "1m")
	if one, two := w.services("one")[0], w.services("two")[0]; one.State != "ready" || one.Still == "" || one.Still != two.Still {
		t.Errorf("they do not begin with one still: %+v, %+v", one, two)
	}
	if got := w.ask("one", "delete from counts where n > 10; select count(*) from counts"); got != "10" {
		t.Errorf("one has %s", got)
	}
	if got := w.ask("two", "insert into counts values (1001); select count(*) from counts"); got != "1001" {
		t.Errorf("two has %s", got)
	}
	if got := w.sql("select count(*) from counts"); got != "1000" {
		t.Errorf("the machine has %s", got)
	}

	// At rest, after a crash of the daemon, and in a fork it is what it was.
	w.must("stop", "one")
	if s := w.services("one")[0]; s.State != "resting" {
		t.Errorf("at rest it is %s", s.State)
	}
	w.restart()
	if got := w.ask("one", "select count(*) from counts"); got != "10" {
		t.Errorf("one has %s when it was woken", got)
	}
	w.restart()
	if s := w.services("one")[0]; s.State != "ready" {
		t.Errorf("after a crash of the daemon it is %s", s.State)
	}
	w.must("stop", "one")
	w.must("snapshot", "one", "ten")
	w.ask("one", "delete from counts")
	w.must("stop", "one")
	w.must("new", "--name", "kid", "--from", "one@ten")
	if got := w.ask("kid", "select count(*) from counts"); got != "10" {
		t.Errorf("the fork has %s", got)
	}
	w.must("rollback", "-f", "one", "ten")
	if got := w.ask("one", "select count(*) from counts"); got != "10" {
		t.Errorf("rolled back it has %s", got)
	}
}

// TestServiceFilesNeverLand: what the copy of a service writes is no change of the
// box, also where the machine's own service has ended.
func TestServiceFilesNeverLand(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	w.must("new", "--name", "one", "--with", w.data, "--pause", "1m")
	w.ask("one", "create table more as select generate_series(1, 10000)")
	w.must("exec", "one", "--", "sh", "-c", "echo work >result")
	if got := w.must("diff", "--all", "--name-only", "one"); strings.Contains(got, w.data) || !strings.Contains(got, "result") {
		t.Errorf("it changed\n%s", got)
	}
	before := servicetest.Sum(t, w.data)
	w.must("stop", "one")
	w.must("apply", "--all", "--yes", "one")
	if text, err := os.ReadFile(filepath.Join(w.root, "result")); err != nil || string(text) != "work\n" {
		t.Errorf("its work did not land: %q, %v", text, err)
	}
	if servicetest.Sum(t, w.data) != before {
		t.Error("the apply changed the data of the machine's service")
	}
	if got := w.sql("select count(*) from pg_tables where tablename = 'more'"); got != "0" {
		t.Errorf("what the box made is in the machine's database")
	}
}

// TestServiceIsSupervised: its death is an event with a cause, it can be stopped,
// started and read, and one that cannot come up keeps its box from being used
// without it.
func TestServiceIsSupervised(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	w.must("new", "--name", "one", "--with", w.data, "--pause", "1m")
	name := w.services("one")[0].Name
	w.must("services", "stop", "one", name)
	if s := w.services("one")[0]; s.State != "stopped" {
		t.Errorf("it is %s", s.State)
	}
	w.must("services", "start", "one", name)
	w.must("services", "restart", "one", name)
	if s := w.services("one")[0]; s.State != "ready" {
		t.Errorf("it is %s", s.State)
	}
	if got := w.must("services", "logs", "one", name); !strings.Contains(got, "ready to accept connections") {
		t.Errorf("it said %q", got)
	}
	exec := w.services("one")[0].Exec
	w.must("kill", "-s", "KILL", "one", exec)
	w.until("its death is told", func() bool { return strings.Contains(w.must("events", "one"), "service.ended") })
	if s := w.services("one")[0]; s.State != "failed" {
		t.Errorf("it is %s", s.State)
	}
	w.must("stop", "one")
	// A directory that is no database: the copy does not start.
	w.must("services", "stop", "one", name)
	w.must("exec", "one", "--", "sh", "-c", "mv "+w.data+"/PG_VERSION "+w.data+"/was")
	w.must("stop", "one")
	_, err := w.ControlService(t.Context(), "one", name, "start")
	w.fails(err, forkbox.Busy, name, "PG_VERSION")
	w.must("services", "stop", "one", name)
	w.must("exec", "one", "--", "true")
}

// TestServicesSurviveKills: wherever the daemon dies while a still is taken, nothing
// of it is left, and the service goes on.
func TestServicesSurviveKills(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	for i := range 6 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = w.command("new", "--with", w.data, "--pause", "1m").Run()
		}()
		time.Sleep(time.Duration(i*60) * time.Millisecond) // somewhere on the way
		w.kill()
		<-done
		w.serve()
		boxes, err := w.Boxes(t.Context())
		w.ok(err)
		for _, b := range boxes {
			if strings.HasPrefix(b.Name, "settles-") {
				t.Errorf("box %s is left", b.Name)
			}
			w.ok(w.Remove(t.Context(), b.ID, true))
		}
	}
	if got := w.sql("select count(*) from counts"); got != "1000" {
		t.Errorf("the machine has %s", got)
	}
	w.must("new", "--name", "one", "--with", w.data, "--pause", "1m")
	if got := w.ask("one", "select count(*) from counts"); got != "1000" {
		t.Errorf("one has %s", got)
	}
}

// TestServicesInRunsAndRaces: a run has them for its command, and each approach of a
// race has its own. What they began with is counted.
func TestServicesInRunsAndRaces(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	query := func(text string) string {
		var quoted []string
		for _, word := range w.psql(text) {
			quoted = append(quoted, "'"+word+"'")
		}
		return strings.Join(quoted, " ")
	}
	out := w.must(append([]string{"run", "--discard", "--with", w.data, "--pause", "1m", "--"}, w.psql("delete from counts where n > 7; select count(*) from counts")...)...)
	if strings.TrimSpace(out) != "7" {
		t.Errorf("the run has %q", out)
	}
	w.must("race", "--name", "duel", "--with", w.data, "--check", `test "$(`+query("select count(*) from counts")+`)" = 3`,
		"--try", "wrong=echo wrong >result", "--try", "right="+query("delete from counts where n > 3")+"; echo right >result")
	if got := w.must("race", "show", "duel"); !strings.Contains(got, "right wins") {
		t.Errorf("it ended so:\n%s", got)
	}
	if got := w.must("du"); !strings.Contains(got, "still") {
		t.Errorf("what the boxes began with is not counted:\n%s", got)
	}
	if got := w.must("status", "duel-right"); !strings.Contains(got, "began with the data of") {
		t.Errorf("its status does not say how old the data is:\n%s", got)
	}
	if got := w.sql("select count(*) from counts"); got != "1000" {
		t.Errorf("the machine has %s", got)
	}
}
