package ingress

import (
	"testing"

	"github.com/forkbox/forkbox"
)

// TestListenersAreBounded: one user's do not take the files of all.
func TestListenersAreBounded(t *testing.T) {
	i := newIngress(t, Config{Connections: 6})
	dial := web(t, says("hello")).dial
	for n := range 3 {
		if _, err := i.Publish(try, forkbox.Port{Box: 3000 + n}, dial); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := i.Publish(aBox("222222222222", "more", try.Owner.UID), forkbox.Port{Box: 80}, dial); forkbox.CodeOf(err) != forkbox.Busy {
		t.Errorf("one more of the same user: %v", err)
	}
	if _, err := i.Publish(aBox("333333333333", "theirs", 1001), forkbox.Port{Box: 8080}, dial); err != nil {
		t.Errorf("one of another user: %v", err)
	}
}
