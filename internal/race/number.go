package race

import (
	"context"
	"errors"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
	"github.com/forkbox/forkbox/internal/race/rank"
)

// mostText is how much of some output is searched for a number: its end.
const mostText = 1 << 20

// readLimit is how long it may take to read a file: it may be a pipe that
// nobody writes to.
const readLimit = 30 * time.Second

// number finds one in what an exec printed, or in a file. why says why there is
// none.
func (b *bench) number(ctx context.Context, label string, c forkbox.Command, find forkbox.Extract, x forkbox.Exec) (v float64, why string, err error) {
	if find.File != "" {
		if x, err = b.readFile(ctx, label+"/file", c, find.File); err != nil {
			return 0, "", err
		}
		if x.Exit.Code != 0 {
			return 0, "cannot read " + line(find.File) + ": " + orElse(b.tail(ctx, x), howItEnded(*x.Exit)), nil
		}
	}
	// A pattern finds its line in all that was printed; a document, or a number
	// alone, is what a program writes to its output.
	text, err := b.printed(ctx, x, find.Pattern != "" && find.File == "")
	if err != nil {
		return 0, "", b.blame(ctx, err)
	}
	v, err = rank.Number(find, text)
	var bad *forkbox.Error
	if errors.As(err, &bad) {
		return 0, line(bad.Why), nil
	}
	return v, "", err
}

// readFile has a file printed in the box, with the rights of its owner there:
// what its name leads to is the box's business.
func (b *bench) readFile(ctx context.Context, label string, c forkbox.Command, file string) (forkbox.Exec, error) {
	req := engine.ExecRequest{
		ExecSpec: forkbox.ExecSpec{Argv: []string{"cat", "--", file}, Dir: b.dir(c.Dir), Timeout: readLimit},
	}
	return b.doWith(ctx, label, req)
}

// printed is the end of what an exec wrote.
func (b *bench) printed(ctx context.Context, x forkbox.Exec, all bool) (text []byte, err error) {
	err = b.boxes.Logs(ctx, b.who, b.box.ID, x.ID, false, func(rec forkbox.LogRecord) error {
		if all || rec.Stream == "stdout" {
			text = append(text, rec.Data...)
		}
		if len(text) > 2*mostText+1 {
			text = append(text[:0], text[len(text)-mostText-1:]...)
		}
		return nil
	})
	if forkbox.CodeOf(err) == forkbox.NotFound {
		err = nil // it was not started: it printed nothing
	}
	return text, err
}

// tail is the last line that an exec wrote.
func (b *bench) tail(ctx context.Context, x forkbox.Exec) string {
	var last lastLine
	_ = b.boxes.Logs(ctx, b.who, b.box.ID, x.ID, false, func(rec forkbox.LogRecord) error {
		last.add(rec.Data)
		return nil
	})
	return last.last
}
