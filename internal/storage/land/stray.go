package land

import (
	"path"
	"regexp"
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

var stagingName = regexp.MustCompile(`^\.forkbox-([0-9a-z]{1,64})$`)

// strayID is the landing's id in the name of a staging directory.
func strayID(dir string) (id string, ok bool) {
	m := stagingName.FindStringSubmatch(path.Base(dir))
	if m == nil {
		return "", false
	}
	return m[1], true
}

// StagingName is what the staging directories of a landing are called.
func StagingName(dir string) string { return ".forkbox-" + path.Base(dir) }
