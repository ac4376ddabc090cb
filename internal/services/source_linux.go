package services

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/services/copying"
)

// SourceOf is what there is to copy of a service, and how its engine would.
func SourceOf(s forkbox.Service) (copying.Source, error) {
	const op = "tell how the service's data is copied"
	known, err := recipes()
	if err != nil {
		return copying.Source{}, forkbox.Wrap(op, err)
	}
	source := copying.Source{Name: s.Name, PID: s.PID, UID: s.UID, Watchdog: watchdogOf(s, readUnit("/", s.Unit, homeOf(s.UID)))}
	for _, d := range s.Data {
		// What is copied is never reached through a link.
		path, err := filepath.EvalSymlinks(d.Path)
		if errors.Is(err, fs.ErrNotExist) && s.Recipe == generic { // a file that comes and goes
			if path, err = filepath.EvalSymlinks(filepath.Dir(d.Path)); err == nil {
				path = filepath.Join(path, filepath.Base(d.Path))
			}
		}
		if err != nil {
			return copying.Source{}, forkbox.Errorf(forkbox.NotFound, op, "its data is gone: %w", err)
		}
		source.Paths = append(source.Paths, path)
	}
	source.Paths = withCompanions(source.Paths)
	if s.PID != 0 {
		info, err := os.Stat(procDir(s.PID))
		if err != nil {
			return copying.Source{}, forkbox.Errorf(forkbox.NotFound, op, "%s has ended: there is no process %d any more", s.Name, s.PID)
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			source.GID = int(st.Gid)
		}
	}
	if i := slices.IndexFunc(known, func(r recipe) bool { return r.Name == s.Recipe }); i >= 0 {
		known[i].fill(&source, s)
	}
	return source, nil
}

// FindOthers finds the processes that write to the data of a service and do not
// belong to it: a worker that has the same SQLite database open, a shell with a
// log. They have to stand still with it.
func FindOthers(source *copying.Source) {
	if source.PID == 0 {
		return
	}
	all, err := readTable("/proc")
	if err != nil {
		return // what cannot be seen cannot be stopped
	}
	family := map[int]bool{}
	for _, p := range all.family(source.PID) {
		family[p.pid] = true
	}
	for pid, p := range all {
		if !family[pid] && slices.ContainsFunc(p.writes, func(file string) bool {
			return slices.ContainsFunc(source.Paths, func(path string) bool { return forkbox.Within(file, path) })
		}) {
			source.Others = append(source.Others, pid)
		}
	}
}

// watchdogOf is how long a service may be silent before systemd ends it: what it was
// told itself when it was started, or else what its unit says.
func watchdogOf(s forkbox.Service, u unit) time.Duration {
	if s.PID == 0 {
		return 0
	}
	text, err := os.ReadFile(procDir(s.PID) + "/environ")
	if err != nil {
		return u.watchdog
	}
	for _, line := range splitArgs(string(text)) {
		if n, is := strings.CutPrefix(line, "WATCHDOG_USEC="); is {
			if micros, err := strconv.ParseInt(n, 10, 64); err == nil {
				return time.Duration(micros) * time.Microsecond
			}
		}
	}
	return u.watchdog
}

// withCompanions adds the files that an SQLite database is whole only with, which
// come and go: its log and its journal. Where there are none a box has none.
func withCompanions(paths []string) []string {
	for _, path := range slices.Clone(paths) {
		if isSQLite(path) {
			paths = append(paths, path+"-wal", path+"-shm", path+"-journal")
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// isSQLite says whether a file is a database of SQLite's, by how it begins.
func isSQLite(path string) bool {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var begins [16]byte
	n, err := unix.Read(fd, begins[:])
	return err == nil && string(begins[:n]) == "SQLite format 3\x00"
}

func procDir(pid int) string { return "/proc/" + strconv.Itoa(pid) }

// fill adds what the recipe knows of copying.
func (r *recipe) fill(source *copying.Source, s forkbox.Service) {
	source.Drop = r.Copy.Drop
	source.Durable = r.Copy.Durable.holds(s, source.Paths)
	if s.PID == 0 || len(r.Copy.Online) == 0 || len(source.Paths) > 1 {
		return
	}
	paths := source.Paths
	if r.Copy.Gives != "tar" {
		// A file, whether or not there has been one so far.
		if len(paths) == 0 && s.Dir != "" {
			paths = []string{filepath.Join(s.Dir, r.Copy.Gives)}
		}
		if len(paths) == 0 || filepath.Base(paths[0]) != r.Copy.Gives {
			return
		}
	}
	argv, ok := r.command(s)
	if !ok || len(paths) == 0 {
		return
	}
	source.Paths = paths
	source.Online = &copying.Online{Argv: argv, Gives: r.Copy.Gives, Memory: r.Copy.Memory}
}

// holds says whether a service survives power failures. What cannot be read is
// taken to say that it does not.
func (d durable) holds(s forkbox.Service, paths []string) bool {
	if len(d.Unless) == 0 || len(paths) == 0 {
		return false
	}
	lines := []string{strings.Join(s.Command, " ")}
	var files []string
	for _, name := range d.Config {
		files = append(files, filepath.Join(paths[0], name))
	}
	for _, arg := range s.Command {
		if _, value, is := strings.Cut(arg, "="); is {
			arg = value
		}
		if filepath.IsAbs(arg) && (filepath.Ext(arg) == ".conf" || filepath.Ext(arg) == ".cnf") {
			files = append(files, arg)
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false
		}
		lines = append(lines, strings.Split(string(text), "\n")...)
	}
	for _, p := range d.Unless {
		if slices.ContainsFunc(lines, p.MatchString) {
			return false
		}
	}
	return true
}

// command is the one that copies, with where the service listens filled in.
func (r *recipe) command(s forkbox.Service) ([]string, bool) {
	program, ok := programOf(s.PID, r.Copy.Online[0])
	if !ok {
		return nil, false
	}
	port, dir := "", ""
	if len(s.Sockets) > 0 {
		dir = filepath.Dir(s.Sockets[0])
		// PostgreSQL's has the port in its name, also where it listens on none.
		if _, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(s.Sockets[0]), ".")); err == nil {
			port = strings.TrimPrefix(filepath.Ext(s.Sockets[0]), ".")
		}
	}
	if port == "" && len(s.Ports) > 0 {
		port = strconv.Itoa(s.Ports[0])
	}
	argv := []string{program}
	for _, arg := range r.Copy.Online[1:] {
		if arg == "{port}" && port == "" || arg == "{socketdir}" && dir == "" {
			return nil, false
		}
		argv = append(argv, strings.NewReplacer("{port}", port, "{socketdir}", dir).Replace(arg))
	}
	return argv, true
}

// programOf finds a program of the same version as a service that runs: beside
// it, or else where programs are.
func programOf(pid int, name string) (string, bool) {
	if exe, err := os.Readlink(procDir(pid) + "/exe"); err == nil {
		beside := filepath.Join(filepath.Dir(exe), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return beside, true
		}
	}
	path, err := exec.LookPath(name)
	return path, err == nil
}
