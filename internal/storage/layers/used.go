package layers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/quota"
)

// Counts says whether [Store.Used] asks the kernel, where a box is limited.
// Otherwise it looks at every file.
func (s *Store) Counts() bool { return s.holder != nil }

// Used is what the top of a box takes: allocated blocks, so that holes do not
// count and what is set aside does, and each inode once. What was deleted and
// is still open counts where the kernel counts.
//
// inodes is -1 where they would have to be counted one by one and the box has
// no limit on them. On btrfs bytes is what was written in the top itself, also
// if a snapshot has it since; what the top began with does not count (but does
// on kernels before 6.7).
func (s *Store) Used(ctx context.Context, box string) (bytes, inodes int64, err error) {
	const op = "count what the box takes"
	if err := checkID(op, box); err != nil {
		return 0, 0, err
	}
	if !exists(s.Dir(box)) {
		return 0, 0, noBox(op, box)
	}
	if s.holder == nil {
		return s.countTree(ctx, s.Top(box))
	}
	bytes, inodes, err = s.holder.Used(s.Top(box))
	switch {
	case errors.Is(err, fs.ErrNotExist): // it has written nothing
		return 0, 0, nil
	case errors.Is(err, quota.ErrUncounted):
		return s.countTree(ctx, s.Top(box))
	case err != nil:
		return 0, 0, forkbox.Wrap(op, err)
	}
	if a, _ := s.readNote(box); inodes == quota.None && a.files != quota.None {
		_, inodes, err = s.countTree(ctx, s.Top(box))
	}
	return bytes, inodes, err
}

// countTree counts a tree inode by inode.
func (s *Store) countTree(ctx context.Context, dir string) (bytes, inodes int64, err error) {
	o := &owner{path: dir}
	if err := count(ctx, []*owner{o}, &Usage{}); err != nil {
		return 0, 0, forkbox.Wrap("count what the box takes", err)
	}
	return o.All, o.Files, nil
}

// LayerBytes is what a layer takes, which is counted once: it never changes.
func (s *Store) LayerBytes(layer string) (int64, error) {
	const op = "count what the layer takes"
	if !s.HasLayer(layer) {
		return 0, noLayer(op, layer)
	}
	s.mu.Lock()
	bytes, known := s.sizes[layer]
	s.mu.Unlock()
	if known {
		return bytes, nil
	}
	bytes, _, err := s.countTree(context.Background(), s.layer(layer))
	if err != nil {
		return 0, forkbox.Wrap(op, err)
	}
	s.mu.Lock()
	s.sizes[layer] = bytes
	s.mu.Unlock()
	return bytes, nil
}

// forgetSize is for a name that may come to mean another layer.
func (s *Store) forgetSize(layer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sizes, layer)
}

// tookName is the note in a layer of what its box's top had written when it
// was made, and of which top that was.
const tookName = "took"

// noteTook leaves the note in what is to be a layer. Without it the layer is
// counted as if it shared nothing.
func (s *Store) noteTook(top, layer string) {
	if s.holder == nil || s.holder.Files() {
		return
	}
	id, err := s.holder.ID(top)
	if err != nil {
		return
	}
	if bytes, _, err := s.holder.Used(top); err == nil {
		_ = os.Symlink(fmt.Sprintf("%d %d", id, bytes), filepath.Join(layer, tookName))
	}
}

func (s *Store) readTook(layer string) (top uint64, bytes int64, ok bool) {
	text, err := os.Readlink(filepath.Join(s.layer(layer), tookName))
	if err != nil {
		return 0, 0, false
	}
	n, err := fmt.Sscanf(text, "%d %d", &top, &bytes)
	return top, bytes, n == 2 && err == nil
}

// Saved is what the layers that a box was saved as take beyond what
// [Store.Used] says of it: what is to be subtracted from its limit to get the
// one for [Store.SetQuota]. Where snapshots share what was written with the
// top that they are of, it counts once: with the top as long as the box has
// it, with the biggest snapshot of it after that. (Kernels before 6.7 cannot
// tell what a top began with from what was written in it, and count that again
// after a rollback: the sum is never too small.) Layers that are gone count
// nothing.
func (s *Store) Saved(box string, layers []string) (int64, error) {
	const op = "count what the box's snapshots take"
	if err := checkID(op, box); err != nil {
		return 0, err
	}
	now := s.topID(box)
	var sum int64
	tops := map[uint64]int64{}
	for _, layer := range layers {
		if top, bytes, ok := s.readTook(layer); ok {
			tops[top] = max(tops[top], bytes)
			continue
		}
		switch bytes, err := s.LayerBytes(layer); {
		case forkbox.CodeOf(err) == forkbox.NotFound:
		case err != nil:
			return 0, err
		default:
			sum += bytes
		}
	}
	for top, bytes := range tops {
		if top != now {
			sum += bytes
		}
	}
	return sum, nil
}

// topID tells the box's present top from earlier ones; 0 if it has none.
func (s *Store) topID(box string) uint64 {
	if s.holder == nil {
		return 0
	}
	id, err := s.holder.ID(s.Top(box))
	if err != nil {
		return 0
	}
	return id
}

// room is what forkbox and overlayfs need in a top to start its box.
var room = allowance{2 << 20, 64}

// makeRoom raises the limit of a full top for what forkbox itself makes there:
// a box that is full can be started, and cleaned up. The next [Store.SetQuota]
// takes back what was not needed.
func (s *Store) makeRoom(box string) error {
	if s.holder == nil {
		return nil
	}
	a, noted := s.readNote(box)
	if !noted || a == unlimited {
		return nil
	}
	bytes, files, err := s.holder.Used(s.Top(box))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, quota.ErrUncounted):
		return nil
	case err != nil:
		return err
	}
	eased := allowance{atLeast(a.bytes, bytes+room.bytes), atLeast(a.files, files+room.files)}
	if eased == a {
		return nil
	}
	return s.apply(s.Top(box), eased)
}

func atLeast(limit, least int64) int64 {
	if limit == quota.None {
		return limit
	}
	return max(limit, least)
}
