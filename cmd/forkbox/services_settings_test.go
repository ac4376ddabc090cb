//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// project writes the project's file, in which DATA is where the database lies.
func (w *serviceWorld) project(text string) {
	w.Helper()
	text = strings.NewReplacer("DATA", w.data, "DIR", w.dir).Replace(text)
	w.ok(os.WriteFile(filepath.Join(w.root, "forkbox.yaml"), []byte(text), 0o644))
}

// names are those of a box's services, in the order in which they come up.
func (w *serviceWorld) names(box string) string {
	w.Helper()
	var all []string
	for _, s := range w.services(box) {
		all = append(all, s.Name)
	}
	return strings.Join(all, " ")
}

// stills are those that a user's boxes can begin with.
func (w *serviceWorld) still(box string) string {
	w.Helper()
	for _, s := range w.services(box) {
		if s.Still != "" {
			return s.Still
		}
	}
	return ""
}

// TestServicesOfProjects: boxes made in a project have what its file says, unless a
// flag says otherwise; runs and races as well.
func TestServicesOfProjects(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	w.project("with: [db]\nservices:\n  db: {match: {data: DATA}}\n  web: {start: exec sleep 1000, ready: {exec: \"true\"}}\n")
	w.must("new", "--name", "one", "--pause", "1m")
	if got := w.names("one"); got != "db" {
		t.Errorf("it has %q", got)
	}
	w.must("new", "--name", "two", "--with", "none")
	if got := w.names("two"); got != "" {
		t.Errorf("without any it has %q", got)
	}
	w.must("new", "--name", "three", "--with", "web")
	if got := w.names("three"); got != "web" {
		t.Errorf("with a flag it has %q", got)
	}
	w.refused([]string{"none"}, "new", "--with", "none,web")
	out := w.must(append([]string{"run", "--discard", "--"}, w.psql("select count(*) from counts")...)...)
	if strings.TrimSpace(out) != "1000" {
		t.Errorf("a run has %q", out)
	}
	// What is not a fork of the machine has no copies of its services.
	w.must("snapshot", "two", "s")
	w.must("new", "--name", "kid", "--from", "two@s")
	check := "psql -X -A -t -h " + w.dir + " -U me -d postgres -c 'select 1'"
	w.must("race", "--name", "duel", "--check", check, "--try", "a=true")
	if got := w.must("race", "show", "duel"); !strings.Contains(got, "a wins") {
		t.Errorf("it ended so:\n%s", got)
	}
	w.ok(os.WriteFile(filepath.Join(w.root, "race.yaml"), []byte("with: [web]\napproaches:\n  - {name: a, run: \"true\"}\n"), 0o644))
	w.must("race", "--name", "filed", "-f", "race.yaml")
	if got := w.names("filed-a"); got != "web" {
		t.Errorf("the race file's own is %q", got)
	}
	w.must("race", "--name", "bare", "-f", "race.yaml", "--with", "none")
	if got := w.names("bare-a"); got != "" {
		t.Errorf("a flag beats the race file, and it has %q", got)
	}
}

// masking has the project's database be masked by a file that the service's user can
// read.
func (w *serviceWorld) masking(sql string) {
	w.Helper()
	mask := filepath.Join(w.dir, "mask.sql")
	w.ok(os.WriteFile(mask, []byte(sql+"\n"), 0o644))
	w.project("with: [db]\nservices:\n  db:\n    match: {data: DATA}\n" +
		"    settle: {run: \"touch DIR/ran-here; psql -X -q -v ON_ERROR_STOP=1 -U me -d postgres -f DIR/mask.sql\"}\n")
}

