package race

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// Log is what an approach printed, of its last attempt; without an approach,
// what the setup did. With follow it goes on until the approach is done.
func (r *Races) Log(ctx context.Context, who forkbox.Owner, ref, approach string, follow bool, yield func(forkbox.RaceLog) error) error {
	rec, err := r.find(ctx, who, ref)
	if err != nil {
		return err
	}
	known := approach == "" && len(rec.Spec.Setup) > 0 ||
		slices.ContainsFunc(rec.Spec.Approaches, func(a forkbox.Approach) bool { return a.Name == approach })
	if !known {
		return forkbox.Errorf(forkbox.NotFound, "read the transcript", "%s has no approach %q", rec.Name, approach).
			Hint("forkbox race show %s lists them", rec.Name)
	}
	if approach == "" && rec.State == forkbox.RaceFailed && len(r.texts.list(rec.ID, "")) == 0 {
		return forkbox.Errorf(forkbox.NotFound, "read the transcript", "the setup of %s failed, and what it printed was not kept", rec.Name).
			Hint("forkbox race show %s has its last lines", rec.Name)
	}
	reader := &logReader{Races: r, rec: rec, approach: approach, follow: follow, yield: yield}
	return reader.run(ctx)
}

// logReader reads the transcript of an approach.
type logReader struct {
	*Races
	rec      forkbox.Race
	approach string
	follow   bool
	yield    func(forkbox.RaceLog) error
	told     map[string]bool // files
}

// lookEvery is how often a follower looks for the next command.
const lookEvery = 100 * time.Millisecond

func (l *logReader) run(ctx context.Context) error {
	l.told = map[string]bool{}
	for {
		over := !l.follow || l.over() // asked before it is read
		for _, t := range l.lastAttempt() {
			if err := l.read(ctx, t); err != nil {
				return err
			}
		}
		if over {
			return nil
		}
		if !wait(ctx, l.Races.ctx.Done(), lookEvery) {
			if l.Races.ctx.Err() != nil {
				return forkbox.Errorf(forkbox.Unavailable, "read the transcript", "the daemon is stopping")
			}
			return ctx.Err()
		}
	}
}

// over says whether nothing more will be printed.
func (l *logReader) over() bool {
	live := l.running(l.rec.ID)
	if live == nil {
		return true
	}
	now := live.record()
	if l.approach == "" {
		return now.Point != ""
	}
	i := live.indexOf(l.approach)
	return now.State != forkbox.RaceRunning || now.Entries[i].Phase == forkbox.PhaseDone && !live.mayCheckAgain(i)
}

// mayCheckAgain says whether an approach that is done may have to confirm what
// it passed.
func (r *race) mayCheckAgain(i int) bool {
	return r.entry(i).Outcome == forkbox.OutcomePassed && len(r.spec.Checks) > 0
}

// lastAttempt leaves out what was printed in boxes that are gone.
func (l *logReader) lastAttempt() []transcript {
	list := l.texts.list(l.rec.ID, l.approach)
	if len(list) == 0 {
		return nil
	}
	box := list[len(list)-1].box
	return slices.DeleteFunc(list, func(t transcript) bool { return t.box != box })
}

func (l *logReader) read(ctx context.Context, t transcript) error {
	if l.told[t.file()] {
		return nil
	}
	l.told[t.file()] = true
	part := l.part(t.label)
	if part == "" {
		return nil
	}
	path := filepath.Join(l.texts.of(l.rec.ID, l.approach), t.file())
	err := l.texts.Read(ctx, path, l.follow, l.over, func(rec forkbox.LogRecord) error {
		return l.yield(forkbox.RaceLog{Part: part, LogRecord: rec})
	})
	if forkbox.CodeOf(err) == forkbox.NotFound {
		return nil // removed meanwhile
	}
	return err
}

