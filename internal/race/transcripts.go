package race

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

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
func (t Transcripts) keep(b *bench, label string, x forkbox.Exec) (done func()) {
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
