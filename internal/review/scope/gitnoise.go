package scope

import (
	"path"
	"slices"
	"strings"
)

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
