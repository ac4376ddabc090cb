package change

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
)

// bin is where a test throws what it discards.
func (f fixture) bin(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(filepath.Dir(f.base), "bin")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// seen is what a box shows once it is mounted again. Before, a file of the base
// and the name that the box linked to it have two inode numbers.
func (f fixture) seen(t testing.TB, options string) (shown map[string]node) {
	t.Helper()
	inOverlay(t, f, options, func(merged string) error {
		shown = tree(merged)
		return nil
	})
	return shown
}

// life is a random base and what a box made of it.
func life(t testing.TB, rt *rapid.T, options string) (f fixture, base, box map[string]node) {
	f = newFixture(t)
	for _, name := range []string{"a/a/a", "a/a/b", "a/b/a", "a/b/c", "b/a/a", "b/c/a", "b/c/b"} {
		write(t, name, f.base, name)
	}
	for _, o := range ops(rt, "base", 10) {
		o.do(f.base)
	}
	todo := restless(rt)
	inOverlay(t, f, options, func(merged string) error {
		for _, o := range todo {
			o.do(merged)
		}
		return nil
	})
	return f, tree(f.base), f.seen(t, options)
}

// restless moves and replaces directories more often than others do.
func restless(rt *rapid.T) []op {
	kinds := []string{"rename", "rename", "rename", "mkdir", "replace", "write"}
	path := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 2), func(p []string) string { return strings.Join(p, "/") })
	moves := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) op {
		return op{rapid.SampledFrom(kinds).Draw(rt, "op"), path.Draw(rt, "a"), path.Draw(rt, "b")}
	}), 0, 6)
	return slices.Concat(moves.Draw(rt, "moves"), ops(rt, "box", 12), moves.Draw(rt, "more moves"))
}

// overlays are how boxes are mounted: never with metacopy, which leaves files
// without content of their own.
var overlays = []string{"redirect_dir=off,metacopy=off", "redirect_dir=on,metacopy=off"}

// Some of the changes are discarded: the base shows there, and everywhere else
// the box is as it was. When the rest is discarded too, the box is its base.
func TestDiscardingSomeLeavesTheRest(t *testing.T) {
	for _, options := range overlays {
		t.Run(options, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				f, base, box := life(t, rt, options)
				defer os.RemoveAll(filepath.Dir(f.base))
				all := changes(t, f.source())
				some, rest := choose(rt, all)
				if err := Discard(t.Context(), f.source(), some, f.bin(t)); err != nil {
					checkRefusal(t, rt, f, options, err, all, box)
				} else {
					checkRest(t, rt, f, options, some, rest, base, box)
				}
				discardAll(t, rt, f, options, base)
			})
		})
	}
}

func discardAll(t testing.TB, rt fataler, f fixture, options string, base map[string]node) {
	all := changes(t, f.source())
	if err := Discard(t.Context(), f.source(), all, f.bin(t)); err != nil {
		rt.Fatalf("%v, of everything: %v", err, lines(all))
	}
	if left := changes(t, f.source()); len(left) > 0 {
		rt.Fatalf("discarded all of %v\nleft %v", lines(all), lines(left))
	}
	if now := f.seen(t, options); !maps.EqualFunc(now, base, node.is) {
		rt.Fatalf("discarded %v\nthe box has %v\nbase %v", lines(all), now, base)
	}
}

// choose picks changes by path, with all that is below it or, for directories
// that stay, alone.
func choose(rt *rapid.T, all []forkbox.Change) (some, rest []forkbox.Change) {
	var paths []string
	exact := rapid.Bool().Draw(rt, "exact")
	for _, c := range all {
		if rapid.IntRange(0, 2).Draw(rt, "choose "+c.Path) == 0 {
			paths = append(paths, c.Path)
		}
	}
	dropped := ""
	for _, c := range all {
		chosen := slices.ContainsFunc(paths, func(p string) bool { return c.Path == p || !exact && forkbox.Within(c.Path, p) })
		if chosen {
			some = append(some, c)
		}
		goes := dropped != "" && forkbox.Within(c.Path, dropped)
		if !chosen && !goes {
			rest = append(rest, c)
		}
		if chosen && !goes && !staysDir(c) {
			dropped = c.Path
		}
	}
	return some, rest
}

