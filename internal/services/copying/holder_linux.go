package copying

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/freezer"
)

// HolderName is what this binary is called when it is to hold a freeze.
const HolderName = "forkbox-freeze"

// order is what the holder is told, as one line.
type order struct {
	// Roots are the processes to stop, with all that came from them.
	Roots freezer.Stopped `json:"roots"`
	// Pause is how long they may stand still, from the first that is stopped.
	Pause time.Duration `json:"pause"`
}

// report is what the holder answers, as a line when all stand still and another
// when all go on.
type report struct {
	Error  string        `json:"error,omitempty"`
	At     time.Time     `json:"at"`
	Count  int           `json:"count,omitempty"`
	Paused time.Duration `json:"paused,omitempty"`
	Late   bool          `json:"late,omitempty"` // it was not the daemon that let them go on
}

// RunHolder stops services and lets them go on: at the end of its standard input,
// at the deadline, or at a signal, whichever is first. Its standard input is a
// pipe from the daemon, which ends also when the daemon is killed.
//
// It sends SIGSTOP. The freezer of a cgroup would do without the processes
// noticing, but their groups are the units of the host's systemd, which has its
// own idea of their state and gets stuck when another writes it (systemd#37569),
// and may hold more than the service.
func RunHolder() int {
	end := make(chan os.Signal, 1)
	// A write to a daemon that is gone must not end it either.
	signal.Notify(end, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGPIPE)
	signal.Ignore(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	preferSelf()
	in := bufio.NewReader(os.Stdin)
	var o order
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: cannot hold a freeze: it is not told of which processes: %v\n", err)
		return 125
	}
	if err := o.hold(in, os.Stdout, end); err != nil {
		return 1
	}
	return 0
}

// preferSelf has the kernel choose others first when the processors are busy or
// the memory is used up: services stand still as long as this process does not
// get to act. An ordinary user may not ask for that.
func preferSelf() {
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -15)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-999"), 0)
}

func (o order) hold(in io.Reader, out io.Writer, signals <-chan os.Signal) error {
	say := json.NewEncoder(out)
	began := time.Now()
	told, end := context.WithCancelCause(context.Background())
	ctx, cancel := context.WithTimeout(told, o.Pause)
	defer cancel()
	go func() { // also while they are being stopped
		_, _ = io.Copy(io.Discard, in)
		end(errTold)
	}()
	go func() {
		<-signals
		end(nil)
	}()
	stopped, err := o.stop(ctx)
	if err != nil {
		_ = say.Encode(report{Error: err.Error()})
		return err
	}
	// Nothing below may keep it from letting them go on.
	defer stopped.Resume()
	// Its daemon reads it, or is gone: then the pipe fails at once.
	_ = say.Encode(report{At: time.Now(), Count: len(stopped)})
	<-ctx.Done()
	err = stopped.Resume()
	done := report{At: time.Now(), Paused: time.Since(began), Late: context.Cause(ctx) != errTold}
	if err != nil {
		done.Error = err.Error()
	}
	_ = say.Encode(done)
	return err
}

// errTold says that standard input ended.
var errTold = errors.New("it was told to")

// stop stops all of the order, unless a pid has become another process's.
func (o order) stop(ctx context.Context) (freezer.Stopped, error) {
	var roots []int
	for pid, start := range o.Roots {
		if freezer.StartOf(pid) != start {
			return nil, errors.New("process " + strconv.Itoa(pid) + " has ended")
		}
		roots = append(roots, pid)
	}
	return freezer.Family(ctx, roots...)
}
