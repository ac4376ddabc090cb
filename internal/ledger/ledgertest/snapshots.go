package ledgertest

import (
	"slices"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// snapshot is one with every field set, so that a ledger that forgets one fails.
func snapshot(id string, box forkbox.Box, name string, after time.Duration) forkbox.Snapshot {
	return forkbox.Snapshot{
		ID: id, Box: box.ID, BoxName: box.Name, Owner: box.Owner, Name: name, Message: "a message",
		Created: box.Created.Add(after), Auto: true, Layers: []string{"l2", "l1"}, Paused: time.Second, Parent: "s0",
	}
}

func snapshotIsKeptWhole(t *testing.T, l forkbox.Ledger) {
	b := Box("aaaaaaaaaaaa", "one", 1000)
	add(t, l, b)
	want := snapshot("s1", b, "first", 0)
	noError(t, l.AddSnapshot(t.Context(), want, b))
	got, err := l.Snapshots(t.Context(), b.ID)
	noError(t, err)
	equal(t, got, []forkbox.Snapshot{want})

	want.Layers, want.Name = []string{"l9"}, "renamed"
	noError(t, l.UpdateSnapshot(t.Context(), want))
	got, err = l.SnapshotsOf(t.Context(), nil)
	noError(t, err)
	equal(t, got, []forkbox.Snapshot{want})
	hasCode(t, l.UpdateSnapshot(t.Context(), snapshot("s2", b, "other", 0)), forkbox.NotFound)

	noError(t, l.DeleteSnapshot(t.Context(), "s1"))
	noError(t, l.DeleteSnapshot(t.Context(), "s1"))
	got, err = l.Snapshots(t.Context(), b.ID)
	noError(t, err)
	equal(t, len(got), 0)
}

// snapshotComesWithItsBox: what becomes of the box is recorded with the
// snapshot, or not at all.
func snapshotComesWithItsBox(t *testing.T, l forkbox.Ledger) {
	b := Box("aaaaaaaaaaaa", "one", 1000)
	add(t, l, b)
	b.Layers, b.Saving = []string{"l1"}, "l1"
	noError(t, l.AddSnapshot(t.Context(), snapshot("s1", b, "first", 0), b))
	got, err := l.Box(t.Context(), b.ID)
	noError(t, err)
	equal(t, got, b)

	refused := b
	refused.Layers = []string{"l2", "l1"}
	hasCode(t, l.AddSnapshot(t.Context(), snapshot("s2", b, "first", 0), refused), forkbox.Exists)
	got, err = l.Box(t.Context(), b.ID)
	noError(t, err)
	equal(t, got, b)
	noError(t, l.TakeBack(t.Context(), "s1", refused))
	got, err = l.Box(t.Context(), b.ID)
	noError(t, err)
	equal(t, got, refused)
	left, err := l.Snapshots(t.Context(), b.ID)
	noError(t, err)
	equal(t, len(left), 0)
	stranger := Box("cccccccccccc", "two", 1000)
	hasCode(t, l.AddSnapshot(t.Context(), snapshot("s3", stranger, "x", 0), stranger), forkbox.NotFound)
}

func snapshotsGoWithTheirBox(t *testing.T, l forkbox.Ledger) {
	one, two := Box("aaaaaaaaaaaa", "one", 1), Box("bbbbbbbbbbbb", "two", 2)
	add(t, l, one, two)
	noError(t, l.AddSnapshot(t.Context(), snapshot("s2", one, "later", time.Second), one))
	noError(t, l.AddSnapshot(t.Context(), snapshot("s1", one, "sooner", 0), one))
	noError(t, l.AddSnapshot(t.Context(), snapshot("s3", two, "sooner", 0), two))
	got, err := l.Snapshots(t.Context(), one.ID)
	noError(t, err)
	equal(t, []string{got[0].ID, got[1].ID}, []string{"s1", "s2"})
	for name, want := range map[string]string{"later": "s2", "s1": "s1"} {
		one, err := l.Snapshot(t.Context(), one.ID, name)
		noError(t, err)
		equal(t, one.ID, want)
	}
	for _, name := range []string{"", "s3", "none"} { // all are automatic
		_, err = l.Snapshot(t.Context(), one.ID, name)
		hasCode(t, err, forkbox.NotFound)
	}
	last := snapshot("s4", one, "last", 2*time.Second)
	last.Auto = false
	noError(t, l.AddSnapshot(t.Context(), last, one))
	noError(t, l.AddSnapshot(t.Context(), snapshot("s5", one, "auto", 3*time.Second), one))
	found, err := l.Snapshot(t.Context(), one.ID, "")
	noError(t, err)
	equal(t, found, last)
	names, err := l.SnapshotNames(t.Context(), one.ID)
	noError(t, err)
	equal(t, sorted(names), []string{"auto", "last", "later", "sooner"})
	uid := 2
	got, err = l.SnapshotsOf(t.Context(), &uid)
	noError(t, err)
	equal(t, len(got), 1)
	noError(t, l.DeleteBox(t.Context(), one.ID))
	got, err = l.SnapshotsOf(t.Context(), nil)
	noError(t, err)
	equal(t, len(got), 1)
	equal(t, got[0].ID, "s3")
}

func templateIsKeptWhole(t *testing.T, l forkbox.Ledger) {
	b := Box("aaaaaaaaaaaa", "one", 1000)
	want := forkbox.Template{
		ID: "t1", Name: "go", Owner: b.Owner, Message: "a message", Created: b.Created, From: "one@first", Parent: "s1",
		Base: b.Base, Layers: []string{"l1"}, Net: b.Net, Network: b.Network, Dir: b.Dir, Env: b.Env, AllowSecrets: b.AllowSecrets, Warm: 2,
	}
	noError(t, l.AddTemplate(t.Context(), want))
	got, err := l.Template(t.Context(), 1000, "go")
	noError(t, err)
	equal(t, got, want)
	again := want
	again.ID = "t2"
	hasCode(t, l.AddTemplate(t.Context(), again), forkbox.Exists)
	again.Owner.UID = 7
	noError(t, l.AddTemplate(t.Context(), again))
	want.Warm = 0
	noError(t, l.UpdateTemplate(t.Context(), want))
	uid := 1000
	list, err := l.Templates(t.Context(), &uid)
	noError(t, err)
	equal(t, list, []forkbox.Template{want})
	list, err = l.Templates(t.Context(), nil)
	noError(t, err)
	equal(t, len(list), 2)
	noError(t, l.DeleteTemplate(t.Context(), "t1"))
	noError(t, l.DeleteTemplate(t.Context(), "t1"))
	_, err = l.Template(t.Context(), 1000, "go")
	hasCode(t, err, forkbox.NotFound)
	hasCode(t, l.UpdateTemplate(t.Context(), want), forkbox.NotFound)
}

func stacksOfEverything(t *testing.T, l forkbox.Ledger) {
	b, plain := Box("aaaaaaaaaaaa", "one", 1000), Box("bbbbbbbbbbbb", "two", 7)
	plain.Layers, plain.Saving, plain.Base.Root = nil, "", ""
	add(t, l, b, plain)
	s := snapshot("s1", b, "first", 0)
	s.Layers = []string{"l7"}
	noError(t, l.AddSnapshot(t.Context(), s, b))
	noError(t, l.AddTemplate(t.Context(), forkbox.Template{ID: "t1", Name: "go", Layers: []string{"l8"}, Base: forkbox.Base{Root: "/r"}}))
	all, err := l.Stacks(t.Context())
	noError(t, err)
	var got []string
	for _, s := range all {
		got = append(got, s.Layers...)
		got = append(got, s.Saving, s.Root)
	}
	equal(t, sorted(slices.DeleteFunc(got, func(s string) bool { return s == "" })),
		[]string{"/r", "/srv/root", "l1", "l2", "l3", "l7", "l8"})
}

func layersAreKnown(t *testing.T, l forkbox.Ledger) {
	known := func(want ...string) {
		t.Helper()
		got, err := l.KnownLayers(t.Context())
		noError(t, err)
		equal(t, sorted(got), want)
	}
	noError(t, l.KnowLayers(t.Context(), "l1", "", "/roots/a:b", "l1"))
	noError(t, l.KnowLayers(t.Context()))
	b := Box("aaaaaaaaaaaa", "one", 1000)
	b.Saving = "l3"
	add(t, l, b)
	noError(t, l.AddSnapshot(t.Context(), snapshot("s1", b, "first", 0), b))
	known("/roots/a:b", "l1", "l3")
	noError(t, l.DeleteBox(t.Context(), b.ID)) // what nothing names is known still: it has to be swept
	noError(t, l.ForgetLayers(t.Context(), "l1", "nosuch"))
	noError(t, l.ForgetLayers(t.Context(), "l1"))
	known("/roots/a:b", "l3")
}
