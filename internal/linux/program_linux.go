package linux

import (
	"golang.org/x/sys/unix"
)

// Enter moves the child into the cgroup behind a `tasks` or `cgroup.procs`
// file that is open for writing: zero means who writes. The rights are those of
// the process that opened the file.
func (s *Script) Enter(fds ...int) {
	for _, fd := range fds {
		s.free(s.Do("enter the cgroup", unix.SYS_WRITE, fd, []byte("0"), 1))
	}
}

// Expendable has the kernel kill the child and what it starts before others
// when memory runs out. It does not matter if that cannot be said.
func (s *Script) Expendable(score string) {
	s.Try(func() { s.writeProc("/proc/self/oom_score_adj", score) })
}

// Stamp marks the child and all that it will start with a number, which [Stamped]
// reads: as its limit on the time that a real-time process may run without a
// pause. Nothing comes near the limit, no program looks at it, and unlike a
// session or an environment it is never left behind.
func (s *Script) Stamp(number uint64) {
	limit := unix.Rlimit{Cur: stampBase + number, Max: stampBase + number}
	s.Try(func() { s.free(s.Do("stamp", unix.SYS_PRLIMIT64, 0, StampLimit, &limit, 0)) })
}

// StampLimit is the number of that limit.
const StampLimit = 15

const stampBase = 1 << 50 // microseconds: some thirty years

// Stamped says whether a process has the stamp.
func Stamped(pid int, number uint64) bool {
	var limit unix.Rlimit
	err := unix.Prlimit(pid, StampLimit, nil, &limit)
	return err == nil && limit.Max == stampBase+number
}

// Become makes the child another user.
func (s *Script) Become(uid, gid uint32, groups []uint32) {
	list := make([]byte, 0, 4*len(groups))
	for _, g := range groups {
		list = append(list, byte(g), byte(g>>8), byte(g>>16), byte(g>>24))
	}
	s.free(s.Do("set groups", unix.SYS_SETGROUPS, len(groups), list))
	s.free(s.Do("set the group", unix.SYS_SETGID, int(gid)))
	s.free(s.Do("set the user", unix.SYS_SETUID, int(uid)))
}

// StepChdir is what a [StepError] says of a directory that cannot be entered.
const StepChdir = "enter the directory"

// Chdir changes the child's directory.
func (s *Script) Chdir(dir string) { s.free(s.Do(StepChdir, unix.SYS_CHDIR, dir)) }

// Place gives the program files under numbers of their own. A number that is
// missing is closed in the program. high is above all the numbers.
func (s *Script) Place(files map[int]int, high int) {
	first := s.used
	s.above = high
	copies := map[int]Reg{}
	for number, fd := range files {
		// Out of the way first: one's number may be another's file.
		copies[number] = s.Do("move a file", unix.SYS_FCNTL, fd, unix.F_DUPFD_CLOEXEC, high)
	}
	for number, from := range copies {
		s.Do("place a file", unix.SYS_DUP3, from, number, 0)
		s.used = first + Reg(len(files))
	}
	s.free(first)
}

// Terminal makes the terminal open as stdin the session's own.
func (s *Script) Terminal() { s.free(s.Do("take the terminal", unix.SYS_IOCTL, 0, unix.TIOCSCTTY, 1)) }

// StepExec is what a [StepError] says of a program that cannot be executed.
const StepExec = "execute the program"

// StepShell is what a [StepError] says where there is no shell for a script.
const StepShell = "execute the shell"

// Run executes the program at path. What the kernel does not know how to execute
// is a script without a first line that says it: then it is the shell's, as with
// execvp.
func (s *Script) Run(path string, argv, env []string) {
	const shell = "/bin/sh"
	variables := vector(env)
	s.Do(StepExec, unix.SYS_EXECVE, path, vector(argv), variables)
	s.Okay(unix.ENOEXEC)
	s.Do(StepShell, unix.SYS_EXECVE, shell, vector(append([]string{shell, path}, argv[1:]...)), variables)
}
