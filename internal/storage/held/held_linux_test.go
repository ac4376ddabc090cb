package held

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// hold starts a process that runs a script, says that it did, and waits.
func hold(t *testing.T, script string) (pid int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script+"; echo ready; read end")
	if _, err := cmd.StdinPipe(); err != nil { // it waits for its end
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	return cmd.Process.Pid
}

func scene(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "other", "dir/deep/file", "pg/PG_VERSION", "pg/base/1/2"} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func text(t *testing.T, dir string, s *Search) string {
	t.Helper()
	var lines []string
	for _, c := range s.Find() {
		lines = append(lines, strings.TrimPrefix(c.Path, dir+"/")+": "+c.Why)
	}
	return strings.Join(lines, "\n")
}

// TestWhatIsHeld: the holder is named, by its name and number.
func TestWhatIsHeld(t *testing.T) {
	for name, row := range map[string]struct {
		script, file, dir, want string // %d is the pid; file and dir are what is to go
	}{
		"nobody":                    {"true", "file", "dir", ""},
		"a reader":                  {"exec 3<file", "file", "", ""},
		"a writer":                  {"exec 3>>file", "file", "", "file: held by sh, pid %d"},
		"a reader and writer":       {"exec 3<>file", "file", "", "file: held by sh, pid %d"},
		"another file":              {"exec 3<>file", "other", "", ""},
		"by another name":           {"ln file alias; exec 3<>alias", "file", "", "file: held by sh, pid %d"},
		"below a directory":         {"exec 3<>dir/deep/file", "", "dir", "dir: held by sh, pid %d"},
		"read below a directory":    {"exec 3<dir/deep/file", "", "dir", ""},
		"beside a directory":        {"exec 3<>file", "", "dir", ""},
		"a database's directory":    {"cd pg", "pg/base/1/2", "", "pg: held by sh, pid %d"},
		"a new file in a database":  {"exec 3<>pg/base/1/2", "pg/base/1/new", "", "pg: held by sh, pid %d"},
		"a database without server": {"true", "pg/base/1/2", "", ""},
		"a new log of a database":   {"exec 3<>file", "file-wal", "", "file: held by sh, pid %d"},
		"a journal of a database":   {"exec 3<>file", "file-journal", "", "file: held by sh, pid %d"},
		"a log that nobody reads":   {"exec 3<file", "file-wal", "", ""},
		"a log of nothing":          {"exec 3<>file", "nothing-wal", "", ""},
		"a new file beside Aria":    {"touch dir/aria_log_control; exec 3<>dir/aria_log_control", "dir/new", "", "dir: held by sh, pid %d"},
		"work in a plain directory": {"cd dir", "dir/deep/file", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := scene(t)
			pid := hold(t, "cd '"+dir+"'; "+row.script)
			s := NewSearch()
			if row.file != "" {
				s.File(filepath.Join(dir, row.file))
			}
			if row.dir != "" {
				s.Dir(filepath.Join(dir, row.dir))
			}
			want := row.want
			if want != "" {
				want = fmt.Sprintf(want, pid)
			}
			if got := text(t, dir, s); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestWhatIsHeldInABox: only the box's processes are named, by the number that
// they have in it, and paths are those below its root.
func TestWhatIsHeldInABox(t *testing.T) {
	dir := scene(t)
	root, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.Symlink("/etc", dir+"/out"); err != nil {
		t.Fatal(err)
	}
	writes := hold(t, "cd '"+dir+"'; exec 3>>file 4<other")
	by := fmt.Sprintf("held by sh, pid %d of the host", writes)
	for name, row := range map[string]struct {
		pids []int
		file string
		want string
	}{
		"a writer":          {[]int{writes}, "/file", "/file: " + by},
		"a reader":          {[]int{writes}, "/other", ""},
		"somebody else":     {[]int{os.Getpid()}, "/file", "/file: " + unnamed},
		"nothing there":     {[]int{writes}, "/none", ""},
		"out of the box":    {[]int{writes}, "/out/passwd", ""},
		"a name of reality": {[]int{writes}, dir + "/file", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := InBox(root, row.pids)
			s.File(row.file)
			if got := text(t, "", s); "/"+got != row.want && got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

// A file that is mapped and not open any more is written to all the same.
func TestAMappedFileIsHeld(t *testing.T) {
	dir := scene(t)
	f, err := os.OpenFile(filepath.Join(dir, "file"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	s := NewSearch()
	s.File(filepath.Join(dir, "file"))
	if got, want := text(t, dir, s), fmt.Sprintf(", pid %d", os.Getpid()); !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := unix.Munmap(memory); err != nil {
		t.Fatal(err)
	}
	s = NewSearch()
	s.File(filepath.Join(dir, "file"))
	if got := text(t, dir, s); got != "" {
		t.Error(got)
	}
}

// Who closes a file before anything lands does not hold it.
func TestWhoHasClosedAFileDoesNotHoldIt(t *testing.T) {
	dir := scene(t)
	f, err := os.OpenFile(filepath.Join(dir, "file"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSearch()
	s.File(f.Name())
	f.Close()
	if got := text(t, dir, s); got != "" {
		t.Error(got)
	}
}

// What is no regular file is not opened, or a pipe without a writer would have
// the daemon wait.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := scene(t)
	if err := unix.Mkfifo(dir+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewSearch()
	for _, p := range []string{dir + "/pipe", dir + "/nothing", dir + "/dir", "/dev/null"} {
		s.File(p)
	}
	if got := text(t, dir, s); got != "" {
		t.Error(got)
	}
}

// TestLocksTellOfWhomCannotBeLookedAt: a user may not see what the processes of
// others have open; what they locked is no secret.
func TestLocksTellOfWhomCannotBeLookedAt(t *testing.T) {
	// On a filesystem whose files have the device that it is known by.
	dir, err := os.MkdirTemp("/dev/shm", "fbtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var files []*os.File
	for _, name := range []string{"locked", "data/ibdata1", "free"} {
		file := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(file), 0o755)
		f, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
	}
	s := NewSearch()
	for _, name := range []string{"locked", "free", "data/new"} {
		s.File(filepath.Join(dir, name))
	}
	for _, f := range files[:2] { // only now: a process loses its locks with any close of the file
		if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
			t.Fatal(err)
		}
	}
	s.locks() // and nothing of what /proc says of single processes
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	by := fmt.Sprintf("held by %s, pid %d", strings.TrimSpace(string(comm)), os.Getpid())
	if len(s.found) != 2 || s.found[filepath.Join(dir, "locked")].Why != by || s.found[filepath.Join(dir, "data")].Why != by {
		t.Errorf("found %v, want %q for two", s.found, by)
	}
}

func TestLinesOfLocks(t *testing.T) {
	for line, want := range map[string]string{
		"1: POSIX  ADVISORY  WRITE 2657 fe:01:1234 0 EOF":    "2657 {65025 1234}",
		"1: POSIX  ADVISORY  READ 2657 fe:01:1234 0 EOF":     "",
		"1: FLOCK  ADVISORY  WRITE 2657 fe:01:1234 0 EOF":    "",
		"1: -> POSIX  ADVISORY  WRITE 2657 fe:01:1234 0 EOF": "",
		"1: POSIX  ADVISORY  WRITE 0 fe:01:1234 0 EOF":       "",
		"1: POSIX  ADVISORY  WRITE -1 fe:01:1234 0 EOF":      "",
		"1: POSIX  ADVISORY  WRITE 1 <none>:0 0 EOF":         "",
		"": "",
	} {
		got := ""
		if id, pid, ok := writeLock(line); ok {
			got = fmt.Sprint(pid, " ", id)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// TestManyDirectories: of many directories that go one by one, all those are
// named that a file is open in, and no others.
func TestManyDirectories(t *testing.T) {
	dir := scene(t)
	s := NewSearch()
	for i := range 500 {
		at := fmt.Sprintf("%s/many/%d/deep", dir, i)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		s.Dir(at)
		s.Dir(filepath.Dir(at))
	}
	pid := hold(t, "cd '"+dir+"'; exec 3>many/7/deep/file 4>many/77/file")
	want := fmt.Sprintf("many/7: held by sh, pid %d\nmany/7/deep: held by sh, pid %d\nmany/77: held by sh, pid %d", pid, pid, pid)
	if got := text(t, dir, s); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// BenchmarkManyDirectories is for b.N directories: what one takes must not
// depend on how many there are.
func BenchmarkManyDirectories(b *testing.B) {
	dir := b.TempDir()
	for i := range b.N {
		if err := os.Mkdir(fmt.Sprintf("%s/%d", dir, i), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	s := NewSearch()
	for i := range b.N {
		s.Dir(fmt.Sprintf("%s/%d", dir, i))
	}
	s.Find()
}
