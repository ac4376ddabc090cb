package store

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
)

func TestGCFlags(t *testing.T) {
	for _, row := range []struct {
		args []string
		want forkbox.GCSpec
		bad  string
	}{
		{args: nil},
		{args: []string{"--idle", "2w", "--older-than=1d12h", "--max-size", "5G", "--unreviewed", "--dry-run"},
			want: forkbox.GCSpec{DryRun: true, OlderThan: 36 * time.Hour, IdleFor: 14 * 24 * time.Hour, MaxSize: 5 << 30, Unreviewed: true}},
		{args: []string{"--idle", ""}, bad: "--idle"},
		{args: []string{"--older-than", "-1h"}, bad: "--older-than"},
		{args: []string{"--max-size", "0"}, bad: "--max-size"},
		{args: []string{"--max-size", "5X"}, bad: "--max-size"},
	} {
		g := &collector{}
		cmd := g.verb()
		if err := cmd.ParseFlags(row.args); err != nil {
			t.Fatal(err)
		}
		err := g.parse(cmd)
		switch {
		case row.bad == "" && (err != nil || g.spec != row.want):
			t.Errorf("%v: %+v %v", row.args, g.spec, err)
		case row.bad != "" && (err == nil || !strings.Contains(err.Error(), row.bad) || forkbox.CodeOf(err) != forkbox.Invalid):
			t.Errorf("%v: %v", row.args, err)
		}
	}
}

func TestGCIsShown(t *testing.T) {
	done := forkbox.GC{
		Removed: []forkbox.Collected{
			{Kind: "box", ID: "1", Name: "old", Why: "not used for 3 days", Bytes: 2000}, {Kind: "box", ID: "2", Name: "older", Why: "so is this"},
			{Kind: "layer", ID: "abc", Why: "nothing needs it"},
			{Kind: "box", ID: "3", Name: "stuck", Why: "idle", Error: forkbox.Errorf(forkbox.Busy, "remove box", "it runs")},
		},
		Kept:  []forkbox.Collected{{Kind: "box", Name: "mine", Why: "it is kept"}},
		Freed: 2000,
	}
	for _, row := range []struct {
		verbose, dry bool
		out, err     []string
	}{
		{out: []string{"removed  box    old    2.0 kB  not used for 3 days\n", "removed  layer  abc", "failed   box    stuck"},
			err: []string{"error: box stuck: cannot remove box: it runs\n", "removed 2 boxes, 1 layer, freed 2.0 kB\n"}},
		{verbose: true, dry: true, out: []string{"goes    box    old", "stays   box    mine"}, err: []string{"would remove 2 boxes, 1 layer and free 2.0 kB\n"}},
	} {
		a, out, stderr := quiet()
		g := &collector{App: a, verbose: row.verbose}
		done.DryRun = row.dry
		if err := g.show(done); err != nil {
			t.Fatal(err)
		}
		expectAll(t, out, row.out)
		expectAll(t, stderr, row.err)
		if strings.Contains(out.String(), "mine") != row.verbose {
			t.Errorf("%+v: %s", row, out)
		}
	}
	if !anyFailed(done.Removed) || anyFailed(done.Removed[:3]) {
		t.Error("what failed is not told from what did not")
	}
}

func TestNothingToClearAway(t *testing.T) {
	a, out, stderr := quiet()
	g := &collector{App: a}
	g.show(forkbox.GC{Kept: []forkbox.Collected{{Kind: "box", Name: "mine"}}})
	if out.Len() > 0 || stderr.String() != "nothing to clear away; why 1 other stays: forkbox gc --dry-run -v\n" {
		t.Errorf("%q %q", out, stderr)
	}
}

func TestUsageRows(t *testing.T) {
	usage := forkbox.Usage{Total: 3000, Shared: 1000, Other: 500, Items: []forkbox.UsedItem{
		{Kind: "box", ID: "1", Name: "try", Own: 1000, All: 2000, Files: 3}, {Kind: "snapshot", ID: "s", Name: "try@1", Own: 500, All: 1500, Files: 2},
		{Kind: "box", ID: "2", Name: "try-2"}, {Kind: "snapshot", ID: "s2", Name: "try-2@1"},
	}}
	var out bytes.Buffer
	writeUsage(&out, usage, true)
	expectAll(t, &out, []string{"box\ttry\t1.0 kB\t2.0 kB\t3\n", "snapshot\ttry@1\t500 B\t1.5 kB\t2\n", "shared\t\t1.0 kB\n", "other\t\t500 B\n", "sum\t\t3.0 kB\n"})
	items := itemsOf(usage.Items, []forkbox.Box{{ID: "1", Name: "try"}})
	if len(items) != 2 || items[1].ID != "s" {
		t.Errorf("%+v", items)
	}
}

func expectAll(t *testing.T, text *bytes.Buffer, want []string) {
	t.Helper()
	for _, line := range want {
		if !strings.Contains(text.String(), line) {
			t.Errorf("no %q in:\n%s", line, text)
		}
	}
}

// quiet is an app whose output is kept.
func quiet() (*app.App, *bytes.Buffer, *bytes.Buffer) {
	out, err := &bytes.Buffer{}, &bytes.Buffer{}
	return app.New("", nil, out, err), out, err
}
