//go:build linux

package native

import (
	"context"
	"fmt"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
)

// Refresh has a running box see what reality has now. An overlay remembers what
// it looked up, also that there was nothing: without this a process that runs
// through a sync would go on to write over files of reality that it cannot see.
// It is done by the process that mounted them: as root the daemon, else init.
func (i *instance) Refresh(ctx context.Context) error {
	if !linux.RealRoot() {
		ctx, cancel := context.WithTimeout(ctx, answerLimit)
		defer cancel()
		_, err := i.call(ctx, boxinit.Request{Verb: boxinit.DoRefresh})
		return err
	}
	mounts, err := os.Open(fmt.Sprintf("/proc/%d/mountinfo", i.process.PID))
	if err != nil {
		return forkbox.Wrap(boxinit.OpRefresh, err)
	}
	defer mounts.Close()
	root, err := i.Root() // which makes sure that it was init's
	if err != nil {
		return err
	}
	defer root.Close()
	return boxinit.RefreshOverlays(root, mounts)
}
