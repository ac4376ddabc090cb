package cli

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox/internal/config"
)

// TestFlagsOfKeys: the flags that docs/CONFIG.md says stand above a key exist.
func TestFlagsOfKeys(t *testing.T) {
	root := Root()
	for _, k := range config.Keys() {
		verb, flag, ok := strings.Cut(k.Flag, " --")
		if k.Flag == "" {
			continue
		}
		cmd, _, err := root.Find(strings.Fields(verb))
		if !ok || err != nil || cmd.Flags().Lookup(flag) == nil {
			t.Errorf("%s: there is no %s", k.Name, k.Flag)
		}
	}
}
