//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// limitWorld is a forkbox with a daemon and a configuration of its own.
type limitWorld struct {
	served
	self string // the program that is every hog
}

// calm is a configuration in which no request waits because other tests keep this
// machine busy.
const calm = "admission: {pressure: {memory: 100, io: 100}}\n"

func newLimitWorld(t *testing.T, config string) *limitWorld {
	t.Helper()
	return newLimitWorldIn(t, "", config)
}

// newLimitWorldIn keeps its boxes below dir.
func newLimitWorldIn(t *testing.T, dir, config string) *limitWorld {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &limitWorld{served: served{world: makeWorld(t, dir, "reality")}, self: self}
	t.Cleanup(w.end)
	w.configure(config)
	w.serve()
	return w
}

// as is the same world for a test within the test.
func (w *limitWorld) as(t *testing.T) *limitWorld {
	same := *w
	same.T = t
	return &same
}

// end removes the boxes and finds nothing left of them.
func (w *limitWorld) end() {
	w.endDaemon()
	w.noGroups("at the end")
	removeHome(w.T, w.home)
}

// groups are the cgroups that boxes of this world are in.
func (w *limitWorld) groups() (found []string) {
	sum := sha256.Sum256([]byte(w.home))
	name := "forkbox-" + hex.EncodeToString(sum[:4])
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == name {
			found = append(found, path)
			return fs.SkipDir
		}
		return nil
	})
	return found
}

func (w *limitWorld) noGroups(when string) {
	w.Helper()
	var left []string
	if !comes(func() bool { left = w.groups(); return len(left) == 0 }) {
		w.Errorf("%s: cgroups are left: %q\n%s", when, left, w.log())
	}
}

// needs skips where this host does not enforce a limit; where that is so,
// [TestLimitsRefused] finds it refused.
func (w *limitWorld) needs(all ...forkbox.Resource) {
	w.Helper()
	for _, r := range all {
		if how, why := w.how(r); how != forkbox.Enforced {
			w.Skipf("%s is %s here: %s", r, how, why)
		}
	}
}

func (w *limitWorld) how(r forkbox.Resource) (forkbox.How, string) {
	w.Helper()
	holds, err := w.Holds(w.Context())
	w.ok(err)
	h, told := holds[r]
	if !told {
		return forkbox.Enforced, ""
	}
	return h.How, h.Why
}

// groupBelow says whether there is a group of that name.
func groupBelow(top, name string) (found bool) {
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		found = found || err == nil && d.IsDir() && strings.HasPrefix(d.Name(), name)
		return nil
	})
	return found
}