// part is what people call a command by its label: "a2/check/0/1" is the first
// run of the first check. It is empty for what only reads a file.
func (l *logReader) part(label string) string {
	words := strings.Split(label, "/")
	if len(words) < 3 || words[len(words)-1] == "file" && words[1] != "metric" {
		return ""
	}
	n, err := strconv.Atoi(words[2])
	if err != nil || n < 0 {
		return ""
	}
	spec, run := l.rec.Spec, ""
	if last := words[len(words)-1]; len(words) > 3 && last != "1" {
		run = " (" + strings.Join(words[3:], " ") + ")"
	}
	switch kind := words[1]; {
	case kind == "setup" && n < len(spec.Setup):
		return "setup: " + title(spec.Setup[n])
	case kind == "step":
		return "step: " + l.stepName(n)
	case (kind == "check" || kind == "clean") && n < len(spec.Checks):
		return "check: " + title(spec.Checks[n].Command) + run
	case kind == "metric" && n < len(spec.Metrics):
		return fmt.Sprintf("metric: %s (%s)", newMeasured(spec.Metrics[n]).Name, strings.Join(words[3:], " "))
	}
	return ""
}

func (l *logReader) stepName(n int) string {
	for _, a := range l.rec.Spec.Approaches {
		if a.Name == l.approach && n < len(a.Steps) {
			return title(a.Steps[n])
		}
	}
	return strconv.Itoa(n + 1)
}

// Transcripts keeps what the commands of races printed. The log of an exec gets
// a second name here when the exec begins, so that it stays when its box goes.
type Transcripts struct {
	Dir string // has a directory for each race
	// Log is the file that an exec's output is kept in while there is its box.
	Log func(box, exec string) string
	// Read yields what a log has. With follow it goes on until ended.
	Read func(ctx context.Context, path string, follow bool, ended func() bool, yield func(forkbox.LogRecord) error) error
}

// of is the directory of an approach in a race; an empty one is the setup.
// Approaches cannot be called that.
func (t Transcripts) of(race, approach string) string {
	if approach == "" {
		approach = "setup"
	}
	return filepath.Join(t.Dir, filepath.Base(race), filepath.Base(approach))
}

// transcript is the log of one exec. Its file is named so that a list of them
// is in the order in which they ran, and says what each is.
type transcript struct {
	started int64 // nanoseconds since 1970
	box     string
	label   string
}

func (t transcript) file() string {
	return fmt.Sprintf("%019d.%s.%s", t.started, t.box, strings.ReplaceAll(t.label, "/", "."))
}

func parseTranscript(file string) (t transcript, ok bool) {
	started, rest, _ := strings.Cut(file, ".")
	box, label, ok := strings.Cut(rest, ".")
	n, err := strconv.ParseInt(started, 10, 64)
	return transcript{n, box, strings.ReplaceAll(label, ".", "/")}, ok && err == nil
}

// keep has the output of an exec stay. done is to be called when the exec has
// ended: where a file cannot have two names, as between two filesystems, it is
// copied then.
func (t Transcripts) keep(b *lane, label string, x forkbox.Exec) (done func()) {
	if t.Dir == "" || x.ID == "" {
		return func() {}
	}
	dir := t.of(b.id, b.approachName())
	name := filepath.Join(dir, transcript{x.Started.UnixNano(), b.box.ID, label}.file())
	log := t.Log(b.box.ID, x.ID)
	err := link(log, name)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return func() {} // one that was not started has no log
	}
	return func() {
		if err := copyFile(log, name); err != nil {
			b.log.Warn("cannot keep what was printed", "race", b.id, "box", b.box.ID, "exec", x.ID, "error", err)
		}
	}
}

// link gives a file a second name, in a directory that is as a rule yet to be
// made.
func link(file, name string) error {
	if err := os.Mkdir(filepath.Dir(name), 0o700); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
	}
	return os.Link(file, name)
}

func copyFile(file, name string) error {
	from, err := os.Open(file)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// list has the transcripts of an approach, the oldest first.
func (t Transcripts) list(race, approach string) (list []transcript) {
	entries, _ := os.ReadDir(t.of(race, approach)) // sorted by name
	for _, e := range entries {
		if one, ok := parseTranscript(e.Name()); ok {
			list = append(list, one)
		}
	}
	return list
}

// remove deletes those of a race.
func (t Transcripts) remove(race string) error {
	if t.Dir == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(t.Dir, filepath.Base(race)))
}
