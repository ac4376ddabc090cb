package freezer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/forkbox/forkbox"
)

// limit is how long freezing may take: a process that waits for a disk or a
// network filesystem cannot be frozen before that answers.
const limit = 10 * time.Second

// Freeze stops all processes below init, the first process of a box, whose
// pid this is as the caller sees it. A note of what was done is kept in the
// file note, until [Thaw] lets them go on.
func Freeze(ctx context.Context, init int, note string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if Frozen(note) {
		return nil
	}
	err := bySignals(ctx, init, note)
	if errors.Is(err, errRestless) {
		return forkbox.Errorf(forkbox.Busy, "freeze the box", "%w", err).
			Hint("one of them may wait for a disk or network filesystem; try again, or stop the box first")
	}
	return forkbox.Wrap("freeze the box", err)
}

// Frozen says whether there is such a note.
func Frozen(note string) bool {
	_, err := os.Stat(note)
	return err == nil
}

// patience is how long a box may take to stand still before it is let go on
// for a moment and tried again: a process that waits in vfork for its child
// cannot be stopped, and that child, if it was stopped first, will not wake it.
const patience = 100 * time.Millisecond

var errRestless = errors.New("its processes did not stand still")

// settle calls step until it says that nothing is left to do. again is called
// when there is no end to that, and has it begin anew.
func settle(ctx context.Context, step func() (done bool, err error), again func() error) error {
	wait, began := 100*time.Microsecond, time.Now()
	for {
		done, err := step()
		if done || err != nil {
			return err
		}
		if time.Since(began) > patience {
			if err := again(); err != nil {
				return err
			}
			wait, began = 100*time.Microsecond, time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", errRestless, ctx.Err())
		case <-time.After(wait):
		}
		wait = min(2*wait, 10*time.Millisecond)
	}
}

// note is what has to be undone, also when who did it is no more.
type note struct {
	Stopped Stopped `json:"stopped,omitempty"`
}

func save(file string, n note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// Thaw lets processes go on that were frozen, also by a daemon that is no more.
// Where there is no note there is nothing to do.
func Thaw(noteFile string) error {
	text, err := os.ReadFile(noteFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var n note
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	if err != nil {
		return forkbox.Wrap("let a frozen box go on", err)
	}
	return forkbox.Wrap("let a frozen box go on", errors.Join(n.Stopped.Resume(), forget(noteFile)))
}

// forget removes a note, if there is one.
func forget(noteFile string) error {
	if err := os.Remove(noteFile); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
