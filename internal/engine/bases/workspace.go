package bases

import (
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/review/scope"
)

// NewSorter sorts the changes of a box by whose business they are.
func NewSorter(root string, box forkbox.Box) *scope.Sorter {
	return scope.New(root, box.Owner.Home, review.ReadIgnore)
}

// Exists says whether there is something at a path of reality, be it a broken link.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// InGit says whether the workspace is a git work tree.
func InGit(root string) bool { return root != "" && Exists(filepath.Join(root, ".git")) }

// Workspace is the directory that the changes of a box count in that was made in
// dir; empty if there is none.
func (m *Manager) Workspace(dir string) string { return scope.Root(dir, Exists) }
