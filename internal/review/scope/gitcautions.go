package scope

import (
	"slices"
	"strings"
)

// isHook finds what git runs. The examples that git puts into every new
// repository have names that it does not run.
func isHook(at spot) bool {
	return inAnyGit(at.path, func(names []string) bool {
		if len(names) == 0 || gitPart(names) != "hooks" {
			return at.whole && holdsGitDirs(names)
		}
		return !strings.HasSuffix(at.path, ".sample") || at.dir
	})
}

// isBareGit finds what makes a directory of any name a repository for git,
// which then runs what its configuration names.
func isBareGit(at spot) bool {
	return !at.dir && strings.HasSuffix(at.path, "/HEAD") && !inAnyGit(at.path, func([]string) bool { return true })
}

// isGitConfig finds what can have git run commands (hooksPath, fsmonitor,
// sshCommand, filters) or look for its configuration elsewhere: a .git that is
// a file or a symlink, and a commondir.
func isGitConfig(at spot) bool {
	if strings.HasSuffix(at.path, "/.git") && !at.dir {
		return true
	}
	return inAnyGit(at.path, func(names []string) bool {
		if len(names) == 0 || !slices.Contains([]string{"config", "config.worktree", "commondir"}, names[len(names)-1]) {
			return at.whole && holdsGitDirs(names)
		}
		return len(names) == 1 || names[0] == "modules" || names[0] == "worktrees"
	})
}

// holdsGitDirs says whether a directory that is gone or moved had, as far as
// its name tells, hooks and configuration in it.
func holdsGitDirs(names []string) bool {
	return len(names) == 0 || gitPart(names) == ""
}

// inAnyGit asks about the rest of a path below each of its names that is that
// of a git directory: .git, or project.git for a bare one.
func inAnyGit(p string, ask func(rest []string) bool) bool {
	if !strings.Contains(p, ".git") {
		return false
	}
	names := strings.Split(p, "/")
	for i, name := range names {
		if strings.HasSuffix(name, ".git") && ask(names[i+1:]) {
			return true
		}
	}
	return false
}
