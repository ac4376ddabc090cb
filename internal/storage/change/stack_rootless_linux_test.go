package change

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// script is an operation as a shell does it, for boxes that a test cannot look
// into from outside.
func (o op) script() string {
	switch o.what {
	case "write":
		return fmt.Sprintf("[ -d %s ] || printf %%s %s >%s", o.a, filepath.Base(o.b), o.a)
	case "mkdir":
		return "mkdir " + o.a
	case "remove":
		return "rm -rf " + o.a
	case "chmod":
		return fmt.Sprintf("[ -L %s ] || chmod 700 %s", o.a, o.a)
	case "symlink":
		return fmt.Sprintf("ln -sT %s %s", filepath.Base(o.b), o.a)
	case "link":
		return fmt.Sprintf("ln -PT %s %s", o.a, o.b)
	case "rename":
		return fmt.Sprintf("mv -T %s %s", o.a, o.b)
	case "replace":
		return fmt.Sprintf("rm -rf %s; mkdir -p %s/%s", o.a, o.a, filepath.Base(o.b))
	}
	return "true" // owners and trusted attributes are for root alone
}

// dump describes every path, see [parse].
const dump = `find . -mindepth 1 -type f -printf '%P|%y|%m|%i|' -exec cat {} \; -printf '\n' -o -mindepth 1 -printf '%P|%y|%m|%i|%l\n'`

// parse reads a dump as tree would tell it.
func parse(t testing.TB, file string) map[string]node {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]node{}
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 5)
		mode, _ := strconv.ParseUint(f[2], 8, 32)
		ino, _ := strconv.ParseUint(f[3], 10, 64)
		kind := map[string]fs.FileMode{"d": fs.ModeDir, "l": fs.ModeSymlink}[f[1]]
		all["/"+f[0]] = node{mode: fs.FileMode(mode) | kind, content: f[4], owner: fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), ino: ino}
	}
	return all
}

// inside does things in a box without privileges, and tells what it has then.
func (f fixture) inside(t testing.TB, todo []op) map[string]node {
	t.Helper()
	out := filepath.Dir(f.base) + "/dump"
	var script strings.Builder
	for _, o := range todo {
		script.WriteString("(" + o.script() + ") 2>/dev/null || true\n")
	}
	if len(todo) > 0 {
		rootless(t, f, script.String())
	}
	// Mounted anew: a file that was copied up keeps the number that it had, and
	// new names of it have another.
	rootless(t, f, dump+" >"+out)
	return parse(t, out)
}

// Stacks without privileges: Read says what a full comparison says, one layer
// shows what the stack does, and what is discarded is as in the base.
func TestRootlessStacksOfAnyKind(t *testing.T) {
	rootless(t, newFixture(t), "true") // skips where there are none
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		defer os.RemoveAll(filepath.Dir(f.base))
		for _, name := range []string{"a/a/a", "a/a/b", "a/b/a", "b/a/a", "b/c/a"} {
			write(t, name, f.base, name)
		}
		base := tree(f.base)
		var box map[string]node
		for i := range rapid.IntRange(1, 3).Draw(rt, "stages") {
			if i > 0 {
				f.snapshot(t)
			}
			box = f.inside(t, restless(rt))
			checkRootless(t, rt, f.rootlessSource(), base, box)
		}
		flat := f.flat(t, Flattening{XattrPrefix: "user.overlay."})
		if now := flat.inside(t, nil); !maps.EqualFunc(now, box, node.is) {
			rt.Fatalf("flat %v\nwas %v", now, box)
		}
		checkRootless(t, rt, flat.rootlessSource(), base, box)
		src := flat.rootlessSource()
		if err := Discard(t.Context(), src, changes(t, src), flat.bin(t)); err != nil {
			rt.Fatalf("%v", err)
		}
		if now := flat.inside(t, nil); !maps.EqualFunc(now, base, node.is) {
			rt.Fatalf("discarded, and yet %v\nbase %v", now, base)
		}
	})
}

func checkRootless(t testing.TB, rt fataler, src Source, base, box map[string]node) {
	want, have := compareTrees(base, box), map[string]told{}
	for _, c := range changes(t, src) {
		have[c.Path] = told{c.Kind, c.Link, strings.Join(c.Attrs, " "), c.Owner}
	}
	if !maps.Equal(have, want) {
		rt.Fatalf("Read says %v\na full comparison %v\nbase %v\nbox %v", have, want, base, box)
	}
}
