package copying

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/freezer"
)

// into has copies go to a directory.
func into(dir string) func(string) (string, error) {
	return func(path string) (string, error) { return filepath.Join(dir, filepath.Base(path)), nil }
}

// plenty is a pause that a busy machine has time enough in.
const plenty = time.Minute

func TestADeltaIsOfOneMoment(t *testing.T) {
	dir := t.TempDir()
	pid := startWriter(t, dir)
	var last uint64
	for range 5 {
		to := t.TempDir()
		taken, err := Take(t.Context(), []Source{{Name: "writer", PID: pid, Paths: []string{dir}}}, Options{Put: into(to), MaxPause: plenty, Way: Delta})
		must(t, err)
		if taken.Way != Delta || taken.Paused <= 0 || taken.Files < 5 || taken.Bytes < slots*slotSize || taken.At.IsZero() {
			t.Errorf("%+v", taken)
		}
		n := checkWriter(t, filepath.Join(to, filepath.Base(dir)))
		if n <= last {
			t.Fatalf("it stood at %d, and then at %d: it does not go on", last, n)
		}
		last = n
	}
}

// Several services that are named together are copied as of one moment.
func TestServicesTogetherStopTogether(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	sources := []Source{
		{Name: "a", PID: startWriter(t, a), Paths: []string{a}},
		{Name: "b", PID: startWriter(t, b), Paths: []string{b, filepath.Join(b, "6-names")}},
	}
	to := t.TempDir()
	put := func(path string) (string, error) { return filepath.Join(to, strings.ReplaceAll(path, "/", "_")), nil }
	_, err := Take(t.Context(), sources, Options{Put: put, MaxPause: plenty})
	must(t, err)
	for _, dir := range []string{a, b} {
		at, _ := put(dir)
		checkWriter(t, at)
	}
}

func TestARefusalSaysThePause(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	pid := startWriter(t, dir)
	for _, pause := range []time.Duration{0, time.Millisecond} {
		_, err := Take(t.Context(), []Source{{Name: "writer", PID: pid, Paths: []string{dir}}}, Options{Put: into(to), MaxPause: pause, Way: Delta})
		if err == nil || !strings.Contains(err.Error(), "writer would stand still for about ") || !strings.Contains(hints(err), "`--pause 5s`") {
			t.Errorf("%v, hint %q", err, hints(err))
		}
		wantEmpty(t, to)
	}
}

func hints(err error) string {
	if e, ok := err.(*forkbox.Error); ok {
		return strings.Join(e.Hints, " ")
	}
	return ""
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%s is left", left[0])
	}
}

// A copy that hangs while the service stands still fails, and the service goes on
// without it.
func TestALateCopyIsNone(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	pid := startWriter(t, dir)
	hang := func(int64, int64) {
		for freezer.State(pid) == 'T' {
			time.Sleep(time.Millisecond)
		}
	}
	_, err := Take(t.Context(), []Source{{Name: "writer", PID: pid, Paths: []string{dir}}}, Options{Put: into(to), MaxPause: 2 * time.Second, Way: Delta, Progress: hang})
	if forkbox.CodeOf(err) != forkbox.TimedOut && forkbox.CodeOf(err) != forkbox.Busy {
		t.Errorf("%v", err)
	}
	wantEmpty(t, to)
	waitRunning(t, pid)
}

func TestWaysThatAreNone(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	pid := startWriter(t, dir)
	for _, way := range []string{"online", "plain", "magic"} {
		_, err := Take(t.Context(), []Source{{Name: "writer", PID: pid, Paths: []string{dir}}}, Options{Put: into(to), MaxPause: plenty, Way: way})
		if forkbox.CodeOf(err) != forkbox.Unsupported {
			t.Errorf("%s: %v", way, err)
		}
	}
	_, err := Take(t.Context(), []Source{{Name: "me", PID: os.Getppid(), Paths: []string{dir}}}, Options{Put: into(to), MaxPause: plenty})
	if forkbox.CodeOf(err) != forkbox.Unsupported {
		t.Errorf("what this test was started by would be stopped: %v", err)
	}
	wantEmpty(t, to)
}

func TestOnline(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	pid := startWriter(t, dir)
	source := func(script, gives string) []Source {
		return []Source{{Name: "writer", PID: pid, UID: os.Getuid(), GID: os.Getgid(), Paths: []string{dir}, Drop: []string{"x.pid"}, Online: &Online{Argv: []string{"sh", "-c", script}, Gives: gives}}}
	}
	taken, err := Take(t.Context(), source("echo me: $HOME$FORKBOX_HOME", "file"), Options{Put: into(to)})
	must(t, err)
	text, err := os.ReadFile(filepath.Join(to, filepath.Base(dir), "file"))
	if err != nil || string(text) != "me:\n" || taken.Way != Engine || taken.Paused != 0 || taken.Files != 1 || taken.Bytes != 4 {
		t.Errorf("%q %v %+v", text, err, taken)
	}
	must(t, os.RemoveAll(filepath.Join(to, filepath.Base(dir))))

	taken, err = Take(t.Context(), source("cd $(mktemp -d) && mkdir d && echo 1 >d/f && echo 2 >x.pid && ln -s / l && tar -cf - . && rm -r $PWD", "tar"), Options{Put: into(to)})
	must(t, err)
	text, err = os.ReadFile(filepath.Join(to, filepath.Base(dir), "d/f"))
	if err != nil || string(text) != "1\n" || taken.Files != 1 {
		t.Errorf("%q %v %+v", text, err, taken)
	}
	if _, err := os.Lstat(filepath.Join(to, filepath.Base(dir), "x.pid")); err == nil {
		t.Error("what is to be dropped is there")
	}
	must(t, os.RemoveAll(filepath.Join(to, filepath.Base(dir))))

	// An archive whose names lead out of the copy is refused.
	_, err = Take(t.Context(), source("cd $(mktemp -d) && ln -s /tmp l && tar -cf a.tar l && rm l && mkdir l && echo 1 >l/fbtest-out && tar -rf a.tar l/fbtest-out && cat a.tar && rm -r $PWD", "tar"), Options{Put: into(to), Way: Engine})
	if err == nil {
		t.Error("it is taken")
	}
	if _, err := os.Lstat("/tmp/fbtest-out"); err == nil {
		t.Error("it wrote outside")
	}
	wantEmpty(t, to)

	// Where the engine refuses there is another way, and a note of why.
	taken, err = Take(t.Context(), source("echo no role >&2; exit 1", "tar"), Options{Put: into(to), MaxPause: plenty})
	must(t, err)
	if taken.Way != Delta || !strings.Contains(taken.Note, "no role") {
		t.Errorf("%+v", taken)
	}
	checkWriter(t, filepath.Join(to, filepath.Base(dir)))
}

func TestPredict(t *testing.T) {
	dir, near := t.TempDir(), t.TempDir()
	way, pause, err := Predict(t.Context(), []Source{{Name: "files", Paths: []string{dir}}}, near)
	if way != Plain || pause != 0 || err != nil {
		t.Error(way, pause, err)
	}
	source := Source{Name: "writer", PID: startWriter(t, dir), Paths: []string{dir}}
	way, pause, err = Predict(t.Context(), []Source{source}, near)
	if way != Delta && way != Reflink || pause <= 0 || err != nil {
		t.Error(way, pause, err)
	}
	wantEmpty(t, near)
	source.PID = 1 << 30
	if _, _, err = Predict(t.Context(), []Source{source}, near); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Error(err)
	}
}
