package forkbox_test

import (
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestEventKindsAreDocumented: docs/OPERATIONS.md has the table of kinds.
func TestEventKindsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, k := range forkbox.EventKinds {
		rows = append(rows, "| `"+string(k.Kind)+"` | "+k.Text+" |\n")
	}
	if !strings.Contains(string(doc), strings.Join(rows, "")) {
		t.Errorf("the table of kinds is to be:\n%s", strings.Join(rows, ""))
	}
}

func TestEventFilters(t *testing.T) {
	for _, c := range []struct {
		filter string
		kind   forkbox.EventKind
		wants  bool
	}{
		{"", forkbox.EventExecEnded, true}, {"*", forkbox.EventExecEnded, true},
		{"box.*", forkbox.EventBoxCreated, true}, {"box.*", forkbox.EventExecEnded, false},
		{"box.created, exec.ended", forkbox.EventExecEnded, true}, {"exec.ended", forkbox.EventExecStarted, false},
	} {
		f, err := forkbox.ParseEventFilter(c.filter)
		if err != nil || f.Wants(c.kind) != c.wants {
			t.Errorf("%q wants %s: %v, %v", c.filter, c.kind, f.Wants(c.kind), err)
		}
	}
	for _, bad := range []string{"boxx.*", "exec.finished", "box"} {
		if _, err := forkbox.ParseEventFilter(bad); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
