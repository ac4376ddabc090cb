package containers

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// here is a container whose process is this test: its mounts are where they are.
func here(mounts ...mount) Container {
	c := Container{PID: os.Getpid(), Trusted: true, ServiceContainer: forkbox.ServiceContainer{ID: strings.Repeat("0123456789ab", 5), Name: "it"}}
	c.said.Mounts = mounts
	return c
}

func none(string) bool { return false }

func TestWhatCannotBeCopied(t *testing.T) {
	for why, c := range map[string]Container{
		"another user's":         func() Container { c := here(); c.Trusted = false; return c }(),
		"which no engine does":   func() Container { c := here(); c.ID = "../../etc/passwd"; return c }(),
		"a machine of its own":   func() Container { c := here(); c.PID = 0; return c }(),
		"it is paused":           func() Container { c := here(); c.said.State.Paused = true; return c }(),
		"of another container":   func() Container { c := here(); c.said.HostConfig.NetworkMode = "container:abc"; return c }(),
		"the driver rexray":      here(mount{Type: "volume", Driver: "rexray", Name: "v", Destination: "/v"}),
		"no directory that this": here(mount{Type: "volume", Driver: "local", Name: "v", Source: "/nowhere", Destination: "/nowhere/at/all"}),
		"a npipe mounted":        here(mount{Type: "npipe", Destination: "/v"}),
		"the whole machine":      here(mount{Type: "bind", Source: "/", Destination: "/"}),
	} {
		_, err := c.Plan(none)
		if forkbox.CodeOf(err) != forkbox.Unsupported || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// A volume is copied, and so is a directory of the machine that a database is in;
// others the box has itself.
func TestWhatIsCopied(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	volume, code, data := at("volume"), at("code"), at("data")
	c := here(
		mount{Type: "volume", Driver: "local", Name: "v", Source: volume, Destination: volume, RW: true},
		mount{Type: "bind", Source: code, Destination: code, RW: true},
		mount{Type: "bind", Source: data, Destination: data, RW: true},
		mount{Type: "tmpfs", Destination: "/scratch"},
	)
	c.Ports = []forkbox.ContainerPort{{Host: 15432, Inner: 5432}, {Host: 80, Inner: 80}, {Inner: 9000}}
	p, err := c.Plan(func(dir string) bool { return dir == data })
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Volumes) != 1 || p.Volumes[0].From != volume || !slices.Equal(p.Paths(), []string{p.Base, data}) {
		t.Errorf("%+v", p)
	}
	sources := map[string]string{}
	for _, m := range p.Spec.Mounts {
		sources[m.Target] = m.Source
	}
	if sources[volume] != p.Base+"/volumes/0" || sources[code] != code || sources[data] != data || sources["/scratch"] != "" {
		t.Errorf("%+v", p.Spec.Mounts)
	}
	if len(p.Spec.Forward) != 1 || p.Spec.Forward[0].From != 15432 || p.Spec.Forward[0].To != 5432 {
		t.Errorf("%+v", p.Spec.Forward)
	}
	file, err := os.Create(filepath.Join(code, "log.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if p, err = c.Plan(none); err != nil || !slices.Equal(p.Shared, []string{code}) {
		t.Errorf("what it writes to is not copied: %+v, %v", p.Shared, err)
	}
}

func TestNamesThatCannotStandInAFileOfHosts(t *testing.T) {
	c := Container{Names: map[string]bool{"db": true, "localhost": true, "a b": true, "x\n1.2.3.4 bank.example": true, "": true, "shop-db-1": true}}
	if got := c.Hosts(); !slices.Equal(got, []string{"db", "shop-db-1"}) {
		t.Errorf("%q", got)
	}
}

// listen has an engine that answers so, or never.
func listen(t *testing.T, dir string, answer http.HandlerFunc) string {
	t.Helper()
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if answer != nil {
		go func() { _ = http.Serve(l, answer) }()
	}
	return path
}

func TestAnEngineThatDoesNotAnswer(t *testing.T) {
	for why, answer := range map[string]http.HandlerFunc{
		"does not answer within": nil,
		"what no engine does":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"500 Internal":           func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 500) },
	} {
		t.Setenv("DOCKER_HOST", "unix://"+listen(t, t.TempDir(), answer))
		found, silent := Find(context.Background(), forkbox.Owner{UID: os.Getuid(), GID: os.Getgid()})
		if !slices.ContainsFunc(silent, func(s Silent) bool { return strings.Contains(s.Why, why) }) {
			t.Errorf("%s: %+v, %+v", why, found, silent)
		}
	}
}

// It takes the caller's own rights to reach an engine, whatever this process may,
// and to what the path leads at that moment.
func TestWhoMayAskAnEngine(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "fbtest-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := listen(t, dir, nil)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	group := int(info.Sys().(*syscall.Stat_t).Gid)
	member, stranger := forkbox.Owner{UID: 4321, GID: 4321, Groups: []int{group}}, forkbox.Owner{UID: 4321, GID: 4321}
	for _, c := range []struct {
		dir, socket      os.FileMode
		member, stranger bool
	}{
		{0o755, 0o660, true, false},
		{0o755, 0o666, true, true},
		{0o755, 0o600, false, false},
		{0o750, 0o666, true, false},
		{0o700, 0o666, false, false},
	} {
		for name, mode := range map[string]os.FileMode{dir: c.dir, path: c.socket} {
			if err := os.Chmod(name, mode); err != nil {
				t.Fatal(err)
			}
		}
		// Through a link of the caller's own it is no other socket.
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Open(link, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := mayAsk(member, fd); (err == nil) != c.member {
			t.Errorf("%o %o: a member: %v", c.dir, c.socket, err)
		}
		if err := mayAsk(stranger, fd); (err == nil) != c.stranger {
			t.Errorf("%o %o: a stranger: %v", c.dir, c.socket, err)
		}
		unix.Close(fd)
	}
}
