package changes

import (
	"bufio"
	"encoding/json"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review"
)

// What a box has landed it still has itself, so that it can land again when that
// is undone. A discard puts the box's later changes back to what reality has,
// and that is what landed: the box gets it as its own again. The receipt knows
// another file of the box, so the new one is noted beside the box's bases.

// ownCopy is a file of the box that is as it landed.
type ownCopy struct {
	Path    string           `json:"path"`
	Receipt string           `json:"receipt"`
	Box     forkbox.Identity `json:"box"`
}

func (m *Manager) ownCopiesFile(box string) string { return m.bases.Dir(box) + ".own" }

// NoteOwnCopies remembers what a box has as it landed.
func (m *Manager) NoteOwnCopies(box string, marks *review.Marks, own map[string]forkbox.Identity) error {
	if len(own) == 0 || m.bases.Dir == nil {
		return nil
	}
	f, err := os.OpenFile(m.ownCopiesFile(box), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	lines := json.NewEncoder(out)
	for p, id := range own {
		seen, _ := marks.Get(p)
		if err := lines.Encode(ownCopy{p, seen.Receipt, id}); err != nil {
			return err
		}
	}
	return out.Flush()
}

// readOwnCopies adds that to the marks: the box has all of what landed there, also
// what was merged into it.
func (m *Manager) readOwnCopies(box string, marks *review.Marks, left *review.Inodes) {
	if m.bases.Dir == nil {
		return
	}
	f, err := os.Open(m.ownCopiesFile(box))
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var o ownCopy
		if json.Unmarshal(lines.Bytes(), &o) != nil {
			continue
		}
		seen, ok := marks.Get(o.Path)
		if !ok || seen.Receipt != o.Receipt {
			continue // it has landed again
		}
		seen.Box, seen.Whole, seen.Merged = o.Box, true, false
		left.Add(seen.Reality)
		marks.Set(o.Path, seen)
	}
}
