package change

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/place"
)

func statOf(t *testing.T, table *statTable, changes ...forkbox.Change) string {
	t.Helper()
	var b bytes.Buffer
	table.out, table.at = bufio.NewWriter(&b), place.Place{Dir: "/w"}
	for _, c := range changes {
		if err := table.add(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.end(forkbox.Summary{}); err != nil {
		t.Fatal(err)
	}
	table.out.Flush()
	return b.String()
}

func TestStatIsLikeGits(t *testing.T) {
	file := func(path string, plus, minus int) forkbox.Change {
		return forkbox.Change{Path: path, Kind: forkbox.Modified, Type: "file", Plus: plus, Minus: minus}
	}
	got := statOf(t, &statTable{columns: 80},
		file("/w/main.go", 3, 1), file("/w/internal/long.go", 12, 0), file("/etc/x", 0, 2),
		forkbox.Change{Path: "/w/new", From: "/w/old", Kind: forkbox.Renamed, Type: "file", Similarity: 100},
		forkbox.Change{Path: "/w/pic", Kind: forkbox.Modified, Type: "file", Binary: true, OldSize: 5, Size: 9},
		forkbox.Change{Path: "/w/gone", Kind: forkbox.Deleted, Type: "file", Binary: true, Size: 9},
		forkbox.Change{Path: "/w/d", Kind: forkbox.Added, Type: "dir"},
		forkbox.Change{Path: "/w/run", Kind: forkbox.Mode, Type: "file", OldMode: 0o644, Mode: 0o755 | fs.FileMode(0)},
		forkbox.Change{Path: "/w/empty", Kind: forkbox.Added, Type: "file"},
	)
	want := ` main.go          |   4 +++-
 internal/long.go |  12 ++++++++++++
 /etc/x           |   2 --
 old => new       |   0
 pic              | Bin 5 -> 9 bytes
 gone             | Bin 9 -> 0 bytes
 d/               | dir added
 run              | -rw-r--r-- to -rwxr-xr-x
 empty            |   0
 9 paths changed, 15 insertions(+), 3 deletions(-)
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestStatBarsFit(t *testing.T) {
	got := statOf(t, &statTable{columns: 40},
		forkbox.Change{Path: "/w/" + strings.Repeat("deep/", 20) + "name.go", Plus: 900, Minus: 100, Type: "file"},
		forkbox.Change{Path: "/w/b", Plus: 1, Minus: 999, Type: "file"},
		forkbox.Change{Path: "/w/c", Plus: 1, Type: "file"},
	)
	for line := range strings.Lines(got) {
		if n := len(strings.TrimRight(line, "\n")); n > 40 && !strings.Contains(line, "changed") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(got, "...") || !strings.Contains(got, "name.go |") {
		t.Errorf("a name that does not fit: %s", got)
	}
	for _, want := range []string{"| 1000 +-", "|    1 +\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestStatOfNothing(t *testing.T) {
	if got := statOf(t, &statTable{columns: 80}); got != "" {
		t.Errorf("%q", got)
	}
}

// Rows are written while more arrive; the totals count all of them.
func TestStatDoesNotKeepEverything(t *testing.T) {
	table := &statTable{columns: 80}
	var changes []forkbox.Change
	for i := range 3 * statLookahead {
		changes = append(changes, forkbox.Change{Path: fmt.Sprintf("/w/%d", i), Plus: 1, Type: "file"})
	}
	got := statOf(t, table, changes...)
	if cap(table.rows) > 2*statLookahead {
		t.Errorf("%d rows were kept", cap(table.rows))
	}
	if n := strings.Count(got, "\n"); n != 3*statLookahead+1 || !strings.Contains(got, " 3000 paths changed, 3000 insertions(+)\n") {
		t.Errorf("%d lines", n)
	}
}
