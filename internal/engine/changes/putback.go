package changes

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// An apply that fails half-way puts everything back, the same files; but that
// sets their inodes' times, and no receipt is left to tell that it was our
// doing. So it is kept with the box: otherwise the next apply would take it
// for reality's.

func (m *Manager) putBackFile(box string) string {
	return filepath.Join(m.bases.Dir(box), "putback")
}

// RememberPutBack remembers what a failed apply of a box put back. That one entry or
// another gets lost makes an apply refuse, never land too much.
func (m *Manager) RememberPutBack(box string) func(land.Entry) {
	if m.bases.Dir == nil {
		return nil
	}
	return func(x land.Entry) {
		var tag review.Tag
		if json.Unmarshal(x.Tag, &tag) != nil || tag.Drifted || x.Now == nil {
			return // it had been changed by reality before
		}
		m.notePutBack(box, *x.Now)
	}
}

// NoteDir remembers a directory that an apply of a box landed something in. That
// sets its times, and no receipt has it.
func (m *Manager) NoteDir(box, dir string) {
	if id, ok := review.LookDir(dir); ok && m.bases.Dir != nil {
		m.notePutBack(box, id)
	}
}

func (m *Manager) notePutBack(box string, id forkbox.Identity) {
	line, err := json.Marshal(id)
	if err != nil {
		return
	}
	_ = os.Mkdir(m.bases.Dir(box), 0o700) // not the box itself: it may be gone
	f, err := os.OpenFile(m.putBackFile(box), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(append(line, '\n'))
}

func (m *Manager) readPutBack(box string, left *review.Inodes) {
	if m.bases.Dir == nil {
		return
	}
	f, err := os.Open(m.putBackFile(box))
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var id forkbox.Identity
		if json.Unmarshal(lines.Bytes(), &id) == nil {
			left.Add(id)
		}
	}
}
