package freezer

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/forkbox/forkbox"
)

// note is what has to be undone, also when who did it is no more.
type note struct {
	Group   string          `json:"group,omitempty"`
	Parent  string          `json:"parent,omitempty"`
	V2      bool            `json:"v2,omitempty"`
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

// Recover lets processes go on that somebody froze who is no more. Where there
// is no note there is nothing to do.
func Recover(noteFile string) error {
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
	if n.Group != "" {
		err = (&group{dir: n.Group, parent: n.Parent, v2: n.V2}).release()
	}
	return forkbox.Wrap("let a frozen box go on", errors.Join(err, resume(n.Stopped), forget(noteFile)))
}

// forget removes a note, if there is one.
func forget(noteFile string) error {
	if err := os.Remove(noteFile); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
