package held

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/elsewhere"
	"github.com/forkbox/forkbox/internal/linux"
)

// view is where files are looked for, and whose processes may hold them.
type view interface {
	lstat(file string) (unix.Stat_t, error)
	open(file string, flags uint64) (int, error)
	pids() []string
	number(pid string) string // as the user who reads it knows the process
	on(dir, file uint64) bool // whether a file may lie in a directory, by their devices
	// names gives, for what a process calls a file, what it is called here.
	names(pid string) func(string) string
}

// reality is the machine: any process may hold what is in it.
type reality struct{}

func (reality) lstat(file string) (st unix.Stat_t, err error) {
	err = unix.Lstat(file, &st)
	return st, err
}

func (reality) open(file string, flags uint64) (int, error) {
	return linux.OpenAt(unix.AT_FDCWD, file, flags|unix.O_NOFOLLOW, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS)
}

func (reality) pids() (pids []string) {
	names, _ := os.ReadDir("/proc")
	for _, n := range names {
		if pid := n.Name(); strings.Trim(pid, "0123456789") == "" {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (reality) number(pid string) string { return "pid " + pid }

func (reality) on(dir, file uint64) bool { return dir == file }

// names: a container has a directory of the machine where it likes.
func (reality) names(pid string) func(string) string {
	n, err := strconv.Atoi(pid)
	if err != nil || !elsewhere.Is(n) {
		return func(name string) string { return name }
	}
	its := sync.OnceValue(func() elsewhere.Names { return elsewhere.Of(n) })
	return func(name string) string { return its().Here(name) }
}

// InBox is a search among the processes of a box, whose host's numbers these
// are, for what lies below root, the box's own. Paths are those that the box
// sees.
func InBox(root *os.File, pids []int) *Search { return search(box{root, pids}) }

type box struct {
	root *os.File
	all  []int
}

func (b box) lstat(file string) (st unix.Stat_t, err error) {
	fd, err := b.open(file, unix.O_PATH)
	if err != nil {
		return st, err
	}
	defer unix.Close(fd)
	err = unix.Fstat(fd, &st)
	return st, err
}

// open follows nothing: a symlink in the box must not lead out of it.
func (b box) open(file string, flags uint64) (int, error) {
	return linux.OpenAt(int(b.root.Fd()), "."+file, flags|unix.O_NOFOLLOW, linux.Beneath)
}

func (b box) pids() (pids []string) {
	for _, pid := range b.all {
		pids = append(pids, strconv.Itoa(pid))
	}
	return pids
}

// number is the one that the box's owner sees, in the box and in forkbox ps.
func (b box) number(pid string) string {
	status, _ := os.ReadFile("/proc/" + pid + "/status")
	for line := range strings.Lines(string(status)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			// The host's first, then that of each namespace further in.
			if all := strings.Fields(numbers); len(all) > 1 {
				return "pid " + all[1] + " in the box"
			}
		}
	}
	return "pid " + pid + " of the host"
}

// on: a file on overlayfs may have another device than the directory that it is
// in.
func (b box) on(uint64, uint64) bool { return true }

func (b box) names(string) func(string) string { return func(name string) string { return name } }
