package services

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// order is what a caller wants of services: which, and how each is copied and run.
type order struct {
	with     []string
	pause    *time.Duration // of the caller's own word; nil: what settings say
	anew     bool           // whatever there is already
	settings map[string]forkbox.ServiceSettings
	letIn    []int                      // ports that lead to the machine's own services
	env      []string                   // of the caller, without credentials
	places   []string                   // where the caller's credentials lie, see [forkbox.Box]
	after    map[string]forkbox.Strings // made by choose: what each comes after, by name
}

// maxPause is for how long a service may stand still. What the caller says now
// counts more than what a project says.
func (o *order) maxPause(s forkbox.Service) time.Duration {
	set := o.settings[s.Name]
	switch {
	case o.pause != nil:
		return *o.pause
	case set.MaxPause != nil:
		return *set.MaxPause
	}
	return maxPause
}

// maxStale is how old a still of a service may be.
func (o *order) maxStale(s forkbox.Service) time.Duration {
	switch set := o.settings[s.Name]; {
	case o.anew:
		return 0
	case set.MaxStale != nil:
		return *set.MaxStale
	}
	return maxStale
}

// kept is for how long after it was taken a still may be used by a box that is made
// as this one is.
func (o *order) kept(s forkbox.Service) time.Duration {
	if set := o.settings[s.Name]; set.MaxStale != nil {
		return *set.MaxStale
	}
	return maxStale
}

// identity tells the data of a service apart from that of another which comes to
// have its name, and from that which is copied or settled in another way.
func (o *order) identity(s forkbox.Service, data []string) string {
	id := fmt.Sprint(data, s.Ports, s.UID)
	set := o.settings[s.Name]
	if set.Copy == "" && set.Settle == "" && set.Start == "" {
		return id
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{set.Copy, set.Settle, set.SettleOf, set.Start, set.Dir}))
	return id + fmt.Sprintf(" %x", sum[:8])
}

// chosen is a service that was asked for, under the name that settings give it.
type chosen struct {
	forkbox.Service
	known string // what it is called without settings
}

// choose finds what was asked for, and what that comes after.
func (o *order) choose(op string, who forkbox.Owner, found []forkbox.Service) ([]forkbox.Service, error) {
	c := chooser{order: o, op: op, who: who}
	if err := c.name(found); err != nil {
		return nil, err
	}
	for _, word := range o.with {
		if _, err := c.take(word); err != nil {
			return nil, err
		}
	}
	o.after = map[string]forkbox.Strings{}
	for i := 0; i < len(c.taken); i++ { // it grows
		if err := c.takeBefore(c.taken[i]); err != nil {
			return nil, err
		}
	}
	if err := o.checkCircle(op); err != nil {
		return nil, err
	}
	return c.taken, o.checkPorts(op, c.taken)
}

// chooser finds services by what they are called.
type chooser struct {
	*order
	op    string
	who   forkbox.Owner
	all   []chosen
	taken []forkbox.Service
}

// name gives the services that run the names that settings have for them.
func (c *chooser) name(found []forkbox.Service) error {
	for _, s := range found {
		c.all = append(c.all, chosen{s, s.Name})
	}
	for _, name := range slices.Sorted(maps.Keys(c.settings)) {
		matches := c.matches(name)
		switch {
		case len(matches) == 0:
			continue
		case len(matches) > 1 && slices.Contains(c.with, name):
			return forkbox.Errorf(forkbox.Conflict, c.op, "%s may be %s or %s", name, matches[0].known, matches[1].known).
				Hint("say which: services: {%s: {match: {port: N}}}", name)
		case len(matches) > 1:
			continue
		}
		if other := matches[0].Name; other != matches[0].known && other != name {
			return forkbox.Errorf(forkbox.Conflict, c.op, "%s and %s are the same service: %s", other, name, matches[0].known).
				Hint("say with `match` which each of them is")
		}
		matches[0].Name = name
	}
	return nil
}

// matches are the services that settings of a name are for.
func (c *chooser) matches(name string) (all []*chosen) {
	match := c.settings[name].Match
	for i := range c.all {
		s := &c.all[i]
		plain := s.Service
		plain.Name = s.known
		if match == (forkbox.ServiceMatch{}) && goesBy(plain, name) || match != (forkbox.ServiceMatch{}) && match.Fits(plain) {
			all = append(all, s)
		}
	}
	return all
}

// take finds services by a word, and gives their names.
func (c *chooser) take(word string) (names []string, err error) {
	var meant []forkbox.Service
	for _, s := range c.all {
		plain := s.Service
		plain.Name = s.known
		if s.Name == word || !c.isName(word) && goesBy(plain, word) {
			meant = append(meant, s.Service)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.settings)) {
		set := c.settings[name]
		if set.Start == "" || c.runs(name) || word != name && word != "all" && word != strconv.Itoa(set.Match.Port) {
			continue
		}
		s, err := c.defined(name)
		if err != nil {
			return nil, err
		}
		meant = append(meant, s)
	}
	if len(meant) == 0 {
		return nil, c.nothing(word)
	}
	for _, s := range meant {
		if !slices.ContainsFunc(c.taken, func(t forkbox.Service) bool { return t.Name == s.Name }) {
			c.taken = append(c.taken, c.withData(s))
		}
		names = append(names, s.Name)
	}
	return names, nil
}

