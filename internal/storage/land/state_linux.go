package land

import (
	"encoding/json"
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// stage is where a landing is, as the marker in its directory says. It is
// decided by the marker alone: there is no moment without one.
type stage string

const (
	staging    stage = "" // no marker: nothing in the tree was touched
	committing stage = "committing"
	rolledBack stage = "rolled back" // but for what was staged, which is no longer needed
	done       stage = "done"
	undoing    stage = "undoing"
	undone     stage = "undone"
	torn       stage = "torn"
)

// marker is the content of the marker file.
type marker struct {
	Stage   stage             `json:"stage"`
	Bytes   int64             `json:"bytes,omitempty"` // that are kept
	Expired bool              `json:"expired,omitempty"`
	Torn    []forkbox.Caution `json:"torn,omitempty"`
	// Discard: the old objects were not asked to be kept.
	Discard bool `json:"discard,omitempty"`
}

const (
	markerFile = "state"
	markerNext = "state.next"
)

// mark replaces the marker, durably and at once.
func mark(dir *os.File, m marker) error {
	m.Torn = slices.Clone(m.Torn)
	for i, c := range m.Torn {
		m.Torn[i].Path = files.Pack(c.Path)
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	fd := int(dir.Fd())
	if err := files.Unlink(fd, markerNext, 0); err != nil && err != unix.ENOENT {
		return err
	}
	if err := writeDurably(fd, markerNext, text); err != nil {
		return err
	}
	if err := files.Rename(fd, markerNext, fd, markerFile, 0); err != nil {
		return err
	}
	return files.SyncFile(dir)
}

func writeDurably(dir int, name string, text []byte) error {
	f, err := files.Create(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	err = files.Act("write marker", func() error {
		_, err := f.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	return files.SyncFile(f)
}

// Where says where a landing stands, and changes nothing. One without a trace is
// Before.
func Where(dir string) (State, error) {
	m, err := readMarker(dir)
	if err != nil {
		return "", forkbox.Wrap(opRead, err)
	}
	switch m.Stage {
	case committing, undoing:
		return Between, nil
	case done:
		return After, nil
	case undone:
		return Undone, nil
	case torn:
		return Torn, nil
	}
	return Before, nil
}

func readMarker(dir string) (marker, error) {
	var m marker
	text, err := os.ReadFile(dir + "/" + markerFile)
	if errors.Is(err, os.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	for i, c := range m.Torn {
		m.Torn[i].Path = files.Unpack(c.Path)
	}
	return m, err
}
