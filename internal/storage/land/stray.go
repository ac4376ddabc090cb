package land

import (
	"path"
	"strings"
)

// Stray is a staging directory that lies in a tree, as far as it says itself
// what it is.
type Stray struct {
	Dir string // in the tree
	ID  string // of the landing
	UID int    // whose it is
	// Landing is the landing's own directory, wherever that was; empty where
	// the staging directory does not say: an older version made it.
	Landing string
	// Files is how many there are in it, Kept how many paths of the tree it has
	// the old version of, and Paths are the first of these.
	Files int
	Kept  int
	Paths []string
	// Touched says that the landing may have begun to change the tree: only
	// then is there something to take back.
	Touched bool
}

// shownPaths is how many paths a stray names.
const shownPaths = 5

const stagingPrefix = ".forkbox-"

// strayID is the landing's id in the name of a staging directory.
func strayID(dir string) (id string, ok bool) {
	id, ok = strings.CutPrefix(path.Base(dir), stagingPrefix)
	other := func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') }
	if !ok || id == "" || len(id) > 64 || strings.ContainsFunc(id, other) {
		return "", false
	}
	return id, true
}

// StagingName is what the staging directories of a landing are called.
func StagingName(dir string) string { return stagingPrefix + path.Base(dir) }
