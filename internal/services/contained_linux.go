package services

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/elsewhere"
	"github.com/forkbox/forkbox/internal/services/containers"
	"github.com/forkbox/forkbox/internal/services/containers/contained"
	"github.com/forkbox/forkbox/internal/services/copying"
)

// contain describes containers as services. Of what the machine itself has found
// it takes away what stands before them: who listens on a port for a container,
// and a container's process that has the network of the machine.
func contain(ctx context.Context, found []forkbox.Service, all []containers.Container, known []recipe) []forkbox.Service {
	for _, c := range all {
		s := describeContainer(ctx, c, known)
		found = slices.DeleteFunc(found, func(other forkbox.Service) bool {
			if other.Container == nil {
				return false
			}
			own := c.HostNetwork && containers.Belongs(other.PID, c.ID)
			if own {
				s.Ports = append(s.Ports, other.Ports...)
			}
			return own || len(other.Ports) > 0 && slices.ContainsFunc(other.Ports, func(port int) bool { return slices.Contains(s.Ports, port) })
		})
		slices.Sort(s.Ports)
		if len(s.Ports)+len(s.Container.Ports) > 0 {
			found = append(found, s)
		}
	}
	return found
}

// describeContainer is a container as a service.
func describeContainer(ctx context.Context, c containers.Container, known []recipe) forkbox.Service {
	its := c.ServiceContainer
	its.Ports, its.Hosts = answering(c), c.Hosts()
	s := forkbox.Service{
		Name: c.Name, Recipe: generic, PID: c.PID, Command: c.Argv(), Ports: []int{}, Data: []forkbox.ServiceData{}, Container: &its,
	}
	if c.Service != "" {
		s.Name = c.Service
	}
	for _, p := range its.Ports {
		if p.Host != 0 {
			s.Ports = append(s.Ports, p.Host)
		}
	}
	slices.Sort(s.Ports)
	s.Ports = slices.Compact(s.Ports)
	if !c.Trusted || c.PID == 0 {
		_, err := c.Plan(keepsData)
		s.Note = why(err)
		return s
	}
	pids := c.Processes()
	s.Processes = len(pids)
	var st unix.Stat_t
	if unix.Stat(procDir(c.PID), &st) == nil {
		s.UID, s.User = int(st.Uid), userName(int(st.Uid))
	}
	if r, _ := recipeIn(pids, known); r != nil {
		s.Recipe = r.Name
	}
	plan, err := c.Plan(keepsData)
	for _, path := range plan.Data() {
		s.Data = append(s.Data, measure(ctx, path))
	}
	s.Note = why(err)
	return s
}

func why(err error) string {
	if err == nil {
		return ""
	}
	return "no box can have a copy: " + copying.Why(err)
}

// answering are the ports of a container that lead to something: those that the
// machine has for it, and of the others those that it listens on.
func answering(c containers.Container) []forkbox.ContainerPort {
	listening, err := readListeners(filepath.Join("/proc", strconv.Itoa(c.PID), "net"))
	if err != nil || c.PID == 0 {
		listening = nil
	}
	return slices.DeleteFunc(slices.Clone(c.Ports), func(p forkbox.ContainerPort) bool {
		if p.Host != 0 {
			return false
		}
		for _, at := range listening {
			if at.port == p.Inner {
				return false
			}
		}
		return true
	})
}

// recipeIn is the recipe for what runs in a container, with the process that it is
// for.
func recipeIn(pids []int, known []recipe) (*recipe, *process) {
	for _, pid := range pids {
		if p, ok := readProcess(procDir(pid), pid); ok {
			if r := match(known, p.names...); r != nil {
				return r, p
			}
		}
	}
	return nil, nil
}

// keepsData says whether a directory is a database's.
func keepsData(dir string) bool {
	known, _ := recipes()
	return slices.ContainsFunc(known, func(r recipe) bool { return r.Data.Marker != "" && exists(filepath.Join(dir, r.Data.Marker)) })
}

// ContainerCopy is how a container's copy is made and started.
type ContainerCopy struct {
	containers.Plan
	container containers.Container
	name      string
}

// OfContainer says how the container that a service is would be copied.
func OfContainer(ctx context.Context, s forkbox.Service) (ContainerCopy, error) {
	c, err := containers.Again(ctx, *s.Container)
	if err != nil {
		return ContainerCopy{}, err
	}
	plan, err := c.Plan(keepsData)
	return ContainerCopy{plan, c, s.Name}, err
}

