package land

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/forkbox/forkbox"
)

// Tally stands for all that lies below a directory. Two of them are the same
// when the same files are there with the same content, whatever the order in
// which they were added. What moving the directory itself changes is not in
// it, nor what a landing does elsewhere: files with several names get another
// inode's time with every rename of one of them, so their other time counts.
type Tally struct {
	Sum   uint64 `json:"sum"`
	Count uint64 `json:"count"`
}

// Add counts one thing; rel is its path from the directory.
func (t *Tally) Add(rel string, n forkbox.Node) {
	text := append(make([]byte, 0, 256), rel...)
	text = append(text, 0)
	add := func(v uint64) { text = binary.LittleEndian.AppendUint64(text, v) }
	add(uint64(n.Mode))
	add(uint64(n.UID))
	add(uint64(n.GID))
	add(n.Ino)
	if !n.Mode.IsDir() {
		add(uint64(n.Size))
		add(uint64(n.ModTime.UnixNano()))
		if n.Nlink == 1 {
			add(uint64(n.Ctime))
		}
	}
	sum := sha256.Sum256(text)
	t.Sum += binary.LittleEndian.Uint64(sum[:])
	t.Count++
}

func (t Tally) without(o Tally) Tally { return Tally{t.Sum - o.Sum, t.Count - o.Count} }
