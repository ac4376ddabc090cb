package providertest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

var changeStories = []story{
	{name: "AddedModifiedDeleted", run: addedModifiedDeleted},
	{name: "NoneIsNone", run: noChanges},
	{name: "Root", run: rootOfTheBox},
}

// changes lists what a box changed below dir.
func (l *Lab) changes(box forkbox.Box, dir string) map[string]forkbox.Kind {
	l.t.Helper()
	found := map[string]forkbox.Kind{}
	err := l.Provider.Changes(context.Background(), box, func(c forkbox.Change, _ forkbox.Sides) error {
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

// rootOfTheBox: what is written below it from outside is in the box, is one of
// its changes, and is not in reality.
func rootOfTheBox(t *testing.T, l *Lab) {
	dir := Tree(t, map[string]string{"edit": "old"})
	r := l.Start(l.Box())
	root, err := r.Instance.Root()
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	below := fmt.Sprintf("/proc/self/fd/%d%s", root.Fd(), dir)
	for name, content := range map[string]string{"new": "from outside", "edit": "edited"} {
		if err := os.WriteFile(below+"/"+name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := r.Sh("cat " + dir + "/" + name); got != content {
			t.Errorf("the box reads %q in %s", got, name)
		}
	}
	want := map[string]forkbox.Kind{"/new": forkbox.Added, "/edit": forkbox.Modified}
	if got := l.changes(r.Box, dir); !maps.Equal(got, want) {
		t.Errorf("changes: %v", got)
	}
	if real, _ := os.ReadFile(dir + "/edit"); string(real) != "old" {
		t.Errorf("reality has %q", real)
	}
	stop(t, r, 0)
	if late, err := r.Instance.Root(); err == nil {
		late.Close()
		t.Error("a stopped box has a root")
	}
}
