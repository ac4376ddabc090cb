//go:build !linux

package git

import (
	"context"
	"os/exec"

	"github.com/forkbox/forkbox"
)

func (r Repo) rights(*exec.Cmd) error { return unsupported() }

func supervise(context.Context, *exec.Cmd) error { return unsupported() }

// As does something with the owner's rights.
func (r Repo) As(func() error) error { return unsupported() }

func unsupported() error {
	return forkbox.Errorf(forkbox.Unsupported, "run git", "this works on Linux only")
}
