package copying

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/freezer"
)

// frozen are services that a holder has stopped.
type frozen struct {
	at     time.Time
	count  int
	holder *exec.Cmd
	lead   io.WriteCloser // closed, it lets them go on
	says   *bufio.Reader
	roots  freezer.Stopped
	before map[int]bool // stood still already
}

// freeze starts a holder and waits until all stand still. The roots come with
// when they were started, so that no other process is stopped in their place.
func freeze(ctx context.Context, roots freezer.Stopped, pause time.Duration) (*frozen, error) {
	f := &frozen{roots: roots, before: map[int]bool{}}
	for _, pid := range f.family() {
		f.before[pid] = freezer.State(pid) == 'T'
	}
	if err := f.start(); err != nil {
		return nil, forkbox.Wrap(opTake, err)
	}
	line, err := json.Marshal(order{roots, pause})
	if err == nil {
		_, err = f.lead.Write(append(line, '\n'))
	}
	var said report
	if err == nil {
		said, err = f.listen()
	}
	if err == nil && said.Error != "" {
		err = forkbox.Errorf(forkbox.Busy, opTake, "the service could not be stopped for a moment: %s", said.Error)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		f.lead.Close()
		f.end()
		return nil, errors.Join(err, f.rescue())
	}
	f.at, f.count = said.At, said.Count
	return f, nil
}

// start runs this binary as a holder, in a session of its own: what ends the
// daemon's terminal is not to end it.
func (f *frozen) start() (err error) {
	f.holder = exec.Command("/proc/self/exe")
	f.holder.Args = []string{HolderName}
	f.holder.Env = []string{"GOMAXPROCS=2"}
	f.holder.Dir = "/"
	f.holder.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if f.lead, err = f.holder.StdinPipe(); err != nil {
		return err
	}
	out, err := f.holder.StdoutPipe()
	if err != nil {
		return err
	}
	f.says = bufio.NewReader(out)
	return f.holder.Start()
}

func (f *frozen) listen() (said report, err error) {
	line, err := f.says.ReadBytes('\n')
	if err != nil {
		return said, forkbox.Errorf(forkbox.Internal, opTake, "the process that holds the freeze ended: %w", err)
	}
	return said, json.Unmarshal(line, &said)
}

// thaw lets all go on, and says for how long they stood still. It is an error if
// they went on before: then what was copied is not of one moment.
func (f *frozen) thaw() (time.Duration, error) {
	f.lead.Close()
	said, err := f.listen()
	f.end()
	if err != nil {
		return 0, errors.Join(err, f.rescue())
	}
	switch {
	case said.Error != "":
		err = forkbox.Errorf(forkbox.Internal, opTake, "the service was stopped and could not be let go on: %s", said.Error)
	case said.Late:
		err = errLate
	}
	return said.Paused, err
}

// end waits for the holder, which ends by itself.
func (f *frozen) end() {
	_, _ = io.Copy(io.Discard, f.says)
	_ = f.holder.Wait()
}

// errLate is told by a copy that was not done when the services went on.
var errLate = errors.New("the services had to go on before the copy was done")

// rescue lets go on what a holder left behind that was killed.
func (f *frozen) rescue() error {
	left := freezer.Stopped{}
	for _, pid := range f.family() {
		if freezer.State(pid) == 'T' && !f.before[pid] {
			left[pid] = freezer.StartOf(pid)
		}
	}
	return left.Resume()
}

func (f *frozen) family() []int {
	var roots []int
	for pid, start := range f.roots {
		if freezer.StartOf(pid) == start {
			roots = append(roots, pid)
		}
	}
	return freezer.FamilyOf(roots...)
}

// rootsOf are the processes of sources that run. One that this process itself
// comes from cannot be stopped by it.
func rootsOf(sources []Source) (freezer.Stopped, error) {
	roots := freezer.Stopped{}
	for _, s := range sources {
		if s.PID == 0 {
			continue
		}
		start := freezer.StartOf(s.PID)
		switch {
		case start == "":
			return nil, forkbox.Errorf(forkbox.NotFound, opTake, "%s has ended: there is no process %d any more", s.Name, s.PID).
				Hint("look at `forkbox services`")
		case s.PID == 1 || slices.Contains(freezer.Descendants(s.PID), os.Getpid()):
			return nil, forkbox.Errorf(forkbox.Unsupported, opTake, "%s cannot be stopped for a moment: forkbox itself was started by it", s.Name)
		}
		roots[s.PID] = start
		for _, pid := range s.Others {
			if start := freezer.StartOf(pid); start != "" && pid != 1 && !slices.Contains(freezer.FamilyOf(pid), os.Getpid()) {
				roots[pid] = start
			}
		}
	}
	return roots, nil
}

// mapped are the files that processes have in memory, shared and writable. What
// is written there may not show in a file's times for as long as the page is
// dirty: such files are looked at in any case.
func mapped(pids []int) map[string]bool {
	files := map[string]bool{}
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 6 || len(f[1]) < 4 || f[1][1] != 'w' || f[1][3] != 's' {
				continue
			}
			if at := strings.IndexByte(line, '/'); at >= 0 {
				files[strings.TrimSuffix(line[at:], "\n")] = true
			}
		}
	}
	return files
}
