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
	for words, withoutRoot := range map[string]bool{"EOVERFLOW": true, "EXDEV": true, "sudo": true, "/sys is": false, "real-time": false, "bwrap --proc": false} {
		if said(p, words) != (p.rootless == withoutRoot) || said(&other, words) == said(p, words) {
			t.Errorf("that %q differs is told with root or without it alike", words)
		}
	}
	for path, words := range map[string]string{"/dev/fuse": "/dev/fuse", "/proc/keys": "keyrings", "/lib/ld-linux.so.2": "32-bit"} {
		if _, err := os.Lstat(path); said(p, words) != (err == nil) {
			t.Errorf("%q is told: %v, and the host has %s: %v", words, said(p, words), path, err == nil)
		}
	}
	if said(p, "cgroup namespace") == p.governor.namespaces() {
		t.Errorf("boxes may have cgroup namespaces: %v, and doctor says the same of what they lack", p.governor.namespaces())
	}
	r := l.Start(l.Box())
	for _, script := range []string{
		"test -e /dev/fuse", "chrt -f 1 true", "touch /sys/kernel/uevent_helper",
	} {
		if got := r.Sh("if " + script + " 2>/dev/null; then echo yes; else echo no; fi"); strings.TrimSpace(got) != "no" {
			t.Errorf("%s works in a box", script)
		}
	}
}

// bwrapInPlaceOfAll is what docs/SECURITY.md and the explanation name in place of
// bwrap --unshare-all.
const bwrapInPlaceOfAll = "bwrap --unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-net"

// TestTheWayAroundIsTheOneThatWorks: TestSandboxesInABox runs what is advised.
func TestTheWayAroundIsTheOneThatWorks(t *testing.T) {
	page, err := os.ReadFile("../../../" + securityPage)
	if os.IsNotExist(err) { // beside the test binary of an unprivileged run
		page, err = os.ReadFile("../" + securityPage)
	}
	if err != nil || !strings.Contains(string(page), bwrapInPlaceOfAll) {
		t.Errorf("%s does not name %s: %v", securityPage, bwrapInPlaceOfAll, err)
	}
	words := "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)"
	if note := (&Provider{governor: &governor{}}).Explain([]byte(words)); !strings.Contains(note, bwrapInPlaceOfAll) {
		t.Errorf("it is explained as %q", note)
	}
}

// TestPromise8CgroupNamespacesReachNothing: where a box may have one, it finds
// there no group but its own, and nothing to write to.
func TestPromise8CgroupNamespacesReachNothing(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	r := l.Start(l.Box())
	try := func(script string) string {
		return strings.TrimSpace(r.Sh("unshare -UrmC sh -c '" + script + "' 2>/dev/null || true"))
	}
	if got := try("echo made"); (got == "made") != p.governor.namespaces() {
		t.Fatalf("a box may have cgroup namespaces: %v, and it says %q", p.governor.namespaces(), got)
	}
	for _, other := range []string{"memory", "net_cls", "name=systemd", "none,name=fbtest"} {
		if got := try("mount -t cgroup -o " + other + " none /tmp && echo mounted"); got != "" {
			t.Errorf("the groups of %s: %s", other, got)
		}
	}
	if !p.governor.namespaces() {
		return
	}
	modes := "" // without root the files of the group are the user's own
	if !p.rootless {
		modes = "chmod 0666 memory.max && echo set a mode; chmod 0777 . && echo set the mode of all; "
	}
	got := try("mount -t cgroup2 none /tmp && cd /tmp || exit; echo mounted; mkdir below && echo made a group; " + modes +
		"chown 1 memory.max && echo set an owner; " +
		"for f in *; do for v in max 0 1 100 threaded; do case $f in " +
		"cgroup.procs|cgroup.threads|cgroup.subtree_control|memory.oom.group|memory.reclaim) ;; *) echo $v >$f && echo wrote to $f;; esac; done; done; " +
		"find . -mindepth 1 -type d; cat memory.max")
	if got != "mounted\nmax" {
		t.Errorf("in its own group a box could: %s", got)
	}
}

// TestSandboxesInABox: what docs/SECURITY.md says of namespaces that a program in
// a box makes for itself, as sandboxes do.
func TestSandboxesInABox(t *testing.T) {
	t.Parallel()
	p, l := lab(t)
	r := l.Start(l.Box())
	for _, c := range []struct {
		script string
		works  bool
	}{
		{"unshare -Urmpiunf true", true},
		{"unshare -Urm sh -c 'mount -t tmpfs none /tmp && mkdir /tmp/l /tmp/u /tmp/w && mount -t overlay none -o lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w /tmp'", true},
		{"unshare -UrmpfC true", p.governor.namespaces()}, // in version 1 a box is in the daemon's groups
		{"bwrap --unshare-all --ro-bind / / true", p.governor.namespaces()},
		{bwrapInPlaceOfAll + " --ro-bind / / true", true},
		{bwrapInPlaceOfAll + " --ro-bind / / --dev /dev sh -c 'test -d /proc/self/fd && test -w /dev/null'", true}, // the box's own /proc
		{bwrapInPlaceOfAll + " --ro-bind / / --dev /dev --proc /proc true", p.rootless},
		{"unshare -Urmpf --mount-proc true", p.rootless}, // parts of a root box's /proc are covered
		{"unshare -Urmpf sh -c 'mount --rbind /proc /proc'", true},
	} {
		got := strings.TrimSpace(r.Sh("if out=$(" + c.script + " 2>&1); then echo works; else echo \"no: $out\"; fi"))
		if (got == "works") != c.works {
			t.Errorf("%s: %s", c.script, got)
		}
		if got != "works" && p.Explain([]byte(got)) == "" {
			t.Errorf("%s: %s, and nothing says why", c.script, got)
		}
	}
}

// TestExplain knows the words of programs that met what a box does not have, and
// no others.
func TestExplain(t *testing.T) {
	for words, want := range map[string]string{
		"touch: cannot touch 'x': Value too large for defined data type":                                       "without root",
		"OSError: [Errno 75] Value too large":                                                                  "without root",
		"Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?":    "a box does not reach",
		"permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock": "a box does not reach",
		"failed to connect to the docker API at unix:///var/run/docker.sock; check if the path is correct":     "a box does not reach",
		"fuse: device not found, try 'modprobe fuse' first":                                                    "a box has no /dev/fuse",
		"Cannot connect to the Docker daemon at tcp://127.0.0.1:2375. Is the docker daemon running?":           "",
		"permission denied": "", "": "",
	} {
		if got := (&Provider{rootless: true, governor: &governor{}}).Explain([]byte(words)); want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q is explained as %q", words, got)
		}
	}
	if got := (&Provider{governor: &governor{}}).Explain([]byte("Value too large for defined data type")); got != "" {
		t.Errorf("of root it is said that %s", got)
	}
}
