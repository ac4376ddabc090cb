package change

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

// op is something a program does to a tree. Many fail, as in life.
type op struct{ what, a, b string }

func (o op) do(root string) {
	a, b := filepath.Join(root, o.a), filepath.Join(root, o.b)
	switch o.what {
	case "write":
		os.WriteFile(a, []byte(filepath.Base(o.b)), 0o644)
	case "mkdir":
		os.Mkdir(a, 0o755)
	case "remove":
		os.RemoveAll(a)
	case "chmod":
		if info, err := os.Lstat(a); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			os.Chmod(a, 0o700)
		}
	case "chown":
		os.Lchown(a, len(o.b), 7)
	case "xattr":
		unix.Lsetxattr(a, "trusted.test", []byte(o.b), 0)
	case "unxattr":
		unix.Lremovexattr(a, "trusted.test")
	case "symlink":
		os.Symlink(filepath.Base(o.b), a)
	case "link":
		os.Link(a, b)
	case "rename":
		os.Rename(a, b)
	case "replace":
		os.RemoveAll(a)
		os.MkdirAll(filepath.Join(a, filepath.Base(o.b)), 0o755)
	}
}

func ops(t *rapid.T, label string, n int) []op {
	kinds := []string{"write", "write", "mkdir", "mkdir", "remove", "chmod", "chown", "xattr", "unxattr", "symlink", "link", "link", "rename", "rename", "replace"}
	path := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3), func(p []string) string { return strings.Join(p, "/") })
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
		return op{rapid.SampledFrom(kinds).Draw(t, "op"), path.Draw(t, "a"), path.Draw(t, "b")}
	}), 0, n).Draw(t, label)
}

// node is what a path is: all that a change can be about.
type node struct {
	mode         fs.FileMode
	content      string
	owner, xattr string
	ino          uint64 // the same for names of the same file
}

// is says whether two nodes look the same, whatever file they are.
func (n node) is(m node) bool {
	n.ino, m.ino = 0, 0
	return n == m
}

// tree describes every path below root.
func tree(root string) map[string]node {
	all := map[string]node{}
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		n := node{mode: info.Mode(), owner: fmt.Sprintf("%d:%d", st.Uid, st.Gid), ino: st.Ino}
		if n.mode.IsRegular() {
			data, _ := os.ReadFile(path)
			n.content = string(data)
		} else if n.mode&fs.ModeSymlink != 0 {
			n.content, _ = os.Readlink(path)
		}
		value := make([]byte, 100)
		if size, err := unix.Lgetxattr(path, "trusted.test", value); err == nil {
			n.xattr = "=" + string(value[:size])
		}
		all[strings.TrimPrefix(path, root)] = n
		return nil
	})
	return all
}

// attempt applies random operations to a random base through an overlay.
func attempt(t testing.TB, rt *rapid.T, options string) (base, box map[string]node, got []forkbox.Change) {
	f := newFixture(t)
	for _, name := range []string{"a/a/a", "a/a/b", "a/b/a", "a/b/c", "b/a/a", "b/c/a", "b/c/b"} {
		write(t, name, f.base, name)
	}
	for _, o := range ops(rt, "base", 10) {
		o.do(f.base)
	}
	todo := ops(rt, "box", 20)
	inOverlay(t, f, options, func(merged string) error {
		for _, o := range todo {
			o.do(merged)
		}
		return nil
	})
	box = f.seen(t, options)
	got = changes(t, f.source())
	base = tree(f.base)
	os.RemoveAll(filepath.Dir(f.base))
	return base, box, got
}

// told is what a change says, as far as the oracle knows better.
type told struct {
	kind        forkbox.Kind
	link, attrs string
	owner       string
}

// What Read says must be what comparing the two trees in full says.
func TestReadEqualsFullComparison(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		base, box, got := attempt(t, rt, "redirect_dir=off")
		want := compareTrees(base, box)
		have := map[string]told{}
		for _, c := range got {
			if _, twice := have[c.Path]; twice {
				rt.Fatalf("%s twice", c.Path)
			}
			have[c.Path] = told{c.Kind, c.Link, strings.Join(c.Attrs, " "), c.Owner}
		}
		if !maps.Equal(have, want) {
			rt.Fatalf("Read says %v\na full comparison %v\nbase %v\nbox %v", have, want, base, box)
		}
	})
}

