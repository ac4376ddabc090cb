//go:build linux

package native

import (
	"context"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/provider/native/boxinit"
)

// Attach relays an exec to another caller as well.
func (i *instance) Attach(ctx context.Context, id string, stdio forkbox.Stdio) error {
	defer stdio.Close()
	req := boxinit.Request{Verb: boxinit.DoAttach, ID: id, Last: stdio.Last}
	var files []*os.File
	for n, f := range []*os.File{stdio.In, stdio.Out} {
		if f != nil {
			req.Have[n] = true
			files = append(files, f)
		}
	}
	_, err := i.call(ctx, req, files...)
	return err
}

// Stream gives an exec a reader over a link.
func (i *instance) Stream(ctx context.Context, id string, join forkbox.StreamJoin, link *os.File) (forkbox.StreamAt, error) {
	defer link.Close()
	rep, err := i.call(ctx, boxinit.Request{Verb: boxinit.DoStream, ID: id, Join: &join}, link)
	if err != nil {
		return forkbox.StreamAt{}, err
	}
	if rep.At == nil {
		return forkbox.StreamAt{}, forkbox.Errorf(forkbox.Internal, "attach to exec "+id, "the box's init does not say where it is")
	}
	return *rep.At, nil
}
