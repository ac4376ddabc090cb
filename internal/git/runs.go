package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// Runs lists the places whose content git runs, or reads to find out what to
// run, in this work tree: the hooks, the files of its configuration with what
// they include, and the programs that it names. Git is asked, for there are
// many ways to move them. The value says why.
func (r Repo) Runs(ctx context.Context) (map[string]string, error) {
	top, found, err := Find(ctx, r.Root, r.Owner)
	if err != nil || !found {
		return nil, err
	}
	places := map[string]string{}
	hooks, err := top.hooksDir(ctx)
	if err != nil {
		return nil, unlessRefused(err)
	}
	places[hooks] = "git hook"
	out, err := top.read(ctx, nil, "config", "-z", "--show-origin", "--list", "--includes")
	if err != nil {
		return nil, unlessRefused(err)
	}
	list := records(out)
	for i := 0; i+1 < len(list); i += 2 { // "file:PATH", "KEY<newline>VALUE"
		file, isFile := strings.CutPrefix(list[i], "file:")
		if !isFile {
			continue // our own words on the command line
		}
		file = top.absolute(top.Root, file)
		places[file] = "git configuration"
		key, value, _ := strings.Cut(list[i+1], "\n")
		top.addNamed(places, file, key, value)
	}
	return places, nil
}

// hooksDir is where git looks for hooks. Asking for it runs none.
func (r Repo) hooksDir(ctx context.Context) (string, error) {
	out, err := r.run(ctx, call{args: []string{"rev-parse", "--git-path", "hooks"}, env: neutralEnv, own: true})
	return r.absolute(r.Root, strings.TrimSuffix(string(out), "\n")), err
}

// addNamed adds what one setting names: more configuration, or a program.
func (r Repo) addNamed(places map[string]string, file, key, value string) {
	section, _, _ := strings.Cut(key, ".")
	name := key[strings.LastIndexByte(key, '.')+1:]
	if name == "path" && (section == "include" || section == "includeif") {
		places[r.absolute(filepath.Dir(file), value)] = "git configuration, by " + key
		return
	}
	shell := strings.HasPrefix(value, "!") && (section == "alias" || name == "update")
	if !slices.Contains(runnable, name) && section != "pager" && !shell {
		return
	}
	// A command line: any of its words can be the file that is run.
	for _, word := range strings.FieldsFunc(value, func(c rune) bool { return strings.ContainsRune(" \t\n\"';&|()<>!`", c) }) {
		place := r.absolute(r.Root, word)
		if place != r.Root && forkbox.Within(place, r.Root) && (strings.Contains(word, "/") || r.isFile(place)) {
			places[place] = "git runs it, by " + key
		}
	}
}

func (r Repo) isFile(path string) (is bool) {
	_ = r.As(func() error {
		info, err := os.Lstat(path)
		is = err == nil && info.Mode().IsRegular()
		return nil
	})
	return is
}

// runnable are the last names of settings whose value is a command.
var runnable = []string{
	"clean", "smudge", "process", "textconv", "command", "cmd", "driver", "external", "fsmonitor", "program", "helper",
	"editor", "sshcommand", "askpass", "gitproxy", "alternaterefscommand", "defaultkeycommand", "difffilter",
	"uploadpack", "receivepack", "packobjectshook", "recentobjectshook",
}

// absolute is a path as the configuration writes it.
func (r Repo) absolute(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && r.Owner.Home != "" {
		return filepath.Join(r.Owner.Home, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// IdleHooks are the hooks that a commit would run and that [Repo.Commit] does
// not run unless it is told to.
func (r Repo) IdleHooks(ctx context.Context) (names []string, err error) {
	top, err := r.top(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := top.hooksDir(ctx)
	if err != nil {
		return nil, err
	}
	err = r.As(func() error {
		for _, name := range []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				names = append(names, name)
			}
		}
		return nil
	})
	return names, err
}

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