// startOfContainer says how its copy is started: with its own command, to which
// its recipe adds what keeps it from acting for the container.
func startOfContainer(ctx context.Context, s forkbox.Service, known []recipe, env func([]string) []string) (forkbox.ServiceStart, error) {
	c, err := OfContainer(ctx, s)
	if err != nil {
		return forkbox.ServiceStart{}, err
	}
	start := forkbox.ServiceStart{
		Argv: slices.Concat([]string{contained.Program, contained.Name, c.Base}, c.container.Argv()), Dir: "/", User: userName(0),
		Env: env(c.container.Env()), Patience: patience, Stop: c.container.StopSignal(),
	}
	r, p := recipeIn(c.container.Processes(), known)
	if r == nil {
		return start, nil
	}
	start.Patience = max(r.Start.Patience, patience)
	if start.Stop == 0 && r.Start.Stop != "" {
		start.Stop = int(unix.SignalNum("SIG" + r.Start.Stop))
	}
	words := wordsInContainer(s, p)
	added := r.Start.added(words, nil)
	if len(added) > 0 && !takesOptions(c.container.Argv(), r) {
		return start, forkbox.Errorf(forkbox.Unsupported, "copy the container "+s.Name,
			"it is started by %s, and how %s is told there what a copy must not do is not known", strings.Join(c.container.Argv(), " "), r.Name).
			Hint("name the program in the container's command: command: %s …", r.Programs[0])
	}
	start.Argv = append(start.Argv, added...)
	if ready, ok := fillAll(r.Start.Ready, words); ok && len(ready) > 0 {
		start.Ready = append([]string{"chroot", contained.Root(c.Base)}, ready...)
	}
	return start, nil
}

// takesOptions says whether what is added to a command reaches the program: it is
// the program's own, or an entrypoint's that is given options alone and adds the
// program, as those of the engines' official images do.
func takesOptions(argv []string, r *recipe) bool {
	if len(argv) > 1 && slices.Contains(shells, filepath.Base(argv[0])) && strings.HasPrefix(argv[1], "-") {
		return false
	}
	for i, arg := range argv {
		if slices.Contains(r.Programs, filepath.Base(arg)) {
			return true
		}
		if i > 0 && strings.HasPrefix(arg, "-") {
			return true
		}
	}
	return false
}

// shells take a whole command as one argument (-c), and what is added to theirs is
// not the command's.
var shells = []string{"sh", "bash", "dash", "ash"}

// wordsInContainer are what a recipe's words stand for in a container.
func wordsInContainer(s forkbox.Service, p *process) map[string]string {
	words := map[string]string{"socketdir": "127.0.0.1"}
	if exe, err := os.Readlink(procDir(p.pid) + "/exe"); err == nil {
		words["bindir"] = filepath.Dir(exe)
	}
	if len(s.Container.Ports) > 0 {
		words["port"] = strconv.Itoa(s.Container.Ports[0].Inner)
	} else if len(s.Ports) > 0 {
		words["port"] = strconv.Itoa(s.Ports[0])
	}
	if text, err := os.ReadFile(procDir(p.pid) + "/cwd/PG_VERSION"); err == nil {
		words["version"] = strings.TrimSpace(string(text))
	}
	return words
}

// fillAll puts the words in, if each has a value.
func fillAll(argv []string, words map[string]string) ([]string, bool) {
	filled := fill(argv, words)
	return filled, len(filled) == len(argv) && !slices.ContainsFunc(filled, func(arg string) bool { return strings.Contains(arg, "{") })
}

// Sources are what of it has to be of one moment, with all that runs in it; none
// where it keeps nothing.
func (c ContainerCopy) Sources() []copying.Source {
	if len(c.Data()) == 0 {
		return nil
	}
	return []copying.Source{{Name: c.name, PID: c.container.PID, Others: c.container.Processes()[1:], Paths: c.Data()}}
}

// ContainerCopies are copies of containers that are made together.
type ContainerCopies struct{ all []*containerCopy }

// containerCopy is one while it is made.
type containerCopy struct {
	ContainerCopy
	into string // where its base goes
	root copying.Taken
}

