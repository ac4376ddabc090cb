//go:build linux

package native

import (
	"context"
	"crypto/rand"
	"os"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
	"github.com/forkbox/forkbox/internal/provider/native/fileagent"
)

var _ forkbox.Filed = (*instance)(nil)

// newAgents are what reads and writes files in a box: init starts it, in a cgroup
// beside those of execs, so that it is frozen and counted with them.
func newAgents(i *instance) fileagent.Agents {
	return fileagent.Agents{
		Enter: func() (func(), error) {
			i.starts.RLock()
			if i.still.Load() {
				i.starts.RUnlock()
				return nil, forkbox.Errorf(forkbox.Busy, "reach the box's files", "the box is paused")
			}
			return i.starts.RUnlock, nil
		},
		Start: func(ctx context.Context, owner forkbox.Owner, control *os.File) (func(), error) {
			id, files := "files-"+strings.ToLower(rand.Text()[:8]), []*os.File{control}
			if i.group != nil {
				made, err := i.enclosure.add(id)
				if err != nil {
					return nil, unlessEnded(i, boxinit.DoFiles, err)
				}
				defer made.entry.Close()
				files = append(files, entrance(made.entry)...)
			}
			ctx, cancel := context.WithTimeout(ctx, answerLimit)
			defer cancel()
			_, err := i.call(ctx, boxinit.Request{Verb: boxinit.DoFiles, Agent: &boxinit.FilesArgs{Owner: owner}}, files...)
			if err != nil {
				i.enclosure.leaveSoon(id)
				return nil, unlessEnded(i, boxinit.DoFiles, err)
			}
			return func() { i.enclosure.leaveSoon(id) }, nil
		},
	}
}
