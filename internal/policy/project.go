package policy

import (
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

// projectFile is the name of a project's own file.
const projectFile = "forkbox.yaml"

// FindProject looks for the project's file in dir and the directories above
// it, the nearest first. It takes the real name of dir: what is above a symlink
// is not above the project. A user at work below their home has no project
// above it. It only looks: [LoadProject] refuses a file that another user could
// have written.
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
