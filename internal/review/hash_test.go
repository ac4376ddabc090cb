package review

import (
	"io/fs"
	"testing"

	"github.com/forkbox/forkbox"
)

// hashed is the hash of some changes.
func hashed(t *testing.T, entries ...*Entry) string {
	t.Helper()
	h := NewHash()
	for _, e := range entries {
		sum, err := ContentSum(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Add(e, sum); err != nil {
			t.Fatal(err)
		}
	}
	return h.String()
}

// Promise 3: whatever could land otherwise than it was reviewed is in the hash.
func TestTheHashIsOfEveryByteAndAttribute(t *testing.T) {
	seen := map[string]string{}
	for _, c := range []struct {
		name   string
		change func(*Entry)
	}{
		{"as it is", func(*Entry) {}},
		{"path", func(e *Entry) { e.Path = "/w/g" }},
		{"content", func(e *Entry) { e.sides().newText = "nex" }},
		{"mode", func(e *Entry) { e.sides().new.Mode = 0o755 }},
		{"setuid", func(e *Entry) { e.sides().new.Mode |= fs.ModeSetuid }},
		{"owner", func(e *Entry) { e.sides().new.UID = 5 }},
		{"group", func(e *Entry) { e.sides().new.GID = 5 }},
		{"device", func(e *Entry) { e.sides().new.Rdev = 5 }},
		{"target", func(e *Entry) { e.sides().new.Target = "x" }},
		{"attribute", func(e *Entry) { e.sides().new.Xattrs = map[string][]byte{"user.a": []byte("b")} }},
		{"another value", func(e *Entry) { e.sides().new.Xattrs = map[string][]byte{"user.a": []byte("c")} }},
		{"name and value apart", func(e *Entry) { e.sides().new.Xattrs = map[string][]byte{"user.a\" \"": []byte("b")} }},
		{"two attributes", func(e *Entry) {
			e.sides().new.Xattrs = map[string][]byte{"user.a": []byte("b"), "user.b": nil}
		}},
		{"link", func(e *Entry) { e.Link = "/w/x" }},
		{"from", func(e *Entry) { e.From = "/w/x" }},
		{"deleted", func(e *Entry) { e.Kind = forkbox.Deleted }},
		{"a path that looks like more fields", func(e *Entry) { e.Path = "/w/f\" \"\" \"" }},
		{"a line in a path", func(e *Entry) { e.Path = "/w/f\n\"deleted\" \"/w/g\" " }},
	} {
		e := change(t, forkbox.Modified, "old", "new", before)
		c.change(e)
		sum := hashed(t, e)
		if other, ok := seen[sum]; ok {
			t.Errorf("%q has the hash of %q", c.name, other)
		}
		seen[sum] = c.name
	}
}

func TestTheHashDoesNotVary(t *testing.T) {
	one := func() *Entry {
		e := change(t, forkbox.Modified, "old", "new", before)
		e.sides().new.Xattrs = map[string][]byte{"user.a": nil, "user.b": nil, "user.c": nil, "user.d": nil}
		return e
	}
	want := hashed(t, one())
	for range 20 {
		e := one()
		e.sides().new.Ino, e.sides().new.Ctime, e.sides().old.Ctime = 99, after, after // not what lands
		if got := hashed(t, e); got != want {
			t.Fatal("the same box has another hash")
		}
	}
	if hashed(t, one(), one()) == want || hashed(t) == want {
		t.Error("a hash is of all the changes")
	}
}

// A box that runs can change a file between two looks at it. What was looked
// at for the hash and the cautions must be what lands.
func TestPromise3ARunningBoxCannotShowOneThingAndLandAnother(t *testing.T) {
	e := change(t, forkbox.Added, "-", "new", before)
	tricky := &turncoat{sides: e.sides()}
	e.Sides = tricky
	v := newView(nil)
	p := &Plan{View: v, Chosen: Choose(forkbox.Selection{}, nil, newSorter(nil))}
	step, err := p.Next(t.Context(), e)
	if err != nil || len(step.Items) != 1 {
		t.Fatal(step, err)
	}
	cautious := len(p.Cautions) > 0
	if landsSetuid := step.Items[0].Node.Mode != 0o644; landsSetuid != cautious {
		t.Errorf("lands %v with cautions %v", step.Items[0].Node.Mode, p.Cautions)
	}
	plain := change(t, forkbox.Added, "-", "new", before)
	if landsPlain := step.Items[0].Node.Mode == 0o644; landsPlain != (hashed(t, e) == hashed(t, plain)) {
		t.Errorf("lands %v with the hash of another", step.Items[0].Node.Mode)
	}
}

// turncoat has another mode each time it is looked at.
type turncoat struct {
	*sides
	looks int
}

func (s *turncoat) New() (forkbox.Node, error) {
	n, err := s.sides.New()
	if s.looks++; s.looks%2 == 0 {
		n.Mode |= fs.ModeSetuid
	}
	return n, err
}
