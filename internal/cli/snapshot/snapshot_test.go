package snapshot

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
)

// quiet is an app whose output is kept.
func quiet() (*app.App, *bytes.Buffer, *bytes.Buffer) {
	out, err := &bytes.Buffer{}, &bytes.Buffer{}
	return app.New("", nil, out, err), out, err
}

func TestSnapshotRows(t *testing.T) {
	box := forkbox.Box{ID: "b", At: "2"}
	var out bytes.Buffer
	writeSnapshots(&out, box, []forkbox.Snapshot{
		{ID: "1", Name: "one", Message: "first"}, {ID: "2", Name: "two"},
		{ID: "3", Name: "auto-1", Auto: true}, {ID: "4", Name: "auto-2", Auto: true, Message: "x\x1b[2J"},
	})
	want := "one\t-\tfirst\ntwo *\t-\t\nauto-1\t-\t(automatic)\nauto-2\t-\t(automatic) \"x\\x1b[2J\"\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
}

func TestPauseText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Microsecond: "under 1 ms", 12345 * time.Microsecond: "12 ms", 1340 * time.Millisecond: "1.3 s",
	} {
		if got := pauseText(d); got != want {
			t.Errorf("%s: %s", d, got)
		}
	}
}

func TestChildrenAreShown(t *testing.T) {
	a, out, err := quiet()
	showChildren(a, forkbox.Fork{
		Snapshot: forkbox.Snapshot{Paused: 12 * time.Millisecond},
		Children: []forkbox.Child{
			{Name: "c-1", Box: &forkbox.Box{}}, {Name: "c-2", Error: forkbox.Errorf(forkbox.Exists, "create box", "taken").Hint("another")},
			{Name: "c-3", Box: &forkbox.Box{}}, {Error: forkbox.Errorf(forkbox.Internal, "create box", "no space")},
		},
	})
	if out.String() != "c-1\nc-3\n" {
		t.Errorf("stdout %q", out)
	}
	want := "paused 12 ms while it was copied\nerror: c-2: cannot create box: taken\nhint: another\n" +
		"error: a child without a name: cannot create box: no space\n"
	if err.String() != want {
		t.Errorf("stderr %q", err)
	}
}

func TestRollbackSaysHowToUndoIt(t *testing.T) {
	a, _, err := quiet()
	tellRollback(a, forkbox.Rollback{
		Box: forkbox.Box{Name: "try"}, To: forkbox.Snapshot{Name: "green", Message: "tests pass", Created: time.Now()}, Kept: forkbox.Snapshot{Name: "auto-1"},
	})
	if want := "box try is as it was at green, now (tests pass)\nundo that: forkbox rollback try auto-1\n"; err.String() != want {
		t.Errorf("%q", err)
	}
}

func TestDifferencesAreShort(t *testing.T) {
	a, _, err := quiet()
	list := []forkbox.Difference{
		{Kind: "os", Name: "os", Want: "debian 12", Have: "debian 13"}, {Kind: "package", Name: "jq", Want: "1.7"},
		{Kind: "package", Name: "curl", Want: "8.1", Have: "8.0"},
	}
	for range 20 {
		list = append(list, forkbox.Difference{Kind: "path", Name: "/x"})
	}
	tellDifferences(a, list)
	for _, want := range []string{
		"  os is debian 13 here; there it was debian 12\n", "  package jq is missing here; there it was 1.7\n",
		"  package curl is 8.0 here; there it was 8.1\n", "  path /x is missing here\n", "  … and 13 more; --json lists all\n",
	} {
		if !strings.Contains(err.String(), want) {
			t.Errorf("no %q in %s", want, err)
		}
	}
	if n := strings.Count(err.String(), "\n"); n != shownDifferences+2 {
		t.Errorf("%d lines", n)
	}
}
