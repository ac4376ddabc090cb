package hosts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/forkbox/forkbox"
)

// Which daemon is meant: a host that is given, FORKBOX_HOST, the context in use,
// this machine's, in this order. FORKBOX_TOKEN comes before the context's.
func TestResolve(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	all := Contexts{Current: "build"}
	all.Put(Context{Name: "build", URL: "https://build:7171", Token: "t1", Fingerprint: "f1"})
	all.Put(Context{Name: "other", URL: "https://other:7171", Token: "t2"})
	if err := all.Save(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ host, env, token, url, sent string }{
		{"", "", "", "https://build:7171", "t1"},
		{"other", "", "", "https://other:7171", "t2"},
		{"", "other", "", "https://other:7171", "t2"},
		{"other", "build", "", "https://other:7171", "t2"},
		{"https://other:7171", "", "", "https://other:7171", "t2"},
		{"https://new:1", "", "", "https://new:1", ""},
		{"", "", "t9", "https://build:7171", "t9"},
		{"local", "build", "", "", ""},
		{"", "local", "", "", ""},
	} {
		env := map[string]string{"FORKBOX_HOST": c.env, "FORKBOX_TOKEN": c.token}
		got, err := Resolve(c.host, func(name string) string { return env[name] })
		switch {
		case err != nil:
			t.Errorf("%+v: %v", c, err)
		case got == nil && c.url != "" || got != nil && (got.URL != c.url || got.Token != c.sent):
			t.Errorf("%+v: %+v", c, got)
		}
	}
	if _, err := Resolve("nowhere", os.Getenv); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("a name that is not known: %v", err)
	}
}

// Tokens are in the file: it is its owner's alone, or it is not read.
func TestOthersCannotReadTheFile(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	var all Contexts
	all.Put(Context{Name: "build", URL: "https://build:7171", Token: "t1"})
	if err := all.Save(); err != nil {
		t.Fatal(err)
	}
	path, err := File()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(); forkbox.CodeOf(err) != forkbox.Denied {
		t.Errorf("%v", err)
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{"build": true, "b-1.x": true, "local": false, "": false, "https://x": false, "A": false, "-x": false} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