// isName says whether a word is a name that settings give: then it means nothing
// else.
func (c *chooser) isName(word string) bool {
	_, is := c.settings[word]
	return is
}

// runs says whether the service of some settings was found.
func (c *chooser) runs(name string) bool {
	return slices.ContainsFunc(c.all, func(s chosen) bool { return s.Name == name })
}

// defined is a service that is known by its start line alone.
func (c *chooser) defined(name string) (forkbox.Service, error) {
	set := c.settings[name]
	if set.Match.Port == 0 && set.Ready == "" {
		return forkbox.Service{}, forkbox.Errorf(forkbox.Invalid, c.op, "%s does not run here, and it is not said how its copy is known to be ready", name).
			Hint("match: {port: 3000} has it be ready when it takes connections there; ready: {exec: \"true\"} at once")
	}
	s := forkbox.Service{Name: name, Recipe: generic, UID: c.who.UID, User: c.who.Name, Ports: []int{}, Data: []forkbox.ServiceData{}}
	if set.Match.Port != 0 {
		s.Ports = append(s.Ports, set.Match.Port)
	}
	return s, nil
}

// generic is the recipe of services without one.
const generic = "generic"

// withData has a service keep what settings say.
func (c *chooser) withData(s forkbox.Service) forkbox.Service {
	set := c.settings[s.Name]
	if len(set.Data) > 0 {
		s.Data = nil
		for _, path := range set.Data {
			s.Data = append(s.Data, forkbox.ServiceData{Path: path})
		}
	}
	return s
}

// nothing is the error for a word that means no service.
func (c *chooser) nothing(word string) error {
	if c.isName(word) {
		return forkbox.Errorf(forkbox.NotFound, c.op, "nothing runs here that you may see and that is what settings say of %q", word).
			Hint("start it, or say with `start` how a box is to").Hint("forkbox services lists what runs")
	}
	names := []forkbox.Service{}
	for _, s := range c.all {
		names = append(names, s.Service)
	}
	for _, name := range slices.Sorted(maps.Keys(c.settings)) {
		if !c.runs(name) && c.settings[name].Start != "" {
			names = append(names, forkbox.Service{Name: name})
		}
	}
	return forkbox.Errorf(forkbox.NotFound, c.op, "no service %q runs here that you may see", word).Hint("%s", namesOf(names))
}

// takeBefore takes what a service comes after as well.
func (c *chooser) takeBefore(s forkbox.Service) error {
	var before forkbox.Strings
	for _, word := range c.settings[s.Name].After {
		names, err := c.take(word)
		if err != nil {
			var known *forkbox.Error
			if errors.As(err, &known) {
				known.Hint("%s comes after it", s.Name)
			}
			return err
		}
		before = append(before, names...)
	}
	c.after[s.Name] = before
	return nil
}

// checkCircle finds circles that only show when it is known what each word means.
func (o *order) checkCircle(op string) error {
	all := map[string]forkbox.ServiceSettings{}
	for name, before := range o.after {
		all[name] = forkbox.ServiceSettings{After: before}
	}
	if circle := forkbox.ServiceCircle(all); circle != nil {
		return forkbox.Errorf(forkbox.Invalid, op, "%s", forkbox.CircleText(circle)).Hint("leave out one of these `after`")
	}
	return nil
}

// checkPorts refuses a port that would lead both to a copy and to the machine's own
// service.
func (o *order) checkPorts(op string, list []forkbox.Service) error {
	for _, s := range list {
		for _, port := range s.PortsInBox() {
			if slices.Contains(o.letIn, port) {
				return forkbox.Errorf(forkbox.Invalid, op, "port %d would lead both to the copy of %s and to the machine's own service", port, s.Name).
					Hint("either have a copy of it: --with %s", s.Name).Hint("or let the machine's own in: --let-in %d", port)
			}
		}
	}
	return nil
}

// startOf says how the copy of a service is started.
func (o *order) startOf(who forkbox.Owner, s forkbox.Service, found func() (forkbox.ServiceStart, error)) (forkbox.ServiceStart, error) {
	set := o.settings[s.Name]
	start := forkbox.ServiceStart{UID: who.UID, GID: who.GID, User: who.Name, Env: o.env, Patience: patience}
	if s.PID != 0 || s.Container != nil {
		var err error
		// A line of one's own needs no command line that can be read.
		if start, err = found(); err != nil && (set.Start == "" || forkbox.CodeOf(err) != forkbox.Unsupported) {
			return start, err
		}
	}
	if set.Start != "" {
		start.Argv, start.Dir = shellIn(set.Dir, set.Start), "/"
	}
	if set.Ready != "" {
		start.Ready = shellIn(set.Dir, set.Ready)
	}
	start.Patience = core.OrElse(set.Within, start.Patience)
	return start, nil
}

// patience is how long a service that is defined may take until it answers.
const patience = time.Minute

// shellIn runs a line in a directory that the user it is run as may not be let into:
// then it says so. The line's own shell is the last to run, so that a single program
// takes its place and gets its signals.
func shellIn(dir, line string) forkbox.Strings {
	return forkbox.Strings{"sh", "-c", `cd -- "$1" && exec sh -c "$2"`, "sh", dir, line}
}
