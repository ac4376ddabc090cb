//go:build linux

package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// TestRaceSamePort has three servers on one port at once, while the host has
// its own there, and checks talk to what the steps have started.
func TestRaceSamePort(t *testing.T) {
	t.Parallel()
	host, err := net.Listen("tcp", "127.0.0.1:8000")
	if err == nil {
		defer host.Close()
	}
	w := newRaceWorld(t)
	serve := `'echo NAME > who; setsid /usr/bin/python3 -m http.server 8000 >/dev/null 2>&1 & for i in $(seq 200); do curl -s localhost:8000/who && exit; sleep 0.05; done; exit 1'`
	var file strings.Builder
	file.WriteString("approaches:\n")
	for _, name := range []string{"a", "b", "c"} {
		file.WriteString("  - {name: " + name + ", env: {WHO: " + name + "}, run: " + strings.ReplaceAll(serve, "NAME", name) + "}\n")
	}
	file.WriteString(`checks: ['test "$(curl -s localhost:8000/who)" = "$WHO"']` + "\n")
	w.is(w.raceOf(file.String()), "a=b=c", "a:passed b:passed c:passed")
}

// TestRaceChecksLeaveNothing: what checks write is not what lands, and not what
// is counted.
func TestRaceChecksLeaveNothing(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.write("data", "old\n")
	r := w.raceOf(`
name: clean
approaches: [{name: a, run: echo new > data}]
checks:
  - 'grep -qE "new|broken" data && seq 1000 > coverage && mkdir -p cache && echo x > /tmp/race-check-was-here'
  - {run: 'test -e coverage && echo broken > data', once: true}
metrics: [{name: n, run: 'seq 10 > measured; echo 1'}]
`)
	e := w.entry(r, "a")
	w.is(r, "a", "a:passed")
	if n := len(e.Checks[0].Runs); n != 2 {
		t.Errorf("what the winner passed was run %d times", n)
	}
	if e.Diff.Files != 1 || e.Diff.Plus != 1 || e.Diff.Minus != 1 || e.Saved == "" {
		t.Errorf("its diff is %+v, saved %q", e.Diff, e.Saved)
	}
	if got := w.sh("clean-a", "cat data; ls; ls /tmp/race-check-was-here 2>&1 || true"); !strings.HasPrefix(got, "new\ndata\n") || !strings.Contains(got, "No such file") {
		t.Errorf("the box has %q", got)
	}
	w.must("race", "apply", "--yes", "clean")
	expectFiles(t, w.ws, "data")
	if w.reality("data") != "new" {
		t.Errorf("landed: %q", w.reality("data"))
	}
}

// TestRaceFlaky: a check that fails and then passes is flaky, is reported so,
// and ranks behind one that always passes.
func TestRaceFlaky(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	file := w.raceFile(`
name: shaky
approaches:
  - {name: flaky, run: touch f}
  - {name: stable, run: 'touch f seen; seq 1000 > large'}
  - {name: broken, run: touch f never}
checks: [{run: 'test ! -e never && { test -e seen || { touch seen; false; }; }', name: moody}]
`)
	out, said, code := w.cli("race", "-f", file)
	if code != 0 || !strings.Contains(out+said, "moody") || !strings.Contains(out+said, "2/3") {
		t.Errorf("exit %d, and the flaky check is not told: %s%s", code, out, said)
	}
	r := w.show("shaky")
	w.is(r, "stable flaky broken", "broken:failed flaky:flaky stable:passed")
	c := w.entry(r, "flaky").Checks[0]
	if !c.Flaky || !c.Passed || len(c.Runs) != 3 {
		t.Errorf("the check is %+v", c)
	}
	// Who is the only one wins all the same.
	r = w.raceOf("approaches: [{name: a, run: 'true'}]\nchecks: ['test -e seen || { touch seen; false; }']\n")
	if r.Winner != "a" || w.entry(r, "a").Outcome != forkbox.OutcomeFlaky {
		t.Errorf("%s", told(r))
	}
	// Once is not repeated.
	r = w.raceOf("approaches: [{name: a, run: 'true'}]\nchecks: [{run: 'test -e seen || { touch seen; false; }', once: true}]\n")
	if r.Winner != "" || len(w.entry(r, "a").Checks[0].Runs) != 1 {
		t.Errorf("%s", told(r))
	}
}

// TestRacePolicies gives approaches limits and a network of their own: they
// hold, and the race says that it may not be a fair one.
func TestRacePolicies(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	r := w.raceOf(`
name: own
approaches:
  - {name: few, run: ulimit -n > f, policy: {limits: {files: 64}}}
  - {name: more, run: ulimit -n > f, policy: {net: none}}
policy: {limits: {files: 512}}
`)
	if a, b := w.sh("own-few", "cat f"), w.sh("own-more", "cat f"); a != "64" || b != "512" {
		t.Errorf("they had %s and %s open files", a, b)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "few") {
		t.Errorf("nothing is said about that: %q", r.Notes)
	}
	if b := w.boxOf("own-more"); b.Net != forkbox.NetNone {
		t.Errorf("its network is %q", b.Net)
	}
	w.refused([]string{"docker"}, "race", "-f", w.raceFile("approaches: [{name: a, run: 'true', provider: docker}]\n"))
	if n := len(w.boxes()); n != 2 {
		t.Errorf("after a refused race there are %d boxes", n)
	}
}

func (w *raceWorld) boxOf(ref string) (b forkbox.Box) {
	w.Helper()
	w.reads(&b, "show", ref)
	return b
}

// TestRaceLimitMet: one approach meets a limit of its box. That is its outcome,
// and no other's.
func TestRaceLimitMet(t *testing.T) {
	t.Parallel()
	w := newRaceWorld(t)
	w.must("ls")
	c := client.New(filepath.Join(w.home, "forkbox.sock"))
	defer c.Close()
	holds, err := c.Holds(t.Context())
	w.ok(err)
	self, err := os.Executable()
	w.ok(err)
	self += " " + hogArg
	for limit, hog := range map[forkbox.Resource][2]string{
		forkbox.Memory: {"{memory: 128m, swap: 0}", "memory 1g"},
		forkbox.Pids:   {"{pids: 60}", "fork-bomb once"},
		forkbox.Disk:   {"{disk: 20m}", "disk-big 200m"},
	} {
		file := w.raceFile("approaches:\n  - {name: hog, run: " + self + " " + hog[1] + "}\n  - {name: meek, run: touch f}\npolicy: {limits: " + hog[0] + "}\n")
		if how := holds[limit].How; how != "" && how != forkbox.Enforced {
			w.refused([]string{string(limit)}, "race", "-f", file)
			continue
		}
		r := w.race("-f", file)
		if e := w.entry(r, "hog"); r.Winner != "meek" || e.Outcome != forkbox.OutcomeLimited || !strings.Contains(e.Why, string(limit)) {
			t.Errorf("%s: %s", limit, told(r))
		}
	}
}
