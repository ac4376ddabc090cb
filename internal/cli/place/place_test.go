//go:build unix

package place

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPathsAreWhereTheBoxHasThem(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(top, "real/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(top, "link/sub"))
	for arg, want := range map[string]string{
		".": "real/sub", "f": "real/sub/f", "../f": "real/f", "./gone/f": "real/sub/gone/f", "..": "real",
		top + "/link":         "link", // the link itself
		top + "/link/":        "real",
		top + "/link/f":       "real/f",
		top + "/link/no/such": "real/no/such",
		"odd\nname":           "real/sub/odd\nname", "\xff": "real/sub/\xff", "a:b": "real/sub/a:b",
	} {
		got, err := Here().Path(arg)
		if err != nil || got != filepath.Join(top, want) {
			t.Errorf("%q: %q, %v; want %q", arg, got, err, filepath.Join(top, want))
		}
	}
	for _, bad := range []string{"", "a\x00b"} {
		if got, err := Here().Path(bad); err == nil {
			t.Errorf("%q is taken for %q", bad, got)
		}
	}
}

func TestShownPathsCanBeTyped(t *testing.T) {
	for _, row := range []struct{ dir, path, want string }{
		{"/home/me", "/home/me/f", "f"}, {"/home/me", "/home/me/d/f", "d/f"}, {"/home/me", "/home/me2/f", "/home/me2/f"},
		{"/home/me", "/home/me", "/home/me"}, {"/home/me", "/etc/f", "/etc/f"}, {"/", "/etc/f", "/etc/f"},
		{"", "/f", "/f"}, {"/home/me", "/home/me/-rf", "./-rf"},
	} {
		if got := (Place{Dir: row.dir}).Show(row.path); got != row.want {
			t.Errorf("%s in %s is shown as %s, not %s", row.path, row.dir, got, row.want)
		}
	}
}

func TestPathWithoutACurrentDirectory(t *testing.T) {
	if _, err := (Place{}).Path("f"); err == nil {
		t.Error("a relative path was understood")
	}
	if got, err := (Place{}).Path("/f"); err != nil || got != "/f" {
		t.Error(got, err)
	}
}

// TestPathsOfAnotherMachine: what lies here says nothing about them, and neither
// does this system's idea of a path.
func TestPathsOfAnotherMachine(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Symlink("/etc", "link"); err != nil {
		t.Fatal(err)
	}
	away := Place{Away: true}
	link := filepath.ToSlash(filepath.Join(dir, "link", "x"))
	for arg, want := range map[string]string{"/etc/hosts": "/etc/hosts", "/a//b/../c/": "/a/c", link: link} {
		if got, err := away.PathIn(arg, func(string) bool { return true }); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", arg, got, err, want)
		}
	}
	for _, bad := range []string{"", "f", "./f", "~/f"} {
		if got, err := away.Path(bad); err == nil {
			t.Errorf("%q is taken for %q", bad, got)
		}
	}
	if got := away.Show(link); got != link {
		t.Errorf("shown as %s", got)
	}
}
