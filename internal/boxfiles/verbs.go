package boxfiles

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/forkbox/forkbox"
)

// Do makes a request that is answered at once.
func Do(ctx context.Context, conn net.Conn, op string, req Request) (Outcome, error) {
	c, err := Begin(ctx, conn, op, req)
	if err != nil {
		return Outcome{}, err
	}
	defer c.Close()
	return c.Finish()
}

// Describe makes a request whose answer is what there is to say of a file.
func Describe(ctx context.Context, conn net.Conn, op string, req Request) (Info, error) {
	out, err := Do(ctx, conn, op, req)
	if err == nil && out.Info == nil {
		err = forkbox.Errorf(forkbox.Busy, op, "the box gave no answer")
	}
	if err != nil {
		return Info{}, err
	}
	return *out.Info, nil
}

// List yields a page of a listing and returns where the next one begins.
func List(ctx context.Context, conn net.Conn, op string, req Request, yield func(Info) error) (next []byte, err error) {
	c, err := Begin(ctx, conn, op, req)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for count := 0; ; {
		kind, body, err := c.next()
		if err != nil {
			return nil, err
		}
		if kind == End {
			var out Outcome
			err := c.decode(body, &out)
			return out.Next, err
		}
		var page Page
		if err := c.decode(body, &page); err != nil {
			return nil, err
		}
		if count += len(page.Entries); count > MaxPage {
			return nil, c.lost(errors.New("it lists more than was asked for"))
		}
		for _, entry := range page.Entries {
			if err := yield(entry); err != nil {
				return nil, err
			}
		}
	}
}

// Watch yields what changes until ctx ends. begun is called once changes are
// noticed.
func Watch(ctx context.Context, conn net.Conn, op string, req Request, begun func() error, yield func(Change) error) error {
	c, err := Begin(ctx, conn, op, req)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.info(); err != nil {
		return err
	}
	if err := begun(); err != nil {
		return err
	}
	for {
		kind, body, err := c.next()
		if err != nil || kind == End {
			return err
		}
		var batch Changes
		if err := c.decode(body, &batch); err != nil {
			return err
		}
		for _, change := range batch.Changes {
			if err := yield(change); err != nil {
				return err
			}
		}
	}
}

// TarOut writes an archive of a file or directory.
func TarOut(ctx context.Context, conn net.Conn, op string, req Request, w io.Writer) (Outcome, error) {
	c, err := Begin(ctx, conn, op, req)
	if err != nil {
		return Outcome{}, err
	}
	defer c.Close()
	return c.copyTo(w)
}

// Send makes a request with a body: a file that is written, or an archive that
// is unpacked. The body is read once the agent is ready for it. When it ends
// with an error the agent hears of no end, and leaves nothing half written.
func Send(ctx context.Context, conn net.Conn, op string, req Request, body io.Reader) (Outcome, error) {
	c, err := Begin(ctx, conn, op, req)
	if err != nil {
		return Outcome{}, err
	}
	defer c.Close()
	if _, err := c.info(); err != nil {
		return Outcome{}, err
	}
	ended := make(chan ending, 1)
	go func() {
		out, err := c.Finish()
		ended <- ending{out, err}
	}()
	broke := make(chan error, 1)
	go func() { broke <- c.pour(body) }()
	select {
	case end := <-ended: // before all of it was sent: it failed
		return end.out, end.err
	case err := <-broke:
		if err != nil {
			return Outcome{}, err
		}
	}
	end := <-ended
	return end.out, end.err
}

// ending is what an agent said at last.
type ending struct {
	out Outcome
	err error
}

// pour sends all of a body, and that it is all. An error is the body's own: of
// an agent that takes no more, whoever listens to it hears.
func (c *Call) pour(body io.Reader) error {
	buf := make([]byte, DataFrame)
	for {
		n, err := body.Read(buf)
		if n > 0 && c.frames.Put(Data, buf[:n]) != nil {
			return nil
		}
		if err == io.EOF {
			_ = c.frames.Put(End, nil)
			return nil
		}
		if err != nil { // a cut body is io.ErrUnexpectedEOF
			return forkbox.Errorf(forkbox.Invalid, c.op, "what was sent broke off: %w", err)
		}
	}
}
