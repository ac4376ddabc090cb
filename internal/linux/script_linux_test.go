package linux

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const patience = 30 * time.Second

// play runs a script to its end. What the child wrote to the pipe comes back.
func play(t *testing.T, flags uintptr, fill func(s *Script, out int)) (said string, skipped []error, err error) {
	t.Helper()
	r, w, perr := os.Pipe()
	must(t, perr)
	defer r.Close()
	s := NewScript()
	fill(s, int(w.Fd()))
	child, ferr := s.Fork(flags)
	must(t, ferr)
	w.Close()
	skipped, err = child.Wait(patience)
	must(t, child.Hold().Wait())
	raw, rerr := io.ReadAll(r)
	must(t, rerr)
	return string(raw), skipped, err
}

// tempDir goes with the test, also when overlayfs left directories in it that
// only root may enter.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fbtest-")
	must(t, err)
	t.Cleanup(func() {
		for _, pattern := range []string{"/*/work/work", "/*/work/work/*", "/*/work/work/*/*"} {
			closed, _ := filepath.Glob(dir + pattern)
			for _, path := range closed {
				must(t, os.Chmod(path, 0o700))
			}
		}
		must(t, os.RemoveAll(dir))
	})
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func say(s *Script, out int, text string) {
	s.free(s.Do("say "+text, unix.SYS_WRITE, out, []byte(text), len(text)))
}

func open(s *Script, path string) Reg {
	return s.Do("open "+path, unix.SYS_OPENAT, unix.AT_FDCWD, path, unix.O_RDONLY, 0)
}

func TestScriptPlaysInOrder(t *testing.T) {
	t.Parallel()
	said, skipped, err := play(t, 0, func(s *Script, out int) {
		say(s, out, "a")
		say(s, out, "b")
		say(s, out, "c")
	})
	if said != "abc" || skipped != nil || err != nil {
		t.Errorf("said %q, skipped %v, %v", said, skipped, err)
	}
}

func TestScriptStopsAtAnError(t *testing.T) {
	t.Parallel()
	said, _, err := play(t, 0, func(s *Script, out int) {
		say(s, out, "a")
		open(s, "/no/such/file")
		say(s, out, "b")
	})
	var step *StepError
	if said != "a" || !errors.As(err, &step) || step.What != "open /no/such/file" || !errors.Is(err, syscall.ENOENT) {
		t.Errorf("said %q, %v", said, err)
	}
}

func TestScriptTry(t *testing.T) {
	t.Parallel()
	said, skipped, err := play(t, 0, func(s *Script, out int) {
		s.Try(func() {
			say(s, out, "a")
			open(s, "/no/such/file")
			say(s, out, "never")
			s.Try(func() { say(s, out, "neither") })
		})
		say(s, out, "b")
		s.Try(func() { say(s, out, "c") })
		s.Try(func() { open(s, "/nor/this") })
		say(s, out, "d")
	})
	if said != "abcd" || err != nil || len(skipped) != 2 || !errors.Is(skipped[0], syscall.ENOENT) {
		t.Errorf("said %q, skipped %v, %v", said, skipped, err)
	}
}

func TestScriptOkay(t *testing.T) {
	t.Parallel()
	said, skipped, err := play(t, 0, func(s *Script, out int) {
		s.Mkdir("/tmp", 0o755) // is there: fine
		open(s, "/no/such/file")
		s.Okay(syscall.ENOENT)
		say(s, out, "a")
		open(s, "/etc/passwd/x")
		s.Okay(syscall.ENOENT) // ENOTDIR is not
		say(s, out, "b")
	})
	if said != "a" || len(skipped) != 0 || !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("said %q, skipped %v, %v", said, skipped, err)
	}
}

// TestScriptMkdirSetsSpecialBits: mkdir does not, and what is there already keeps
// its mode.
func TestScriptMkdirSetsSpecialBits(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	must(t, os.Mkdir(dir+"/old", 0o700))
	said, _, err := play(t, 0, func(s *Script, out int) {
		s.Umask(0)
		s.Mkdir(dir+"/new", 0o2775)
		s.Mkdir(dir+"/old", 0o2775)
		say(s, out, "a")
	})
	if said != "a" || err != nil {
		t.Fatalf("said %q, %v", said, err)
	}
	for name, want := range map[string]os.FileMode{"new": os.ModeDir | os.ModeSetgid | 0o775, "old": os.ModeDir | 0o700} {
		info, err := os.Stat(dir + "/" + name)
		must(t, err)
		if info.Mode() != want {
			t.Errorf("%s has mode %v, not %v", name, info.Mode(), want)
		}
	}
}

// TestScriptRegisters: a result is used by later steps, and many more steps
// than there are registers do not disturb it.
func TestScriptRegisters(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	must(t, os.WriteFile(dir+"/text", []byte("from the file"), 0o600))
	said, _, err := play(t, 0, func(s *Script, out int) {
		file := open(s, dir+"/text")
		for i := range 3 * maxRegs {
			s.Mkdir(fmt.Sprint(dir, "/", i), 0o755)
			s.WriteFile(fmt.Sprint(dir, "/", i, "/x"), 0o600, []byte("x"))
		}
		s.free(s.Do("copy", unix.SYS_SENDFILE, out, file, 0, 100))
		s.Do("close", unix.SYS_CLOSE, file)
	})
	if said != "from the file" || err != nil {
		t.Errorf("said %q, %v", said, err)
	}
	if st, err := os.Stat(dir + "/191/x"); err != nil || st.Size() != 1 {
		t.Errorf("the last file: %v", err)
	}
}

