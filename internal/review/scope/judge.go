package scope

import (
	"strings"

	"github.com/forkbox/forkbox"
)

// Scope says who cares about a change. It is noise only if all that it did is
// noise: a path that was moved is judged by where it is and by where it was,
// and whatever takes the workspace away with it is workspace.
func (s *Sorter) Scope(c forkbox.Change) forkbox.Scope {
	scope := s.judge(&s.here, subjectOf(c))
	if c.Kind == forkbox.Added && c.Type == "dir" && (s.fresh == "" || !forkbox.Within(c.Path, s.fresh)) {
		s.fresh = c.Path
	}
	if c.Kind != forkbox.Renamed || c.From == "" {
		return scope
	}
	was := subject{path: c.From, dir: c.Type == "dir", gone: true}
	return weightier(scope, s.judge(&s.there, was))
}

// weightier: workspace before system before noise.
func weightier(a, b forkbox.Scope) forkbox.Scope {
	if a == forkbox.Workspace || b == forkbox.Noise {
		return a
	}
	if b == forkbox.Workspace || a == forkbox.Noise {
		return b
	}
	return a
}

// subject is a path to be judged.
type subject struct {
	path  string
	dir   bool
	both  bool // it was a directory and is none, or the other way round
	gone  bool // what was there is no longer, with all that was below it
	added bool // there was nothing
}

func subjectOf(c forkbox.Change) subject {
	return subject{
		path:  c.Path,
		dir:   c.Type == "dir",
		both:  c.Kind == forkbox.Type,
		gone:  c.Kind == forkbox.Deleted || c.Kind == forkbox.Type,
		added: c.Kind == forkbox.Added,
	}
}

func (s *Sorter) judge(in *ignores, at subject) forkbox.Scope {
	switch {
	case at.gone && s.holdsWork(at.path):
		return forkbox.Workspace
	case s.inside(at.path):
		return noiseOr(forkbox.Workspace, s.ignored(in, at))
	}
	if rest, ok := s.inGitDir(at.path); ok {
		return noiseOr(forkbox.Workspace, gitNoise(rest))
	}
	return noiseOr(forkbox.System, s.place(at.path) || leftover(at.path, at.dir))
}

func noiseOr(scope forkbox.Scope, noise bool) forkbox.Scope {
	if noise {
		return forkbox.Noise
	}
	return scope
}

// holdsWork says whether the workspace lies in dir.
func (s *Sorter) holdsWork(dir string) bool {
	if s.root != "" && forkbox.Within(s.root, dir) {
		return true
	}
	for _, git := range s.gitDirs {
		if forkbox.Within(git, dir) {
			return true
		}
	}
	return false
}

// ignored judges a path in the workspace. No pattern is about .git, whatever
// it says: git has it so, and hooks must be seen.
func (s *Sorter) ignored(in *ignores, at subject) bool {
	if at.path == s.root {
		return false
	}
	if s.place(at.path) {
		return true
	}
	v := real
	if at.added {
		v = boxed
	}
	if parent, rest, ok := splitGit(at.path, s.root); ok {
		return in.inIgnored(parent, v) || gitNoise(rest)
	}
	if at.both && !in.ignored(at.path, !at.dir, v) {
		return false
	}
	return in.ignored(at.path, at.dir, v)
}

// splitGit splits a path below root at its first component named .git.
func splitGit(p, root string) (parent, rest string, ok bool) {
	i := strings.Index(p[len(root):]+"/", "/.git/")
	if i < 0 {
		return "", "", false
	}
	i += len(root)
	return p[:i], strings.TrimPrefix(p[i+len("/.git"):], "/"), true
}
