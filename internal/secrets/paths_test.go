package secrets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func find(entries []Entry, path string) (Entry, bool) {
	for _, e := range entries {
		if e.Path == path {
			return e, true
		}
	}
	return Entry{}, false
}

func TestPaths(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{
		".ssh", ".aws", ".config/gcloud", ".azure", ".kube", ".netrc", ".docker/config.json", ".gnupg",
		".git-credentials", ".config/gh/hosts.yml", ".cargo/credentials.toml", ".vault-token",
	} {
		if _, ok := find(Paths(home), filepath.Join(home, name)); !ok {
			t.Errorf("~/%s is shown", name)
		}
	}
	for _, name := range []string{".bash_history", ".bashrc", ".gitconfig", ".npmrc", ".m2/settings.xml", ".config"} {
		if _, ok := find(Paths(home), filepath.Join(home, name)); ok {
			t.Errorf("~/%s is hidden", name)
		}
	}
	for _, e := range Paths(home) {
		if !filepath.IsAbs(e.Path) || e.Why == "" || filepath.Base(e.Target) != filepath.Base(e.Path) {
			t.Errorf("%+v", e)
		}
	}
	if Paths("") != nil || Paths("relative") != nil {
		t.Error("a home that is no absolute path has entries")
	}
}

func TestSecretOnlyWithAToken(t *testing.T) {
	for _, c := range []struct {
		name, data string
		hidden     bool
	}{
		{".npmrc", "registry=https://registry.example.com/\n", false},
		{".npmrc", "//registry.example.com/:_authToken=x\n", true},
		{".npmrc", "//r/:_password=x\n", true},
		{".m2/settings.xml", "<settings/>", false},
		{".m2/settings.xml", "<server><password>x</password></server>", true},
		{".npmrc", strings.Repeat("#", maxMarked+1), true},
	} {
		home := t.TempDir()
		write(t, filepath.Join(home, c.name), c.data)
		if _, ok := find(Paths(home), filepath.Join(home, c.name)); ok != c.hidden {
			t.Errorf("%s with %.40q: hidden %v", c.name, c.data, ok)
		}
	}
}

// Dotfiles are often symlinks into a repository: hiding the link alone would
// leave the secret in plain sight.
func TestSymlinkedSecrets(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "dotfiles/aws/credentials"), "x")
	if err := os.Symlink("dotfiles/aws", filepath.Join(home, ".aws")); err != nil {
		t.Skip(err)
	}
	os.Symlink("/", filepath.Join(home, ".ssh"))
	os.Symlink(".", filepath.Join(home, ".kube"))
	os.MkdirAll(filepath.Join(home, "dotfiles/config/gcloud"), 0o755)
	os.Symlink("dotfiles/config", filepath.Join(home, ".config"))
	for name, want := range map[string]string{
		".aws": "dotfiles/aws", ".ssh": ".ssh", ".kube": ".kube",
		".config/gcloud": "dotfiles/config/gcloud", ".config/op": "dotfiles/config/op",
	} {
		e, ok := find(Paths(home), filepath.Join(home, name))
		if !ok || e.Target != filepath.Join(home, want) || !e.Dir {
			t.Errorf("~/%s: %+v", name, e)
		}
	}
}

func TestRuntime(t *testing.T) {
	root := t.TempDir()
	entries := runtimeIn(root, 1000)
	for path, dir := range map[string]bool{
		"run/docker.sock": false, "run/dbus": true, "run/user/1000": true, "tmp/tmux-1000": true,
	} {
		e, ok := find(entries, filepath.Join(root, path))
		if !ok || e.Dir != dir {
			t.Errorf("/%s: %+v, %v", path, e, ok)
		}
	}
	for _, e := range entries {
		if strings.ContainsAny(e.Path, "*%") {
			t.Errorf("%s is a pattern", e.Path)
		}
	}
}

func TestAllowed(t *testing.T) {
	home := t.TempDir()
	ssh := filepath.Join(home, ".ssh")
	for allow, want := range map[string]bool{
		ssh: true, ssh + "/": true, home: true, filepath.Join(ssh, "config"): false,
		ssh + "2": false, ".ssh": false, "": false, "SSH_AUTH_SOCK": false,
	} {
		if got := Allowed(ssh, []string{allow}); got != want {
			t.Errorf("allowing %q opens ~/.ssh: %v", allow, got)
		}
	}
	left := Hide(Paths(home), []string{ssh})
	if _, ok := find(left, ssh); ok || len(left) != len(Paths(home))-1 {
		t.Errorf("%d of %d are left", len(left), len(Paths(home)))
	}
}

func TestCheckAllow(t *testing.T) {
	home := t.TempDir()
	for _, allow := range []string{filepath.Join(home, ".ssh"), filepath.Join(home, ".netrc"), filepath.Join(home, "x"), "GITHUB_TOKEN"} {
		if err := CheckAllow([]string{allow}, home, 1000, nil); err != nil {
			t.Errorf("%s: %v", allow, err)
		}
	}
	for _, allow := range []string{filepath.Join(home, ".ssh/config"), "~/.ssh", ".ssh/config", "", "A=B"} {
		err := CheckAllow([]string{allow}, home, 1000, nil)
		if forkbox.CodeOf(err) != forkbox.Invalid || len(err.(*forkbox.Error).Hints) == 0 {
			t.Errorf("%q: %v", allow, err)
		}
	}
}
