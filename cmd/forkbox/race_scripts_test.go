//go:build linux

package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScriptsOfRaces runs testdata/script/race*.txt, each with a home and a
// configuration of its own.
func TestScriptsOfRaces(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			home, err := scriptHome(t, env)
			if err != nil {
				return err
			}
			config := filepath.Join(filepath.Dir(home), "config.yaml")
			env.Setenv("FORKBOX_CONFIG", config)
			return configure(env.WorkDir, config)
		},
	})
}