func compareTrees(base, box map[string]node) map[string]told {
	diff := map[string]told{}
	first := map[uint64]string{}
	for _, path := range slices.SortedFunc(maps.Keys(box), forkbox.ComparePaths) {
		is := box[path]
		was, had := base[path]
		c := told{kind: forkbox.Added}
		if had {
			c = compareNodes(was, is)
		}
		if leader, ok := first[is.ino]; ok && !is.mode.IsDir() {
			_, changed := diff[leader]
			if c.kind != "" || changed || base[leader].ino != was.ino {
				c.link = leader
				c.kind = cmp.Or(c.kind, forkbox.Linked)
			}
		} else {
			first[is.ino] = path
		}
		if c.kind != "" {
			diff[path] = c
		}
	}
	for path := range base {
		parent := filepath.Dir(path)
		whole := parent == "/" || box[parent].mode.IsDir() && base[parent].mode.IsDir()
		if _, ok := box[path]; !ok && whole {
			diff[path] = told{kind: forkbox.Deleted}
		}
	}
	return diff
}

func compareNodes(was, is node) (c told) {
	var attrs []string
	links := (was.mode | is.mode) & fs.ModeSymlink
	if was.mode&^fs.ModeType != is.mode&^fs.ModeType && links == 0 {
		attrs = append(attrs, "mode")
	}
	if was.owner != is.owner {
		attrs, c.owner = append(attrs, "owner"), is.owner
	}
	// Of a file whose size differs they are not compared, see forkbox.Change.
	resized := was.mode.IsRegular() && is.mode.IsRegular() && len(was.content) != len(is.content)
	if was.xattr != is.xattr && !resized {
		attrs = append(attrs, "xattr")
	}
	c.attrs = strings.Join(attrs, " ")
	switch {
	case was.mode.Type() != is.mode.Type():
		c.kind = forkbox.Type
	case was.content != is.content:
		c.kind = forkbox.Modified
	case c.attrs != "":
		c.kind = forkbox.Mode
	}
	return c
}

// With renamed directories a path may be told in several ways. So the changes
// are replayed on the base, and must make of it what the box has.
func TestReplayedChangesMakeTheBox(t *testing.T) {
	for _, options := range []string{"redirect_dir=on", "redirect_dir=on,metacopy=on"} {
		t.Run(options, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				base, box, got := attempt(t, rt, options)
				made := replay(base, box, got)
				if !maps.EqualFunc(made, box, node.is) {
					rt.Fatalf("changes %v\nmake %v\nthe box has %v\nbase %v", lines(got), made, box, base)
				}
				if why := linksDiffer(made, box); why != "" {
					rt.Fatalf("changes %v\nmake %v\nthe box has %v\nbase %v\n%s", lines(got), made, box, base, why)
				}
			})
		})
	}
}

// linksDiffer compares which names are one file. What is one in the box has to
// be one in what was made. The other way round, files of the base may stay
// what they were: copying up parts them, which the box did not ask for.
func linksDiffer(made, box map[string]node) string {
	for a := range box {
		for b := range box {
			if a >= b || box[a].mode.IsDir() || box[b].mode.IsDir() {
				continue
			}
			one, want := made[a].ino == made[b].ino, box[a].ino == box[b].ino
			if want && !one || one && (!want && made[a].ino >= fresh || !made[a].is(made[b])) {
				return fmt.Sprintf("%s and %s: one file is %v, in the box %v", a, b, one, want)
			}
		}
	}
	return ""
}

// fresh numbers the files that a replay makes, above all that a disk has.
const fresh = 1 << 62

// replay takes from the box only what the changes name.
func replay(base, box map[string]node, changes []forkbox.Change) map[string]node {
	made := maps.Clone(base)
	carried := map[string]map[string]node{}
	var from []string
	for _, c := range changes {
		if c.Kind == forkbox.Renamed {
			from = append(from, c.From)
		}
	}
	slices.SortFunc(from, func(a, b string) int { return len(b) - len(a) }) // inner ones first
	for _, f := range from {
		carried[f] = cut(made, f)
	}
	for i, c := range changes {
		switch c.Kind {
		case forkbox.Deleted:
			cut(made, c.Path)
			continue
		case forkbox.Type:
			cut(made, c.Path)
		case forkbox.Renamed:
			for rel, node := range carried[c.From] {
				made[c.Path+rel] = node
			}
		}
		n := box[c.Path]
		n.ino = fresh + uint64(i)
		if c.Link != "" {
			n.ino = made[c.Link].ino
		}
		made[c.Path] = n
	}
	return made
}

// cut takes a path and all below it out of a tree.
func cut(tree map[string]node, path string) map[string]node {
	out := map[string]node{}
	for p, node := range tree {
		if rel, ok := strings.CutPrefix(p, path); ok && (rel == "" || rel[0] == '/') {
			out[rel] = node
			delete(tree, p)
		}
	}
	return out
}
