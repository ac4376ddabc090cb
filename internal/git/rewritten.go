package git

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// Rewritten compares two versions of a file that git writes anew without
// changing what it says; nil for a path where every byte counts. It is for the
// index of a work tree, a linked one or a submodule: beside the entries it has
// what lstat said of their files, which the next `git status` brings up to date.
func Rewritten(file string) func(a, b []byte) bool {
	dir, name := path.Split(file)
	i := strings.LastIndex(dir, "/.git/")
	if name != "index" || i < 0 {
		return nil
	}
	in := dir[i+len("/.git/"):]
	if in == "" || strings.HasPrefix(in, "worktrees/") || strings.HasPrefix(in, "modules/") {
		return sameIndex
	}
	return nil
}

// MaxIndex is the size from which on an index is not read here.
const MaxIndex = maxIndex

// rebuilt are the extensions that git makes again out of the entries and the
// work tree, or does without: the cached trees, what a merge was resolved from,
// which files are not tracked, what a monitor told, where to begin reading.
var rebuilt = []string{"TREE", "REUC", "UNTR", "FSMN", "EOIE", "IEOT"}

// sameIndex says whether two indexes have the same entries. One that is too
// large, damaged, only a part, or has something that is not known is the same as
// none.
func sameIndex(a, b []byte) bool {
	x, ok := entriesOf(a)
	if !ok {
		return false
	}
	y, ok := entriesOf(b)
	return ok && slices.EqualFunc(x, y, func(e, f IndexEntry) bool {
		return e.Path == f.Path && e.Mode == f.Mode && e.flags == f.flags && e.more == f.more && bytes.Equal(e.id, f.id)
	})
}

func entriesOf(raw []byte) ([]IndexEntry, bool) {
	if len(raw) > maxIndex {
		return nil, false
	}
	entries, extensions, err := parseIndex(raw)
	known := !slices.ContainsFunc(extensions, func(name string) bool { return !slices.Contains(rebuilt, name) })
	return entries, err == nil && known
}