func TestScriptExec(t *testing.T) {
	t.Parallel()
	sh, err := os.Open("/bin/sh")
	must(t, err)
	defer sh.Close()
	said, _, err := play(t, 0, func(s *Script, out int) {
		s.Keep(out, int(sh.Fd()))
		s.Dup(out, 1)
		s.Exec(int(sh.Fd()), []string{"name", "-c", `echo "$A" "$0"; ls /proc/self/fd`, "zero"}, []string{"A=b c"})
	})
	if lines := strings.Fields(said); err != nil || !strings.HasPrefix(said, "b c zero\n") || len(lines) > 3+4 {
		t.Errorf("said %q, %v", said, err)
	}
}

// namespace is the flags and first steps that let a script mount, for root and
// other users.
func namespace(s *Script) {
	s.MapSelf(os.Geteuid(), os.Getegid())
	s.Private()
}

const newMounts = unix.CLONE_NEWUSER | unix.CLONE_NEWNS

// TestScriptTellsWhatTheFilesystemSaid: EINVAL alone does not help the user.
func TestScriptTellsWhatTheFilesystemSaid(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	for _, d := range []string{"upper", "work", "target"} {
		must(t, os.Mkdir(dir+"/"+d, 0o755))
	}
	must(t, os.WriteFile(dir+"/lower", nil, 0o644))
	_, _, err := play(t, newMounts, func(s *Script, out int) {
		namespace(s)
		s.Overlay(Overlay{Lower: []string{dir + "/lower"}, Upper: dir + "/upper", Work: dir + "/work", UserXattr: true, OneLowerdir: !HasLowerdirPlus()}, dir+"/target")
	})
	var step *StepError
	if !errors.As(err, &step) || !strings.HasPrefix(step.What, "mount overlay on "+dir+"/target") || !strings.Contains(step.Log, "not a directory") {
		t.Errorf("got %v", err)
	}
}

// TestOverlayPaths: commas, colons, backslashes and spaces in paths.
func TestOverlayPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "a,b", "a:b", `a\b`, "a b", `a\:b`, "ü"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t) + "/" + name
			must(t, os.Mkdir(dir, 0o755))
			for _, d := range []string{"lower", "upper", "work", "target"} {
				must(t, os.Mkdir(dir+"/"+d, 0o755))
			}
			must(t, os.WriteFile(dir+"/lower/file", []byte("content"), 0o644))
			said, _, err := play(t, newMounts, func(s *Script, out int) {
				namespace(s)
				s.Overlay(Overlay{Lower: []string{dir + "/lower"}, Upper: dir + "/upper", Work: dir + "/work", UserXattr: true, OneLowerdir: !HasLowerdirPlus()}, dir+"/target")
				s.Mkdir(dir+"/target/new", 0o755)
				file := open(s, dir+"/target/file")
				s.Do("copy", unix.SYS_SENDFILE, out, file, 0, 100)
			})
			if said != "content" || err != nil {
				t.Errorf("said %q, %v", said, err)
			}
			if _, err := os.Stat(dir + "/upper/new"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBindIsReadOnly(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	must(t, os.Mkdir(dir+"/target", 0o755))
	_, _, err := play(t, newMounts, func(s *Script, out int) {
		namespace(s)
		s.Bind(dir, dir+"/target", unix.MOUNT_ATTR_RDONLY, false)
		s.Mkdir(dir+"/target/new", 0o755)
	})
	if !errors.Is(err, syscall.EROFS) {
		t.Errorf("got %v", err)
	}
}

func TestForkRefused(t *testing.T) {
	t.Parallel()
	if child, err := NewScript().Fork(unix.CLONE_NEWUSER | unix.CLONE_FS); err == nil {
		_ = child.Hold().Wait()
		t.Error("the kernel took flags that exclude each other")
	}
}

// TestSyncHandsOver: the child waits for the parent's byte.
func TestSyncHandsOver(t *testing.T) {
	t.Parallel()
	reached, notify, err := os.Pipe()
	must(t, err)
	wait, resume, err := os.Pipe()
	must(t, err)
	defer reached.Close()
	defer wait.Close()
	go func() {
		if n, _ := reached.Read(make([]byte, 1)); n == 1 {
			_, _ = resume.Write([]byte{1})
		}
	}()
	said, _, err := play(t, 0, func(s *Script, out int) {
		s.Sync(int(notify.Fd()), int(wait.Fd()), int(resume.Fd()))
		say(s, out, "done")
	})
	notify.Close()
	resume.Close()
	if said != "done" || err != nil {
		t.Errorf("said %q, %v", said, err)
	}
}

// TestSyncEndsWithTheParent: a child that waits for a parent that is gone
// would wait for ever, with all the mounts it made.
func TestSyncEndsWithTheParent(t *testing.T) {
	t.Parallel()
	reached, notify, err := os.Pipe()
	must(t, err)
	wait, resume, err := os.Pipe()
	must(t, err)
	s := NewScript()
	s.Sync(int(notify.Fd()), int(wait.Fd()), int(resume.Fd()))
	child, err := s.Fork(0)
	must(t, err)
	notify.Close()
	_, _ = reached.Read(make([]byte, 1))
	for _, f := range []*os.File{reached, wait, resume} {
		f.Close() // as when the parent dies
	}
	if _, err := child.Wait(patience); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got %v", err)
	}
	must(t, child.Hold().Wait())
}

// TestScriptThatHangs fails in time instead of hanging the daemon.
func TestScriptThatHangs(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	must(t, err)
	defer r.Close()
	defer w.Close()
	s := NewScript()
	s.Do("wait for ever", unix.SYS_READ, int(r.Fd()), make([]byte, 1), 1)
	child, err := s.Fork(0)
	must(t, err)
	if _, err := child.Wait(10 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "did not finish") {
		t.Errorf("got %v", err)
	}
	p := child.Hold()
	must(t, p.Kill(unix.SIGKILL))
	must(t, p.Wait())
}
