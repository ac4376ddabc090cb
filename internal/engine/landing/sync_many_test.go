package landing

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review"
)

func TestKeptBasesComeBackInOrder(t *testing.T) {
	want := []keptBase{{[]byte("/a"), []byte("old\n"), 0o644}, {[]byte("/b\xff\n"), []byte{}, 0o600}, {[]byte("/c"), []byte(strings.Repeat("long", 1<<18)), 0o755}}
	var kept keptBases
	defer kept.close()
	dir := t.TempDir() + "/made"
	for _, base := range want {
		check(t, kept.add(dir, base))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it has a name: %v, %v", left, err)
	}
	i := 0
	check(t, kept.each(func(got keptBase) error {
		got.Content = append([]byte{}, got.Content...)
		if !reflect.DeepEqual(got, want[i]) {
			t.Errorf("%q %v, not %q %v", got.Path, got.Mode, want[i].Path, want[i].Mode)
		}
		i++
		return nil
	}))
	if i != len(want) {
		t.Errorf("%d of %d", i, len(want))
	}
	var none keptBases
	defer none.close()
	check(t, none.each(func(keptBase) error { t.Error("there is none"); return nil }))
}

// TestASyncListsSoManyPathsAndNoMore: what it holds, and what the record of the
// box has, is bounded.
func TestASyncListsSoManyPathsAndNoMore(t *testing.T) {
	s := &syncing{box: &forkbox.Box{Name: "try"}}
	tell := func(u review.Update) (err error) {
		for i := 0; i <= maxSynced && err == nil; i++ {
			err = s.tell(fmt.Sprintf("/%d", i), &u)
		}
		return err
	}
	check(t, tell(review.Update{}))
	check(t, tell(review.Update{Taken: true}))
	if r := s.result; len(r.Merged) != maxSynced || len(r.Taken) != maxSynced || r.Count.Merged != maxSynced+1 || r.Count.Taken != maxSynced+1 {
		t.Errorf("%d and %d of %+v", len(r.Merged), len(r.Taken), r.Count)
	}
	err := tell(review.Update{Conflict: "both"})
	wantCode(t, err, forkbox.Conflict)
	if len(s.result.Conflicts) != maxSynced {
		t.Errorf("%d conflicts", len(s.result.Conflicts))
	}
}
