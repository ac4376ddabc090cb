//go:build linux

package main

import (
	"strings"
	"syscall"
	"testing"
)

// A secret is asked for without showing it, and the terminal is as before,
// whatever ended the question.
func TestSecretIsAskedOnATerminal(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		keys string
		want string // what is said about it
		exit int
	}{
		"typed":     {"s3cr3t\r", "kept API_TOKEN", 0},
		"corrected": {"s3cr3x\x7ft\r", "kept API_TOKEN", 0},
		"nothing":   {"\r", "cannot read the secret: it is empty", 125},
		"ctrl-C":    {"s3cr3t\x03", "", 130},
		"ctrl-D":    {"\x04", "", 130},
	} {
		t.Run(name, func(t *testing.T) {
			c := newDesk(t, "NO_COLOR=1").forkbox("secret", "set", "API_TOKEN", "--host", "api.example.com")
			c.expect("value of API_TOKEN: ")
			c.press(row.keys)
			c.expect(row.want)
			if code := c.exit(); code != row.exit {
				t.Errorf("exit code %d:\n%s", code, c.text())
			}
			if strings.Contains(c.text(), "s3c") {
				t.Errorf("it was shown:\n%s", c.text())
			}
			c.isRestored()
		})
	}
}

// Another process's signal leaves the terminal as it was, too.
func TestSecretQuestionIsEndedFromOutside(t *testing.T) {
	t.Parallel()
	c := onTerminal(t, "secret", "set", "API_TOKEN", "--host", "api.example.com")
	c.expect("value of API_TOKEN: ")
	c.cmd.Process.Signal(syscall.SIGTERM)
	if code := c.exit(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d:\n%s", code, c.text())
	}
	c.isRestored()
}
