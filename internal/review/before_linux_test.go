package review

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestKnownIsOnlyWhatIsTheSame: of an imported change, reality counts as what it
// was made to only where its bytes, its kind and its mode are the same, no
// process touches it, and nothing has landed there since.
func TestKnownIsOnlyWhatIsTheSame(t *testing.T) {
	sum := func(text string) []byte { s := sha256.Sum256([]byte(text)); return s[:] }
	file := forkbox.BaseSum{Mode: 0o644, Size: 4, Sum: sum("base")}
	link := forkbox.BaseSum{Mode: fs.ModeSymlink | 0o777, Size: 4, Sum: sum("base")}
	write := func(text string, mode fs.FileMode) func(p string) error {
		return func(p string) error { return os.WriteFile(p, []byte(text), mode) }
	}
	for _, c := range []struct {
		name  string
		known *forkbox.BaseSum
		make  func(p string) error
		then  func(v *View, p string) error // after it was looked at
		want  bool
	}{
		{"the same", &file, write("base", 0o644), nil, true},
		{"nothing is known", nil, write("base", 0o644), nil, false},
		{"other bytes", &file, write("edit", 0o644), nil, false},
		{"more bytes", &file, write("base and more", 0o644), nil, false},
		{"another mode", &file, write("base", 0o600), nil, false},
		{"a directory", &file, func(p string) error { return os.Mkdir(p, 0o755) }, nil, false},
		{"a symlink to the same", &file, func(p string) error { return os.Symlink("base", p) }, nil, false},
		{"the same symlink", &link, func(p string) error { return os.Symlink("base", p) }, nil, true},
		{"another symlink", &link, func(p string) error { return os.Symlink("edit", p) }, nil, false},
		{"the same directory", &forkbox.BaseSum{Mode: fs.ModeDir | 0o750}, func(p string) error { return os.Mkdir(p, 0o750) }, nil, true},
		{"replaced by the same", &file, write("base", 0o644), func(_ *View, p string) error {
			if err := os.WriteFile(p+".new", []byte("base"), 0o644); err != nil {
				return err
			}
			return os.Rename(p+".new", p)
		}, false},
		{"something landed there", &file, write("base", 0o644), func(v *View, p string) error {
			v.Marks = marksOf(map[string]Mark{p: {Landed: true}})
			return nil
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, p := newView(nil), t.TempDir()+"/f"
			if err := c.make(p); err != nil {
				t.Fatal(err)
			}
			st, err := os.Lstat(p)
			if err != nil {
				t.Fatal(err)
			}
			seen, _ := identity(fs.FileInfoToDirEntry(st))
			if c.known != nil {
				v.Known = map[string]forkbox.BaseSum{p: *c.known}
			}
			if c.then != nil {
				if err := c.then(v, p); err != nil {
					t.Fatal(err)
				}
			}
			if got := v.asKnown(p, seen); got != c.want {
				t.Errorf("known: %v", got)
			}
		})
	}
}
