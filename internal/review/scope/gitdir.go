package scope

import (
	"path"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// editorLeftovers are noise in a workspace that git does not look after. The
// rules of the workspace itself can bring them back.
const editorLeftovers = `
.DS_Store
*.swp
*~
__pycache__/
*.pyc
.pytest_cache/
.mypy_cache/
**/node_modules/.cache/
`

// ourLeftovers are where an apply that was cut short had staged its files.
const ourLeftovers = ".forkbox-*/\n"

// globalRules are those that hold in all of the workspace, weakest first.
func (s *Sorter) globalRules() []rule {
	rules := parseRules([]byte(ourLeftovers))
	if git, ok := s.findGit(); ok {
		rules = append(rules, s.homeRules("git/ignore")...)
		rules = append(rules, s.rules(git+"/info/exclude")...)
	} else {
		rules = append(rules, parseRules([]byte(editorLeftovers))...)
		rules = append(rules, s.homeRules("git/ignore")...)
	}
	return append(rules, s.homeRules("forkbox/ignore")...)
}

func (s *Sorter) homeRules(name string) []rule {
	if s.home == "" {
		return nil
	}
	return s.rules(s.home + "/.config/" + name)
}

// findGit finds the git directory that holds what all work trees share. The
// one of a linked work tree or a submodule lies elsewhere, and belongs to the
// workspace too: a commit made in the box is work.
func (s *Sorter) findGit() (string, bool) {
	own := s.root + "/.git"
	if s.isGitDir(own) {
		return own, true
	}
	link, ok := s.line(own)
	if !ok || !strings.HasPrefix(link, "gitdir: ") {
		return "", false
	}
	own = from(s.root, strings.TrimPrefix(link, "gitdir: "))
	if !s.isGitDir(own) {
		return "", false
	}
	common := own
	if line, ok := s.line(own + "/commondir"); ok {
		common = from(own, line)
	}
	s.addGitDir(own)
	s.addGitDir(common)
	return common, true
}

// addGitDir takes a directory for part of the workspace; not one that the
// workspace lies in, though, or all that is beside it would be workspace too.
func (s *Sorter) addGitDir(dir string) {
	if !forkbox.Within(s.root, dir) && !forkbox.Within(dir, s.root) {
		s.gitDirs = append(s.gitDirs, dir)
	}
}

// isGitDir asks for HEAD, which every git directory has.
func (s *Sorter) isGitDir(dir string) bool {
	_, err := s.read(dir + "/HEAD")
	return err == nil
}

// line reads a file of one line.
func (s *Sorter) line(file string) (string, bool) {
	content, err := s.read(file)
	return strings.TrimRight(string(content), "\r\n"), err == nil
}

// from is where target leads to from dir.
func from(dir, target string) string {
	if path.IsAbs(target) {
		return path.Clean(target)
	}
	return path.Join(dir, target)
}

// inGitDir is the rest of a path that lies in a git directory outside.
func (s *Sorter) inGitDir(p string) (rest string, ok bool) {
	for _, dir := range s.gitDirs {
		if forkbox.Within(p, dir) {
			return strings.TrimPrefix(p[len(dir):], "/"), true
		}
	}
	return "", false
}

// gitTemporary are names of files that git makes in passing, as path.Match
// patterns of the last name.
var gitTemporary = []string{
	"*.lock", // no ref can be named so
	"ORIG_HEAD", "FETCH_HEAD", "*_EDITMSG", ".*_EDITMSG.sw?",
	"gc.pid", "gc.log", "gc.log.*",
	"fsmonitor--daemon", "fsmonitor--daemon.ipc",
}

// packTemporary are the files and directories that fetching, packing and
// collecting garbage leave below objects when they are interrupted.
var packTemporary = []string{"tmp_*", ".tmp-*", "incoming-*"}

// gitNoise judges a path in a git directory. Commits made in a box are work:
// index, objects, refs, HEAD and logs count. So do hooks and configuration,
// whatever their names: they can run commands. What is left of indexes over
// the objects (commit-graph, multi-pack-index) counts as well: old ones would
// point to objects that a repack in the box has removed.
func gitNoise(rest string) bool {
	names := strings.Split(rest, "/")
	last := names[len(names)-1:]
	switch gitPart(names) {
	case "hooks":
		return false
	case "objects":
		return anyMatch(packTemporary, names) || anyMatch(gitTemporary, last)
	case "refs", "logs": // a branch can have any of the other names
		return anyMatch(gitTemporary[:1], last)
	}
	return anyMatch(gitTemporary, last)
}

// gitPart is the part of a git directory that a path lies in. A submodule and
// a linked work tree have a git directory of their own within it, at
// modules/NAME and worktrees/NAME, and that NAME can have slashes. Where it is
// not clear what is a name and what a part, it is hooks.
func gitPart(names []string) string {
	if names[0] != "modules" && names[0] != "worktrees" {
		return names[0]
	}
	for _, part := range []string{"hooks", "refs", "logs", "objects"} {
		if slices.Contains(names[1:], part) {
			return part
		}
	}
	return ""
}

func anyMatch(patterns, names []string) bool {
	for _, pattern := range patterns {
		for _, name := range names {
			if ok, _ := path.Match(pattern, name); ok {
				return true
			}
		}
	}
	return false
}
