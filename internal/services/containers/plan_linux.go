package containers

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/elsewhere"
	"github.com/forkbox/forkbox/internal/services/containers/contained"
)

// Plan is what a copy of a container consists of.
type Plan struct {
	// Base is where the copy lies in a box, with its root filesystem, its volumes
	// and how they are put together.
	Base string
	// Root is the container's root filesystem, as this machine names it, and
	// Written says that the container keeps data there: then it has to be of the
	// same moment as the volumes.
	Root    string
	Written bool
	// Volumes go below the base, Shared to where they are: they are directories of
	// the machine that the container writes to.
	Volumes []Volume
	Shared  []string
	Spec    contained.Spec
}

// Volume is one that is copied.
type Volume struct {
	From string // on this machine
	To   string // below [Plan.Base]
}

// Paths are those that the copy has as its own in a box.
func (p Plan) Paths() []string { return append([]string{p.Base}, p.Shared...) }

// Data are the places with what has to be of one moment.
func (p Plan) Data() (paths []string) {
	for _, v := range p.Volumes {
		paths = append(paths, v.From)
	}
	paths = append(paths, p.Shared...)
	if p.Written {
		paths = append(paths, p.Root)
	}
	return paths
}

// Plan says what a copy consists of, or why there can be none. kept says whether a
// directory has a database's files in it, whether or not they are open now.
func (c Container) Plan(kept func(dir string) bool) (Plan, error) {
	if err := c.copyable(); err != nil {
		return Plan{}, err
	}
	p := Plan{Base: c.base(), Root: elsewhere.Of(c.PID).Here("/")}
	if p.Root == "" {
		return p, c.cannot("its root filesystem is nowhere on this machine, as its engine's storage driver keeps it").
			Hint("engines that mount it where it can be read are those with overlay2, overlayfs, btrfs and vfs")
	}
	p.Spec = contained.Spec{User: c.said.Config.User, Dir: c.said.Config.WorkingDir, Hostname: hostname(c.said.Config.Hostname)}
	writes := c.writes()
	for _, m := range c.said.Mounts {
		if err := c.plan(&p, m, writes, kept); err != nil {
			return p, err
		}
	}
	for target := range c.said.HostConfig.Tmpfs {
		p.Spec.Mounts = append(p.Spec.Mounts, contained.Mount{Target: target})
	}
	// What is mounted on something else comes after it.
	slices.SortFunc(p.Spec.Mounts, func(a, b contained.Mount) int { return strings.Compare(a.Target, b.Target) })
	p.Written = slices.ContainsFunc(writes, func(file string) bool { return c.ownData(file) })
	for _, port := range c.Ports {
		if port.Host != 0 && port.Host != port.Inner {
			p.Spec.Forward = append(p.Spec.Forward, contained.Forward{From: port.Host, To: port.Inner})
		}
	}
	return p, nil
}

// base names the container, and changes with it: what was taken of one that had
// the same name is not of this one.
func (c Container) base() string {
	return "/var/lib/forkbox-container-" + c.ID[:12]
}

var hex = regexp.MustCompile(`^[0-9a-f]{12,}$`)

// copyable says why no copy of the container can be made, whatever it keeps.
func (c Container) copyable() error {
	mode := c.said.HostConfig.NetworkMode
	switch {
	case !c.Trusted:
		return c.cannot("its engine is another user's, and what that says is not relied on")
	case !hex.MatchString(c.ID):
		return c.cannot("its engine calls it %q, which no engine does", c.ID)
	case c.said.State.Paused:
		return c.cannot("it is paused").Hint("docker unpause %s", c.Name)
	case c.PID == 0:
		return c.cannot("its processes are not on this machine: its engine runs in a machine of its own")
	case strings.HasPrefix(mode, "container:"):
		return c.cannot("it is in the network of another container").Hint("publish its port on itself")
	case len(c.said.HostConfig.Devices) > 0:
		return c.cannot("it needs devices, and boxes have none")
	case !c.sameUsers():
		return c.cannot("its users are others than the machine's: it is in a user namespace").
			Hint("run the engine as root, without userns-remap")
	}
	return nil
}

