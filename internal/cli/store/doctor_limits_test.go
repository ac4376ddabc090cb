package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Doctor names what is not enforced, each with what would help.
func TestHeldChecks(t *testing.T) {
	checks := heldChecks(map[forkbox.Resource]forkbox.Holding{
		forkbox.Memory: {How: forkbox.Enforced}, forkbox.Disk: {How: forkbox.Watched, Why: "no quotas", Hint: "make a pool"},
	})
	if len(checks) != 2 || checks[0].Status != forkbox.OK || !strings.Contains(checks[0].Detail, "memory") || strings.Contains(checks[0].Detail, "disk") {
		t.Errorf("%+v", checks)
	}
	want := forkbox.Check{Name: "limit disk", Status: forkbox.Warn, Detail: "watched: no quotas", Remedy: "make a pool"}
	if checks[1] != want {
		t.Errorf("%+v", checks[1])
	}
}

func TestPoolText(t *testing.T) {
	pool := &api.Pool{File: "/h/pool.img", Size: 50 << 30, Used: 3 << 30, Free: 47 << 30, Allocated: 4 << 30}
	if got := poolText(pool); got != "/h/pool.img 50g, 3g used, 47g free; the file takes 4g" {
		t.Error(got)
	}
	if got := fmt.Sprint(poolText(nil)); !strings.Contains(got, "store init") {
		t.Error(got)
	}
}
