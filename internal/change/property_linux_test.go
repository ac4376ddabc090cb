package change

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
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
	kinds := []string{"write", "write", "mkdir", "mkdir", "remove", "chmod", "symlink", "link", "rename", "rename", "replace"}
	path := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3), func(p []string) string { return strings.Join(p, "/") })
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
		return op{rapid.SampledFrom(kinds).Draw(t, "op"), path.Draw(t, "a"), path.Draw(t, "b")}
	}), 0, n).Draw(t, label)
}

// tree describes every path below root: its mode and content.
func tree(root string) map[string]string {
	all := map[string]string{}
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			data, _ := os.ReadFile(path)
			content = string(data)
		} else if info.Mode()&fs.ModeSymlink != 0 {
			content, _ = os.Readlink(path)
		}
		all[strings.TrimPrefix(path, root)] = fmt.Sprintf("%v %q", info.Mode(), content)
		return nil
	})
	return all
}

// attempt applies random operations to a random base through an overlay.
func attempt(t testing.TB, rt *rapid.T, options string) (base, box map[string]string, got []forkbox.Change) {
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
		box = tree(merged)
		return nil
	})
	got = changes(t, f.source())
	base = tree(f.base)
	os.RemoveAll(filepath.Dir(f.base))
	return base, box, got
}

// What Read says must be what comparing the two trees in full says.
func TestReadEqualsFullComparison(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		base, box, got := attempt(t, rt, "redirect_dir=off")
		want := compareTrees(base, box)
		have := map[string]forkbox.Kind{}
		for _, c := range got {
			if _, twice := have[c.Path]; twice {
				rt.Fatalf("%s twice", c.Path)
			}
			have[c.Path] = c.Kind
		}
		if !maps.Equal(have, want) {
			rt.Fatalf("Read says %v\na full comparison %v\nbase %v\nbox %v", have, want, base, box)
		}
	})
}

func compareTrees(base, box map[string]string) map[string]forkbox.Kind {
	diff := map[string]forkbox.Kind{}
	for path, is := range box {
		if was, ok := base[path]; !ok {
			diff[path] = forkbox.Added
		} else if kind := compareNodes(was, is); kind != "" {
			diff[path] = kind
		}
	}
	for path, was := range base {
		parent := filepath.Dir(path)
		whole := parent == "/" || strings.HasPrefix(box[parent], "d") && strings.HasPrefix(base[parent], "d")
		if _, ok := box[path]; !ok && whole && was != "" {
			diff[path] = forkbox.Deleted
		}
	}
	return diff
}

func compareNodes(was, is string) forkbox.Kind {
	wasMode, wasContent, _ := strings.Cut(was, " ")
	isMode, isContent, _ := strings.Cut(is, " ")
	switch {
	case wasMode[0] != isMode[0]:
		return forkbox.Type
	case wasContent != isContent:
		return forkbox.Modified
	case wasMode != isMode:
		return forkbox.Mode
	}
	return ""
}

// With renamed directories a path may be told in several ways. So the changes
// are replayed on the base, and must make of it what the box has.
func TestReplayedChangesMakeTheBox(t *testing.T) {
	for _, options := range []string{"redirect_dir=on", "redirect_dir=on,metacopy=on"} {
		t.Run(options, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				base, box, got := attempt(t, rt, options)
				if made := replay(base, box, got); !maps.Equal(made, box) {
					rt.Fatalf("changes %v\nmake %v\nthe box has %v\nbase %v", lines(got), made, box, base)
				}
			})
		})
	}
}

// replay takes from the box only what the changes name.
func replay(base, box map[string]string, changes []forkbox.Change) map[string]string {
	made := maps.Clone(base)
	carried := map[string]map[string]string{}
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
	for _, c := range changes {
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
		made[c.Path] = box[c.Path]
	}
	return made
}

// cut takes a path and all below it out of a tree.
func cut(tree map[string]string, path string) map[string]string {
	out := map[string]string{}
	for p, node := range tree {
		if rel, ok := strings.CutPrefix(p, path); ok && (rel == "" || rel[0] == '/') {
			out[rel] = node
			delete(tree, p)
		}
	}
	return out
}