func (c Container) cannot(format string, args ...any) *forkbox.Error {
	return forkbox.Errorf(forkbox.Unsupported, "copy the container "+c.Name, format, args...)
}

// sameUsers says whether the numbers of users mean the same in it as here.
func (c Container) sameUsers() bool {
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return false
	}
	its, err := os.Readlink(proc(c.PID, "ns/user"))
	return err == nil && own == its
}

// plan adds one thing that is mounted in the container.
func (c Container) plan(p *Plan, m mount, writes []string, kept func(string) bool) error {
	if m.Type == "tmpfs" {
		p.Spec.Mounts = append(p.Spec.Mounts, contained.Mount{Target: m.Destination})
		return nil
	}
	volume := m.Type == "volume"
	if !volume && m.Type != "bind" {
		return c.cannot("it has a %s mounted at %s, which is no directory of this machine", m.Type, m.Destination)
	}
	if volume && m.Driver != "local" && m.Driver != "" {
		return c.cannot("the driver %s keeps its volume %s, and not in a directory of this machine", m.Driver, m.Name).
			Hint("move the data to a volume of the driver local")
	}
	from := c.sourceOf(m)
	if from == "" && volume {
		return c.cannot("its volume %s is no directory that this machine shows", m.Name)
	}
	mounted := contained.Mount{Source: m.Source, Target: m.Destination, ReadOnly: !m.RW}
	switch {
	case volume:
		number := strconv.Itoa(len(p.Volumes))
		p.Volumes = append(p.Volumes, Volume{from, contained.Volume("", number)})
		mounted.Source = contained.Volume(p.Base, number)
	case from == "/":
		return c.cannot("it has the whole machine mounted at %s", m.Destination)
	case from != "" && m.RW && isDir(from) && (below(writes, m.Destination) || kept(from)):
		p.Shared = append(p.Shared, from)
		mounted.Source = from
	}
	p.Spec.Mounts = append(p.Spec.Mounts, mounted)
	return nil
}

// sourceOf is by which name this machine has what is mounted, "" if it has none.
// That what the engine says is there is looked at.
func (c Container) sourceOf(m mount) string {
	if real, err := filepath.EvalSymlinks(m.Source); err == nil && elsewhere.Same(real, c.PID, m.Destination) {
		return real
	}
	return elsewhere.Of(c.PID).Here(m.Destination)
}

// ownData says whether a file that is open for writing is data in the container's
// own root filesystem.
func (c Container) ownData(file string) bool {
	for _, m := range c.said.Mounts {
		if forkbox.Within(file, m.Destination) {
			return false
		}
	}
	for target := range c.said.HostConfig.Tmpfs {
		if forkbox.Within(file, target) {
			return false
		}
	}
	return !forkbox.Within(file, "/tmp") && !forkbox.Within(file, "/run") && !forkbox.Within(file, "/var/run") && !forkbox.Within(file, "/var/log") &&
		!strings.HasSuffix(file, ".log") && !strings.HasSuffix(file, ".pid") && filepath.IsAbs(file)
}

func below(files []string, dir string) bool {
	return slices.ContainsFunc(files, func(file string) bool { return forkbox.Within(file, dir) })
}

func isDir(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// hostname is a name that can stand in a file of hosts, or "".
func hostname(text string) string {
	if len(text) > 253 || text == "localhost" || !name.MatchString(text) {
		return ""
	}
	return text
}

// Hosts are the names by which the container and those of its project are known.
func (c Container) Hosts() (names []string) {
	for text := range c.Names {
		if text = hostname(text); text != "" {
			names = append(names, text)
		}
	}
	slices.Sort(names)
	return names
}

// Argv is the container's command, and Env its environment.
func (c Container) Argv() []string {
	return slices.Concat(c.said.Config.Entrypoint, c.said.Config.Cmd)
}

// Env is the container's environment, as it was given.
func (c Container) Env() []string { return c.said.Config.Env }

// StopSignal is the one that asks it to end, 0 where it does not say.
func (c Container) StopSignal() int {
	text := strings.ToUpper(c.said.Config.StopSignal)
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	if text != "" && !strings.HasPrefix(text, "SIG") {
		text = "SIG" + text
	}
	return int(unix.SignalNum(text))
}
