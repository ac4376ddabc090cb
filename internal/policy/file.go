package policy

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

// configEnv names a file that is read instead of the usual one.
const configEnv = "FORKBOX_CONFIG"

// mostText is how long a file may be. A configuration is a page; what is
// longer is a mistake, or made to keep the daemon busy.
const mostText = 64 << 10

// DefaultPath is where the daemon's configuration is: FORKBOX_CONFIG if that is
// set, else /etc/forkbox/config.yaml for root, and for other users
// forkbox/config.yaml in XDG_CONFIG_HOME or ~/.config. It is empty where there
// is no home either.
func DefaultPath(root bool) string {
	if named := os.Getenv(configEnv); named != "" {
		return named
	}
	if root {
		return "/etc/forkbox/config.yaml"
	}
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "forkbox/config.yaml")
	}
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config/forkbox/config.yaml")
	}
	return ""
}

// readTrusted reads a file that no other user can have written. The checks are
// made on what was opened: a path could be exchanged in between.
func readTrusted(file string) ([]byte, error) {
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
