package patch

import (
	"io/fs"
	"strconv"

	"github.com/forkbox/forkbox"
)

// git knows three kinds of files; of the permissions, only whether the owner
// may execute.
const (
	gitFile       = "100644"
	gitExecutable = "100755"
	gitSymlink    = "120000"
	gitSubmodule  = "160000"
)

func gitMode(mode fs.FileMode) (string, error) {
	switch {
	case mode&fs.ModeSymlink != 0:
		return gitSymlink, nil
	case !mode.IsRegular():
		return "", forkbox.Errorf(forkbox.Unsupported, rendering, "git has no form for a file of mode %v", mode)
	case mode&0o100 != 0:
		return gitExecutable, nil
	}
	return gitFile, nil
}

// parseMode takes the permissions that old versions of git wrote as well. A
// submodule is not a file: it comes back as fs.ModeIrregular.
func parseMode(text string) (fs.FileMode, bool) {
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || len(text) != len(gitFile) {
		return 0, false
	}
	switch {
	case text == gitSymlink:
		return fs.ModeSymlink | 0o777, true
	case text == gitSubmodule:
		return fs.ModeIrregular, true
	case n&^0o777 == 0o100000:
		return fs.FileMode(n & 0o777), true
	}
	return 0, false
}
