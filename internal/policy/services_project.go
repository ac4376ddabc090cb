package policy

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/spelling"
)

// ProjectServices is what a project's file says of services: which its boxes have
// copies of, and how.
type ProjectServices struct {
	With     []string
	Settings map[string]forkbox.ServiceSettings
}

// LoadProjectServices reads what a project's file says of services. What is true of
// [LoadProject] is true of it. Settings name files as they are relative to the
// project's, and stand for what the commands that settle data read now.
func LoadProjectServices(file string) (ProjectServices, error) {
	read, err := loadProject(file)
	if err != nil {
		return ProjectServices{}, err
	}
	for name, set := range read.Services.Settings {
		if set.Settle != "" {
			set.SettleOf = contentOf(set.Settle, set.Dir)
			read.Services.Settings[name] = set
		}
	}
	return read.Services, nil
}

// with reads names of services, or ports; one alone needs no list.
func (p page) with(into *[]string) field {
	return func(n *yaml.Node) error {
		if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
			n = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: n.Line, Content: []*yaml.Node{n}}
		}
		*into = nil
		return p.items(n, "with", func(_ *yaml.Node, text string) error {
			*into = append(*into, text)
			return nil
		})
	}
}

// services reads the section, by name of service.
func (p page) services(into *map[string]forkbox.ServiceSettings) field {
	return func(n *yaml.Node) error {
		return p.entries(n, func(key, value *yaml.Node) error {
			name := key.Value
			if err := forkbox.CheckServiceName(name); err != nil {
				return p.at(key, "services", err)
			}
			set := (*into)[name]
			if err := p.fields(value, p.service(&set)); err != nil {
				return err
			}
			if *into == nil {
				*into = map[string]forkbox.ServiceSettings{}
			}
			(*into)[name] = set
			return nil
		})
	}
}

// service is what can be said of one.
func (p page) service(set *forkbox.ServiceSettings) map[string]field {
	set.Dir = p.dir()
	return map[string]field{
		"match":     p.match(&set.Match),
		"data":      p.data(&set.Data),
		"copy":      p.copyWay(&set.Copy),
		"max_pause": p.maxPause(&set.MaxPause),
		"max_stale": func(n *yaml.Node) error { return p.timeOf(n, "max_stale", &set.MaxStale) },
		"start":     p.line(&set.Start, "start"),
		"after":     p.after(&set.After),
		"settle":    p.section(map[string]field{"run": p.line(&set.Settle, "run")}, "run"),
		"ready": p.section(map[string]field{"exec": p.line(&set.Ready, "exec"), "within": func(n *yaml.Node) error {
			var span *time.Duration
			err := p.timeOf(n, "within", &span)
			if err == nil && *span == 0 {
				return p.malformed(n, "within: it is a time above zero")
			}
			if err == nil {
				set.Within = *span
			}
			return err
		}}, ""),
	}
}

// section reads a mapping; a single value in its place is a mistake that is told
// with the key that was meant.
func (p page) section(known map[string]field, first string) field {
	return func(n *yaml.Node) error {
		if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" && first != "" {
			return p.malformed(n, "there should be \"key: value\" lines").Hint("{%s: %s}", first, n.Value)
		}
		return p.fields(n, known)
	}
}

func (p page) match(m *forkbox.ServiceMatch) field {
	return p.section(map[string]field{
		"port": func(n *yaml.Node) (err error) { m.Port, err = p.port(n, "port"); return err },
		"name": p.line(&m.Name, "name"),
		"unit": p.line(&m.Unit, "unit"),
		"data": func(n *yaml.Node) (err error) { m.Data, err = p.path(n); return err },
	}, "port")
}

// data is auto or a list of paths.
func (p page) data(into *forkbox.Strings) field {
	return func(n *yaml.Node) error {
		*into = nil
		if n.Kind == yaml.ScalarNode && n.Value == "auto" {
			return nil
		}
		if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
			return p.malformed(n, "data: it is auto, or a list of files and directories").
				Hint("[data, /var/lib/app]").Hint("`copy: none` has nothing copied")
		}
		return p.items(n, "data", func(item *yaml.Node, _ string) error {
			path, err := p.path(item)
			if err == nil && forkbox.Within(p.dir(), path) {
				err = p.malformed(item, "data: %s has the project itself in it, which boxes see as it is and change", path)
			}
			*into = append(*into, path)
			return err
		})
	}
}

// path is one of the machine's: from the project's directory, the home, or /.
func (p page) path(n *yaml.Node) (string, error) {
	text, err := p.text(n)
	if err != nil {
		return "", err
	}
	rest, atHome := strings.CutPrefix(text, "~/")
	switch {
	case strings.HasPrefix(text, "~") && !atHome:
		return "", p.malformed(n, "%q: whose home that is is not looked up", text).Hint("write the whole path")
	case atHome:
		text = filepath.Join(os.Getenv("HOME"), rest)
	case !filepath.IsAbs(text):
		text = filepath.Join(p.dir(), text)
	}
	if text = filepath.Clean(text); text == "/" || !filepath.IsAbs(text) {
		return "", p.malformed(n, "%q is no path of data", n.Value)
	}
	return text, nil
}

