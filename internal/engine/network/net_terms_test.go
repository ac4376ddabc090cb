package network

import (
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestWishesAddUp(t *testing.T) {
	was := forkbox.NetWish{
		Preset: "open", Rules: []string{"allow a", "deny b"}, HostPorts: []int{1}, Secrets: []string{"A"},
		Project: &forkbox.NetWish{Preset: "locked"}, ProjectFile: "/p", Found: []forkbox.NetRule{{Rule: "allow f"}},
	}
	now := forkbox.NetWish{Rules: []string{"deny b", "allow c"}, HostPorts: []int{2, 1}, Secrets: []string{"B"}, Pinned: []string{"p"}}
	got := netOver(was, now)
	if !slices.Equal(got.Rules, []string{"deny b", "allow c", "allow a"}) || !slices.Equal(got.HostPorts, []int{1, 2}) ||
		!slices.Equal(got.Secrets, []string{"A", "B"}) || !slices.Equal(got.Pinned, []string{"p"}) ||
		got.Preset != "open" || got.ProjectFile != "/p" || got.Project.Preset != "locked" || len(got.Found) != 1 {
		t.Errorf("got %+v", got)
	}
	got = netOver(was, forkbox.NetWish{Preset: "locked", ProjectFile: "/q", Found: []forkbox.NetRule{}})
	if got.Preset != "locked" || got.Project != nil || got.ProjectFile != "/q" || len(got.Found) != 0 || len(got.Rules) != 2 {
		t.Errorf("got %+v", got)
	}
}
