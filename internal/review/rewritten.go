package review

import (
	"context"

	"github.com/forkbox/forkbox"
)

// onlyRewritten says whether reality's file has other bytes than at the fence,
// or than what landed there since, and says the same: nobody changed anything.
// git's index is such a file, which editors and prompts have written anew.
func (v *View) onlyRewritten(ctx context.Context, e *Entry) bool {
	if v.Rewritten == nil || e.Kind != forkbox.Modified || e.Type != "file" || e.differs("mode", "owner", "xattr") {
		return false
	}
	same := v.Rewritten(e.Path)
	if same == nil {
		return false
	}
	base, _, err := v.base(ctx, e)
	if err != nil || !base.there || !base.mode.IsRegular() {
		return false
	}
	now, err := readSide(e.Sides.Old, e.Sides.OpenOld)
	return err == nil && now.isText() && now.mode == base.mode && same(base.content, now.content)
}

// onlyRewrote is the same for the box's file: the box did nothing of its own.
func (v *View) onlyRewrote(e *Entry, t trio) bool {
	if v.Rewritten == nil || e.Kind != forkbox.Modified || !t.base.there || !t.inBox.isText() || e.differs("mode", "owner", "xattr") {
		return false
	}
	same := v.Rewritten(e.Path)
	return same != nil && same(t.base.content, t.inBox.content)
}
