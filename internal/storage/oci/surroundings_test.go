package oci

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

const dpkgStatus = `Package: libc6
Status: install ok installed
Architecture: amd64
Multi-Arch: same
Version: 2.36-9
Description: GNU C Library
 Version: not a field
 .
 more

Package: libc6
Status: install ok installed
Architecture: i386
Version: 2.36-9

Package: tzdata
Status: install ok installed
Architecture: all
Version: 2024a

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: half
Status: install reinstreq half-installed
Version: 2`

func put(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestParseDpkg(t *testing.T) {
	want := map[string]string{"libc6": "2.36-9", "libc6:i386": "2.36-9", "tzdata": "2024a"}
	if got := parseDpkg(strings.NewReader(dpkgStatus), "amd64"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestSurroundings(t *testing.T) {
	root := t.TempDir()
	put(t, root, "usr/lib/os-release", "NAME=\"Alpine Linux\"\nID=alpine\nVERSION_ID='3.20.1'\n")
	put(t, root, "lib/apk/db/installed", "C:Q1\nP:musl\nV:1.2.5-r0\nA:x86_64\n\nP:busybox\nV:1.36\n")
	if err := os.Mkdir(root+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../usr/lib/os-release", root+"/etc/os-release"); err != nil {
		t.Fatal(err)
	}
	want := forkbox.Surroundings{OS: "alpine 3.20.1", Arch: runtime.GOARCH, Packages: map[string]string{"musl": "1.2.5-r0", "busybox": "1.36"}}
	if got := Surroundings(root); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

// A root that a stranger filled does not make us read other files.
func TestSurroundingsStayInTheRoot(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	put(t, outside, "status", dpkgStatus)
	if err := os.MkdirAll(root+"/var/lib/dpkg", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside+"/status", root+"/var/lib/dpkg/status"); err != nil {
		t.Fatal(err)
	}
	if got := Surroundings(root); len(got.Packages) > 0 || got.OS != "" {
		t.Errorf("got %+v", got)
	}
}

func TestSurroundingsOfThisMachine(t *testing.T) {
	if _, err := os.Stat("/var/lib/dpkg/status"); err != nil {
		t.Skip("this machine has no dpkg to compare with")
	}
	s := Surroundings("/")
	if s.OS == "" || s.Packages["dpkg"] == "" {
		t.Errorf("os %q, dpkg %q of %d packages", s.OS, s.Packages["dpkg"], len(s.Packages))
	}
}

func TestDiffer(t *testing.T) {
	want := forkbox.Surroundings{OS: "debian 12", Arch: "amd64", Packages: map[string]string{"b": "1", "a": "1", "same": "3", "missing": "2"}}
	have := forkbox.Surroundings{OS: "debian 13", Arch: "amd64", Packages: map[string]string{"b": "2", "a": "0", "same": "3", "more": "9"}}
	all := []forkbox.Difference{
		{Kind: "os", Name: "os", Want: "debian 12", Have: "debian 13"},
		{Kind: "package", Name: "a", Want: "1", Have: "0"},
		{Kind: "package", Name: "b", Want: "1", Have: "2"},
		{Kind: "package", Name: "missing", Want: "2"},
	}
	if got := Differ(want, have, nil); !reflect.DeepEqual(got, all) {
		t.Errorf("got %+v", got)
	}
	few := Differ(want, have, func(pkg string) bool { return pkg == "b" })
	if !reflect.DeepEqual(few, []forkbox.Difference{all[0], all[2]}) {
		t.Errorf("got %+v", few)
	}
	have.Packages = nil
	if got := Differ(want, have, nil); len(got) != 2 || got[1].Want != "4 packages" {
		t.Errorf("got %+v", got)
	}
	if got := Differ(want, want, nil); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}
