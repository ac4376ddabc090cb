package providertest

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

var changeStories = []story{
	{name: "AddedModifiedDeleted", run: addedModifiedDeleted},
	{name: "NoneIsNone", run: noChanges},
}

// changes lists what a box changed below dir.
func (l *Lab) changes(box forkbox.Box, dir string) map[string]forkbox.Kind {
	l.t.Helper()
	found := map[string]forkbox.Kind{}
	err := l.Provider.Changes(context.Background(), box, func(c forkbox.Change) error {
		if name, ok := strings.CutPrefix(c.Path, dir); ok {
			found[name] = c.Kind
		}
		return nil
	})
	if err != nil {
		l.t.Fatalf("changes: %v", err)
	}
	return found
}

func addedModifiedDeleted(t *testing.T, l *Lab) {
	dir := Tree(t, map[string]string{"edit": "old", "gone": "x", "same": "y", "tree/a": "", "tree/b": ""})
	box := l.Box()
	r := l.Start(box)
	r.Sh("cd " + dir + " && echo new >edit && rm gone && rm -r tree && echo y >add && cp same copy && mv copy same")
	want := map[string]forkbox.Kind{"/edit": forkbox.Modified, "/gone": forkbox.Deleted, "/tree": forkbox.Deleted, "/add": forkbox.Added}
	for _, when := range []string{"while it runs", "at rest"} {
		got := l.changes(box, dir)
		delete(got, "/same") // the same bytes with a new time: a provider may or may not say so
		delete(got, "")
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v", when, got)
		}
		stop(t, r, 0)
	}
}

func noChanges(t *testing.T, l *Lab) {
	box := l.Box()
	stop(t, l.Start(box), 0)
	if got := l.changes(box, ""); len(got) != 0 {
		t.Errorf("a box in which nothing was done has changed %v", got)
	}
}
