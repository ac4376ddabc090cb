package bases

import (
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/review/scope"
)

func NewSorter(root string, box forkbox.Box) *scope.Sorter {
	return scope.New(root, box.Owner.Home, review.ReadIgnore)
}

func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// InGit says whether the workspace is a git work tree.
func InGit(root string) bool { return root != "" && Exists(filepath.Join(root, ".git")) }

// Workspace is the directory that the changes of a box count in that was made in
// dir; empty if there is none.
func (m *Manager) Workspace(dir string) string { return scope.Root(dir, Exists) }
