package services

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func writeUnit(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestUnitsAreRead(t *testing.T) {
	root := t.TempDir()
	writeUnit(t, root, "usr/lib/systemd/system/web.service", "[Unit]\nExecStart=/no\n[Service]\nUser=www\nExecStart=-/usr/bin/web --name \"a b\" \\\n  --home=%h\nEnvironment=A=1 \"B=2 3\"\nRuntimeDirectory=web web/two\nWatchdogSec=1min 30s\n")
	u := readUnit(root, "web.service", "/home/me")
	if !slices.Equal(u.start, []string{"/usr/bin/web", "--name", "a b", "--home=/home/me"}) || !slices.Equal(u.env, []string{"A=1", "B=2 3"}) ||
		!slices.Equal(u.dirs, []string{"web", "web/two"}) || u.watchdog != 90*time.Second {
		t.Errorf("%+v", u)
	}

	// The owner's file instead of the package's, and then drop-ins.
	writeUnit(t, root, "etc/systemd/system/web.service", "[Service]\nExecStart=@/usr/bin/other web --port 1\nRuntimeDirectory=one\n# WatchdogSec=5\n")
	writeUnit(t, root, "usr/lib/systemd/system/web.service.d/10-a.conf", "[Service]\nWatchdogSec=10\nRuntimeDirectory=\nRuntimeDirectory=two\n")
	writeUnit(t, root, "etc/systemd/system/web.service.d/20-b.conf", "[Service]\nWatchdogSec=500ms\n")
	u = readUnit(root, "web.service", "")
	if !slices.Equal(u.start, []string{"/usr/bin/other", "--port", "1"}) || !slices.Equal(u.dirs, []string{"two"}) || u.watchdog != 500*time.Millisecond || u.env != nil {
		t.Errorf("%+v", u)
	}

	writeUnit(t, root, "lib/systemd/system/pg@.service", "[Service]\nExecStart=/usr/bin/pg_ctlcluster %i start\n")
	if u := readUnit(root, "pg@15-main.service", ""); !slices.Equal(u.start, []string{"/usr/bin/pg_ctlcluster", "15-main", "start"}) {
		t.Errorf("%+v", u)
	}
	writeUnit(t, root, "home/me/.config/systemd/user/dev.service", "[Service]\nExecStart=/usr/bin/dev\n")
	if u := readUnit(root, "dev.service", "/home/me"); !slices.Equal(u.start, []string{"/usr/bin/dev"}) {
		t.Errorf("%+v", u)
	}
	for _, name := range []string{"", "gone.service", "../../etc/passwd"} {
		if u := readUnit(root, name, ""); u.start != nil || u.watchdog != 0 {
			t.Errorf("%q: %+v", name, u)
		}
	}
}

func TestTimesOfUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "30": 30 * time.Second, "infinity": 0, "2min": 2 * time.Minute, "1.5s": 1500 * time.Millisecond, "1h 5m": 65 * time.Minute, "soon": time.Second,
	} {
		if got := unitSpan(text); got != want {
			t.Errorf("%q: %s, not %s", text, got, want)
		}
	}
}

// A copy has what systemd makes for the service, and is started as its unit says
// where the process does not tell any more.
func TestStartOfAUnit(t *testing.T) {
	root := t.TempDir()
	writeUnit(t, root, "etc/systemd/system/app.service", "[Service]\nExecStart=/usr/bin/app --serve\nRuntimeDirectory=app ../escape\nWatchdogSec=4\n")
	u := readUnit(root, "app.service", "")
	env := func(env []string) []string { return env }
	s := forkbox.Service{Name: "app", Recipe: generic, PID: os.Getpid(), Command: []string{"app 1.2 (tcp://0.0.0.0:80) [web]"}, Unit: "app.service"}
	start, err := startOf(t.Context(), s, env, u)
	if err != nil || !slices.Equal(start.Argv, []string{"/usr/bin/app", "--serve"}) || !slices.Equal(start.Make, []string{"/run/app"}) {
		t.Errorf("%+v %v", start, err)
	}
	s.Command = []string{"/usr/bin/app", "--port", "80"}
	if start, err = startOf(t.Context(), s, env, u); err != nil || !slices.Equal(start.Argv, []string(s.Command)) {
		t.Errorf("%+v %v", start, err)
	}
	if got := watchdogOf(s, u); got != 4*time.Second {
		t.Errorf("its watchdog waits %s", got)
	}
	if got := withoutManager([]string{"A=1", "NOTIFY_SOCKET=/run/systemd/notify", "WATCHDOG_USEC=5"}); !slices.Equal(got, []string{"A=1"}) {
		t.Errorf("it is given %q", got)
	}
}