// TestServicesAreSettledOnce: what masks the data is run once for each still, in a
// box; every box has what it made, none what was before, and nothing of it happens
// on the machine. A changed mask takes a new still; one that fails gives none.
func TestServicesAreSettledOnce(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	w.ok(os.Chmod(filepath.Dir(w.home), 0o755)) // commands run in the project as the service's user
	const who = "select string_agg(distinct name, ',') from people"
	w.sql("create table people (name text) with (autovacuum_enabled = off); insert into people select 'zaphodine' from generate_series(1, 100)")
	w.masking("update people set name = 'masked'; create table runs (n int); insert into runs values (1); vacuum full people;")
	w.must("new", "--name", "one", "--pause", "1m")
	w.must("new", "--name", "two")
	if a, b := w.still("one"), w.still("two"); a == "" || a != b {
		t.Errorf("they begin with %s and %s", a, b)
	}
	for _, box := range []string{"one", "two"} {
		if got := w.ask(box, who); got != "masked" {
			t.Errorf("%s has %q", box, got)
		}
		if got := w.ask(box, "select count(*) from runs"); got != "1" {
			t.Errorf("in %s it was masked %s times", box, got)
		}
		w.must("exec", box, "--", "sh", "-c", "! grep -r zaphodine "+w.data+"/base "+w.data+"/global")
	}
	if got := w.sql(who); got != "zaphodine" {
		t.Errorf("the machine has %q", got)
	}
	if _, err := os.Lstat(filepath.Join(w.dir, "ran-here")); err == nil {
		t.Error("it was run on the machine")
	}

	w.masking("update people set name = 'other';")
	w.must("new", "--name", "three", "--pause", "1m")
	if got := w.ask("three", who); got != "other" || w.still("three") == w.still("one") {
		t.Errorf("with another mask it has %q", got)
	}
	w.masking("update nobody set name = 'x';")
	w.refused([]string{"settles", "nobody", "exit code 3"}, "new", "--name", "four", "--pause", "1m")
	if boxes, err := w.Boxes(t.Context()); err != nil || len(boxes) != 3 {
		t.Errorf("there are %d boxes: %v", len(boxes), err)
	}
}

// TestServicesAreCopiedAsAsked: the way, the pause, the age and the places that a
// project's file says are those that count.
func TestServicesAreCopiedAsAsked(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	set := func(more string) {
		w.project("with: [db]\nservices:\n  db:\n    match: {data: DATA}\n" + more)
	}
	set("    max_pause: 0s\n    copy: delta\n")
	w.refused([]string{"db"}, "new", "--name", "one")
	w.must("new", "--name", "one", "--pause", "1m") // the caller's word counts more
	var stills struct{ Stills []forkbox.Still }
	w.reads(&stills, "services", "refresh", "--pause", "1m", "db")
	if len(stills.Stills) != 1 || stills.Stills[0].Way != "delta" || stills.Stills[0].Service != "db" {
		t.Errorf("it was copied so: %+v", stills.Stills)
	}
	// Its log is elsewhere, so that the engine's own way is none.
	set("    copy: online\n")
	w.refused([]string{"no way of its own"}, "new", "--name", "two")
	set("    max_stale: 0s\n")
	w.must("new", "--name", "three", "--pause", "1m")
	w.must("new", "--name", "four", "--pause", "1m")
	if w.still("three") == w.still("four") {
		t.Error("one still is younger than none")
	}
	set("    copy: none\n")
	w.refused([]string{"without a copy of its data"}, "new", "--name", "five")
	set("    ready: {exec: \"echo not yet; false\", within: 200ms}\n")
	w.refused([]string{"db", "does not answer after 200ms"}, "new", "--name", "six", "--pause", "1m")
}

// TestServicesComeInOrder: those that come first are ready first, and end last; what
// a start line says is what runs, and its files are its own.
func TestServicesComeInOrder(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	kept := filepath.Join(w.dir, "kept")
	w.ok(os.Mkdir(kept, 0o777))
	w.ok(os.Chmod(kept, 0o777))
	w.ok(os.WriteFile(filepath.Join(kept, "n"), []byte("machine\n"), 0o666))
	w.ok(os.Chown(kept, os.Getuid(), os.Getgid()))
	w.project(`
services:
  db: {match: {data: DATA}}
  web:
    start: echo web has $(cat DIR/kept/n); echo box >DIR/kept/n; exec sleep 1000
    ready: {exec: grep -q box DIR/kept/n}
    data: [DIR/kept]
    after: [db]
  worker: {start: exec sleep 1000, ready: {exec: "true"}, after: web}
`)
	w.must("new", "--name", "one", "--with", "worker", "--pause", "1m")
	if got := w.names("one"); got != "worker web db" {
		t.Errorf("it has %q", got)
	}
	if got := w.must("services", "logs", "one", "web"); got != "web has machine" {
		t.Errorf("web said %q", got)
	}
	if text, err := os.ReadFile(filepath.Join(kept, "n")); err != nil || string(text) != "machine\n" {
		t.Errorf("the machine has %q, %v", text, err)
	}
	w.must("exec", "one", "--", "sh", "-c", "echo work >result")
	if got := w.must("diff", "--all", "--name-only", "one"); strings.Contains(got, "kept") || !strings.Contains(got, "result") {
		t.Errorf("it changed\n%s", got)
	}
	w.must("services", "stop", "one", "db")
	w.must("services", "stop", "one", "web")
	w.must("services", "start", "one", "web") // which has db come up first
	for _, s := range w.services("one") {
		if s.State != "ready" {
			t.Errorf("%s is %s", s.Name, s.State)
		}
	}
	w.must("stop", "one")
	if got := w.inOrder("one", forkbox.EventServiceReady); got != "db web worker db web" {
		t.Errorf("they were ready in the order %s", got)
	}
	if got := w.ended("one"); got != "worker web db" {
		t.Errorf("they ended in the order %s", got)
	}
}

