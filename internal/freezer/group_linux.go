package freezer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// errNoGroup says that this host does not let us make a cgroup.
var errNoGroup = errors.New("no cgroup can be made")

// group is a cgroup made for freezing, a child of the one that the box is in.
type group struct {
	dir    string
	parent string
	v2     bool
}

func (f *Frozen) byGroup(ctx context.Context, init int, id, noteFile string) error {
	g, err := newGroup(init, id)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoGroup, err)
	}
	if err := save(noteFile, note{Group: g.dir, Parent: g.parent, V2: g.v2}); err != nil {
		return errors.Join(err, g.remove())
	}
	f.thaw = func() error { return errors.Join(g.release(), forget(noteFile)) }
	// Whoever comes into a frozen group is frozen, so nobody gets away by
	// having children meanwhile.
	err = g.set(true)
	if err == nil {
		err = settle(ctx, func() (bool, error) { return g.gather(init) }, g.again)
	}
	if err == nil {
		err = settle(ctx, g.frozen, g.again)
	}
	if err != nil {
		return errors.Join(err, f.thaw())
	}
	return nil
}

// newGroup makes a group beside which nothing of the host is touched.
func newGroup(init int, id string) (*group, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", init))
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, h := range hierarchies(string(raw)) {
		g := &group{dir: filepath.Join(h.parent, "forkbox-"+id), parent: h.parent, v2: h.v2}
		if err := os.Mkdir(g.dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			errs = append(errs, err)
			continue
		}
		if _, err := os.Stat(g.file()); err != nil { // a hierarchy without a freezer
			errs = append(errs, err, g.remove())
			continue
		}
		return g, nil
	}
	return nil, errors.Join(append(errs, unix.ENOENT)...)
}

// hierarchies lists where a process's group is that can be frozen, as
// /proc/PID/cgroup tells: of version 1 the freezer's, of version 2 the one.
func hierarchies(text string) (list []group) {
	for _, line := range strings.Split(text, "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 || !filepath.IsAbs(parts[2]) {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
				if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
					list = append(list, group{parent: filepath.Join(root, parts[2]), v2: true})
				}
			}
		case parts[1] == "freezer":
			list = append([]group{{parent: filepath.Join("/sys/fs/cgroup/freezer", parts[2])}}, list...)
		}
	}
	return list
}

func (g *group) file() string {
	if g.v2 {
		return filepath.Join(g.dir, "cgroup.freeze")
	}
	return filepath.Join(g.dir, "freezer.state")
}

func (g *group) set(frozen bool) error {
	value := map[[2]bool]string{{false, false}: "THAWED", {false, true}: "FROZEN", {true, false}: "0", {true, true}: "1"}[[2]bool{g.v2, frozen}]
	return os.WriteFile(g.file(), []byte(value), 0)
}

// gather takes in what is below init. It is done when a whole round found
// nobody new: what is in the group has no more children.
func (g *group) gather(init int) (done bool, err error) {
	inside, err := g.members()
	if err != nil {
		return false, err
	}
	done = true
	for _, pid := range descendants(init) {
		if inside[pid] || isZombie(pid) { // whose parent stands still already
			continue
		}
		done = false
		err := os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
		if err != nil && !errors.Is(err, unix.ESRCH) && !isZombie(pid) {
			return false, fmt.Errorf("process %d: %w", pid, err)
		}
	}
	return done, nil
}

// again lets them go on for a moment.
func (g *group) again() error {
	err := g.set(false)
	time.Sleep(time.Millisecond)
	return errors.Join(err, g.set(true))
}

func (g *group) members() (map[int]bool, error) {
	raw, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	set := map[int]bool{}
	for _, word := range strings.Fields(string(raw)) {
		if pid, err := strconv.Atoi(word); err == nil {
			set[pid] = true
		}
	}
	return set, nil
}

// frozen asks whether everybody has come to a stop.
func (g *group) frozen() (bool, error) {
	if g.v2 {
		raw, err := os.ReadFile(filepath.Join(g.dir, "cgroup.events"))
		return bytes.Contains(raw, []byte("frozen 1")), err
	}
	raw, err := os.ReadFile(g.file())
	return strings.TrimSpace(string(raw)) == "FROZEN", err
}

// release lets everybody go on, where they came from, and removes the group.
func (g *group) release() error {
	err := g.set(false)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return errors.Join(err, g.empty(), g.remove())
}

// empty moves everybody back to where they came from. That takes several
// rounds: they have children meanwhile, and whoever has ended stays in the
// group until its parent has noticed.
func (g *group) empty() error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return settle(ctx, func() (bool, error) {
		inside, err := g.members()
		if err != nil || len(inside) == 0 {
			return true, err
		}
		for pid := range inside {
			err := os.WriteFile(filepath.Join(g.parent, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return false, err
			}
		}
		return false, nil
	}, func() error { return nil })
}

func (g *group) remove() error {
	err := os.Remove(g.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
