package engine

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

func (e *Engine) putBackFile(box string) string {
	return filepath.Join(e.bases(box), "putback")
}

// putBack remembers what a failed apply of a box put back. That one entry or
// another gets lost makes an apply refuse, never land too much.
func (e *Engine) putBack(box string) func(land.Entry) {
	if e.bases == nil {
		return nil
	}
	return func(x land.Entry) {
		var tag review.Tag
		if json.Unmarshal(x.Tag, &tag) != nil || tag.Drifted || x.Now == nil {
			return // it had been changed by reality before
		}
		e.notePutBack(box, *x.Now)
	}
}

// noteDir remembers a directory that an apply of a box landed something in. That
// sets its times, and no receipt has it.
func (e *Engine) noteDir(box, dir string) {
	if id, ok := review.LookDir(dir); ok && e.bases != nil {
		e.notePutBack(box, id)
	}
}

func (e *Engine) notePutBack(box string, id forkbox.Identity) {
	line, err := json.Marshal(id)
	if err != nil {
		return
	}
	_ = os.Mkdir(e.bases(box), 0o700) // not the box itself: it may be gone
	f, err := os.OpenFile(e.putBackFile(box), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(append(line, '\n'))
}

func (e *Engine) readPutBack(box string, left *review.Inodes) {
	if e.bases == nil {
		return
	}
	f, err := os.Open(e.putBackFile(box))
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
