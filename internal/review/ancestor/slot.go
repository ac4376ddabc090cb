package ancestor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// slot is where the pin of one path is.
type slot struct {
	dir   string
	fence time.Time
	path  string
	name  string // of the record in dir
}

// slot is named by a hash: a path can be longer than a file name and have any
// bytes. The fence is in it because a pin of another fence is another pin.
func (b *Book) slot(path string) slot {
	fence := b.at()
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", fence.UnixNano(), path))
	return slot{dir: b.dir, fence: fence, path: path, name: hex.EncodeToString(sum[:])}
}

// taken says whether there is a record, sound or not, without reading it.
func (s slot) taken() bool {
	_, err := os.Lstat(filepath.Join(s.dir, s.name))
	return err == nil
}

// find reads the pin.
func (s slot) find() (pin, state) {
	var p pin
	state := load(s.dir, s.name, &p)
	if state == there && !s.mine(p) {
		state = damaged
	}
	return p, state
}

func (s slot) mine(p pin) bool {
	return p.Fence == s.fence.UnixNano() && len(p.Path) == 1 && p.Path[0] == s.path &&
		(p.Absent || len(p.Sum) == 2*sha256.Size)
}

// contentName has the content's hash in it: while a pin is replaced, there is
// never one pin's record with another's content.
func (s slot) contentName(sum string) string { return s.name + "." + sum[:16] }

// content reads what was pinned; ok is false when it is not that any more.
func (s slot) content(p pin) (content []byte, ok bool) {
	content, err := os.ReadFile(filepath.Join(s.dir, s.contentName(p.Sum)))
	if err != nil || hash(content) != p.Sum {
		return nil, false
	}
	return content, true
}

// replace writes the pin, and removes the content of the one that was there.
func (s slot) replace(p pin) error {
	old, state := s.find()
	p.Fence, p.Path = s.fence.UnixNano(), raw(s.path)
	if err := save(s.dir, s.name, p); err != nil {
		return err
	}
	if state == there && old.Sum != p.Sum {
		s.removeContent(old)
	}
	return nil
}

func (s slot) removeContent(p pin) {
	if !p.Absent {
		os.Remove(filepath.Join(s.dir, s.contentName(p.Sum)))
	}
}
