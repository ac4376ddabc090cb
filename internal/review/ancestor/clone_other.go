//go:build !linux

package ancestor

import (
	"errors"
	"io/fs"
	"os"

	"github.com/forkbox/forkbox"
)

func clone(*os.File, *os.File) error { return errors.ErrUnsupported }

// same is never certain where the time of an inode is not known.
func same(*os.File, forkbox.Identity) bool { return false }

func stampOf(fs.FileInfo) (stamp, bool) { return stamp{}, false }

func openFile(string) (*os.File, error) { return nil, errors.ErrUnsupported }