// inOrder are the services that events of a kind are about.
func (w *serviceWorld) inOrder(box string, kind forkbox.EventKind) string {
	w.Helper()
	var all []string
	w.ok(w.Events(w.Context(), client.EventSpec{Box: box}, func(e forkbox.Event) error {
		if e.Kind == kind {
			all = append(all, e.Data.To)
		}
		return nil
	}))
	return strings.Join(all, " ")
}

// ended are the services whose latest execs ended, the first first.
func (w *serviceWorld) ended(box string) string {
	w.Helper()
	name := map[string]string{}
	for _, s := range w.services(box) {
		name[s.Exec] = s.Name
	}
	var all []string
	for _, e := range w.events(box) {
		if e.Kind == forkbox.EventExecEnded && name[e.Exec] != "" {
			all = append(all, name[e.Exec])
		}
	}
	return strings.Join(all, " ")
}

// TestServicesComeBack: whatever ended them, they come back with their box, and a
// death that no daemon saw is told all the same.
func TestServicesComeBack(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	pid := filepath.Join(w.root, "pid")
	w.project(fmt.Sprintf("services:\n  web: {start: 'echo $$ >%s; exec sleep 1000', ready: {exec: 'test -s %[1]s'}}\n  worker: {start: exec sleep 1000, ready: {exec: \"true\"}, after: web}\n", pid))
	up := func(box, when string) {
		t.Helper()
		w.must("exec", box, "--", "sh", "-c", "kill -0 $(cat "+pid+")")
		for _, s := range w.services(box) {
			if s.State != "ready" {
				t.Errorf("%s: %s of %s is %s", when, s.Name, box, s.State)
			}
		}
	}
	w.must("new", "--name", "one", "--with", "worker")
	up("one", "at first")
	w.must("snapshot", "one", "s")
	up("one", "after a snapshot")
	w.must("fork", "one", "two")
	up("two", "in a fork of one that runs")
	w.must("rollback", "-f", "one", "s")
	up("one", "after a rollback")
	w.must("stop", "one")
	up("one", "after a rest")
	w.restart()
	up("one", "after a crash of the daemon")
	w.must("template", "create", "--from", "one@s", "both")
	w.must("new", "--name", "three", "--template", "both")
	up("three", "in a box of a template")

	// It dies while there is no daemon.
	w.must("exec", "-d", "one", "--", "sh", "-c", "until test -e go; do sleep 0.05; done; kill -KILL $(cat "+pid+")")
	w.must("exec", "one", "--", "touch", "go")
	w.kill()
	w.serve()
	w.until("its death is told", func() bool { return strings.Contains(w.must("events", "one"), "service.ended    ended by SIGKILL") })
	if got := w.must("services", "ls", "one"); !strings.Contains(got, "failed") {
		t.Errorf("they are\n%s", got)
	}
	w.must("services", "restart", "one", "web")
	up("one", "started anew")
}

