//go:build unix

package toolhosts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox/internal/network/rules"
)

// TestProjectNotNear: files that come with a project open nothing of the user's
// network: no private names, no addresses.
func TestProjectNotNear(t *testing.T) {
	w := newWorld(t)
	w.file("home/ann/src/app/.npmrc", "registry=http://192.168.1.1:80/\n@a:registry=http://router.example.com\n@b:registry=http://[fd00::1]/\n@c:registry=http://8.8.8.8/\n")
	w.file("home/ann/src/app/.cargo/config.toml", "registries.x.index = \"https://10.0.0.1\"\nregistries.y.index = \"https://[2001:db8::1]\"\n")
	w.finds("router.example.com:80 <- npm (/home/ann/src/app/.npmrc)")
}

// TestStrangersFiles: what another user put above the user's work does not
// count.
func TestStrangersFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to another user")
	}
	w := newWorld(t)
	w.file("home/ann/src/.npmrc", "registry=https://planted.example.com\n")
	w.file("home/ann/src/app/.git/config", "[remote \"x\"]\nurl = https://git.example.com\n")
	for _, file := range []string{"home/ann/src/.npmrc", "home/ann/src/app/.git/config"} {
		if err := os.Chown(filepath.Join(w.root, file), 4242, 4242); err != nil {
			t.Fatal(err)
		}
	}
	w.finds("git.example.com:443 <- git (/home/ann/src/app/.git/config)")
}

// TestUseless: what can never be allowed by a rule is not found, so that it
// cannot make the policy refuse the rest.
func TestUseless(t *testing.T) {
	w := newWorld(t)
	var text strings.Builder
	for i, url := range []string{"http://localhost:4873", "http://a.localhost", "http://127.0.0.1:1", "http://[::1]:1", "http://0.0.0.0", "http://[::]/", "http://224.0.0.1", "http://198.18.0.1",
		"http://240.0.0.1", "http://192.0.0.1", "http://169.254.169.254", "http://[fe80::1%25eth0]/", "http://0177.0.0.1", "http://2130706433", "http://0x7f.1", "http://x.0x1", "http://1.2.3",
		"http://bücher.example.com", "http://a b.example.com", "http://a..example.com", "http://-a.example.com", "http://*.example.com", "http://private", "http://tcp:1", "http://h.example.com:0",
		"http://h.example.com:99999", "http://h.example.com:x", "http://", "http:///x", "ftp://h.example.com", "file:///x", "h.example.com", "http://" + strings.Repeat("a", 64) + ".example.com",
		"http://h.example.com\x00", "http://" + strings.Repeat("a.", 150) + "example.com", "https://h.example.com%0a.x", "http://" + strings.Repeat("x", 3000) + "@h.example.com"} {
		fmt.Fprintf(&text, "@s%d:registry=%s\n", i, url)
	}
	w.file("home/ann/.npmrc", text.String())
	w.finds()
}

// TestOddFiles: nothing hangs and nothing is read that is no plain file.
func TestOddFiles(t *testing.T) {
	w := newWorld(t)
	fifo(t, w.root+"/home/ann/.npmrc")
	w.mkdir("home/ann/.gitconfig")
	w.mkdir("etc/apt")
	for name, target := range map[string]string{"etc/npmrc": "npmrc", "etc/pip.conf": "/dev/zero", "etc/gitconfig": "/proc/self/environ", "etc/apt/sources.list.d": "sources.list.d", "etc/apt/apt.conf": "/dev/tty"} {
		if err := os.Symlink(target, filepath.Join(w.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.file("etc/apt/sources.list", "deb http://h.example.com/x ./\n"+strings.Repeat("#", mostText))
	w.finds()
}

// TestBounded: no file fills the policy.
func TestBounded(t *testing.T) {
	w := newWorld(t)
	var text strings.Builder
	for i := range mostRules + 50 {
		fmt.Fprintf(&text, "@s%d:registry=https://h%d.example.com\n", i, i)
	}
	w.file("home/ann/.npmrc", text.String())
	if got := Find(w.opts); len(got) != mostRules {
		t.Error(len(got))
	}
}

// TestOddNames: a file's name cannot add lines to what people read.
func TestOddNames(t *testing.T) {
	w := newWorld(t)
	w.file("home/ann/a\nb/.npmrc", "registry=https://h.example.com")
	w.opts.Dir = w.root + "/home/ann/a\nb"
	if got := Find(w.opts); len(got) != 1 || strings.Contains(got[0].From, "\n") || !strings.Contains(got[0].From, `a\nb/.npmrc`) {
		t.Errorf("%+v", got)
	}
}

// FuzzFiles: whatever is in the files, what is found are rules that the policy
// takes, without what was before an @.
func FuzzFiles(f *testing.F) {
	for _, seed := range []string{"registry=https://u:p@h.example.com:1/x", "deb [a=b] mirror+file:/x http://h", "[remote \"x\"]\nurl=a@b:c", "Acquire { http { Proxy \"x\"; }; };", "index = \"sparse+https://h\"",
		"URIs: http://h\n http://i", "[global]\nindex-url=\n  https://h", "GOPROXY=a|b,c", "{\"dl\":\"https://h/{x}\"}"} {
		f.Add(seed)
	}
	made := newWorld(f)
	f.Fuzz(func(t *testing.T, text string) {
		w := &world{t, made.root, made.opts}
		for _, file := range []string{"home/ann/.npmrc", "home/ann/src/app/.npmrc", "etc/pip.conf", "etc/apt/sources.list", "etc/apt/sources.list.d/x.sources", "etc/apt/apt.conf", "home/ann/.cargo/config.toml",
			"home/ann/.cargo/registry/index/h.example.com-0123456789abcdef/config.json", "home/ann/.gitconfig", "home/ann/src/app/.git", "usr/local/go/go.env"} {
			w.file(file, text)
		}
		for _, r := range Find(w.opts) {
			if _, err := rules.Parse(r.Rule); err != nil || strings.Contains(r.Rule, "@") || strings.ContainsAny(r.From, "\n") {
				t.Fatalf("%+v: %v", r, err)
			}
		}
	})
}

// FuzzHost: the same for a single URL, which can be tried more often.
func FuzzHost(f *testing.F) {
	for _, seed := range []string{"https://u:p@h.example.com:1/x", "http://[fd00::1]:80", "ssh://a@b@c", "http://0x7f.1", "http://h.0", "socks5://[::ffff:10.0.0.1]", "https://a_b-c.d."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		h, ok := hostOf(url)
		if !ok {
			return
		}
		text := "allow " + h.text
		if !h.literal {
			text += " private"
		}
		if r, err := rules.Parse(text); err != nil || r.String() != text || (r.Host == "") != h.literal {
			t.Fatalf("%q: %q, %v", url, text, err)
		}
	})
}
