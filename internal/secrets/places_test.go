package secrets

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestPlaces(t *testing.T) {
	for _, c := range []struct{ kv, want string }{
		{"HOME=/tmp/h", "HOME=/tmp/h"}, {"HOME=/tmp/h/", "HOME=/tmp/h"}, {"HOME=/home/me", ""}, {"HOME=/home/me/", ""}, {"HOME=", ""},
		{"XDG_CONFIG_HOME=/home/me/.config", ""}, {"XDG_CONFIG_HOME=/x", "XDG_CONFIG_HOME=/x"}, {"CARGO_HOME=/home/me/.cargo", ""},
		{"CARGO_HOME=c", "CARGO_HOME=/proj/c"}, {"KUBECONFIG=/a:b::/c", "KUBECONFIG=/a:/proj/b:/c"}, {"KUBECONFIG=/home/me/.kube/config", "KUBECONFIG=/home/me/.kube/config"},
		{"KRB5CCNAME=FILE:/tmp/cc", "KRB5CCNAME=/tmp/cc"}, {"PATH=/bin", ""}, {"DOCKER_CONFIG", ""}, {"XAUTHORITY=/x", ""},
	} {
		got := Places([]string{"A=1", c.kv, c.kv}, "/home/me", "/proj", []string{"XAUTHORITY", "HOME"})
		if want := []string{c.want}; c.want == "" && len(got) > 0 || c.want != "" && !slices.Equal(got, want) {
			t.Errorf("%s names %q", c.kv, got)
		}
	}
	if got := Places([]string{"HOME=relative"}, "/home/me", "", nil); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestNamed(t *testing.T) {
	entries := Named([]string{"HOME=/h", "XDG_CONFIG_HOME=/x", "GNUPGHOME=/g", "KUBECONFIG=/a:/b", "DOCKER_CONFIG=/d", "NETRC=/n", "GH_CONFIG_DIR=/gh"}, nil)
	for _, path := range []string{"/h/.ssh", "/h/.config/gh/hosts.yml", "/x/gh/hosts.yml", "/x/gcloud", "/g", "/a", "/b", "/d/config.json", "/n", "/gh/hosts.yml"} {
		if _, ok := find(entries, path); !ok {
			t.Errorf("%s is shown", path)
		}
	}
	for _, path := range []string{"/h", "/x", "/d", "/gh", "/x/.ssh", "/h/.npmrc"} {
		if _, ok := find(entries, path); ok {
			t.Errorf("%s is hidden", path)
		}
	}
}

// TestNamedNeverHidesTheWorkspace: a variable that leads to the workspace,
// above it, or to a directory that all users share, hides no more than it can
// mean.
func TestNamedNeverHidesTheWorkspace(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := errors.Join(os.Symlink(filepath.Join(dir, "real"), work), os.MkdirAll(filepath.Join(dir, "real/a"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/etc", "/tmp", work, work + "/a", filepath.Join(dir, "real"), link} {
		for _, e := range Named([]string{"GNUPGHOME=" + path, "KUBECONFIG=" + path}, []string{work + "/a", "/home/me"}) {
			t.Errorf("%s hides %+v", path, e)
		}
	}
}
