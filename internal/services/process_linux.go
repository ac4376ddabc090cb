package services

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/forkbox/forkbox/internal/linux"
)

// process is one of the host, as /proc tells of it.
type process struct {
	pid, parent int
	uid         int
	names       []string // what the program is called: its file's name, and the name it was started by
	args        []string
	dir         string
	unit        string
	sockets     []string // inodes
	writes      []string // regular files that are open for writing
}

// table is the processes that share this network, by pid. What the caller may not
// look at is not in it.
type table map[int]*process

func readTable(proc string) (table, error) {
	own, err := os.Readlink(filepath.Join(proc, "self/ns/net"))
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	all := table{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join(proc, e.Name())
		// Boxes and containers have networks of their own.
		if net, err := os.Readlink(filepath.Join(dir, "ns/net")); err != nil || net != own {
			continue
		}
		if p, ok := readProcess(dir, pid); ok {
			all[pid] = p
		}
	}
	return all, nil
}

// readProcess reads one. It may end meanwhile.
func readProcess(dir string, pid int) (*process, bool) {
	p := &process{pid: pid}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		p.uid = int(st.Uid)
	}
	if p.parent, err = parentOf(dir); err != nil {
		return nil, false
	}
	if exe, err := os.Readlink(filepath.Join(dir, "exe")); err == nil {
		p.names = append(p.names, path.Base(strings.TrimSuffix(exe, " (deleted)")))
	}
	if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil {
		p.args = splitArgs(string(line))
	}
	if len(p.args) > 0 {
		p.names = append(p.names, nameOf(p.args[0]))
	}
	p.dir, _ = os.Readlink(filepath.Join(dir, "cwd"))
	if text, err := os.ReadFile(filepath.Join(dir, "cgroup")); err == nil {
		p.unit = unitOf(string(text))
	}
	p.readFiles(dir)
	return p, true
}

// splitArgs takes a command line apart. A program that has written a title over
// it ends it with more than one zero.
func splitArgs(line string) []string {
	line = strings.TrimRight(line, "\x00")
	if line == "" {
		return nil
	}
	return strings.Split(line, "\x00")
}

// nameOf is the program's name in its first argument, or in the title that it
// shows there: "nginx: master process …", "redis-server *:6379".
func nameOf(arg string) string {
	first, _, _ := strings.Cut(arg, " ")
	return path.Base(strings.TrimSuffix(first, ":"))
}

// parentOf reads it from stat, in which the program's name may have spaces and
// brackets.
func parentOf(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0, err
	}
	rest := string(text[strings.LastIndexByte(string(text), ')')+1:])
	f := strings.Fields(rest)
	if len(f) < 2 {
		return 0, os.ErrInvalid
	}
	return strconv.Atoi(f[1])
}

// unitOf is the service of systemd that a process is in, "" if none.
func unitOf(cgroups string) string {
	for line := range strings.Lines(cgroups) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 || f[1] != "" && f[1] != "name=systemd" {
			continue
		}
		names := strings.Split(f[2], "/")
		for _, name := range slices.Backward(names) {
			if strings.HasSuffix(name, ".service") && !strings.HasPrefix(name, "user@") {
				return name
			}
		}
	}
	return ""
}

// readFiles finds the sockets of a process, and the files that it writes to.
func (p *process) readFiles(dir string) {
	fds, _ := os.ReadDir(filepath.Join(dir, "fd"))
	for _, fd := range fds {
		to, err := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
		switch {
		case err != nil:
		case strings.HasPrefix(to, "socket:["):
			p.sockets = append(p.sockets, strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]"))
		case strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "/dev/") && !strings.HasSuffix(to, " (deleted)"):
			if linux.OpenForWriting(filepath.Join(dir, "fdinfo", fd.Name())) {
				p.writes = append(p.writes, to)
			}
		}
	}
}

// family is a process with all that came from it, by pid.
func (t table) family(root int) []*process {
	var all []*process
	for _, p := range t {
		for at, steps := p, 0; at != nil && steps < len(t); at, steps = t[at.parent], steps+1 {
			if at.pid == root {
				all = append(all, p)
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b *process) int { return a.pid - b.pid })
	return all
}
