package policy

import (
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

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
	return read.Limits, err
}

// Project is what a project's file says.
type Project struct {
	Limits  forkbox.Limits
	Network ProjectNetwork
	// LetIn are ports of the host that boxes reach on their own loopback.
	LetIn    []int
	Services ProjectServices
}

// NoProject is what a file without a word says.
func NoProject() Project { return Project{Limits: forkbox.Limits{}} }

// Set reads the value of one key, such as network.rules, as a project's file
// has it.
func (r *Project) Set(file string, key []string, value *yaml.Node) error {
	return r.read(page{file}, inMapping(key, value))
}

// CheckServices finds what makes no sense together in what the file says of
// services, of which the value of one key was read last.
func (r *Project) CheckServices(file string, key []string, value *yaml.Node) error {
	return r.Services.check(page{file}, inMapping(key, value))
}

func (r *Project) read(p page, top *yaml.Node) error {
	return p.fields(top, map[string]field{
		"limits": p.limits(r.Limits), "network": p.networkWish(&r.Network), "let_in": p.ports(&r.LetIn, "let_in"),
		"with": p.with(&r.Services.With), "services": p.services(&r.Services.Settings),
	})
}

func loadProject(file string) (Project, error) {
	text, err := ReadTrusted(file)
	if err != nil {
		return Project{}, forkbox.Wrap("read "+file, err)
	}
	return parseProject(file, text)
}

func parseProject(file string, text []byte) (Project, error) {
	p, read := page{file}, NoProject()
	top, err := p.parse(text)
	if err != nil || top == nil {
		return read, err
	}
	if err := read.read(p, top); err != nil {
		return Project{}, err
	}
	return read, read.Services.check(p, top)
}

// projectSource is what a rule from a project's file says it is from.
func projectSource(file string) string {
	if file == "" {
		return "project"
	}
	return "project " + file
}
