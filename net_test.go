package forkbox_test

import (
	"testing"

	"github.com/forkbox/forkbox"
)

// TestNetWishesAreBounded: what any user can send is refused before the daemon
// works on it.
func TestNetWishesAreBounded(t *testing.T) {
	t.Parallel()
	many, fine := make([]string, forkbox.MostRules+1), make([]string, forkbox.MostRules)
	project := func(w forkbox.NetWish) forkbox.NetWish { return forkbox.NetWish{Project: &w} }
	for name, w := range map[string]forkbox.NetWish{
		"rules": {Rules: many}, "secrets": {Secrets: many}, "terminate": {Terminate: many}, "pinned": {Pinned: many},
		"ports": {HostPorts: make([]int, len(many))}, "found": {Found: make([]forkbox.NetRule, len(many))},
		"project": project(forkbox.NetWish{Rules: many}), "project's found": project(forkbox.NetWish{Found: make([]forkbox.NetRule, 1)}),
		"project's project": project(project(forkbox.NetWish{})),
	} {
		if err := w.Check(); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, w := range []forkbox.NetWish{{}, {Rules: fine, Secrets: fine}, project(forkbox.NetWish{Rules: fine})} {
		if err := w.Check(); err != nil {
			t.Error(err)
		}
	}
}
