//go:build linux

package native

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

// beforeFile lies beside the directory of an imported layer's files, so that it
// is there for all boxes that lie over the layer, and goes with it.
const beforeFile = "before"

func writeBefore(dir string, before []forkbox.BaseSum) error {
	text, err := json.Marshal(before)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, beforeFile), text, 0o600)
}

// Before is what reality had where an imported box differs, as the machine that
// it came from knew it. Of most boxes nothing is known.
func (p *Provider) Before(box forkbox.Box) ([]forkbox.BaseSum, error) {
	var all []forkbox.BaseSum
	for _, layer := range box.Layers {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(p.store.Layer(layer)), beforeFile))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var list []forkbox.BaseSum
		if err == nil {
			err = json.Unmarshal(text, &list)
		}
		if err != nil {
			return nil, forkbox.Wrap("read what layer "+layer+" was made on", err)
		}
		all = append(all, list...)
	}
	return all, nil
}
