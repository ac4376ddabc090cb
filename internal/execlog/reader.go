package execlog

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/forkbox/forkbox"
)

// How often a log that does not grow is looked at. Polling, because a log may
// be read by several people while inotify watches are few.
const (
	pollFirst = 20 * time.Millisecond
	pollLast  = 100 * time.Millisecond
)

// Read calls yield for the output in a log, in order, in pieces of at most
// 32 KiB. With follow it waits for more until the log has its end, or ended
// says that nobody writes any more and everything was read. A torn or
// overwritten tail ends the log; it is not an error.
func Read(ctx context.Context, path string, follow bool, ended func() bool, yield func(forkbox.LogRecord) error) error {
	f, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p := &parser{src: f}
	for wait := pollFirst; ; wait = min(wait*2, pollLast) {
		// Asked before reading: what was written before it ended is then read.
		last := !follow || ended != nil && ended()
		before := p.off
		if err := p.all(ctx, yield); err != nil {
			return err
		}
		if last || p.found {
			return nil
		}
		if p.off > before {
			wait = pollFirst
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// End finds how the exec of a log ended and what was kept of its output. It
// is false for a log without an end: the exec runs, or its box died under it.
func End(path string) (forkbox.Exit, forkbox.Output, bool) {
	f, err := open(path)
	if err != nil {
		return forkbox.Exit{}, forkbox.Output{}, false
	}
	defer f.Close()
	p := &parser{src: f, quiet: true}
	err = p.all(context.Background(), nil)
	return p.last.Exit, p.last.Output, err == nil && p.found
}

// Tail is the last bytes of a log, as they lie in it, with the heads of records
// between what was written: enough to look for words in.
func Tail(path string, size int64) ([]byte, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-size)
	return io.ReadAll(io.NewSectionReader(f, from, size))
}

// all yields what there is.
func (p *parser) all(ctx context.Context, yield func(forkbox.LogRecord) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, err := p.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return forkbox.Wrap("read the log", err)
		}
		if len(rec.Data) == 0 {
			continue
		}
		if err := yield(rec); err != nil {
			return err
		}
	}
}

func open(path string) (*os.File, error) {
	const op = "read the log"
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, forkbox.Errorf(forkbox.NotFound, op, "no output of this exec was kept")
	}
	if err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	return f, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
