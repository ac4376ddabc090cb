package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/policy"
)

// configEnv names a file that is read instead of the usual ones.
const configEnv = "FORKBOX_CONFIG"

// systemFile is the host's own.
const systemFile = "/etc/forkbox/config.yaml"

// Origin is who says something.
type Origin string

const (
	FromDefault Origin = "default" // built in
	FromSystem  Origin = "system"  // /etc/forkbox/config.yaml
	FromUser    Origin = "user"    // the user's config.yaml
	FromNamed   Origin = "named"   // the file that FORKBOX_CONFIG names
	FromProject Origin = "project" // the project's forkbox.yaml
	FromEnv     Origin = "environment"
	FromFlag    Origin = "flag"
)

// Source is a file that counts.
type Source struct {
	Path   string
	Origin Origin
	Of     Of
}

// Options are where a configuration is looked for.
type Options struct {
	// Root says that it is for root, who has the host's file alone: what is
	// in the home of who called sudo is not the host's.
	Root bool
	// Env looks up a variable; os.LookupEnv if nil.
	Env func(string) (string, bool)
	// Flags are by key: what flags said.
	Flags map[string]string
	// System is for tests: where the host's file is, instead of in /etc.
	System string
}

func (o Options) env(name string) string {
	look := o.Env
	if look == nil {
		look = os.LookupEnv
	}
	value, _ := look(name)
	return value
}

// Sources are the daemon's files, in the order in which they are read. The file
// that FORKBOX_CONFIG names is the only one then.
func (o Options) Sources() []Source {
	if named := o.env(configEnv); named != "" {
		return []Source{{named, FromNamed, OfConfig}}
	}
	system := o.System
	if system == "" {
		system = systemFile
	}
	list := []Source{{system, FromSystem, OfConfig}}
	if user := o.userFile(); user != "" && !o.Root {
		list = append(list, Source{user, FromUser, OfConfig})
	}
	return list
}

// userFile is the user's own, "" where there is no home either.
func (o Options) userFile() string {
	if dir := o.env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "forkbox", "config.yaml")
	}
	if home := o.env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "forkbox", "config.yaml")
	}
	return ""
}

// open reads a file that is trusted. One that does not exist is nothing, unless
// it was named: a floor that cannot be found is not a floor that may be left
// out.
func (s Source) open() (text []byte, found bool, err error) {
	if s.Origin == FromNamed && !filepath.IsAbs(s.Path) {
		return nil, false, forkbox.Errorf(forkbox.Invalid, "read "+s.Path, "%s has to be a whole path, from /", configEnv)
	}
	text, err = policy.ReadTrusted(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.Origin == FromNamed:
		return nil, false, forkbox.Errorf(forkbox.NotFound, "read "+s.Path, "there is no such file").Hint("%s names it", configEnv)
	case errors.Is(err, fs.ErrNotExist) && s.Origin != FromProject:
		return nil, false, nil
	}
	return text, err == nil, forkbox.Wrap("read "+s.Path, err)
}

// ProjectSource is the file of the project around a directory.
func ProjectSource(dir string) (Source, bool) {
	file, ok := policy.FindProject(dir)
	return Source{file, FromProject, OfProject}, ok && dir != ""
}