// TestProjectsCopyNothingHidden: a project's file gets nothing into a box that the
// box would not see, nor another service's data.
func TestProjectsCopyNothingHidden(t *testing.T) {
	t.Parallel()
	w := newServiceWorld(t)
	home := w.file("home")
	w.ok(os.MkdirAll(filepath.Join(home, ".ssh"), 0o700))
	w.ok(os.MkdirAll(filepath.Join(home, "fine"), 0o755))
	w.ok(os.WriteFile(filepath.Join(home, ".ssh/id_ed25519"), []byte("key"), 0o600))
	w.ok(os.Symlink(filepath.Join(home, ".ssh"), filepath.Join(home, "link")))
	w.env = append(w.env, "AWS_SHARED_CREDENTIALS_FILE="+filepath.Join(home, "keys"))
	w.ok(os.WriteFile(filepath.Join(home, "keys"), []byte("key"), 0o600))
	try := func(path string) []string {
		w.project("with: [web]\nservices:\n  web: {start: exec sleep 1000, ready: {exec: \"true\"}, data: [\"" + path + "\"]}\n")
		return []string{"new", "--name", "one"}
	}
	for path, why := range map[string]string{
		filepath.Join(home, "keys"):     "hidden from boxes",
		home:                            "hidden from boxes",
		filepath.Join(home, "link"):     "a link is on the way",
		filepath.Join(home, "no"):       "no file or directory",
		w.home:                          "forkbox's own files",
		filepath.Join(w.home, "boxes"):  "forkbox's own files",
		filepath.Dir(w.home):            "",
		w.data:                          "is data of",
		filepath.Join(w.data, "base"):   "is data of",
		filepath.Join(w.dir, "wal"):     "is data of",
		w.dir:                           "is data of",
		filepath.Join(w.root, "../../"): "",
	} {
		w.refused([]string{why}, try(path)...)
	}
	if os.Getuid() != 0 {
		w.refused([]string{"not yours"}, try("/usr/share")...)
	}
	w.must(try(filepath.Join(home, "fine"))...)
}

// TestLetIn: the machine's own service is on the box's loopback, at its own port,
// through the gate and in the record; not for other boxes, and not because a
// project's file says so.
func TestLetIn(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	var port, shut int
	w.onHost(t, func() { port, shut = w.echoOn("127.0.0.1:0"), w.echoOn("127.0.0.1:0") })
	_, said, code := w.cli("new", "--name", "guest", "--net-preset", "locked", "--let-in", fmt.Sprint(port))
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	if !strings.Contains(said, fmt.Sprintf("warning: port %d in the box is this machine's own service", port)) {
		t.Errorf("it says %q", said)
	}
	for _, host := range []string{"127.0.0.1", "localhost", forkbox.HostName} {
		if out := w.works("guest", w.inside("say", "tcp", fmt.Sprintf("%s:%d", host, port), "a line")...); out != "ok a line" {
			t.Errorf("by %s it says %s", host, out)
		}
	}
	w.recorded("guest", want{host: forkbox.HostName, port: port, state: forkbox.ConnClosed})
	w.failsIn("guest", w.inside("dial", "tcp", fmt.Sprintf("127.0.0.1:%d", shut))...)
	w.failsIn(w.makeBox("other"), w.inside("dial", "tcp", fmt.Sprintf("127.0.0.1:%d", port))...)

	// It is the same after a rest, and in a fork.
	w.must("stop", "guest")
	w.must("fork", "guest", "kid")
	for _, box := range []string{"guest", "kid"} {
		if out := w.works(box, w.inside("say", "tcp", fmt.Sprintf("127.0.0.1:%d", port), "x")...); out != "ok x" {
			t.Errorf("in %s it says %s", box, out)
		}
	}

	w.refused([]string{"--let-in", "--net none"}, "new", "--net", "none", "--let-in", fmt.Sprint(port))
	w.ok(os.WriteFile(filepath.Join(w.root, "forkbox.yaml"), fmt.Appendf(nil, "let_in: [%d]\nservices:\n  web: {start: x, match: {port: %[1]d}}\n", port), 0o644))
	w.refused([]string{"a project cannot open by itself", fmt.Sprintf("--let-in %d", port)}, "new")
	w.must("new", "--name", "agreed", "--net-preset", "locked", "--let-in", fmt.Sprint(port))
	if out := w.works("agreed", w.inside("say", "tcp", fmt.Sprintf("127.0.0.1:%d", port), "x")...); out != "ok x" {
		t.Errorf("agreed to, it says %s", out)
	}
	w.refused([]string{"would lead both to the copy of web and to the machine's own service"}, "new", "--with", "web", "--let-in", fmt.Sprint(port))
}
