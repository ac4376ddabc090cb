package change

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// moments is a box at two moments, as copies of what it showed then.
type moments struct {
	fixture
	old, new string
	above    int // the layers that were made since the first
}

// relive builds a box by stages and remembers what it showed after the first
// so many of them.
func relive(t testing.TB, f fixture, do []func(merged string) error, since int) moments {
	t.Helper()
	h := moments{fixture: f, old: filepath.Dir(f.base) + "/old", new: filepath.Dir(f.base) + "/new"}
	keep := func(as string) {
		inOverlay(t, h.fixture, "redirect_dir=on", func(m string) error { return run(m, "rm -rf "+as+"; cp -a . "+as) })
	}
	for i, step := range do {
		if i == since {
			keep(h.old)
		}
		if i > 0 {
			h.snapshot(t)
		}
		inOverlay(t, h.fixture, "redirect_dir=on", step)
	}
	keep(h.new)
	h.above = len(do) - 1 - since
	return h
}

// touched compares the two moments where Touched says to.
func (h moments) touched(t testing.TB) []Path {
	t.Helper()
	src := h.source()
	src.Uppers[0].Layers = src.Uppers[0].Layers[:h.above]
	paths, err := Touched(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(paths.All())
}

func (h moments) between(t testing.TB, paths ...Path) (list []string) {
	t.Helper()
	f := fixture{base: h.old, upper: h.new}
	for _, c := range differences(t, f.trees(t, paths...)) {
		list = append(list, fmt.Sprint(c.Kind, " ", c.Path, " ", c.Attrs))
	}
	return list
}

// told is that nothing is missed which differs, and nothing told that does not.
func (h moments) told(t testing.TB) {
	t.Helper()
	got, want := h.between(t, h.touched(t)...), h.between(t, Path{"/", true})
	if !slices.Equal(got, want) {
		t.Errorf("of\n%q\nit tells\n%q", want, got)
	}
}

func TestTouched(t *testing.T) {
	for _, c := range slices.Concat(stacked, moved) {
		for since := 1; since < len(c.do); since++ {
			t.Run(fmt.Sprint(c.name, " since ", since), func(t *testing.T) {
				f := newFixture(t)
				shell(t, f.base, baseTree)
				var do []func(string) error
				for _, script := range c.do {
					do = append(do, func(m string) error { return run(m, script) })
				}
				relive(t, f, do, since).told(t)
			})
		}
	}
}

// What lies below may be as large as it likes.
func TestTouchedReadsTheUppersOnly(t *testing.T) {
	f := newFixture(t)
	shell(t, f.base, baseTree)
	h := relive(t, f, []func(string) error{
		func(m string) error { return run(m, "mkdir big; for i in $(seq 300); do echo $i >big/$i; done") },
		func(m string) error { return run(m, "echo x >big/7; rm big/8; rm -r d; mkdir d") },
	}, 1)
	want := []Path{{"/", false}, {"/big", false}, {"/big/7", true}, {"/big/8", true}, {"/d", true}}
	if got := h.touched(t); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	src := h.source()
	src.Uppers[0].Layers, src.Skip = nil, func(path string) bool { return path == "/big" }
	got, err := Touched(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(got.All()); !slices.Equal(got, []Path{{"/", false}, {"/d", true}}) {
		t.Errorf("%v", got)
	}
}

func TestTouchedProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		for _, name := range []string{"a/a/a", "a/a/b", "a/b/a", "a/b/c", "b/a/a", "b/c/a", "b/c/b"} {
			write(t, name, f.base, name)
		}
		var do []func(string) error
		for i := range rapid.IntRange(2, 4).Draw(rt, "stages") {
			list := ops(rt, fmt.Sprint("stage ", i), 8)
			do = append(do, func(m string) error {
				for _, o := range list {
					o.do(m)
				}
				return nil
			})
		}
		h := relive(t, f, do, rapid.IntRange(1, len(do)-1).Draw(rt, "since"))
		defer os.RemoveAll(filepath.Dir(f.base))
		got, want := h.between(t, h.touched(t)...), h.between(t, Path{"/", true})
		if !slices.Equal(got, want) {
			rt.Fatalf("of\n%q\nit tells\n%q", want, got)
		}
	})
}
