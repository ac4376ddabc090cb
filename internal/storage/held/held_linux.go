package held

import (
	"errors"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// Search is told what is about to be replaced, deleted or moved, and finds who
// holds it. Whether any process has a file open for writing the kernel says in
// one step; /proc is read only to find the holder's name, and for what the
// kernel does not tell: directories, filesystems without leases, other users'
// files. What no process holds is not remembered.
//
// It looks and prevents nothing: who opens a file later is not seen.
type Search struct {
	view      view
	files     map[inode]string
	sure      []string        // of the files, those that are open for writing
	dirs      map[string]goal // by path: a box may delete many, one by one
	devices   map[uint64]bool // that they are on
	databases databases
	found     map[string]forkbox.Caution
}

// NewSearch is one that was told nothing yet.
func NewSearch() *Search { return search(reality{}) }

func search(v view) *Search {
	exists := func(p string) bool {
		_, err := v.lstat(p)
		return err == nil
	}
	return &Search{
		view: v, files: map[inode]string{}, dirs: map[string]goal{}, devices: map[uint64]bool{}, found: map[string]forkbox.Caution{},
		databases: databases{exists: exists, top: map[string]string{}},
	}
}

// File is about to be replaced or deleted; it may be something else, or not be
// there.
func (s *Search) File(file string) {
	s.New(file)
	s.file(file)
}

func (s *Search) file(file string) {
	switch id, w := s.look(file); w {
	case written:
		s.sure = append(s.sure, file)
		s.files[id] = file
	case unknown:
		s.files[id] = file
	}
}

// New is about to come to be: no database gets files while its server runs, or
// who has it open.
func (s *Search) New(file string) {
	if db := besides(file); db != "" {
		s.file(db)
	}
	if dir := s.databases.of(path.Dir(file)); dir != "" {
		s.add(dir, true)
	}
}

// Dir is about to go or move, with all that is below it.
func (s *Search) Dir(dir string) {
	s.New(dir)
	s.add(dir, false)
}

func (s *Search) add(dir string, database bool) {
	g, known := s.dirs[dir]
	if known {
		g.database = g.database || database
		s.dirs[dir] = g
		return
	}
	if st, err := s.view.lstat(dir); err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		s.dirs[dir] = goal{uint64(st.Dev), database}
		s.devices[uint64(st.Dev)] = true
	}
}

// Find names what is held, and by whom, by path.
func (s *Search) Find() []forkbox.Caution {
	if len(s.files)+len(s.dirs) == 0 {
		return nil
	}
	s.processes()
	s.locks()
	for _, file := range s.sure {
		if _, named := s.found[file]; named {
			continue
		}
		// Who wrote in passing has closed it by now.
		if _, w := s.look(file); w == written {
			s.found[file] = forkbox.Caution{Path: file, Why: unnamed}
		}
	}
	list := slices.Collect(maps.Values(s.found))
	slices.SortFunc(list, func(a, b forkbox.Caution) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// writing says what is known of a file.
type writing int

const (
	nobody  writing = iota // no process has it open for writing, or it is no regular file
	written                // a process has
	unknown
)

// inode is a file as every process sees it, by whatever name. A box's own
// files have the device of its overlay, not reality's.
type inode struct{ dev, ino uint64 }

// look asks the kernel for a read lease, which it gives only while no process
// has the file open for writing or mapped so, and gives it back at once.
func (s *Search) look(file string) (inode, writing) {
	st, err := s.view.lstat(file)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return inode{}, nobody // nothing is there, or land will say why not
	}
	id := inode{uint64(st.Dev), st.Ino}
	fd, err := s.view.open(file, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return id, unknown
	}
	defer unix.Close(fd) // which ends the lease
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case err == nil:
		return id, nobody
	case errors.Is(err, unix.EAGAIN):
		return id, written
	}
	return id, unknown
}

// goal is a directory in which no process may write.
type goal struct {
	dev      uint64
	database bool // a process that works in it holds it, too
}

func (s *Search) processes() {
	for _, pid := range s.view.pids() {
		s.process(pid)
	}
}

// process looks at one. What may not be read, or has ended, holds nothing that
// could be told.
func (s *Search) process(pid string) {
	dir := "/proc/" + pid + "/"
	var here func(string) string
	if len(s.dirs) > 0 {
		here = s.view.names(pid)
		if cwd, err := os.Readlink(dir + "cwd"); err == nil {
			s.works(pid, cwd, dir+"cwd", here)
		}
	}
	fds, _ := os.ReadDir(dir + "fd")
	for _, fd := range fds {
		s.descriptor(pid, fd.Name(), here)
	}
	if len(s.files) > 0 {
		s.mappings(pid)
	}
}

// works finds servers whose working directory is that of their database.
func (s *Search) works(pid, cwd, link string, here func(string) string) {
	var st unix.Stat_t
	if unix.Stat(link, &st) != nil || !s.onDevice(uint64(st.Dev)) {
		return
	}
	cwd = here(cwd)
	if g := s.dirs[cwd]; g.database && s.view.on(g.dev, uint64(st.Dev)) {
		s.hold(cwd, pid)
	}
}

func (s *Search) descriptor(pid, fd string, here func(string) string) {
	link := "/proc/" + pid + "/fd/" + fd
	var st unix.Stat_t
	if unix.Stat(link, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	hit := s.hits(inode{uint64(st.Dev), st.Ino}, func() string {
		name, err := os.Readlink(link)
		if err != nil {
			return ""
		}
		return here(name)
	})
	if len(hit) > 0 && linux.OpenForWriting("/proc/"+pid+"/fdinfo/"+fd) {
		for _, p := range hit {
			s.hold(p, pid)
		}
	}
}

// hits are the paths that a file belongs to.
func (s *Search) hits(id inode, name func() string) (list []string) {
	if p, ok := s.files[id]; ok {
		list = append(list, p)
	}
	if len(s.dirs) == 0 || !s.onDevice(id.dev) {
		return list
	}
	for at := name(); path.IsAbs(at); at = path.Dir(at) {
		if g, ok := s.dirs[at]; ok && s.view.on(g.dev, id.dev) {
			list = append(list, at)
		}
		if at == "/" {
			break
		}
	}
	return list
}

// onDevice says whether a file may lie in any of the directories.
func (s *Search) onDevice(dev uint64) bool {
	for its := range s.devices {
		if s.view.on(its, dev) {
			return true
		}
	}
	return false
}

func (s *Search) hold(p, pid string) {
	if _, known := s.found[p]; known {
		return
	}
	name, _ := os.ReadFile("/proc/" + pid + "/comm")
	s.found[p] = forkbox.Caution{Path: p, Why: "held by " + strings.TrimSpace(string(name)) + ", " + s.view.number(pid)}
}

// mappings finds files that are mapped to be written to and may not be open
// any more. The list has them by name; whether that is still the file is asked.
func (s *Search) mappings(pid string) {
	text, err := os.ReadFile("/proc/" + pid + "/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(line, " ", 6)
		if len(fields) < 6 || len(fields[1]) != 4 || fields[1][1] != 'w' || fields[1][3] != 's' {
			continue
		}
		name := strings.TrimSpace(fields[5])
		st, err := s.view.lstat(name)
		if err != nil {
			continue
		}
		if p, ok := s.files[inode{uint64(st.Dev), st.Ino}]; ok && p == name {
			s.hold(p, pid)
		}
	}
}
