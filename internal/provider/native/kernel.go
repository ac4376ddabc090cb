//go:build linux

package native

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// mask has something in /proc or /sys that knows no namespaces look empty.
type mask struct {
	path string
	dir  bool
}

// masks lists what of /proc and /sys looks empty in a box of a root daemon:
// its root has the host's root uid, and these check only that.
func masks() []mask {
	candidates := []mask{
		{"/proc/acpi", true}, {"/proc/asound", true}, {"/proc/scsi", true}, {"/proc/dynamic_debug", true},
		{"/sys/firmware", true}, {"/sys/kernel/debug", true},
		{"/proc/kcore", false}, {"/proc/keys", false}, {"/proc/key-users", false}, {"/proc/kmsg", false},
		{"/proc/timer_list", false}, {"/proc/latency_stats", false}, {"/proc/sched_debug", false},
		{"/proc/kpagecount", false}, {"/proc/kpageflags", false}, {"/proc/kpagecgroup", false},
	}
	return slices.DeleteFunc(candidates, func(m mask) bool {
		_, err := os.Lstat(m.path)
		return err != nil
	})
}

// lookAtProc finds what of /proc is the host's: all but the processes. The
// kernel has one of each for every /proc there is, with one mode and one owner,
// which root in a root daemon's box could set, having the owner's uid. (Without
// root no box has that uid.) It is looked at for each box, since modules add to it.
func (b *builder) lookAtProc(plan *plan) error {
	if b.rootless {
		return nil
	}
	entries, err := linux.ProcEntries()
	if err != nil {
		return err
	}
	if !slices.Contains(entries, "sys") {
		return forkbox.Errorf(forkbox.Unsupported, "start the box", "the daemon's /proc shows only processes, so that what boxes must not change in theirs is not known").
			Hint("start the daemon with a whole /proc: without ProcSubset=pid in its unit, or subset=pid among the options of the mount")
	}
	plan.proc = plan.proc[:0]
	for _, name := range entries {
		if !slices.ContainsFunc(plan.masks, func(m mask) bool { return m.path == "/proc/"+name }) {
			plan.proc = append(plan.proc, name)
		}
	}
	return nil
}

// kernelViews makes /proc and /sys.
func (p *plan) kernelViews(s *linux.Script) {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	p.stub(s, "/proc")
	p.stub(s, "/sys")
	s.Mount("proc", p.at("/proc"), "proc", flags, "")
	p.bareProc = s.Detached(p.at("/proc"))
	p.fixProc(s)
	if p.sysfs {
		s.Mount("sysfs", p.at("/sys"), "sysfs", flags|unix.MS_RDONLY, "")
	} else {
		attr := unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
		s.Bind("/sys", p.at("/sys"), attr, p.rootless)
	}
	for _, m := range p.masks {
		with := blank
		if m.dir {
			with = nothing
		}
		s.Bind(filepath.Join(p.veil.dir, with), p.at(m.path), unix.MOUNT_ATTR_RDONLY, false)
	}
}

// fixProc makes what of /proc is the host's read-only, content and attributes.
// A read-only mount of all of it would do so in one step, but processes write
// to what is theirs there (oom_score_adj, comm, uid_map). What is bound while
// it is read-only stays so.
func (p *plan) fixProc(s *linux.Script) {
	if len(p.proc) == 0 {
		return
	}
	s.ReadOnly(p.at("/proc"), true)
	s.Chdir(p.at("/proc")) // dozens of binds, and the way there is a good part of what each costs
	for _, name := range p.proc {
		s.BindAlike(name)
	}
	s.ReadOnly(p.at("/proc"), false)
}
