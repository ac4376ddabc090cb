//go:build !unix

package review

import (
	"io/fs"
	"os"

	"github.com/forkbox/forkbox"
)

func openNode(string, forkbox.Node) (*os.File, error) { return nil, fs.ErrNotExist }

func openRegular(string) (*os.File, error) { return nil, fs.ErrNotExist }
