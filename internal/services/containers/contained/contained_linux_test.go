package contained

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// copied is a container's copy with some files, whose links lead to where they do
// in the container.
func copied(t *testing.T, user string) *container {
	t.Helper()
	base := t.TempDir()
	for name, text := range map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/bin/sh\npostgres:x:70:71::/var/lib/postgresql:/bin/sh\n",
		"etc/group":  "root:x:0:\nssl:x:101:other,postgres\nstaff:x:50:\n",
		"opt/tool":   "#!/bin/sh\n",
	} {
		path := filepath.Join(Root(base), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"bin": "/opt", "out": "/../../../../etc", "var": "/opt"} {
		if err := os.Symlink(to, filepath.Join(Root(base), name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := unix.Open(Root(base), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(root) })
	return &container{Spec: Spec{User: user, Hostname: "it"}, base: base, root: root}
}

func TestUsersAreTheContainers(t *testing.T) {
	for user, want := range map[string]struct {
		uid, gid uint32
		home     string
		groups   []uint32
	}{
		"":               {0, 0, "/root", nil},
		"postgres":       {70, 71, "/var/lib/postgresql", []uint32{101}},
		"70":             {70, 71, "/var/lib/postgresql", []uint32{101}},
		"postgres:staff": {70, 50, "/var/lib/postgresql", []uint32{101}},
		"1234:55":        {1234, 55, "/", nil},
	} {
		u, err := copied(t, user).user()
		if err != nil || u.credential.Uid != want.uid || u.credential.Gid != want.gid || u.home != want.home || !slices.Equal(u.credential.Groups, want.groups) {
			t.Errorf("%q: %+v %+v, %v", user, u, u.credential, err)
		}
	}
	if _, err := copied(t, "nobody-there").user(); err == nil {
		t.Error("a user that the container has not is taken")
	}
}

func TestProgramsAreTheContainers(t *testing.T) {
	c := copied(t, "")
	if path, err := c.lookPath("tool", []string{"PATH=/usr/bin:/bin"}); err != nil || path != "/bin/tool" {
		t.Errorf("%q, %v", path, err)
	}
	if path, err := c.lookPath("sh", []string{"PATH=/usr/bin:/bin"}); err == nil {
		t.Errorf("it finds the machine's %s", path)
	}
}

// A link in the container leads out of it nowhere.
func TestNothingIsMadeOutside(t *testing.T) {
	c := copied(t, "")
	if err := c.makeDir("/out/made/here"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(Root(c.base), "etc/made/here")); err != nil {
		t.Error(err)
	}
	if err := c.makeDir("/var/run"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(Root(c.base), "opt/run")); err != nil {
		t.Error(err)
	}
	if err := c.writeNames(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(Root(c.base), "etc/hostname")); err != nil || string(text) != "it\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestEnvironment(t *testing.T) {
	c := copied(t, "")
	got := c.environment([]string{"FORKBOX_EXEC=1", "PWD=/", "A=b", "HOME=/own"}, user{home: "/root"})
	if !slices.Equal(got, []string{"A=b", "HOME=/own", "PATH=" + usualPath, "HOSTNAME=it"}) {
		t.Errorf("%q", got)
	}
}
