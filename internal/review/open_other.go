//go:build !unix

package review

import (
	"io/fs"
	"os"

	"github.com/forkbox/forkbox"
)

func openNode(string, forkbox.Node) (*os.File, error) { return nil, fs.ErrNotExist }

// OpenRegular opens a file of reality, and nothing but a file.
func OpenRegular(string) (*os.File, error) { return nil, fs.ErrNotExist }

func (v *View) mayReadOpen(*os.File) bool { return false }
