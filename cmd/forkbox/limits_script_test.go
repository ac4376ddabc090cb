//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestScriptsOfLimits runs testdata/limits/*.txtar, each with a home and a
// configuration of its own. $HOG is the program that is every hog, and
// [enforced:memory] says whether this host enforces a limit.
func TestScriptsOfLimits(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/limits",
		RequireExplicitExec: true,
		Condition: func(name string) (bool, error) {
			if r, ok := strings.CutPrefix(name, "enforced:"); ok {
				how, _ := w.how(forkbox.Resource(r))
				return how == forkbox.Enforced, nil
			}
			return condition(name)
		},
		Setup: func(env *testscript.Env) error {
			home, err := scriptHome(t, env)
			if err != nil {
				return err
			}
			config := filepath.Join(filepath.Dir(home), "config.yaml")
			env.Setenv("FORKBOX_CONFIG", config)
			env.Setenv("HOG", w.self+" "+hogArg)
			return configure(env.WorkDir, config)
		},
	})
}

// configure takes the daemon's configuration from the script's own config.yaml.
func configure(workDir, to string) error {
	text, err := os.ReadFile(filepath.Join(workDir, "config.yaml"))
	if os.IsNotExist(err) {
		text, err = []byte(calm), nil
	}
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, text, 0o644); err != nil {
		return fmt.Errorf("cannot configure the daemon: %w", err)
	}
	return nil
}
