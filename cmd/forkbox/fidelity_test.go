//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestFidelity runs the table of docs/FIDELITY.md.
func TestFidelity(t *testing.T) {
	page, err := os.ReadFile("../../docs/FIDELITY.md")
	if os.IsNotExist(err) { // beside the test binary of an unprivileged run
		page, err = os.ReadFile("../docs/FIDELITY.md")
	}
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.must("new", "--name", "try")
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || !strings.Contains(cells[1], "$RUN") {
			continue
		}
		rows++
		t.Run(strings.TrimPrefix(cells[0], "| "), func(t *testing.T) {
			outside := faithful(t, w.home, cells[1], "env")
			inside := faithful(t, w.home, cells[1], "forkbox exec -i try --")
			switch want := cells[2]; {
			case want == "same" && outside != inside:
				t.Errorf("%s\noutside:\n%s\nin a box:\n%s", cells[1], outside, inside)
			case want == "differs" && outside == inside:
				t.Errorf("%s\nis the same now, docs/FIDELITY.md says that it differs:\n%s", cells[1], inside)
			case want != "same" && want != "differs":
				t.Errorf("%q is no word for it", want)
			}
		})
	}
	if rows < 20 {
		t.Errorf("only %d rows were found", rows)
	}
}

// faithful is what a line prints, in a directory of its own name.
func faithful(t *testing.T, home, line, run string) string {
	t.Helper()
	dir := t.TempDir() + "/here"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", strings.Trim(line, "`"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RUN="+run, "FORKBOX_HOME="+home)
	var out bytes.Buffer
	cmd.Stdout = &out
	_ = cmd.Run()
	return ignoredSignals.ReplaceAllStringFunc(out.String(), withoutOwn)
}

var ignoredSignals = regexp.MustCompile(`SigIgn:\t[0-9a-f]+`)

// withoutOwn leaves out the signals from 32 on, some of which are the C
// library's own: what started the tests may have left them ignored.
func withoutOwn(line string) string {
	set, err := strconv.ParseUint(strings.TrimPrefix(line, "SigIgn:\t"), 16, 64)
	if err != nil {
		return line
	}
	return fmt.Sprintf("SigIgn:\t%x", set&(1<<31-1))
}
