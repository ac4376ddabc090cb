package freezer

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/forkbox/forkbox"
)

// note is what has to be undone, also when who did it is no more.
type note struct {
	Stopped map[int]started `json:"stopped,omitempty"`
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

// Thaw lets processes go on that were frozen, also by somebody who is no more.
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
	return forkbox.Wrap("let a frozen box go on", errors.Join(resume(n.Stopped), forget(noteFile)))
}

// forget removes a note, if there is one.
func forget(noteFile string) error {
	if err := os.Remove(noteFile); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
