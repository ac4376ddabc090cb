package scope

import (
	"io/fs"
	"path"
	"slices"

	"github.com/forkbox/forkbox"
)

// Cautions says in plain words why a change deserves a second look before it
// lands, in an order that does not vary. new is what the box has at the path;
// for a deletion it is zero. root is the workspace ("" for none) and home that
// of the caller.
//
// A change is judged by itself. The new files of a new directory are changes
// of their own, but those of a renamed directory are not, and are not seen
// here: only the places where it was and is.
func Cautions(c forkbox.Change, new forkbox.Node, root, home string) []string {
	var whys []string
	if c.Hidden {
		whys = append(whys, "the box was not shown what is there")
	}
	if c.Kind != forkbox.Deleted {
		whys = append(whys, nodeCautions(c, new)...)
		if leaves(c.Path, new, root) {
			whys = append(whys, "symlink that points outside the workspace")
		}
	}
	return append(whys, placeCautions(c, home)...)
}

// traits are what can be dangerous about a file wherever it lies.
var traits = []struct {
	why string
	has func(c forkbox.Change, n forkbox.Node) bool
}{
	{"setuid", func(_ forkbox.Change, n forkbox.Node) bool {
		return n.Mode.IsRegular() && n.Mode&fs.ModeSetuid != 0
	}},
	// On a directory it only says which group new files get.
	{"setgid", func(_ forkbox.Change, n forkbox.Node) bool {
		return n.Mode.IsRegular() && n.Mode&fs.ModeSetgid != 0
	}},
	{"has capabilities", func(_ forkbox.Change, n forkbox.Node) bool {
		_, ok := n.Xattrs["security.capability"]
		return ok
	}},
	{"anyone can write to it", opened},
	{"device node", func(c forkbox.Change, n forkbox.Node) bool {
		return n.Mode&fs.ModeDevice != 0 || c.Type == "char" || c.Type == "block"
	}},
}

func nodeCautions(c forkbox.Change, n forkbox.Node) []string {
	var whys []string
	for _, t := range traits {
		if t.has(c, n) {
			whys = append(whys, t.why)
		}
	}
	return whys
}

// opened says whether a file or directory became writable for everybody. It
// is usual below /tmp, and harmless in a directory where the sticky bit keeps
// people from each other's files.
func opened(c forkbox.Change, n forkbox.Node) bool {
	const everybody = 0o002
	switch {
	case n.Mode&everybody == 0 || c.OldMode&everybody != 0 && c.OldMode&fs.ModeSticky == n.Mode&fs.ModeSticky:
		return false
	case n.Mode.IsDir() && n.Mode&fs.ModeSticky != 0:
		return false
	case !n.Mode.IsDir() && !n.Mode.IsRegular():
		return false
	}
	temporary := []string{"/tmp", "/var/tmp", "/dev/shm"}
	return !slices.ContainsFunc(temporary, func(dir string) bool {
		return c.Path != dir && forkbox.Within(c.Path, dir)
	})
}

// leaves says whether n is a symlink in the workspace that leads out of it, by
// its words: what other links make of them is not looked at.
func leaves(p string, n forkbox.Node, root string) bool {
	if root == "" || n.Mode&fs.ModeSymlink == 0 || !forkbox.Within(p, root) {
		return false
	}
	return !forkbox.Within(from(path.Dir(p), n.Target), root)
}