// checkRefusal: only a directory that stays moved can stand in the way, or a
// file without content of its own, and then nothing at all was done.
func checkRefusal(t testing.TB, rt fataler, f fixture, options string, err error, all []forkbox.Change, box map[string]node) {
	var known *forkbox.Error
	if !errors.As(err, &known) || known.Code != forkbox.Invalid {
		rt.Fatalf("%v of %v", err, lines(all))
	}
	if !slices.ContainsFunc(all, func(c forkbox.Change) bool { return c.Kind == forkbox.Renamed }) {
		rt.Fatalf("refused without a move: %v\nof %v", err, lines(all))
	}
	if now := f.seen(t, options); !maps.EqualFunc(now, box, node.is) {
		rt.Fatalf("refused (%v), and yet of %v\nmade %v", err, box, now)
	}
	if now := changes(t, f.source()); !slices.Equal(lines(now), lines(all)) {
		rt.Fatalf("refused (%v), and yet %v\nare now %v", err, lines(all), lines(now))
	}
}

func checkRest(t testing.TB, rt fataler, f fixture, options string, some, rest []forkbox.Change, base, box map[string]node) {
	now, left := f.seen(t, options), changes(t, f.source())
	story := func() string {
		return strings.Join([]string{"discarded " + strings.Join(lines(some), ", "), "left " + strings.Join(lines(left), ", "),
			"should be left " + strings.Join(lines(rest), ", ")}, "\n")
	}
	if want := replay(base, box, rest); !maps.EqualFunc(now, want, node.is) {
		rt.Fatalf("%s\nthe box has %v\nwant %v\nbase %v\nbox was %v", story(), now, want, base, box)
	}
	if !maps.Equal(kindsOf(left), kindsOf(rest)) {
		rt.Fatalf("%s\nbase %v\nbox was %v", story(), base, box)
	}
	if options == overlays[0] {
		want := atPaths(base, box, some)
		if !maps.EqualFunc(now, want, node.is) {
			rt.Fatalf("%s\nthe box has %v\nwant %v", story(), now, want)
		}
	}
}

// kindsOf leaves out what follows from other names of the same file: a link
// with a name that was discarded is none any more.
func kindsOf(cs []forkbox.Change) map[string]forkbox.Kind {
	kinds := map[string]forkbox.Kind{}
	for _, c := range cs {
		if c.Kind != forkbox.Linked {
			kinds[c.Path+" "+c.From] += c.Kind
		}
	}
	return kinds
}

// atPaths says the same as a replay in another way, for boxes without moved
// directories: the base where something was discarded, else the box.
func atPaths(base, box map[string]node, discarded []forkbox.Change) map[string]node {
	want := maps.Clone(box)
	for _, c := range discarded {
		if was, ok := base[c.Path]; staysDir(c) {
			if ok {
				want[c.Path] = was
			}
			continue
		}
		cut(want, c.Path)
		for rel, n := range cut(maps.Clone(base), c.Path) {
			want[c.Path+rel] = n
		}
	}
	return want
}

// smallTree is one whose files can be read in full.
var smallTree = strings.Replace(baseTree, "truncate -s 1G", "truncate -s 64K", 1)

// Every change of every known kind, discarded alone.
func TestDiscardingOneChange(t *testing.T) {
	for _, c := range slices.Concat(cases, renames) {
		if strings.Contains(c.script, "sparse") {
			continue // a question of reading
		}
		t.Run(c.name, func(t *testing.T) { discardEach(t, "redirect_dir=on", c.script) })
	}
}

func discardEach(t *testing.T, options, script string) {
	for i := 0; ; i++ {
		f := newFixture(t)
		shell(t, f.base, smallTree)
		inOverlay(t, f, options, func(merged string) error { return run(merged, script) })
		box := f.seen(t, options)
		all := changes(t, f.source())
		if i >= len(all) {
			return
		}
		some, rest := partAt(all, all[i].Path)
		if err := Discard(t.Context(), f.source(), some, f.bin(t)); err != nil {
			checkRefusal(t, t, f, options, err, all, box)
			continue
		}
		checkRest(t, t, f, options, some, rest, tree(f.base), box)
	}
}

// fataler is a test, or one try of a property.
type fataler interface{ Fatalf(string, ...any) }

// partAt picks a path with all that is below it.
func partAt(all []forkbox.Change, path string) (some, rest []forkbox.Change) {
	for _, c := range all {
		if forkbox.Within(c.Path, path) {
			some = append(some, c)
		} else {
			rest = append(rest, c)
		}
	}
	return some, rest
}
