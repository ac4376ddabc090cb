package policy

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

// projectFile is the name of a project's own file.
const projectFile = "forkbox.yaml"

// FindProject looks for the project's file in dir and the directories above it,
// the nearest first. It takes the real name of dir: what is above a symlink is
// not above the project. A user at work below their home has no project above
// it. It only looks: [LoadProject] refuses a file that another user could have
// written.
func FindProject(dir string) (file string, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	home := filepath.Clean(os.Getenv("HOME"))
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	for {
		file := filepath.Join(dir, projectFile)
		if _, err := os.Lstat(file); err == nil {
			return file, true
		}
		parent := filepath.Dir(dir)
		if dir == home || parent == dir {
			return "", false
		}
		dir = parent
	}
}

// LoadProject reads the limits that a project's file asks for. A file that the
// caller or root does not own, or that others may write, is an error, and so
// is whatever is not understood.
func LoadProject(file string) (forkbox.Limits, error) {
	read, err := loadProject(file)
	return read.limits, err
}

// project is what a project's file says.
type project struct {
	limits  forkbox.Limits
	network projectNetwork
}

func loadProject(file string) (project, error) {
	text, err := readTrusted(file)
	if err != nil {
		return project{}, forkbox.Wrap("read "+file, err)
	}
	return parseProject(file, text)
}

func parseProject(file string, text []byte) (project, error) {
	p, read := page{file}, project{limits: forkbox.Limits{}}
	top, err := p.parse(text)
	if err != nil || top == nil {
		return read, err
	}
	err = p.fields(top, map[string]field{"limits": p.limits(read.limits), "network": p.projectNetwork(&read.network)})
	if err != nil {
		return project{}, err
	}
	return read, nil
}

// projectSource is what a rule from a project's file says it is from.
func projectSource(file string) string {
	if file == "" {
		return "project"
	}
	return "project " + file
}

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
	if err := checkTrusted(file, info); err != nil {
		return nil, err
	}
	return readShort(file, f)
}

func checkTrusted(file string, info fs.FileInfo) error {
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
