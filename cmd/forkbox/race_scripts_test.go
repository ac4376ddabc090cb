//go:build linux

package main

import (
	"os"
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
			home, err := tempHome()
			if err != nil {
				return err
			}
			config := filepath.Join(filepath.Dir(home), "config.yaml")
			for name, value := range map[string]string{
				"FORKBOX_HOME": home, "FORKBOX_IDLE": "1m", "SHELL": "/bin/sh", "USER": os.Getenv("USER"), "FORKBOX_CONFIG": config,
			} {
				env.Setenv(name, value)
			}
			env.Defer(func() { removeHome(t, home) })
			return configure(env.WorkDir, config)
		},
	})
}
