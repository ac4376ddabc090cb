package secrets

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// Allowed says whether allow opens path: it names the path itself or a
// directory above it. "~" was expanded before.
func Allowed(path string, allow []string) bool {
	for _, a := range allow {
		if filepath.IsAbs(a) && within(path, filepath.Clean(a)) {
			return true
		}
	}
	return false
}

// Hide leaves out of entries what allow opens.
func Hide(entries []Entry, allow []string) []Entry {
	var hidden []Entry
	for _, e := range entries {
		if !Allowed(e.Path, allow) && !Allowed(e.Target, allow) {
			hidden = append(hidden, e)
		}
	}
	return hidden
}

// CheckAllow refuses what cannot be opened as it was said. One file of a
// hidden directory is such a thing: opening all of the directory would show
// more than was asked for, and opening nothing would pretend.
func CheckAllow(allow []string, home string, uid int, places []string) error {
	entries := slices.Concat(Paths(home), Runtime(uid), Named(places, nil))
	for _, a := range allow {
		if err := checkAllow(a, entries); err != nil {
			return err
		}
	}
	return nil
}

func checkAllow(a string, entries []Entry) error {
	const op = "allow a secret"
	if !filepath.IsAbs(a) {
		return checkName(a)
	}
	if info, err := os.Stat(a); err == nil && info.Mode()&os.ModeSocket != 0 {
		return forkbox.Errorf(forkbox.Unsupported, op, "%s is a live socket of the host, and a box cannot connect to those", a)
	}
	for _, e := range entries {
		for _, dir := range []string{e.Path, e.Target} {
			if e.Dir && filepath.Clean(a) != dir && within(filepath.Clean(a), dir) {
				return forkbox.Errorf(forkbox.Invalid, op, "%s is part of %s (%s), which is hidden as a whole", a, e.Path, e.Why).
					Hint("allow all of it: --allow-secrets %s", e.Path)
			}
		}
	}
	return nil
}

// checkName accepts the name of a variable. A relative path would be silently
// without effect.
func checkName(a string) error {
	if a == "" || strings.ContainsAny(a, "=/\\~ \x00") {
		return forkbox.Errorf(forkbox.Invalid, "allow a secret", "%q is neither an absolute path nor the name of a variable", a).
			Hint("for example --allow-secrets ~/.ssh or --allow-secrets GITHUB_TOKEN")
	}
	return nil
}

// isDir asks what path is; listed is the answer for what is not there.
func isDir(path string, listed bool) bool {
	info, err := os.Stat(path)
	if err != nil {
		return listed
	}
	return info.IsDir()
}
