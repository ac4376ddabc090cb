package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// What a race lands was checked. A merge with what reality changed since was
// not, however clean it is.
func TestLandingOfWhatWasJudgedMergesNothing(t *testing.T) {
	l := newLab(t)
	l.real("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	l.box("one", "f", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
	_, err := l.Status(context.Background(), me, "one") // keeps what the file was
	check(t, err)
	land := func(spec forkbox.ApplySpec) (r forkbox.Receipt, err error) {
		_, err = l.core.Change(context.Background(), "apply", me, "one", func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
			r, err = l.LandUnmerged(ctx, h, *box, me, spec)
			return err
		})
		return r, err
	}
	l.real("f", "one\n2\n3\n4\n5\n6\n7\n8\n9\n")
	if _, err = land(forkbox.ApplySpec{}); !errors.Is(err, ErrDrifted) || forkbox.CodeOf(err) != forkbox.Conflict {
		t.Errorf("got %v", err)
	}
	l.wantTree(map[string]string{"f": "-rw-r--r-- one\n2\n3\n4\n5\n6\n7\n8\n9\n"})
	if r, err := land(forkbox.ApplySpec{DryRun: true}); err != nil || r.Merged != 1 || r.ID != "" {
		t.Errorf("a dry run: %+v, %v", r, err)
	}
	l.real("g", "another path is nothing that is merged\n")
	l.box("two", "h", "new\n")
	_, err = l.core.Change(context.Background(), "apply", me, "two", func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		_, err := l.LandUnmerged(ctx, h, *box, me, forkbox.ApplySpec{})
		return err
	})
	check(t, err)
}
