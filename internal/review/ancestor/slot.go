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

// slot is where the pin of one path is.
type slot struct {
	dir   string
	fence time.Time
	path  string
	name  string // of the record in dir
}

// slot is named by a hash: a path can be longer than a file name and have any
// bytes. The fence is in it because a pin of another fence is another pin.
func (b *Book) slot(path string) slot {
	fence := b.at()
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", fence.UnixNano(), path))
	return slot{dir: b.dir, fence: fence, path: path, name: hex.EncodeToString(sum[:])}
}

// taken says whether there is a record, sound or not, without reading it.
func (s slot) taken() bool {
	_, err := os.Lstat(filepath.Join(s.dir, s.name))
	return err == nil
}

// find reads the pin.
func (s slot) find() (pin, state) {
	var p pin
	state := load(s.dir, s.name, &p)
	if state == there && !s.mine(p) {
		state = damaged
	}
	return p, state
}

func (s slot) mine(p pin) bool {
	return p.Fence == s.fence.UnixNano() && len(p.Path) == 1 && p.Path[0] == s.path &&
		(p.Absent || len(p.Sum) == 2*sha256.Size)
}

// contentName has the content's hash in it: while a pin is replaced, there is
// never one pin's record with another's content.
func (s slot) contentName(sum string) string { return s.name + "." + sum[:16] }

// content reads what was pinned; ok is false when it is not that any more.
func (s slot) content(p pin) (content []byte, ok bool) {
	content, err := os.ReadFile(filepath.Join(s.dir, s.contentName(p.Sum)))
	if err != nil || hash(content) != p.Sum {
		return nil, false
	}
	return content, true
}

// replace writes the pin, and removes the content of the one that was there.
func (s slot) replace(p pin) error {
	old, state := s.find()
	p.Fence, p.Path = s.fence.UnixNano(), raw(s.path)
	if err := save(s.dir, s.name, p); err != nil {
		return err
	}
	if state == there && old.Sum != p.Sum {
		s.removeContent(old)
	}
	return nil
}

func (s slot) removeContent(p pin) {
	if !p.Absent {
		os.Remove(filepath.Join(s.dir, s.contentName(p.Sum)))
	}
}

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