// Begin copies what of a container is not of a moment: its root filesystem, unless
// it keeps data there. put says where the copy of a path goes.
func (cs *ContainerCopies) Begin(ctx context.Context, s forkbox.Service, put func(string) (string, error)) error {
	of, err := OfContainer(ctx, s)
	if err != nil {
		return err
	}
	c := &containerCopy{ContainerCopy: of}
	if c.into, err = put(c.Base); err == nil {
		err = os.MkdirAll(filepath.Join(c.into, "volumes"), 0o755)
	}
	if err == nil {
		err = c.Spec.Write(c.into)
	}
	if err == nil && !c.Written {
		c.root, err = copying.Take(ctx, []copying.Source{{Name: s.Name, Paths: []string{c.Root}}}, copying.Options{
			Put: func(string) (string, error) { return contained.Root(c.into), nil },
		})
	}
	cs.all = append(cs.all, c)
	return err
}

// Sources are what of all of them has to be of one moment.
func (cs *ContainerCopies) Sources() (sources []copying.Source) {
	for _, c := range cs.all {
		sources = append(sources, c.Sources()...)
	}
	return sources
}

// Put says where the copy of a path goes, which others put elsewhere.
func (cs *ContainerCopies) Put(otherwise func(string) (string, error)) func(string) (string, error) {
	return func(path string) (string, error) {
		for _, c := range cs.all {
			if to := c.at(path); to != "" {
				return to, nil
			}
		}
		return otherwise(path)
	}
}

// at is where the copy has what is the container's alone.
func (c *containerCopy) at(path string) string {
	if c.Written && path == c.Root {
		return contained.Root(c.into)
	}
	for _, v := range c.Volumes {
		if v.From == path {
			return filepath.Join(c.into, v.To)
		}
	}
	return ""
}

// End gives each of them the volumes that another has as well, and says how each
// base was copied.
func (cs *ContainerCopies) End(ctx context.Context, t copying.Taken) (map[string]copying.Part, error) {
	parts := map[string]copying.Part{}
	for i, c := range cs.all {
		part := copying.Part{Way: copying.Plain, Bytes: c.root.Bytes}
		for _, path := range c.Data() {
			its, ok := t.Of[path]
			if ok {
				part = copying.Part{Way: its.Way, Paused: its.Paused, Bytes: part.Bytes + its.Bytes}
			}
		}
		for _, v := range c.Volumes {
			if err := cs.share(ctx, v.From, c, cs.all[:i]); err != nil {
				return parts, err
			}
		}
		parts[c.Base] = part
	}
	return parts, nil
}

// share copies a volume from the container that it was copied for.
func (cs *ContainerCopies) share(ctx context.Context, path string, c *containerCopy, before []*containerCopy) error {
	for _, other := range before {
		if from := other.at(path); from != "" {
			_, err := copying.Take(ctx, []copying.Source{{Name: c.name, Paths: []string{from}}}, copying.Options{
				Put: func(string) (string, error) { return c.at(path), nil },
			})
			return err
		}
	}
	return nil
}

// afterOf has the services that a container comes after by the names that they
// have here.
func afterOf(list []forkbox.Service, all []containers.Container) {
	for i := range list {
		its := list[i].Container
		at := slices.IndexFunc(all, func(c containers.Container) bool { return its != nil && its.ID != "" && c.ID == its.ID })
		if at < 0 {
			continue
		}
		for _, other := range list {
			if o := other.Container; o != nil && o.Project == its.Project && slices.Contains(all[at].Depends, o.Service) {
				its.After = append(its.After, other.Name)
			}
		}
	}
}

// proxies listen on ports of the machine for containers.
var proxies = []string{"docker-proxy", "rootlessport", "rootlesskit", "conmon", "slirp4netns", "pasta", "pasta.avx2"}

// foreign says whether a process that listens does so for a container, or is of
// one.
func foreign(p *process) bool {
	return slices.ContainsFunc(p.names, func(name string) bool { return slices.Contains(proxies, name) }) || elsewhere.Is(p.pid)
}

// unknown notes of a service that it is a container's, of which no engine tells.
func unknown(s *forkbox.Service, silent []containers.Silent) {
	s.Container, s.Data = &forkbox.ServiceContainer{}, []forkbox.ServiceData{}
	s.Note = "a container's; no engine answers that tells which"
	if len(silent) > 0 {
		s.Note = fmt.Sprintf("a container's; its engine does not answer at %s: %s", silent[0].Socket, silent[0].Why)
	}
}
