package ancestor

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/forkbox/forkbox"
)

const (
	noteName  = "clean"
	newPrefix = "new-" // of what is being made
)

// note is a git.Clean in the book.
type note struct {
	Fence int64           `json:"fence"`
	Root  forkbox.Strings `json:"root"` // one: it need not be UTF-8
	Head  string          `json:"head"`
	Dirty forkbox.Strings `json:"dirty"`
	At    time.Time       `json:"at"`
}

// pin is the base of one path. Its content is in a file of its own, so that it
// can share the disk blocks of the original.
type pin struct {
	Fence  int64           `json:"fence"`
	Path   forkbox.Strings `json:"path"` // one
	Mode   uint32          `json:"mode"`
	Absent bool            `json:"absent,omitempty"`
	Sum    string          `json:"sum,omitempty"` // sha256 of the content
}

func raw(s string) forkbox.Strings { return forkbox.Strings{s} }

// state says what is in the book.
type state int

const (
	missing state = iota
	there
	damaged
)

// save writes a record: the hash of what follows, a newline, JSON.
func save(dir, name string, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return forkbox.Errorf(forkbox.Internal, opPin, "%w", err)
	}
	return put(dir, func(f *os.File) (string, error) {
		_, err := fmt.Fprintf(f, "%s\n%s", hash(text), text)
		return name, err
	})
}

// put makes a file in the book, whole or not at all; write says what it is to
// be called. Nothing is flushed: what a crash of the machine tears does not
// match its hash.
func put(dir string, write func(*os.File) (name string, err error)) error {
	if err := makeDir(dir); err != nil {
		return forkbox.Wrap(opPin, err)
	}
	f, err := os.CreateTemp(dir, newPrefix) // mode 0600
	if err != nil {
		return forkbox.Wrap(opPin, err)
	}
	name, err := write(f)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, name))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return forkbox.Wrap(opPin, err)
}

// makeDir makes the book's directory. Not those above: a box that was removed
// meanwhile must not come back.
func makeDir(dir string) error {
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Mkdir(d, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

func load(dir, name string, record any) state {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return missing
	}
	sum, text, _ := bytes.Cut(text, []byte("\n"))
	if err != nil || string(sum) != hash(text) || json.Unmarshal(text, record) != nil {
		return damaged
	}
	return there
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
