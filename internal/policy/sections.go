package policy

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
)

// Set reads the value of one key, such as admission.wait, as config.yaml has it.
// Anything that is not understood is an error: a host whose floor has a slip of
// the pen would otherwise have none. After an error the configuration is of no
// use.
func (c *Config) Set(file string, key []string, value *yaml.Node) error {
	return c.read(page{file}, inMapping(key, value))
}

// inMapping is the page on which a value is all there is.
func inMapping(key []string, value *yaml.Node) *yaml.Node {
	for _, name := range slices.Backward(key) {
		name := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: value.Line}
		value = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{name, value}, Line: value.Line}
	}
	return value
}

func (c *Config) read(p page, top *yaml.Node) error {
	return p.fields(top, map[string]field{
		"limits":    p.limits(c.Limits),
		"defaults":  p.limits(c.Defaults),
		"users":     p.users(c.Users),
		"admission": p.admission(&c.Admission),
		"reserve":   p.reserve(&c.Reserve),
		"network":   p.network(&c.Network),
	})
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
			u, begun := into[key.Value]
			if !begun {
				u.Limits = forkbox.Limits{}
			}
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
