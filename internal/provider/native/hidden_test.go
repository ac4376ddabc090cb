//go:build linux

package native

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// homeBox is a running box whose owner has the given files at home.
func homeBox(t *testing.T, files map[string]string, changes ...func(*forkbox.Box)) (*providertest.Running, string) {
	t.Helper()
	home := providertest.Tree(t, files)
	_, l := lab(t)
	return l.Start(l.Box(append(changes, func(b *forkbox.Box) { b.Owner.Home = home })...)), home
}

var secretFiles = map[string]string{
	".ssh/id_ed25519": "SECRET", ".aws/credentials": "SECRET", ".config/gcloud/x": "SECRET",
	".azure/x": "SECRET", ".kube/config": "SECRET", ".netrc": "SECRET", ".docker/config.json": "SECRET",
	".gnupg/x": "SECRET", ".npmrc": "_authToken=SECRET", ".git-credentials": "SECRET", "plain": "text",
}

func TestSecretsLookEmpty(t *testing.T) {
	t.Parallel()
	r, home := homeBox(t, secretFiles)
	if got := r.Sh("grep -rs SECRET " + home + " /proc/1/root" + home + " || true"); got != "" {
		t.Errorf("the box sees %q", got)
	}
	if got := r.Sh("cat ~/plain; ls -A ~/.ssh ~/.aws; test -d ~/.ssh -a -f ~/.netrc && stat -c %U ~/.ssh ~/.netrc"); !strings.HasPrefix(got, "text") {
		t.Errorf("the rest of the home: %q", got)
	}
}

func TestSecretsStayHiddenWhenRealityChangesThem(t *testing.T) {
	t.Parallel()
	r, home := homeBox(t, map[string]string{".ssh/old": "SECRET", ".netrc": "SECRET"})
	r.Sh("ls -A ~ ~/.ssh") // so that the kernel has an opinion on what is there
	for name, content := range map[string]string{
		".ssh/new":            "SECRET in a hidden directory",
		".ssh/sub/new":        "SECRET below a hidden directory",
		".netrc":              "SECRET in a hidden file",
		".aws/credentials":    "SECRET in a directory that was not there",
		".git-credentials":    "SECRET in a file that was not there",
		".config/gcloud/key":  "SECRET whose parent was not there",
		".docker/config.json": "SECRET file whose parent was not there",
	} {
		path := filepath.Join(home, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o644))
		if got := r.Sh("cat " + path + " 2>/dev/null || true"); got != "" {
			t.Errorf("the box sees %s: %q", name, got)
		}
	}
}

func TestSecretsBehindSymlinks(t *testing.T) {
	t.Parallel()
	home := providertest.Tree(t, nil)
	elsewhere := providertest.Tree(t, map[string]string{"ssh/key": "SECRET", "netrc": "SECRET"})
	must(t, os.Symlink(elsewhere+"/ssh", home+"/.ssh"))
	must(t, os.Symlink(elsewhere+"/netrc", home+"/.netrc"))
	_, l := lab(t)
	box := l.Start(l.Box(func(b *forkbox.Box) { b.Owner.Home = home }))
	if got := box.Sh("grep -rs SECRET " + home + " " + elsewhere + " || true"); got != "" {
		t.Errorf("the box sees %q", got)
	}
}

func TestHiddenPlacesCanBeWritten(t *testing.T) {
	t.Parallel()
	home := providertest.Tree(t, secretFiles)
	_, l := lab(t)
	box := l.Box(func(b *forkbox.Box) { b.Owner.Home = home })
	r := l.Start(box)
	r.Sh("cd ~ && echo mine >.ssh/known_hosts && mv .netrc x && echo mine >.netrc && mkdir -p .aws/sub && rmdir .azure")
	must(t, r.Instance.Stop(t.Context(), 0))
	r = l.Start(box)
	if got := r.Sh("cd ~ && cat .ssh/* .netrc && ls -A .aws && test ! -e .azure"); got != "mine\nmine\nsub" {
		t.Errorf("after a restart the box has %q", got)
	}
	if got, _ := os.ReadFile(home + "/.netrc"); string(got) != "SECRET" {
		t.Errorf("reality's is %q", got)
	}
}

func TestAllowSecretsOpensOne(t *testing.T) {
	t.Parallel()
	home := providertest.Tree(t, secretFiles)
	_, l := lab(t)
	r := l.Start(l.Box(func(b *forkbox.Box) {
		b.Owner.Home = home
		b.AllowSecrets = []string{home + "/.ssh"}
	}))
	if got := r.Sh("cat ~/.ssh/id_ed25519 ~/.netrc"); got != "SECRET" {
		t.Errorf("the box sees %q", got)
	}
}

func TestStoreIsNotVisible(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	r := l.Start(l.Box())
	r.Fails("test -e " + p.home)
	if got := r.Sh("ls -a /tmp | grep -x " + filepath.Base(p.home) + " || true"); got != "" {
		t.Errorf("the box sees %q", got)
	}
}

// TestRuntimeSecretsOfEverybody: root in a box could read other users' as well.
func TestRuntimeSecretsOfEverybody(t *testing.T) {
	t.Parallel()
	f, err := os.CreateTemp("/tmp", "krb5cc_4711_fbtest")
	must(t, err)
	defer os.Remove(f.Name())
	_, err = f.WriteString("TICKET")
	must(t, errors.Join(err, f.Close()))
	if got := started(t).Sh("cat " + f.Name() + " 2>/dev/null || true"); got != "" {
		t.Errorf("the box sees %q", got)
	}
}

// TestOtherStoresAreHidden: of other daemons of the same user, or of others, where
// they are by default.
func TestOtherStoresAreHidden(t *testing.T) {
	t.Parallel()
	home := providertest.Tree(t, map[string]string{".local/state/forkbox/secrets/key": "KEY"})
	_, l := lab(t)
	r := l.Start(l.Box(func(b *forkbox.Box) { b.Owner.Home = home }))
	if got := r.Sh("ls -A " + home + "/.local/state/forkbox /var/lib/forkbox 2>/dev/null | grep -v '^/' || true"); strings.TrimSpace(got) != "" {
		t.Errorf("the box sees %q", got)
	}
}

func TestHostSocketsAreAbsent(t *testing.T) {
	t.Parallel()
	home := providertest.Tree(t, nil)
	dir := providertest.Tree(t, nil)
	paths := []string{home + "/agent.sock", dir + "/server.sock"}
	for _, path := range paths {
		s, err := net.Listen("unix", path)
		must(t, err)
		defer s.Close()
		must(t, os.Chmod(path, 0o777))
	}
	_, l := lab(t)
	r := l.Start(l.Box(func(b *forkbox.Box) { b.Owner.Home = home }))
	for _, path := range paths {
		r.Fails("test -e " + path)
	}
	late := dir + "/late.sock" // one that comes when the box runs may be seen, not used
	s, err := net.Listen("unix", late)
	must(t, err)
	defer s.Close()
	for _, path := range append(paths, late) {
		if res := r.Run(forkbox.ExecSpec{Argv: providertest.Tool("connect", path)}, nil); res.Exit.Code == 0 {
			t.Errorf("the box reached %s", path)
		}
	}
	if got := r.Sh("cat /proc/net/unix | grep -c " + dir + " || true"); got != "0" {
		t.Errorf("the box sees %s sockets of the host", got)
	}
}

func connectTool(args []string) int {
	c, err := net.Dial("unix", args[0])
	if err != nil {
		return 1
	}
	c.Close()
	return 0
}
