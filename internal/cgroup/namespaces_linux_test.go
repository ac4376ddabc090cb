package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNamespacesNeedVersion2Alone: a box that is in any group of the daemon's may
// not have cgroup namespaces.
func TestNamespacesNeedVersion2Alone(t *testing.T) {
	for own, want := range map[string]bool{
		"0::/user.slice/a\n":            true,
		"":                              false,
		"1:net_cls:/\n0::/a\n":          false,
		"2:memory:/a\n1:name=systemd:/": false,
	} {
		if got := onlyV2(own); got != want {
			t.Errorf("%q: %v", own, got)
		}
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	h := openHost(t)
	v2 := h.Version() == 2 && strings.Contains(strings.Join(h.trees[0].mount.super, ","), "nsdelegate")
	if want := v2 && !strings.Contains("\n"+string(own), "\n1"); h.Namespaces() != want {
		t.Errorf("they are allowed: %v, where processes are in\n%s", h.Namespaces(), own)
	}
	if !h.Namespaces() {
		return
	}
	h.trees[0].mount.super = []string{"rw"}
	if h.Namespaces() {
		t.Error("they are allowed where a namespace's root can be written to")
	}
}

// TestNothingIsMadeBelowWhatABoxIsIn: what could be made there would not be
// bounded, nor be seen by who kills.
func TestNothingIsMadeBelowWhatABoxIsIn(t *testing.T) {
	h := openHost(t)
	g := newBox(t, h, nil)
	s, err := g.Exec("1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []node{h.kernel.init(g.box), s.own} {
		below := filepath.Join(n.main(), "below")
		err := unix.Mkdir(below, 0o755)
		_ = unix.Rmdir(below)
		if sealed := errors.Is(err, unix.EAGAIN); sealed != (h.Version() == 2) {
			t.Errorf("%s: %v", below, err)
		}
	}
}
