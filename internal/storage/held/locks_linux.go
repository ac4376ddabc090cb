package held

import (
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// locks finds who has locked a file to write to it. The kernel tells every user
// of all locks, also of processes whose files they may not look at. Databases
// lock what they have open; InnoDB and Aria lock the file that marks their
// directory.
func (s *Search) locks() {
	wanted := map[inode]string{}
	for id, file := range s.files {
		wanted[id] = file
	}
	for dir, g := range s.dirs {
		for i := 0; g.database && i < len(stores); i++ {
			if st, err := s.view.lstat(path.Join(dir, stores[i])); err == nil {
				wanted[inode{uint64(st.Dev), st.Ino}] = dir
			}
		}
	}
	if len(wanted) == 0 {
		return
	}
	text, err := os.ReadFile("/proc/locks")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		if id, pid, ok := writeLock(line); ok && wanted[id] != "" {
			s.hold(wanted[id], pid)
		}
	}
}

// writeLock reads a line of /proc/locks:
//
//	1: POSIX  ADVISORY  WRITE 2657 fe:00:1234 0 EOF
//
// Only such a lock needs a file that is open for writing. Who waits for one has
// an arrow before the kind, and does not hold it.
func writeLock(line string) (id inode, pid string, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 || f[1] != "POSIX" || f[3] != "WRITE" {
		return id, "", false
	}
	at := strings.Split(f[5], ":")
	if len(at) != 3 {
		return id, "", false
	}
	major, err1 := strconv.ParseUint(at[0], 16, 32)
	minor, err2 := strconv.ParseUint(at[1], 16, 32)
	ino, err3 := strconv.ParseUint(at[2], 10, 64)
	if n, err := strconv.Atoi(f[4]); err != nil || n <= 0 || err1 != nil || err2 != nil || err3 != nil {
		return id, "", false // of a process that this one cannot name
	}
	return inode{unix.Mkdev(uint32(major), uint32(minor)), ino}, f[4], true
}
