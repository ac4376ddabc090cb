package git

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
)

// search is where git and what it runs are looked for: the daemon's PATH without
// what a box can land in. A daemon that was started in a project may have
// directories of it there, such as node_modules/.bin.
func (r Repo) search() string {
	var dirs []string
	for _, dir := range filepath.SplitList(daemonPath()) {
		real, err := filepath.EvalSymlinks(dir)
		inside := r.Root != "/" && forkbox.Within(real, r.Root)
		if err == nil && filepath.IsAbs(dir) && !inside && r.trusts(real) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

func daemonPath() string {
	if path := os.Getenv("PATH"); path != "" {
		return path
	}
	return "/usr/local/bin:/usr/bin:/bin"
}

// find is a program in a list of directories.
func find(name, list string) (string, bool) {
	for _, dir := range filepath.SplitList(list) {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, true
		}
	}
	return "", false
}
