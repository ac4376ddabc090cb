package race

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
)

// lane is where one attempt at an approach runs: its box, and what the race
// knows of it. The setup has one too.
type lane struct {
	*race
	i       int // the approach; setupBench for that of the setup
	attempt int // from 1
	box     forkbox.Box
	env     []string
	// known are the execs that were there when the race was resumed, by label.
	known map[string]forkbox.Exec
	meter meter
	spent []time.Duration // on each metric
	// judged says that it is done with its steps and checks, and cut that what
	// its steps had started was ended to make room. The race's mu guards both.
	judged, cut bool
	use         sync.Mutex // held while something is run in it, or it is stopped to make room
	rests       bool       // it was; guarded by use
	// restored says that what checks wrote is gone.
	restored bool
}

// setupLane is the number of the setup's lane.
const setupLane = -1

// stopGrace is how long what runs in a box gets to end when the race is done
// with it.
const stopGrace = 2 * time.Second

// approachName is the approach that runs in the lane; empty for the setup.
func (b *lane) approachName() string {
	if b.i == setupLane {
		return ""
	}
	return b.spec.Approaches[b.i].Name
}

// label is what an exec is found again by after a crash.
func (b *lane) label(parts ...any) string {
	words := []string{"a" + strconv.Itoa(b.attempt)}
	for _, p := range parts {
		words = append(words, fmt.Sprint(p))
	}
	return strings.Join(words, "/")
}

// do runs a command and waits for its end, or finds it where it ran before a
// crash. The error is the cause where the context ended, errLost where the box
// died under the command.
func (b *lane) do(ctx context.Context, label string, c forkbox.Command, limit time.Duration) (forkbox.Exec, error) {
	return b.doWith(ctx, label, b.request(c, limit))
}

func (b *lane) doWith(ctx context.Context, label string, req engine.ExecRequest) (forkbox.Exec, error) {
	b.use.Lock()
	defer b.use.Unlock()
	b.rests = false
	x, known := b.known[label]
	if !known {
		if err := context.Cause(ctx); err != nil {
			return x, err
		}
		var err error
		req.Label, req.Wish.Wait = label, b.patience()
		b.withRoom(func() { x, err = b.boxes.Exec(ctx, b.who, b.box.ID, req, forkbox.Stdio{}) })
		if err != nil && x.Exit == nil {
			return x, b.blame(ctx, err)
		}
	}
	done := b.texts.keep(b, label, x)
	defer done()
	if x.Exit == nil {
		if err := b.await(ctx, &x); err != nil {
			return x, err
		}
	}
	if lost(x.Exit) {
		return x, errLost
	}
	return x, nil
}

func (b *lane) await(ctx context.Context, x *forkbox.Exec) error {
	b.noteBegun(*x)
	defer b.noteIdle(b)
	ended, err := b.boxes.Wait(ctx, b.who, b.box.ID, x.ID)
	if err != nil {
		return b.blame(ctx, err)
	}
	*x = ended
	return nil
}

// noteBegun notes that a command runs in the box.
func (b *lane) noteBegun(x forkbox.Exec) {
	b.noteBusy(b, x)
	if b.i == setupLane {
		return
	}
	b.edit(b.i, func(e *forkbox.Entry) {
		if e.Phase == forkbox.PhaseForking || e.Phase == forkbox.PhaseWaiting {
			e.Phase = forkbox.PhaseRunning
		}
	})
}

// blame is why something could not be done: the context ended, for whatever
// reason that had, or it failed.
func (r *race) blame(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if forkbox.CodeOf(err) == forkbox.Unavailable {
		return errClosing
	}
	return err
}

func lost(exit *forkbox.Exit) bool {
	return exit != nil && (exit.Cause == forkbox.CauseLost || exit.Cause == forkbox.CauseShutdown)
}

// request is how a command is run in the box.
func (b *lane) request(c forkbox.Command, limit time.Duration) engine.ExecRequest {
	argv := c.Argv
	if len(argv) == 0 {
		argv = []string{"sh", "-c", c.Run}
	}
	return engine.ExecRequest{
		ExecSpec: forkbox.ExecSpec{Argv: argv, Dir: b.dir(c.Dir), Timeout: shorter(c.Timeout, limit)},
		ExtraEnv: lastWins(slices.Concat(b.env, c.Env)),
	}
}

// dir is where a command starts.
func (b *lane) dir(dir string) string {
	if dir == "" || path.IsAbs(dir) {
		return dir
	}
	return path.Join(b.box.Dir, dir)
}

// shorter is the shorter of two spans, of which zero is none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return a + b
	}
	return min(a, b)
}

// lastWins leaves one of each variable: of a name that is there twice, most
// programs read the first.
func lastWins(env []string) []string {
	place := map[string]int{}
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if at, has := place[name]; has {
			out[at] = kv
			continue
		}
		place[name] = len(out)
		out = append(out, kv)
	}
	return out
}

// occupied says whether anything runs in the box; also where that is not known.
func (b *lane) occupied(ctx context.Context) bool {
	occupied, err := b.boxes.Occupied(ctx, b.who, b.box.ID)
	return err != nil || occupied
}

// halt ends what runs in the box, and has it rest.
func (b *lane) halt() {
	grace := stopGrace
	if _, err := b.boxes.Stop(b.uncancelled(), b.who, b.box.ID, &grace); err != nil && !b.gone(err) {
		b.log.Warn("cannot stop the box of a race", "race", b.id, "box", b.box.ID, "error", err)
	}
}

// retire does so unless the owner has come to use the box.
func (b *lane) retire() {
	if err := b.boxes.Retire(b.uncancelled(), b.who, b.box.ID, stopGrace); err != nil && !b.gone(err) {
		b.log.Warn("cannot stop the box of a race", "race", b.id, "box", b.box.ID, "error", err)
	}
}

// remove deletes the box.
func (b *lane) remove() error {
	if err := b.boxes.Remove(b.uncancelled(), b.who, b.box.ID, true); err != nil && forkbox.CodeOf(err) != forkbox.NotFound {
		return err
	}
	return nil
}

// gone says that the daemon ends, or that the box is not there any more.
func (r *race) gone(err error) bool {
	return r.closing() || forkbox.CodeOf(err) == forkbox.NotFound || forkbox.CodeOf(err) == forkbox.Unavailable
}

// took is how long an exec ran.
func took(x forkbox.Exec) time.Duration {
	if x.Ended == nil {
		return 0
	}
	return max(0, x.Ended.Sub(x.Started))
}

// ran is an exec as a race records it.
func ran(c forkbox.Command, x forkbox.Exec) forkbox.Ran {
	return forkbox.Ran{Name: title(c), Exec: x.ID, Exit: x.Exit, Took: took(x)}
}

// title is what people call a command.
func title(c forkbox.Command) string {
	text := c.Name
	if text == "" {
		text = c.Run
	}
	if text == "" {
		text = strings.Join(c.Argv, " ")
	}
	return clip(line(strings.TrimSpace(text)), 200)
}
