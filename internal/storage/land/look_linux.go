package land

import (
	"os"

	"github.com/forkbox/forkbox"
)

// Look says what a tree has at a path, as an item expects it: nil is nothing.
func Look(root *os.File, path string) (*forkbox.Identity, error) {
	t := &tree{root: int(root.Fd())}
	defer t.forget()
	o, err := t.look(path)
	if err != nil || o == nil {
		return nil, failed(opLand, path, err)
	}
	return &o.Identity, nil
}
