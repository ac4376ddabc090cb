package git

import (
	"bytes"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// survey finds what git has, or could have, at and below some names.
type survey struct {
	repo    Repo
	names   map[string][]string // relative path → as the caller gave it
	tracked map[string]bool     // in the index or in HEAD → is a submodule
	fresh   []string            // neither tracked nor ignored
	turned  map[string]bool     // tracked files that are directories now
	used    map[string]bool     // the names with something at or below them
}

func (s *survey) make(ctx context.Context) (err error) {
	if err := s.findTracked(ctx); err != nil {
		return err
	}
	ask, err := s.look()
	if err != nil {
		return err
	}
	if s.fresh, err = s.repo.untracked(ctx, ask); err != nil {
		return err
	}
	s.each(func(p string) {
		above(p, func(dir string) { s.used[dir] = s.names[dir] != nil })
	})
	return nil
}

// findTracked lists the index and HEAD: that a file is deleted may be staged.
func (s *survey) findTracked(ctx context.Context) error {
	s.tracked = map[string]bool{}
	index, err := s.repo.read(ctx, nil, "ls-files", "-z", "--stage")
	if err != nil {
		return err
	}
	s.addTracked(index)
	head, err := s.repo.head(ctx)
	if err != nil || head == "" {
		return err
	}
	tree, err := s.repo.read(ctx, nil, "ls-tree", "-r", "-z", "--full-tree", head)
	s.addTracked(tree)
	return err
}

// addTracked reads "MODE …<tab>PATH" and keeps what is at or below a name.
func (s *survey) addTracked(out []byte) {
	for _, line := range records(out) {
		about, p, _ := strings.Cut(line, "\t")
		within := false
		above(p, func(dir string) { within = within || s.names[dir] != nil })
		if within {
			s.tracked[p] = strings.HasPrefix(about, submodule)
		}
	}
}

// look finds the tracked files that are directories now, and returns the names
// at or below which there may be files that git does not track.
func (s *survey) look() (ask []string, err error) {
	err = s.repo.As(func() error {
		for p, isSubmodule := range s.tracked {
			info, err := os.Lstat(filepath.Join(s.repo.Root, p))
			if err == nil && info.IsDir() && !isSubmodule {
				s.turned[p] = true
			}
		}
		for p := range s.names {
			_, isTracked := s.tracked[p]
			if _, err := os.Lstat(filepath.Join(s.repo.Root, p)); err == nil && (!isTracked || s.turned[p]) {
				ask = append(ask, p)
			}
		}
		return nil
	})
	slices.Sort(ask)
	return ask, err
}

// each visits every path that can be committed. A partial commit of git's
// fails on the name of a file that is a directory now: it goes when something
// in the directory is committed, and otherwise stays.
func (s *survey) each(visit func(p string)) {
	for p := range s.tracked {
		if !s.turned[p] {
			visit(p)
		}
	}
	for _, p := range s.fresh {
		visit(p)
	}
}

// sort says what to commit. A name stands for all below it, except where a
// file that became a directory is at or below it: there git gets the files.
func (s *survey) sort(c *chosen) {
	split := map[string]bool{}
	for p := range s.turned {
		above(p, func(dir string) { split[dir] = true })
	}
	for p, given := range s.names {
		switch {
		case !s.used[p]:
			c.skipped = append(c.skipped, given...)
		case !split[p] && !s.covered(p, split):
			c.kept = append(c.kept, p)
		}
	}
	s.each(func(p string) {
		if !s.covered(p, split) && s.names[p] == nil {
			c.kept = append(c.kept, p)
		}
	})
	c.fresh = s.fresh
}

// covered says whether p lies in a name that git gets as a whole.
func (s *survey) covered(p string, split map[string]bool) bool {
	found := false
	above(p, func(dir string) { found = found || dir != p && s.used[dir] && !split[dir] })
	return found
}

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
