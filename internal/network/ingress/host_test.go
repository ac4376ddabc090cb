package ingress

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
	"pgregory.net/rapid"
)

// FuzzHost: whatever a Host header is, only one name leads to a place, but for
// the case of its letters, a last dot and a port.
func FuzzHost(f *testing.F) {
	for _, s := range []string{"3000--try.localhost:7357", "3000--TRY.localhost.", "evil.example", "[::1]:80", "1--a--b.localhost", "3000--\x00.localhost", "", ":", ".", "--.localhost"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rest, ours := below(s)
		if !ours {
			return
		}
		at, ok := parsePlace(rest)
		if !ok {
			return
		}
		name, _, _ := strings.Cut(s, ":")
		if strings.TrimSuffix(lower(name), ".") != at.host() {
			t.Fatalf("%q leads to %s", s, at.host())
		}
		if at.port < 1 || at.port > 65535 || !validLabel(at.label) || len(at.host()) > labelMax+len(suffix) {
			t.Fatalf("%q is %+v", s, at)
		}
	})
}

// Every box has a URL of its own, whatever boxes are called, and it is read back
// as what it was made of.
func TestLabelsAreOnesOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, owners := newLabels(1), map[string]holder{}
		count := rapid.IntRange(1, 30).Draw(t, "boxes")
		for n := range count {
			box := forkbox.Box{ID: fmt.Sprintf("%012x", rapid.Uint32Max(3).Draw(t, "id")<<16+uint32(n))}
			box.Owner.UID = rapid.IntRange(0, 3).Draw(t, "uid")
			box.Name = rapid.OneOf(
				rapid.StringMatching(`[ab]-?`), rapid.StringMatching(`[ab]-0000`),
				rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,62}`), rapid.String(),
			).Draw(t, "name")
			label, err := l.of(box, func(string) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			who := holder{box.Owner.UID, box.Name}
			if had, taken := owners[label]; taken && had != who {
				t.Fatalf("%q is of %v and of %v", label, had, who)
			}
			owners[label] = who
			at := place{label, rapid.IntRange(1, 65535).Draw(t, "port")}
			rest, ours := below(at.host() + ":7357")
			if read, ok := parsePlace(rest); !ours || !ok || read != at {
				t.Fatalf("%+v is read as %+v", at, read)
			}
		}
	})
}

func TestLabelsAreBounded(t *testing.T) {
	l := newLabels(1)
	kept := aBox("ffffffffffff", "kept", 1)
	used := func(label string) bool { return label == "kept" }
	_, _ = l.of(kept, used)
	for n := range 3 * labelsKept {
		if _, err := l.of(aBox(fmt.Sprintf("%012x", n), fmt.Sprint("box-", n), 1), used); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(l.holders); n > labelsKept || n != len(l.given) {
		t.Errorf("%d labels are remembered, of %d holders", n, len(l.given))
	}
	if l.holders["kept"] != (holder{1, "kept"}) {
		t.Error("one in use was forgotten")
	}
}
