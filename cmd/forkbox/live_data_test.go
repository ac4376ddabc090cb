//go:build linux

package main

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox/internal/services/servicetest"
)

// A box does not see the files of a database that runs, and what it puts in their
// place does not land. Who asks for them gets them.
func TestLiveDataIsNotShown(t *testing.T) {
	_, data, wal := servicetest.PostgreSQL(t)
	w := newLandWorld(t)
	box := w.fork("plain")
	for _, dir := range []string{data, wal} {
		if got := strings.Fields(w.in(box, "ls", "-A", dir)); len(got) != 1 || got[0] != "FORKBOX-README" {
			t.Errorf("in %s the box sees %q", dir, got)
		}
	}
	if text := w.in(box, "cat", data+"/FORKBOX-README"); !strings.Contains(text, "--allow-secrets\n"+data+"\n") {
		t.Errorf("it is told: %s", text)
	}
	w.in(box, "sh", "-c", "echo box >"+data+"/PG_VERSION")
	w.try("apply", "--all", "--yes", box)
	if got := w.shOut("cat " + data + "/PG_VERSION"); strings.Contains(got, "box") {
		t.Errorf("it landed: %s", got)
	}

	w.fb("new", "--name", "curious", "--allow-secrets", data)
	w.boxes = append(w.boxes, "curious")
	if got := w.in("curious", "ls", data); !strings.Contains(got, "PG_VERSION") {
		t.Errorf("with leave it sees %s", got)
	}
	if got := strings.Fields(w.in("curious", "ls", "-A", wal)); len(got) != 1 {
		t.Errorf("it has no leave for the log, and sees %q", got)
	}
}
