//go:build linux

package native

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestDeviationsAreDocumented: the page that each names speaks of it.
func TestDeviationsAreDocumented(t *testing.T) {
	for _, d := range deviations {
		page, err := os.ReadFile("../../../" + d.See)
		if os.IsNotExist(err) { // beside the test binary of an unprivileged run
			page, err = os.ReadFile("../" + d.See)
		}
		if err != nil || !strings.Contains(string(page), d.words) {
			t.Errorf("%q: %s does not say %q: %v", d.What, d.See, d.words, err)
		}
		if d.Why == "" || strings.HasSuffix(d.Why, ".") || len(d.What) > 100 {
			t.Errorf("%q, because %q", d.What, d.Why)
		}
	}
}

// TestDeviationsAreOfThisHost: they hang on whose the daemon is and what the
// host has, and a box really differs so.
func TestDeviationsAreOfThisHost(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	said := func(p *Provider, words string) bool {
		return slices.ContainsFunc(p.Deviations(), func(d forkbox.Deviation) bool { return strings.Contains(d.What, words) })
	}
	other := *p
	other.rootless = !p.rootless
	for words, withoutRoot := range map[string]bool{"EOVERFLOW": true, "EXDEV": true, "sudo": true, "/sys is": false, "real-time": false} {
		if said(p, words) != (p.rootless == withoutRoot) || said(&other, words) == said(p, words) {
			t.Errorf("that %q differs is told with root or without it alike", words)
		}
	}
	for path, words := range map[string]string{"/dev/fuse": "/dev/fuse", "/proc/keys": "keyrings", "/proc/self/ns/cgroup": "cgroup namespace", "/lib/ld-linux.so.2": "32-bit"} {
		if _, err := os.Lstat(path); said(p, words) != (err == nil) {
			t.Errorf("%q is told: %v, and the host has %s: %v", words, said(p, words), path, err == nil)
		}
	}
	r := l.Start(l.Box())
	for _, script := range []string{
		"test -e /dev/fuse", "unshare -C true", "chrt -f 1 true", "touch /sys/kernel/uevent_helper",
	} {
		if got := r.Sh("if " + script + " 2>/dev/null; then echo yes; else echo no; fi"); strings.TrimSpace(got) != "no" {
			t.Errorf("%s works in a box", script)
		}
	}
}
