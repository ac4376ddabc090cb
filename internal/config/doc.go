// Package config is the one configuration of forkbox: every key of config.yaml
// and of a project's forkbox.yaml, every FORKBOX_ variable, and the flags that
// stand above them, in one table. From the table come the reading, with a line
// for each mistake and the word that may have been meant; the JSON Schema; the
// page docs/CONFIG.md; and `forkbox config show`.
//
// Later sources stand above earlier ones: what is built in, /etc/forkbox/config.yaml,
// the user's own config.yaml, the project's forkbox.yaml, variables, flags. A
// source that stands above may not open what one below it closed: keys that
// bind ([Key.Binds]) hold as well, and a project's file asks, it never allows.
//
// To add a key:
//
//  1. a field in [Settings], and its value in [Builtin] if that is not the zero one;
//  2. a row in the table (keys.go), with one of the kinds of kinds.go;
//  3. its use: the daemon is given the Settings when it starts, and a key with
//     Live is also taken over by daemon.reload;
//  4. a probe in internal/daemon/keys_linux_test.go: set it, and see the
//     difference. The test fails for a key that has none;
//  5. UPDATE_DOCS=1 go test ./internal/config -run TestPage writes docs/CONFIG.md.
//
// A variable that has a key is the row's Env; one that has none is a row of
// variables.go. Nothing here is made before it is asked for: the command line
// starts without it.
package config
