//go:build linux

package native

import (
	"os"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/secrets"
	"github.com/forkbox/forkbox/providertest"
)

// TestPromise8SecretsThatVariablesName: a HOME that is not its owner's by
// /etc/passwd has secrets as well, and so have the places that other variables
// name, also one within another, and through links.
func TestPromise8SecretsThatVariablesName(t *testing.T) {
	t.Parallel()
	owned := providertest.Tree(t, secretFiles)
	other := providertest.Tree(t, secretFiles)
	dir := providertest.Tree(t, map[string]string{
		"kube": "SECRET", "xdg/gh/hosts.yml": "SECRET", "xdg/gcloud/key": "SECRET", "cargo/credentials.toml": "SECRET", "cargo/bin/tool": "plain",
		"gnupg/key": "SECRET", "gnupg/.config/op/x": "SECRET", "proj/google.json": "SECRET", "proj/main.c": "plain",
	})
	link := providertest.TempDir(t) + "/home"
	must(t, os.Symlink(other, link))
	env := []string{
		"HOME=" + link, "KUBECONFIG=" + owned + "/.kube/config:../kube", "XDG_CONFIG_HOME=" + dir + "/xdg", "CARGO_HOME=" + dir + "/cargo",
		"GOOGLE_APPLICATION_CREDENTIALS=google.json", "DOCKER_CONFIG=" + dir + "/none/at/all",
		// The one is found in the other before that is hidden as a whole.
		"CLOUDSDK_CONFIG=" + dir + "/gnupg/.config/op", "GNUPGHOME=" + dir + "/gnupg",
	}
	_, l := lab(t)
	r := l.Start(l.Box(func(b *forkbox.Box) {
		b.Owner.Home, b.Dir = owned, dir+"/proj"
		b.Places = secrets.Places(env, owned, b.Dir, nil)
	}))
	if got := r.Sh("grep -rs SECRET " + owned + " " + other + " " + dir + " " + link + "/ || true"); got != "" {
		t.Errorf("the box sees %q", got)
	}
	if got := r.Sh("cat " + link + "/plain " + dir + "/cargo/bin/tool " + dir + "/proj/main.c && ls -A " + dir + "/gnupg"); got != "textplainplain" {
		t.Errorf("the rest is %q", got)
	}
}

// TestSpareDoesNotShowWhatABoxHides: a spare that was built for others is not for
// a box that hides more.
func TestSpareDoesNotShowWhatABoxHides(t *testing.T) {
	t.Parallel()
	home := providertest.Tree(t, secretFiles)
	p, l := lab(t)
	usual, err := p.builder.outline(l.Box())
	must(t, err)
	p.spares.stock(usual)
	p.spares.stock(usual)
	providertest.Eventually(t, "there is a spare", func() bool { return haveSpare(p) })
	r := l.Start(l.Box(func(b *forkbox.Box) { b.Places = []string{"HOME=" + home} }))
	if got := r.Sh("grep -rs SECRET " + home + " || true"); got != "" {
		t.Errorf("the box sees %q", got)
	}
	// Sockets and files in /tmp come and go, and are hidden too.
	same := l.Box(func(b *forkbox.Box) { b.Places = []string{"HOME=" + b.Owner.Home} })
	providertest.Eventually(t, "a spare does for a box that hides the same", func() bool {
		plain, err := p.builder.outline(l.Box())
		must(t, err)
		named, err := p.builder.outline(same)
		must(t, err)
		return plain.key() == named.key()
	})
}

// TestPlacesNeverUnhide: whatever a caller's variables name, what is hidden
// without them stays so, and the box starts.
func TestPlacesNeverUnhide(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	home := providertest.Tree(t, secretFiles)
	for _, path := range []string{"/", home, home + "/.ssh", home + "/.ssh/id_ed25519", home + "/.ssh/none/x", "/etc", "/etc/hosts", "/proc/self/root", "/dev/shm/x", p.home, p.home + "/x", "/nowhere/at/all"} {
		var env []string
		for _, name := range []string{"HOME", "GNUPGHOME", "XDG_CONFIG_HOME", "KUBECONFIG"} {
			env = append(env, name+"="+path)
		}
		r := l.Start(l.Box(func(b *forkbox.Box) {
			b.Owner.Home, b.Places = home, secrets.Places(env, home, b.Dir, nil)
		}))
		if got := r.Sh("grep -rs SECRET " + home + " || true; test ! -e " + p.home + " && cat " + home + "/plain && test -s /etc/hosts"); got != "text" {
			t.Errorf("with %s the box sees %q", path, got)
		}
	}
}
