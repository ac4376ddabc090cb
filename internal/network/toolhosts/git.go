package toolhosts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// git looks at the remotes and submodules of the repository that the user works
// in, and at what their own configuration has instead.
func git(f *finder) {
	for _, file := range []string{f.home(".gitconfig"), f.config("git/config"), f.system("/etc/gitconfig")} {
		f.gitConfig(file, read(file, mostText), true)
	}
	for _, dir := range f.upwards() {
		file := gitConfigOf(filepath.Join(dir, ".git"))
		if file == "" {
			continue
		}
		// A clone does not bring this file along: git wrote it for who owns it,
		// and itself runs what it says.
		text, own := readOwned(file, mostText)
		f.gitConfig(file, text, own)
		return
	}
}

// gitConfigOf is the configuration of the repository whose .git this is: a
// directory or, in worktrees and submodules, a file that names it.
func gitConfigOf(dot string) string {
	info, err := os.Lstat(dot)
	if err != nil {
		return ""
	}
	if !info.IsDir() {
		dir, is := strings.CutPrefix(strings.TrimSpace(read(dot, mostText)), "gitdir: ")
		if !is {
			return ""
		}
		dot = from(filepath.Dir(dot), dir)
		if common := strings.TrimSpace(read(filepath.Join(dot, "commondir"), mostText)); common != "" {
			dot = from(dot, common)
		}
	}
	return filepath.Join(dot, "config")
}

// from is a path as seen from a directory.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func (f *finder) gitConfig(file, text string, near bool) {
	at := source{"git", file, near}
	for _, e := range ini(text) {
		kind, name, _ := strings.Cut(e.section, " ")
		switch {
		case slices.Contains([]string{"remote", "submodule"}, kind) && (e.key == "url" || e.key == "pushurl"):
			f.add(at, gitURL(e.value))
		case kind == "url" && (e.key == "insteadof" || e.key == "pushinsteadof"):
			f.add(at, gitURL(name))
		case (kind == "http" || kind == "remote") && e.key == "proxy":
			f.addProxy(at, e.value)
		}
	}
}

// gitURL makes a URL of "user@host:path", which git takes for ssh.
func gitURL(text string) string {
	if strings.Contains(text, "://") {
		return text
	}
	host, _, has := strings.Cut(text, ":")
	if !has || strings.ContainsAny(host, "/[]") {
		return "" // a path
	}
	return "ssh://" + host
}