// dir is the directory of the file, without links.
func (p page) dir() string {
	dir, err := filepath.Abs(filepath.Dir(p.file))
	if err != nil {
		return "/"
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

func (p page) copyWay(into *string) field {
	known := append([]string{"auto", forkbox.CopyNone}, forkbox.CopyWays...)
	return func(n *yaml.Node) error {
		text, err := p.text(n)
		switch {
		case err != nil:
			return err
		case text == "auto":
			*into = ""
			return nil
		case slices.Contains(known, text):
			*into = text
			return nil
		}
		bad := p.malformed(n, "copy: there is no way %q", text)
		if near := spelling.Nearest(text, known); near != "" {
			bad.Hint("did you mean %s?", near)
		}
		return bad.Hint("it is one of %s", strings.Join(known, ", "))
	}
}

// longestPause is for how long a project can have a service of the machine stand
// still that is not its own. Longer is for its user to say.
const longestPause = 500 * time.Millisecond

func (p page) maxPause(into **time.Duration) field {
	return func(n *yaml.Node) error {
		err := p.timeOf(n, "max_pause", into)
		if err == nil && **into > longestPause {
			return p.malformed(n, "max_pause: a file cannot have a service stand still for longer than %s", longestPause).
				Hint("--pause %s has it, for the boxes that you make with it", **into)
		}
		return err
	}
}

func (p page) timeOf(n *yaml.Node, key string, into **time.Duration) error {
	text, err := p.text(n)
	if err != nil {
		return err
	}
	if text == "0" || text == "0s" {
		*into = new(time.Duration)
		return nil
	}
	v, err := forkbox.ParseLimit(forkbox.TTL, text)
	if err != nil {
		return p.at(n, key, err)
	}
	if v == forkbox.Unlimited {
		return p.malformed(n, "%s: it is a time, for example 500ms, 15m or 1d", key)
	}
	span := time.Duration(v)
	*into = &span
	return nil
}

// line is text that says something.
func (p page) line(into *string, key string) field {
	return func(n *yaml.Node) error {
		text, err := p.text(n)
		if err == nil && strings.TrimSpace(text) == "" {
			return p.malformed(n, "%s: there is nothing in it", key)
		}
		*into = text
		return err
	}
}

func (p page) after(into *forkbox.Strings) field {
	var names []string
	read := p.with(&names)
	return func(n *yaml.Node) error {
		err := read(n)
		*into = names
		return err
	}
}

// port is a number of one, written as people do.
func (p page) port(n *yaml.Node, key string) (int, error) {
	text, err := p.text(n)
	if err != nil {
		return 0, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 || strconv.FormatUint(port, 10) != text {
		return 0, p.malformed(n, "%s: %q is no port", key, text)
	}
	return int(port), nil
}

// check finds what makes no sense together, at the line of who says it.
func (s ProjectServices) check(p page, top *yaml.Node) error {
	for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
		if err := s.Settings[name].Check(name); err != nil {
			return p.at(lineOf(top, "services", name), "services", err)
		}
	}
	if circle := forkbox.ServiceCircle(s.Settings); circle != nil {
		return p.malformed(lineOf(top, "services", circle[0], "after"), "services: %s", forkbox.CircleText(circle)).
			Hint("leave out one of these `after`")
	}
	return nil
}

// lineOf finds the value of a key, or else what is nearest to it.
func lineOf(n *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		if n.Kind != yaml.MappingNode {
			return n
		}
		next := n
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				next = &yaml.Node{Kind: n.Content[i+1].Kind, Line: n.Content[i].Line, Content: n.Content[i+1].Content}
			}
		}
		n = next
	}
	return n
}

// Text is the value of a key of a service as a file would have it, "" where it is
// not said.
func (s ProjectServices) Text(name, key string) string {
	set, has := s.Settings[name]
	if !has {
		return ""
	}
	span := func(d *time.Duration) string {
		if d == nil {
			return ""
		}
		if *d == 0 {
			return "0s"
		}
		return forkbox.FormatLimit(forkbox.TTL, int64(*d))
	}
	switch key {
	case "match.port":
		if set.Match.Port == 0 {
			return ""
		}
		return strconv.Itoa(set.Match.Port)
	case "match.name":
		return set.Match.Name
	case "match.data":
		return set.Match.Data
	case "match.unit":
		return set.Match.Unit
	case "data":
		return cmp.Or(flow(set.Data), "auto")
	case "copy":
		return cmp.Or(set.Copy, "auto")
	case "max_pause":
		return span(set.MaxPause)
	case "max_stale":
		return span(set.MaxStale)
	case "start":
		return set.Start
	case "ready.exec":
		return set.Ready
	case "ready.within":
		if set.Within == 0 {
			return ""
		}
		return span(&set.Within)
	case "after":
		return flow(set.After)
	case "settle.run":
		return set.Settle
	}
	return ""
}

func flow(items []string) string {
	if len(items) == 0 {
		return ""
	}
	return "[" + strings.Join(items, ", ") + "]"
}
