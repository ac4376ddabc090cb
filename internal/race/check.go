package race

import (
	"context"
	"errors"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
	"github.com/forkbox/forkbox/internal/race/rank"
)

// checkRuns is how often a check is run whose results are in doubt: so often
// that there is a majority.
const checkRuns = 3

func newChecked(c forkbox.RaceCheck) forkbox.Checked {
	weight := c.Weight
	if weight == 0 {
		weight = 1
	}
	return forkbox.Checked{Name: title(c.Command), Must: c.Must, Weight: weight, Runs: []forkbox.Ran{}}
}

// check runs one check, and one that fails again: it may be flaky.
func (b *lane) check(ctx context.Context, n int) error {
	spec := b.spec.Checks[n]
	b.editQuietly(b.i, func(e *forkbox.Entry) { e.Checks = append(e.Checks, newChecked(spec)) })
	for run := 1; run <= checkRuns; run++ {
		r, err := b.runCheck(ctx, n, b.label("check", n, run))
		if err != nil {
			return err
		}
		b.noteCheck(n, r)
		if run == 1 && (spec.Once || r.passed()) {
			return nil
		}
	}
	return nil
}

// checkRun is what came of one run of a check.
type checkRun struct {
	ran   forkbox.Ran
	score []float64 // where it gives one
	why   string
}

func (r checkRun) passed() bool { return r.ran.Exit.Code == 0 }

// runCheck runs a check once.
func (b *lane) runCheck(ctx context.Context, n int, label string) (r checkRun, err error) {
	spec := b.spec.Checks[n]
	x, err := b.do(ctx, label, spec.Command, 0)
	if err != nil {
		return r, err
	}
	r.ran = ran(spec.Command, x)
	r.score, r.why, err = b.findScore(ctx, label, spec, x)
	return r, err
}

// noteCheck adds a run to what came of a check.
func (b *lane) noteCheck(n int, r checkRun) {
	b.edit(b.i, func(e *forkbox.Entry) {
		c := &e.Checks[n]
		c.Runs, c.Scores = append(c.Runs, r.ran), append(c.Scores, r.score...)
		c.Why = orElse(r.why, c.Why)
		rank.Settle(c)
	})
}

// findScore is the one that a run of a check got, where it gives any. Without a
// number it is zero.
func (b *lane) findScore(ctx context.Context, label string, spec forkbox.RaceCheck, x forkbox.Exec) (score []float64, why string, err error) {
	if spec.Score == nil {
		return nil, "", nil
	}
	number, why, err := b.findNumber(ctx, label, spec.Command, *spec.Score, x)
	if err != nil || why != "" {
		return []float64{0}, why, err
	}
	return []float64{rank.Share(spec, number)}, "", nil
}

// mostText is how much of some output is searched for a number: its end.
const mostText = 1 << 20

// readLimit is how long it may take to read a file: it may be a pipe that no
// program writes to.
const readLimit = 30 * time.Second

// findNumber finds one in what an exec printed, or in a file. why says why there is
// none.
func (b *lane) findNumber(ctx context.Context, label string, c forkbox.Command, find forkbox.Extract, x forkbox.Exec) (v float64, why string, err error) {
	if find.File != "" {
		if x, err = b.readFile(ctx, label+"/file", c, find.File); err != nil {
			return 0, "", err
		}
		if x.Exit.Code != 0 {
			return 0, "cannot read " + line(find.File) + ": " + orElse(b.lastPrinted(ctx, x), howItEnded(*x.Exit)), nil
		}
	}
	// A pattern finds its line in all that was printed; a document, or a number
	// alone, is what a program writes to its output.
	text, err := b.readPrinted(ctx, x, find.Pattern != "" && find.File == "")
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
func (b *lane) readFile(ctx context.Context, label string, c forkbox.Command, file string) (forkbox.Exec, error) {
	req := engine.ExecRequest{
		ExecSpec: forkbox.ExecSpec{Argv: []string{"cat", "--", file}, Dir: b.dir(c.Dir), Timeout: readLimit},
	}
	return b.doWith(ctx, label, req)
}

// readPrinted is the end of what an exec wrote.
func (b *lane) readPrinted(ctx context.Context, x forkbox.Exec, all bool) (text []byte, err error) {
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

// lastPrinted is the last line that an exec wrote.
func (b *lane) lastPrinted(ctx context.Context, x forkbox.Exec) string {
	var last lastLine
	_ = b.boxes.Logs(ctx, b.who, b.box.ID, x.ID, false, func(rec forkbox.LogRecord) error {
		last.add(rec.Data)
		return nil
	})
	return last.last
}
