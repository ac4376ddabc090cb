package forkbox

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ServiceSettings is what a project says of one service: which it is, how its data
// is copied, and how its copy is run. What it does not say is found out. Its
// commands run in boxes, never on the host.
type ServiceSettings struct {
	// Match says which of the services that run it is. If it says nothing, the name
	// does.
	Match ServiceMatch `json:"match,omitzero"`
	// Data are the files and directories that are copied, instead of those that
	// are found: absolute and without links.
	Data Strings `json:"data,omitempty"`
	// Copy is the way, as in [Still.Way], instead of the best that works; or
	// [CopyNone], to copy nothing.
	Copy string `json:"copy,omitempty"`
	// MaxPause is for how long the service may stand still, and MaxStale how old
	// the data may be that a box begins with. Nil: the usual.
	MaxPause *time.Duration `json:"max_pause_ns,omitempty"`
	MaxStale *time.Duration `json:"max_stale_ns,omitempty"`
	// Start is a line for sh that starts it, instead of the service's own command.
	// What is started so need not run on the machine.
	Start string `json:"start,omitempty"`
	// Ready is a line for sh that succeeds when it answers, and Within how long that
	// may take.
	Ready  string        `json:"ready,omitempty"`
	Within time.Duration `json:"within_ns,omitempty"`
	// After are services that have to be ready first. They come along.
	After Strings `json:"after,omitempty"`
	// Settle is a line for sh that is run once for each copy of the data, before any
	// box has it. SettleOf stands for what it reads: another one is another copy.
	Settle   string `json:"settle,omitempty"`
	SettleOf string `json:"settle_of,omitempty"`
	// Dir is where the lines are run.
	Dir string `json:"dir,omitempty"`
}

// ServiceMatch tells a service by what is known of it. All that is said has to be
// true.
type ServiceMatch struct {
	Port int    `json:"port,omitempty"`
	Name string `json:"name,omitempty"` // or that of its recipe
	Data string `json:"data,omitempty"` // a directory or file of its data
	Unit string `json:"unit,omitempty"` // of systemd
}

// CopyNone is no way to copy: the copy of the service begins without data of its
// own.
const CopyNone = "none"

// CopyWays are the ways that can be asked for, beside [CopyNone].
var CopyWays = []string{"snapshot", "reflink", "online", "delta"}

// ServicesNone in place of names of services is none of them.
const ServicesNone = "none"

// Fits says whether a service is the one that is meant.
func (m ServiceMatch) Fits(s Service) bool {
	return (m.Port == 0 || slices.Contains(s.Ports, m.Port)) &&
		(m.Name == "" || m.Name == s.Name || m.Name == s.Recipe) &&
		(m.Unit == "" || m.Unit == s.Unit) &&
		(m.Data == "" || slices.ContainsFunc(s.Data, func(d ServiceData) bool { return d.Path == m.Data }))
}

// mostServices is how many a project can have settings for.
const mostServices = 100

// CheckServices refuses settings that make no sense, by name.
func CheckServices(all map[string]ServiceSettings) error {
	if len(all) > mostServices {
		return Errorf(Invalid, opSettings, "there are %d, and %d is the most", len(all), mostServices)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := CheckServiceName(name); err != nil {
			return err
		}
		if err := all[name].Check(name); err != nil {
			return err
		}
	}
	if circle := ServiceCircle(all); circle != nil {
		return Errorf(Invalid, opSettings, "%s", CircleText(circle)).Hint("leave out one of these `after`")
	}
	return nil
}

const opSettings = "read what is said of services"

// CheckServiceName refuses names that mean something else.
func CheckServiceName(name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	_, err := strconv.Atoi(name)
	switch {
	case name == "" || len(name) > 63 || strings.Trim(name, letters+"-_.") != "" || !strings.Contains(letters, name[:1]):
		return Errorf(Invalid, opSettings, "%q cannot be the name of a service", name).
			Hint("a name has up to 63 lower-case letters, digits, dots and dashes, a letter or digit first")
	case err == nil:
		return Errorf(Invalid, opSettings, "%q cannot be the name of a service: it is taken for a port", name).
			Hint("db: {match: {port: %s}} is one that listens there", name)
	case name == "all" || name == ServicesNone:
		return Errorf(Invalid, opSettings, "%q cannot be the name of a service: it stands for %s of them", name, name)
	}
	return nil
}

// Check refuses what makes no sense together.
func (s ServiceSettings) Check(name string) error {
	bad := func(format string, args ...any) *Error {
		return Errorf(Invalid, opSettings, name+": "+format, args...)
	}
	switch {
	case s.Copy != "" && s.Copy != CopyNone && !slices.Contains(CopyWays, s.Copy):
		return bad("there is no way %q to copy", s.Copy).Hint("it is one of %s, or %s", strings.Join(CopyWays, ", "), CopyNone)
	case s.Copy == CopyNone && len(s.Data) > 0:
		return bad("it has data, and `copy: none` copies nothing").Hint("leave out one of them")
	case s.Copy == CopyNone && s.Settle != "":
		return bad("there is nothing to settle where nothing is copied").Hint("leave out settle, or `copy: none`")
	case carriesOn(s.Settle):
		return bad("psql goes on after an error in a file, and says that all went well: data that is not masked would be taken for masked").
			Hint("psql -v ON_ERROR_STOP=1 -f mask.sql")
	case s.MaxPause != nil && *s.MaxPause < 0, s.MaxStale != nil && *s.MaxStale < 0, s.Within < 0:
		return bad("a time is not below zero")
	case s.Match.Port < 0 || s.Match.Port > 65535:
		return bad("%d is no port", s.Match.Port)
	case (s.Start != "" || s.Ready != "" || s.Settle != "") && !path.IsAbs(s.Dir):
		return bad("its commands have no directory to run in")
	}
	for _, p := range append(slices.Clone(s.Data), strings.TrimSpace(s.Match.Data)) {
		if p != "" && (!path.IsAbs(p) || path.Clean(p) != p || p == "/") {
			return bad("%q is no path of data: it begins with / and has no . or .. in it", p)
		}
	}
	return nil
}

// carriesOn says whether a line has psql read a file without ending at an error.
func carriesOn(line string) bool {
	words := strings.Fields(line)
	reads := slices.ContainsFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "-f") || strings.HasPrefix(w, "--file") || strings.HasPrefix(w, "<") || w == "|"
	})
	return slices.Contains(words, "psql") && reads && !strings.Contains(line, "ON_ERROR_STOP")
}

// ServiceCircle finds services that come after each other, nil if there are none.
// The first is the last as well.
func ServiceCircle(all map[string]ServiceSettings) []string {
	done := map[string]bool{}
	var way []string
	var follow func(name string) []string
	follow = func(name string) []string {
		if at := slices.Index(way, name); at >= 0 {
			return append(slices.Clone(way[at:]), name)
		}
		if done[name] {
			return nil
		}
		way = append(way, name)
		for _, next := range all[name].After {
			if circle := follow(next); circle != nil {
				return circle
			}
		}
		way, done[name] = way[:len(way)-1], true
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if circle := follow(name); circle != nil {
			return circle
		}
	}
	return nil
}

// CircleText is a circle in words.
func CircleText(circle []string) string {
	if len(circle) == 2 {
		return circle[0] + " comes after itself"
	}
	return "they come after each other: " + strings.Join(circle, " after ")
}
