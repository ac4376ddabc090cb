package forkbox

import (
	"path"
	"slices"
	"strings"
	"time"
)

// Selection says which changes of a box are meant.
type Selection struct {
	// Paths are absolute: each means itself and all that is below it. With
	// none, the workspace is meant.
	Paths Strings `json:"paths,omitempty"`
	// Exact has Paths mean themselves and not what is below them.
	Exact bool `json:"exact,omitempty"`
	// All means every scope, also where Paths are given.
	All bool `json:"all,omitempty"`
}

// Names says whether the selection has p, or what p lies in, among its paths.
func (s Selection) Names(p string) bool {
	if s.Exact {
		return slices.Contains(s.Paths, p)
	}
	return slices.ContainsFunc(s.Paths, func(dir string) bool { return Within(p, dir) })
}

// Within says whether p is dir or lies below it. Both are absolute and clean.
func Within(p, dir string) bool {
	dir = strings.TrimSuffix(dir, "/")
	return strings.HasPrefix(p, dir) && (len(p) == len(dir) || p[len(dir)] == '/')
}

// ComparePaths orders paths by their components: a directory, then all that is
// below it, then its next sibling. "/a/b" is before "/a-b", as in a listing of
// the tree. Changes come in this order.
func ComparePaths(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	switch {
	case n == len(a) || n == len(b):
		return len(a) - len(b)
	case a[n] == '/':
		return -1
	case b[n] == '/':
		return 1
	}
	return int(a[n]) - int(b[n])
}

// Check refuses paths that could mean anything but one place.
func (s Selection) Check(op string) error {
	for _, p := range s.Paths {
		if !path.IsAbs(p) || path.Clean(p) != p {
			return Errorf(Invalid, op, "%q is not a clean absolute path", p)
		}
	}
	return nil
}

// DiffSpec is what to tell about a box's changes.
type DiffSpec struct {
	Selection
	// Against is another box to compare with; the base if empty.
	Against string
	// Patch asks for git-format patches, Stat for their counts only.
	Patch, Stat bool
	// Hash asks for the content hash of what is selected.
	Hash bool
	// Renames looks for files that were moved, and tells them as such.
	Renames bool
}

// Count counts the changes of one scope.
type Count struct {
	Total    int   `json:"total"`
	Added    int   `json:"added"`
	Modified int   `json:"modified"`
	Deleted  int   `json:"deleted"`
	Renamed  int   `json:"renamed"`
	Mode     int   `json:"mode"`
	Type     int   `json:"type"`
	Linked   int   `json:"linked,omitempty"`
	Bytes    int64 `json:"bytes"` // size in the box of what is not deleted
}

// Add counts one more.
func (s *Count) Add(c Change) {
	s.Total++
	switch c.Kind {
	case Added:
		s.Added++
	case Modified:
		s.Modified++
	case Deleted:
		s.Deleted++
		return
	case Renamed:
		s.Renamed++
	case Mode:
		s.Mode++
	case Type:
		s.Type++
	case Linked:
		s.Linked++
		return
	}
	s.Bytes += c.Size
}

// Summary is what follows a list of changes: what was listed, and what there
// is beyond it, so that nothing is left out without being counted.
type Summary struct {
	Count               // of what was listed
	Workspace Count     `json:"workspace"` // of everything in the box, whatever was listed
	System    Count     `json:"system"`
	Noise     Count     `json:"noise"`
	Drifted   int       `json:"drifted,omitempty"`  // of what was listed
	Packages  []string  `json:"packages,omitempty"` // what package managers did: "dpkg: installed jq"
	Hash      string    `json:"hash,omitempty"`     // of what was listed, for apply --reviewed
	Root      string    `json:"root,omitempty"`     // of the workspace
	Fence     time.Time `json:"fence,omitzero"`
	// RenamesSkipped says that there were too many changes to look for moved
	// files.
	RenamesSkipped bool `json:"renames_skipped,omitempty"`
	// Unshown are directories over which the box changed something that it does
	// not show, and that is not listed: without root, what is mounted below them is
	// not what it was then.
	Unshown Strings `json:"unshown,omitempty"`
}

// ConflictChoice decides what an apply does where reality and the box changed
// the same lines.
type ConflictChoice string

const (
	Refuse  ConflictChoice = ""        // list them and do nothing
	Theirs  ConflictChoice = "theirs"  // the box's version lands
	Ours    ConflictChoice = "ours"    // reality's version stays
	Markers ConflictChoice = "markers" // both land, between git's markers
)

// ApplySpec is what to land.
type ApplySpec struct {
	Selection
	// Hunks lands only these hunks of a file, numbered from 1 as in its
	// patch. Their files need not be in Paths.
	Hunks []HunkSelection `json:"hunks,omitempty"`
	// Reviewed, where set, is the hash that must still be right.
	Reviewed string         `json:"reviewed,omitempty"`
	Conflict ConflictChoice `json:"conflict,omitempty"`
	// Yes accepts what deserves a second look.
	Yes     bool   `json:"yes,omitempty"`
	DryRun  bool   `json:"dry_run,omitempty"`
	Message string `json:"message,omitempty"`
	// Commit makes a git commit of what landed.
	Commit bool `json:"commit,omitempty"`
	// Hooks has the commit run the hooks and filters that the repository
	// configures: they can run what the box wrote.
	Hooks bool `json:"hooks,omitempty"`
	// Cautions are what else deserves a second look, as the daemon itself
	// knows it: what a race found about an approach.
	Cautions []Caution `json:"-"`
}

// HunkSelection is some hunks of one file.
type HunkSelection struct {
	Path  string `json:"path"`
	Bytes []byte `json:"path_bytes,omitempty"` // where Path is not UTF-8
	Hunks []int  `json:"hunks"`
	// Fine has the numbers count runs of changed lines, of which a hunk with
	// its context may hold several.
	Fine bool `json:"fine,omitempty"`
}

// BoxStatus says how far reality has moved on from a box's base.
type BoxStatus struct {
	Box Box `json:"box"`
	// Fence is since when reality is compared; none for a box that was imported, whose
	// changes were made elsewhere.
	Fence   time.Time `json:"fence,omitzero"`
	Root    string    `json:"root"`    // of the workspace
	Changes Count     `json:"changes"` // of the box, all scopes
	Drift   []Drift   `json:"drift"`   // sorted by path
	Both    int       `json:"both"`    // of Drift, how many the box changed too
	Behind  int       `json:"behind"`  // how many reality changed
	// Partial says that there were more than are listed.
	Partial bool `json:"partial,omitempty"`
}

// SyncResult says what sync did in a box. Of each kind of path it lists the
// first ten thousand.
type SyncResult struct {
	Fence     time.Time `json:"fence"`
	Merged    Strings   `json:"merged"`    // reality's changes are in the box's file now
	Taken     Strings   `json:"taken"`     // the box has reality's version now
	Conflicts []Caution `json:"conflicts"` // markers in the box, or undecided
	Unseen    []Caution `json:"unseen"`    // what reality made in directories of the box's own, which does not show yet
	Count     SyncCount `json:"count"`
}

// SyncCount is how many paths there are of each kind, those that are not listed
// too.
type SyncCount struct {
	Merged    int `json:"merged"`
	Taken     int `json:"taken"`
	Conflicts int `json:"conflicts"`
	Marked    int `json:"marked"` // of the conflicts, files of the box to look into
	Unseen    int `json:"unseen"`
}
