package scope

import (
	"path"
	"slices"
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

// noisyDirs hold temporary files, logs and caches. They are no noise
// themselves: to remove or chmod /tmp is a change of the machine.
var noisyDirs = []string{
	"/tmp", "/var/tmp", "/var/log", "/var/cache", "/run", "/var/run", "/var/crash",
	"/var/lib/apt/lists", "/var/lib/dpkg/updates",
}

// noisyFiles are made anew by the programs that need them.
var noisyFiles = []string{
	"/etc/mtab", "/etc/.pwd.lock",
	"/var/lib/dpkg/lock", "/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/triggers/Lock",
	"/var/lib/dpkg/status-old", "/var/lib/dpkg/available-old", "/var/lib/dpkg/diversions-old", "/var/lib/dpkg/statoverride-old",
}

// noisyHome are what programs keep in a home to be faster, or to remember what
// was typed. Each is noise with all that is below it.
var noisyHome = []string{
	".cache", ".local/share/Trash", ".thumbnails", ".xsession-errors",
	".npm/_cacache", ".npm/_logs", ".npm/_npx", ".npm/_update-notifier-last-checked",
	".yarn/cache", ".bun/install/cache", ".local/share/pnpm/store", ".gradle/caches", ".m2/repository",
	".cargo/registry", ".cargo/.package-cache", "go/pkg/mod", "go/pkg/sumdb", ".config/go/telemetry",
	".bash_history", ".zsh_history", ".zsh_sessions", ".local/share/fish/fish_history",
	".python_history", ".node_repl_history", ".irb_history", ".psql_history", ".mysql_history", ".sqlite_history", ".rediscli_history",
	".lesshst", ".viminfo", ".wget-hsts", ".sudo_as_admin_successful",
}

// place says whether p lies in a well-known place of noise. The workspace may
// itself be in one (/tmp/project): then that place does not count for it.
func (s *Sorter) place(p string) bool {
	for _, dir := range noisyDirs {
		if p != dir && forkbox.Within(p, dir) && !s.worksIn(dir, p) {
			return true
		}
	}
	return slices.Contains(noisyFiles, p) || s.noisyInHome(p)
}

func (s *Sorter) noisyInHome(p string) bool {
	home, rel := homeOf(p, s.home)
	if rel == "" {
		return false
	}
	for _, place := range noisyHome {
		if forkbox.Within(rel, place) && !s.worksIn(home+"/"+place, p) {
			return true
		}
	}
	return false
}

// worksIn says whether p belongs to a workspace that lies in dir.
func (s *Sorter) worksIn(dir, p string) bool { return s.inside(p) && forkbox.Within(s.root, dir) }

// cleanHome is "" for a home that is no place of its own: some accounts have
// "/", and not everything there is theirs.
func cleanHome(home string) string {
	if home = path.Clean(home); !path.IsAbs(home) || home == "/" {
		return ""
	}
	return home
}

// homeOf splits a path into the home that it lies in and the rest. All users'
// homes count, not only that of the caller: a box of root sees them all.
func homeOf(p, own string) (home, rel string) {
	switch {
	case own != "" && p != own && forkbox.Within(p, own):
		home = own
	case strings.HasPrefix(p, "/root/"):
		home = "/root"
	case strings.HasPrefix(p, "/home/"):
		name, _, _ := strings.Cut(p[len("/home/"):], "/")
		home = "/home/" + name
	}
	if home == "" || len(p) == len(home) {
		return "", ""
	}
	return home, p[len(home)+1:]
}

// leftover says whether a path outside the workspace is, or lies in, something
// that is made in passing anywhere.
func leftover(p string, dir bool) bool {
	parent, base := path.Split(p)
	if strings.HasSuffix(base, ".pyc") || dir && leftoverDir(base) {
		return true
	}
	for name := range strings.SplitSeq(parent, "/") {
		if leftoverDir(name) {
			return true
		}
	}
	return false
}

func leftoverDir(name string) bool {
	return name == "__pycache__" || strings.HasPrefix(name, ".forkbox-")
}
