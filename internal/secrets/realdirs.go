package secrets

import (
	"os"
	"path/filepath"
)

// realDirs remembers where directories really are: /home may be a link to
// /var/home, and ~/.config one into a repository of dotfiles. Hiding a secret
// at a path that leads through a link would leave it where the link leads.
// Each directory is looked at once, for this is on the way of every new box.
type realDirs map[string]string

func (r realDirs) of(dir string) string {
	if real, ok := r[dir]; ok {
		return real
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return dir
	}
	real := filepath.Join(r.of(parent), filepath.Base(dir))
	if info, err := os.Lstat(real); err == nil && info.Mode()&os.ModeSymlink != 0 {
		if target, err := filepath.EvalSymlinks(real); err == nil {
			real = target
		}
	}
	r[dir] = real
	return real
}
