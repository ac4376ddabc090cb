//go:build unix

package policy

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox"
)

func put(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestUntrusted: what others can have written is refused, by both readers.
func TestUntrusted(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, file string)
		code forkbox.Code
	}{
		"everybody writes": {func(t *testing.T, file string) { must(t, os.Chmod(put(t, file, ""), 0o646)) }, forkbox.Denied},
		"a directory":      {func(t *testing.T, file string) { must(t, os.Mkdir(file, 0o755)) }, forkbox.Invalid},
		"a fifo":           {func(t *testing.T, file string) { must(t, syscall.Mkfifo(file, 0o644)) }, forkbox.Invalid},
		"a device":         {func(t *testing.T, file string) { must(t, os.Symlink("/dev/zero", file)) }, forkbox.Invalid},
		"too long":         {func(t *testing.T, file string) { put(t, file, strings.Repeat("#", mostText+1)) }, forkbox.Invalid},
		"link to open": {func(t *testing.T, file string) {
			must(t, os.Chmod(put(t, file+"2", ""), 0o666))
			must(t, os.Symlink(file+"2", file))
		}, forkbox.Denied},
		"another's": {func(t *testing.T, file string) { give(t, put(t, file, ""), 4321, 0) }, forkbox.Denied},
		"another group's": {func(t *testing.T, file string) {
			give(t, put(t, file, ""), 0, 4321)
			must(t, os.Chmod(file, 0o664))
		}, forkbox.Denied},
		"another's link": {func(t *testing.T, file string) {
			must(t, os.Symlink(put(t, file+"2", ""), file))
			give(t, file, 4321, 0)
		}, forkbox.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.yaml")
			c.make(t, file)
			if _, err := ReadTrusted(file); forkbox.CodeOf(err) != c.code || !strings.HasPrefix(err.Error(), "cannot read "+file+": ") {
				t.Errorf("the configuration: %v", err)
			}
			if _, err := LoadProject(file); forkbox.CodeOf(err) != c.code {
				t.Errorf("the project: %v", err)
			}
		})
	}
}

func give(t *testing.T, file string, uid, gid int) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give files to others")
	}
	must(t, os.Lchown(file, uid, gid))
}

// TestTrusted: one's own group, and the user who called sudo, are friends.
func TestTrusted(t *testing.T) {
	file := put(t, filepath.Join(t.TempDir(), "x.yaml"), "limits: {pids: 100}\n")
	must(t, os.Chown(file, os.Getuid(), os.Getgid()))
	must(t, os.Chmod(file, 0o664))
	link := file + ".link"
	must(t, os.Symlink(file, link))
	for _, path := range []string{file, link} {
		if l, err := LoadProject(path); err != nil || l[forkbox.Pids] != 100 {
			t.Errorf("%v, %v", l, err)
		}
	}
	give(t, file, 4321, 0)
	t.Setenv("SUDO_UID", strconv.Itoa(4321))
	if l, err := LoadProject(file); err != nil || l[forkbox.Pids] != 100 {
		t.Errorf("with sudo: %v, %v", l, err)
	}
}

func TestFindProject(t *testing.T) {
	root := t.TempDir()
	home := filepath.Join(root, "home")
	deep := filepath.Join(home, "a\nb", "c d", "e")
	must(t, os.MkdirAll(deep, 0o755))
	t.Setenv("HOME", home+"/")
	above := put(t, filepath.Join(root, projectFile), "")
	find := func(dir, want string) {
		t.Helper()
		if got, ok := FindProject(dir); got != want || ok != (want != "") {
			t.Errorf("from %q: %q, %v; want %q", dir, got, ok, want)
		}
	}
	find(deep, "") // above the home is no project of who works in it
	find(filepath.Join(root, "elsewhere", "below"), above)
	find(deep, put(t, filepath.Join(home, projectFile), ""))
	find(deep, put(t, filepath.Join(home, "a\nb", projectFile), ""))
	t.Chdir(deep)
	find(".", filepath.Join(home, "a\nb", projectFile))
	must(t, os.Symlink("nowhere", filepath.Join(deep, projectFile)))
	find(deep, filepath.Join(deep, projectFile)) // to be refused, not passed over
	if l, err := LoadProject(filepath.Join(deep, projectFile)); err == nil {
		t.Errorf("a link to nowhere is %v", l)
	}
}

func TestLoadProject(t *testing.T) {
	file := put(t, filepath.Join(t.TempDir(), projectFile), "limits:\n  memory: 2g\n  cpus: 1.5\n  ttl: unlimited\n")
	want := forkbox.Limits{forkbox.Memory: 2 << 30, forkbox.CPUs: 1500, forkbox.TTL: forkbox.Unlimited}
	if got, err := LoadProject(file); err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for text, want := range map[string]string{
		"service: {}\n":                    `line 1: "service" is not something it knows`,
		"limits: {}\ndefaults: {}\n":       `line 2: "defaults" is not something it knows`,
		"limits:\n  memory: 2g\n  disk: x": `line 3: disk: "x" is no value for it`,
	} {
		put(t, file, text)
		if got, err := LoadProject(file); err == nil || err.Error() != "cannot read "+file+": "+want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	put(t, file, "")
	if got, err := LoadProject(file); err != nil || len(got) != 0 {
		t.Errorf("an empty file: %v, %v", got, err)
	}
	if got, err := LoadProject(file + "x"); err == nil {
		t.Errorf("no file: %v", got)
	}
}
