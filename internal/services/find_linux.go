package services

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/services/containers"
)

// Find lists what listens on this machine, by name: of one user, or of all for
// root; and the containers of the engines that the user may ask. What this process
// may not look at it does not find. The notes are about what it was not told.
func Find(ctx context.Context, who forkbox.Owner) (found []forkbox.Service, notes []string, err error) {
	const op = "look for services"
	known, err := recipes()
	if err != nil {
		return nil, nil, forkbox.Wrap(op, err)
	}
	all, silent := containers.Find(ctx, who)
	if found, err = findHere(ctx, who.UID, known, silent); err != nil {
		return nil, nil, forkbox.Wrap(op, err)
	}
	found = contain(ctx, found, all, known)
	nameApart(found)
	afterOf(found, all)
	for _, s := range silent {
		notes = append(notes, fmt.Sprintf("containers are not listed: no engine answers at %s: %s", s.Socket, s.Why))
	}
	return found, notes, ctx.Err()
}

// findHere lists what the machine itself knows of.
func findHere(ctx context.Context, uid int, known []recipe, silent []containers.Silent) ([]forkbox.Service, error) {
	waiting, err := readListeners("/proc/self/net")
	if err != nil {
		return nil, err
	}
	all, err := readTable("/proc")
	if err != nil {
		return nil, err
	}
	found := []forkbox.Service{}
	for _, root := range all.owners(waiting) {
		p := all[root.pid]
		if uid != 0 && p.uid != uid || slices.Contains(p.names, "forkbox") {
			continue
		}
		recipe := match(known, p.names...)
		if recipe == nil && !root.onNetwork() {
			continue // an agent for keys, a bus: part of the desktop
		}
		family := all.family(p.pid)
		if foreign(p) {
			// Its paths are not the machine's.
			s := describe(ctx, root, nil, nil)
			s.Processes = len(family)
			if !slices.ContainsFunc(found, func(other forkbox.Service) bool { return other.Container != nil && slices.Equal(other.Ports, s.Ports) }) {
				unknown(&s, silent) // for the other version of IP there is another proxy
				found = append(found, s)
			}
			continue
		}
		found = append(found, describe(ctx, root, family, recipe))
	}
	return found, nil
}

// readListeners finds all sockets of a network that wait for connections. dir is
// what /proc has of the network.
func readListeners(dir string) (map[string]listener, error) {
	all := map[string]listener{}
	for name, read := range map[string]func(io.Reader, map[string]listener) error{"tcp": readTCP, "tcp6": readTCP, "unix": readUnix} {
		f, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without it
		}
		if err != nil {
			return nil, err
		}
		err = read(f, all)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// root is the process that a service consists of, with what came from it.
type root struct {
	*process
	at []listener
}

// onNetwork says whether a port leads to it.
func (r root) onNetwork() bool {
	return slices.ContainsFunc(r.at, func(at listener) bool { return at.port != 0 })
}

// owners are the processes that listeners belong to: of those that have a socket,
// the one that the others come from. Init holds the sockets that it starts
// services for; they belong to these.
func (t table) owners(waiting map[string]listener) []root {
	found := map[int]*root{}
	for _, p := range t {
		for _, socket := range p.sockets {
			at, listens := waiting[socket]
			if !listens || p.pid == 1 || t.inherited(p, socket) {
				continue
			}
			if found[p.pid] == nil {
				found[p.pid] = &root{process: p}
			}
			found[p.pid].at = append(found[p.pid].at, at)
		}
	}
	var all []root
	for _, r := range found {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b root) int { return a.pid - b.pid })
	return all
}

// inherited says whether a process has a socket from the one that made it.
func (t table) inherited(p *process, socket string) bool {
	parent := t[p.parent]
	return parent != nil && parent.pid != 1 && slices.Contains(parent.sockets, socket)
}

func describe(ctx context.Context, r root, family []*process, known *recipe) forkbox.Service {
	s := forkbox.Service{
		Recipe: generic, PID: r.pid, Processes: len(family), UID: r.uid, User: userName(r.uid),
		Command: r.args, Dir: r.dir, Unit: r.unit, Ports: []int{}, Data: []forkbox.ServiceData{},
	}
	for _, at := range r.at {
		if at.path != "" {
			s.Sockets = append(s.Sockets, at.path)
		} else {
			s.Ports = append(s.Ports, at.port)
		}
	}
	slices.Sort(s.Ports)
	s.Ports = slices.Compact(s.Ports) // of both versions of IP
	slices.Sort(s.Sockets)
	s.Sockets = slices.Compact(s.Sockets)
	var paths []string
	if known != nil {
		s.Name, s.Recipe = known.Name, known.Name
		paths, s.Note = known.data(r.process)
	} else {
		s.Name = cmp.Or(append(r.names, "pid-"+strconv.Itoa(r.pid))...)
		paths, s.Note = written(family)
	}
	for _, path := range paths {
		s.Data = append(s.Data, measure(ctx, path))
	}
	return s
}

// userName is a user's name, or the id where the host knows none.
func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}

// data finds what a service keeps, by its recipe.
func (r *recipe) data(p *process) (paths []string, note string) {
	base := p.dir
	if r.Data.Marker != "" {
		if base = r.home(p); base == "" {
			return nil, fmt.Sprintf("its data was not found: neither its working directory nor its command line leads to a %s", r.Data.Marker)
		}
	}
	for _, rel := range r.Data.Paths {
		if path := filepath.Join(base, rel); exists(path) {
			paths = append(paths, path)
		}
	}
	for _, pattern := range r.Data.Links {
		links, _ := filepath.Glob(filepath.Join(base, pattern))
		for _, link := range links {
			if to, err := filepath.EvalSymlinks(link); err == nil && !forkbox.Within(to, base) {
				paths = append(paths, to)
			}
		}
	}
	return paths, ""
}

// home is the directory with the marker: the working directory, or one that the
// command line names.
func (r *recipe) home(p *process) string {
	for _, arg := range append([]string{p.dir}, p.args...) {
		if _, value, is := strings.Cut(arg, "="); is {
			arg = value
		}
		if filepath.IsAbs(arg) && exists(filepath.Join(arg, r.Data.Marker)) {
			return filepath.Clean(arg)
		}
	}
	return ""
}

// mostFiles is how many files of a service without a recipe are named.
const mostFiles = 20

// written is what a service without a recipe keeps, as far as it can be told: the
// files that it has open for writing, without logs.
func written(family []*process) (paths []string, note string) {
	for _, p := range family {
		for _, file := range p.writes {
			if !strings.HasSuffix(file, ".log") && !forkbox.Within(file, "/var/log") && !forkbox.Within(file, "/proc") && !forkbox.Within(file, "/sys") {
				paths = append(paths, file)
			}
		}
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if more := len(paths) - mostFiles; more > 0 {
		return paths[:mostFiles], fmt.Sprintf("it writes to %d files more", more)
	}
	return paths, ""
}

// nameApart sorts services by name, and tells those of one name apart by port,
// or else by process.
func nameApart(list []forkbox.Service) {
	count := map[string]int{}
	for _, s := range list {
		count[s.Name]++
	}
	for i := range list {
		if s := &list[i]; count[s.Name] > 1 {
			apart := s.PID
			if len(s.Ports) > 0 {
				apart = s.Ports[0]
			}
			s.Name = fmt.Sprintf("%s-%d", s.Name, apart)
		}
	}
	slices.SortFunc(list, func(a, b forkbox.Service) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.PID, b.PID))
	})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
