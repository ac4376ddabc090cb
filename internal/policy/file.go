package policy

import (
	"io"
	"io/fs"
	"os"

	"github.com/forkbox/forkbox"
)

// mostText is how long a file may be. A configuration is a page; what is
// longer is a mistake, or made to keep the daemon busy.
const mostText = 64 << 10

// ReadTrusted reads a file that no other user can have written. The checks are
// made on what was opened: a path could be exchanged in between.
func ReadTrusted(file string) ([]byte, error) {
	link, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	if link.Mode().Type() == fs.ModeSymlink {
		if err := ownedByFriend(file, link); err != nil {
			return nil, err
		}
	}
	f, err := openPlain(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := trusted(file, info); err != nil {
		return nil, err
	}
	return readShort(file, f)
}

func trusted(file string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return forkbox.Errorf(forkbox.Invalid, "read "+file, "it is not a plain file")
	}
	if err := ownedByFriend(file, info); err != nil {
		return err
	}
	return writtenByFriends(file, info)
}

func readShort(file string, from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, mostText+1))
	if err == nil && len(text) > mostText {
		err = forkbox.Errorf(forkbox.Invalid, "read "+file, "it is longer than %s", figure(mostText))
	}
	return text, err
}
