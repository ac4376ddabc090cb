// Package records has the store say of itself what the ledger says of it, so
// that a ledger that is lost, or older than the store, can be made again.
//
//	<dir>/box.<id>       a box with its snapshots
//	<dir>/template.<id>  a template
//
// Receipts have theirs beside their journals. Nothing waits for a record: it is
// written some seconds after the ledger heard of something new, and only of what
// has something to lose. It goes before what it is about goes.
package records

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

const (
	boxPrefix      = "box."
	templatePrefix = "template."
	draftPrefix    = ".new."
)

// Files is the directory that has the records.
type Files struct{ dir string }

// Boxes are the boxes that have a record, and what of it cannot be read.
func (f Files) Boxes() (list []forkbox.BoxRecord, err error) {
	return readAll[forkbox.BoxRecord](f.dir, boxPrefix)
}

// Templates are the templates that have a record.
func (f Files) Templates() (list []forkbox.Template, err error) {
	return readAll[forkbox.Template](f.dir, templatePrefix)
}

// Box is the record of one box, if it has one that can be read.
func (f Files) Box(id string) (record forkbox.BoxRecord, ok bool) {
	text, err := os.ReadFile(f.path(boxPrefix, id))
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	return record, err == nil
}

// readAll reads the records of one kind. Those that cannot be read do not keep
// the others from being so.
func readAll[T any](dir, prefix string) (list []T, err error) {
	names, err := filepath.Glob(filepath.Join(dir, prefix+"*"))
	for _, name := range names {
		var one T
		text, rerr := os.ReadFile(name)
		if rerr == nil {
			rerr = json.Unmarshal(text, &one)
		}
		if rerr != nil {
			err = errors.Join(err, forkbox.Errorf(forkbox.Internal, "read the record "+filepath.Base(name), "%w", rerr))
			continue
		}
		list = append(list, one)
	}
	return list, err
}

func (f Files) path(prefix, id string) string { return filepath.Join(f.dir, prefix+id) }

// write replaces a record whole, or leaves the one that is there.
func (f Files) write(prefix, id string, text []byte) error {
	draft := f.path(draftPrefix+prefix, id)
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return errors.Join(err, remove(draft))
	}
	return os.Rename(draft, f.path(prefix, id))
}

func (f Files) drop(prefix, id string) error { return remove(f.path(prefix, id)) }

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
