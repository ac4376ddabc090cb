package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
)

// Load reads the daemon's configuration. What the file does not name is as in
// [Builtin], and so is all of it where there is no file. Anything that is not
// understood is an error: a host whose floor has a slip of the pen would
// otherwise have none.
func Load(path string) (Config, error) {
	if path == "" {
		return Builtin(), nil
	}
	named := path == os.Getenv(configEnv)
	if named && !filepath.IsAbs(path) {
		return Config{}, forkbox.Errorf(forkbox.Invalid, "read "+path, "%s has to be a whole path, from /", configEnv)
	}
	text, err := readTrusted(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return Builtin(), nil
	case errors.Is(err, fs.ErrNotExist):
		return Config{}, forkbox.Errorf(forkbox.NotFound, "read "+path, "there is no such file").Hint("%s names it", configEnv)
	case err != nil:
		return Config{}, forkbox.Wrap("read "+path, err)
	}
	return parseConfig(path, text)
}

func parseConfig(path string, text []byte) (Config, error) {
	p, c := page{path}, Builtin()
	top, err := p.parse(text)
	if err != nil || top == nil {
		return c, err
	}
	err = p.fields(top, map[string]field{
		"limits":    p.limits(c.Limits),
		"defaults":  p.limits(c.Defaults),
		"users":     p.users(c.Users),
		"admission": p.admission(&c.Admission),
		"reserve":   p.reserve(&c.Reserve),
		"network":   p.network(&c.Network),
	})
	if err != nil {
		return Config{}, err
	}
	return c, nil
}

func (p page) admission(a *Admission) field {
	known := map[string]field{
		"running":  p.count(&a.Running, "running"),
		"memory":   p.given(&a.Memory, "memory"),
		"cpus":     p.amount(&a.CPUs, "cpus", forkbox.CPUs),
		"pressure": p.pressures(a.Pressure),
		"wait":     p.wait(&a.Wait),
	}
	return func(n *yaml.Node) error { return p.fields(n, known) }
}

func (p page) reserve(r *Reserve) field {
	known := map[string]field{"memory": p.kept(&r.Memory, "memory"), "disk": p.kept(&r.Disk, "disk")}
	return func(n *yaml.Node) error { return p.fields(n, known) }
}

func (p page) users(into map[string]User) field {
	return func(n *yaml.Node) error {
		return p.entries(n, func(key, value *yaml.Node) error {
			if !isUser(key.Value) {
				return p.malformed(key, "%q is no name of a user", key.Value).
					Hint("it is a name, a uid in digits, or \"*\" for everybody who is not named")
			}
			u := User{Limits: forkbox.Limits{}}
			err := p.fields(value, map[string]field{"limits": p.limits(u.Limits), "quota": p.quota(&u.Quota)})
			into[key.Value] = u
			return err
		})
	}
}

func (p page) quota(q *Quota) field {
	known := map[string]field{
		"boxes":   p.count(&q.Boxes, "boxes"),
		"running": p.count(&q.Running, "running"),
		"memory":  p.amount(&q.Memory, "memory", forkbox.Memory),
		"cpus":    p.amount(&q.CPUs, "cpus", forkbox.CPUs),
		"disk":    p.amount(&q.Disk, "disk", forkbox.Disk),
	}
	return func(n *yaml.Node) error { return p.fields(n, known) }
}

// isUser refuses what could never match a user, such as a uid with a zero before
// it: its limits would hold for no user, and the file's author would not notice.
func isUser(key string) bool {
	if isUID(key) {
		uid, err := strconv.ParseUint(key, 10, 32)
		return err == nil && strconv.FormatUint(uid, 10) == key
	}
	return key == everybody || key != "" && !strings.ContainsAny(key, " \t\r\n\x00:/,*")
}

func isUID(key string) bool { return key != "" && strings.Trim(key, "0123456789") == "" }
