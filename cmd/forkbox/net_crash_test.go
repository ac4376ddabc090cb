//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestNetDaemonKilled: the box goes on with its loopback and nothing else; the
// next daemon opens the gate again, with the same rules.
func TestNetDaemonKilled(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host := w.name("host")
	box := w.makeBox("lasting", "--allow", host)
	w.starts(box, w.inside("tick", host+":7", w.Canary4+":80")...)
	log := func(word string) func() bool {
		return func() bool { return strings.Contains(lastLine(w.must("logs", box, "1")), word) }
	}
	w.until("it gets through", log("loopback ok, allowed ok, other ECONNREFUSED"))
	w.starts(box, w.inside("hold", host+":7", "1", "for-ever")...)
	w.until("it is on record", func() bool { return w.has(box, want{state: forkbox.ConnOpen, host: host, port: 7}) })
	pid := w.worker(box)
	w.kill()
	w.until("it notices that the gate is gone", func() bool { return w.tickName(host) == "no-gate" })
	w.serve()
	if again := w.worker(box); again != pid {
		t.Errorf("what ran in the box was process %s, and is %s", pid, again)
	}
	w.until("the gate is open again", log("loopback ok, allowed ok, other ECONNREFUSED"))
	if text := w.must("logs", box, "1"); strings.Contains(text, "loopback E") || strings.Contains(text, "other ok") {
		t.Errorf("meanwhile it saw %s", text)
	}
	w.recorded(box, want{state: forkbox.ConnLost, host: host, port: 7})
	w.silent(w.Canary4)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func (w *netWorld) has(box string, x want) bool {
	for _, c := range w.conns(box) {
		if x.fits(c) {
			return true
		}
	}
	return false
}

// tickName is what the program that tells how it fares is called now, as the
// host sees it.
func (w *netWorld) tickName(host string) string {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range all {
		if line, _ := os.ReadFile(file); strings.Contains(string(line), "\x00tick\x00"+host) {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "comm"))
			return strings.TrimSpace(string(name))
		}
	}
	return ""
}

// worker is the process of the box that the daemon's end must not touch.
func (w *netWorld) worker(box string) string {
	w.Helper()
	return w.works(box, sh(`for p in /proc/[0-9]*; do grep -qz '^tick$' $p/cmdline 2>/dev/null && echo $p; done; true`)...)
}

// TestPromise6NetworksLeaveNothing: boxes that used the network and are gone
// leave no process, no namespace and no file of the daemon's open.
func TestPromise6NetworksLeaveNothing(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host := w.name("host")
	round := func(name string) {
		box := w.makeBox(name, "--allow", host, "--terminate", host)
		w.works(box, w.inside("get", "https://"+host+"/")...)
		w.publish(box, "3000")
		_ = w.urlOf(box, 3000)
		w.must("rm", "-f", box)
	}
	round("first") // what a daemon opens once
	before := w.files()
	for i := range 4 {
		round(fmt.Sprint("round", i))
	}
	defer func() {
		if t.Failed() {
			open, _ := exec.Command("ls", "-l", fmt.Sprintf("/proc/%d/fd", w.daemon.Process.Pid)).Output()
			t.Logf("there were %d before; now\n%s", before, open)
		}
	}()
	w.until("its files are closed", func() bool { return w.files() <= before })
	nothingLeft(t, w.home, "after all were removed")
	box := w.makeBox("last", "--allow", host)
	w.works(box, w.inside("dial", "tcp", host+":7")...)
	w.restart()
	w.must("rm", "-f", box)
	nothingLeft(t, w.home, "after the daemon was killed and the box removed")
}

// files is how many the daemon has open, without the ledger's: how many of those
// it keeps depends on how many asked at once.
func (w *netWorld) files() (n int) {
	w.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", w.daemon.Process.Pid)
	entries, err := os.ReadDir(dir)
	w.ok(err)
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && !strings.Contains(target, "/ledger.db") {
			n++
		}
	}
	return n
}
