package landing

import (
	"context"
	"crypto/sha256"
	"io"

	"github.com/forkbox/forkbox/internal/git"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// The next `git status` writes an index that landed anew: it has the box's view
// of its files. What landed is kept, so that it can be told from an index in
// which the owner staged something.

// landedIndex is one of git's that an apply lands.
type landedIndex struct {
	path string
	sum  [32]byte // of what was staged
}

// maxIndexes is how many are kept of one apply.
const maxIndexes = 64

func (a *application) countIndex(step review.Step, sum [32]byte) {
	for _, item := range step.Items {
		if item.Op == land.Put && item.Node.Mode.IsRegular() && git.Rewritten(item.Path) != nil && len(a.indexes) < maxIndexes {
			a.indexes = append(a.indexes, landedIndex{item.Path, sum})
		}
	}
}

// keepIndexes keeps those that reality has as they landed. Without one that git
// has written anew it counts as changed, and nothing is lost.
func (a *application) keepIndexes(ctx context.Context) {
	for _, x := range a.indexes {
		f, err := review.OpenRegular(x.path)
		if err != nil {
			continue
		}
		content, err := io.ReadAll(io.LimitReader(f, git.MaxIndex))
		info, err2 := f.Stat()
		f.Close()
		if err != nil || err2 != nil || sha256.Sum256(content) != x.sum {
			continue
		}
		if err := a.changes.LandedBook(a.receipt.ID).PinBytes(x.path, content, info.Mode()); err != nil {
			a.core.Log.WarnContext(ctx, "cannot keep an index", "receipt", a.receipt.ID, "box", a.box.ID, "error", err)
		}
	}
}

// asLanded says of files that git writes anew whether they say what a receipt
// landed.
func (m *Manager) asLanded(receipt string) func(path string) func(content []byte) bool {
	return func(path string) func([]byte) bool {
		same := git.Rewritten(path)
		if same == nil {
			return nil
		}
		return func(now []byte) bool {
			landed, _, known, absent, err := m.changes.LandedBook(receipt).Base(context.Background(), path)
			return err == nil && known && !absent && same(landed, now)
		}
	}
}
