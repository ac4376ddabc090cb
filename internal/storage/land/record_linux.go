package land

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// record is an item as the journal has it.
type record struct {
	N  int `json:"n"` // counts from 1
	Op Op  `json:"op"`
	// Asked is the item's own op where another has to be done for it.
	Asked Op     `json:"asked,omitempty"`
	Path  string `json:"path"`
	From  string `json:"from,omitempty"`
	// At is where Old was when it was staged: a moved directory was not yet
	// at its new path.
	At string `json:"at,omitempty"`
	// Place is the staging directory, Slot the path in it of what is put, and
	// later of what was there before.
	Place int    `json:"place"`
	Slot  string `json:"slot,omitempty"`
	// Inside marks what is put as a part of a directory that is put: it has
	// no flip of its own.
	Inside bool `json:"inside,omitempty"`
	// Entrywise marks a directory, at Path or From, that the filesystem does
	// not rename: what is in it is moved to slots one by one.
	Entrywise bool `json:"entrywise,omitempty"`
	// Via is the number of the move that brings the directory that Path is in.
	Via int `json:"via,omitempty"`
	// Carried marks what lies in such a directory that moves: by the time of
	// its own flip it has been renamed, and has another ctime.
	Carried bool            `json:"carried,omitempty"`
	Old     *files.Object   `json:"old,omitempty"`   // what the tree has; for a move, at From
	Below   *Tally          `json:"below,omitempty"` // what is in Old, where it is a directory that goes
	New     *files.Object   `json:"new,omitempty"`   // what was staged; for an attr, what it becomes
	Target  string          `json:"target,omitempty"`
	Link    string          `json:"link,omitempty"` // the file in the tree that it is another name of
	Sum     []byte          `json:"sum,omitempty"`
	Tag     json.RawMessage `json:"tag,omitempty"`
}

// before is where what the record is about was, and is again when the landing
// was taken back.
func (r *record) before() string {
	switch {
	case r.Op == Move:
		return r.From
	case r.At != "":
		return r.At
	}
	return r.Path
}

// hasSum says whether what is put has content to compare.
func (r *record) hasSum() bool { return len(r.Sum) > 0 }

// flips says whether the record stands for a flip of its own.
func (r *record) flips() bool { return !r.Inside && (r.Op == Put || r.Op == Remove) }

// left is what a flip left behind: at the path, and in the slot. There is one
// for each record, in the same order.
type left struct {
	N    int           `json:"n"`
	Now  *files.Object `json:"now,omitempty"`
	Slot *files.Object `json:"slot,omitempty"`
	// Below is what is in Slot, where that is a directory.
	Below Tally `json:"below,omitzero"`
}

func (j *journal) addRecord(r record) error {
	r.Path, r.From, r.At, r.Slot, r.Target, r.Link = files.Pack(r.Path), files.Pack(r.From), files.Pack(r.At), files.Pack(r.Slot), files.Pack(r.Target), files.Pack(r.Link)
	return j.add(&r)
}

func decodeRecord(line []byte) (*record, error) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, err
	}
	r.Path, r.From, r.At, r.Slot, r.Target, r.Link = files.Unpack(r.Path), files.Unpack(r.From), files.Unpack(r.At), files.Unpack(r.Slot), files.Unpack(r.Target), files.Unpack(r.Link)
	return &r, nil
}

func nextLine(l lines, v any) error {
	line, err := l.next()
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// trait is what the line of a record has that a visitor looks for. Most
// records have none of these, and to look for one is far less work than to
// decode the line. Within a string quotes are escaped: it is never a name's.
type trait func(line []byte) bool

var (
	isMove      = has(`:"move"`) // done, or asked for
	isPut       = has(`"op":"put"`)
	isAttr      = has(`"op":"attr"`)
	isInside    = has(`"inside":true`)
	isEntrywise = has(`"entrywise":true`)
	isLink      = has(`"link":`)
	isNow       = has(`"now":`) // of what was left
)

func has(text string) trait {
	return func(line []byte) bool { return bytes.Contains(line, []byte(text)) }
}

func anything([]byte) bool { return true }

// acts says whether something is done for a record. What was put as a part of
// a directory goes with that.
func acts(line []byte) bool { return !isInside(line) || isAttr(line) }

// eachWith calls visit for the records of l with a trait.
func eachWith(t trait, l lines, visit func(*record) error) error {
	return eachLeftWith(t, l, nil, func(r *record, _ *left) error { return visit(r) })
}

// eachLeftWith does so with what was left of each. Without a journal of that, it
// is nil.
func eachLeftWith(t trait, l, lefts lines, visit func(*record, *left) error) error {
	return eachLine(t, l, lefts, func(line, beside []byte) error {
		r, err := decodeRecord(line)
		if err != nil {
			return err
		}
		if lefts == nil {
			return visit(r, nil)
		}
		var was left
		if err := json.Unmarshal(beside, &was); err != nil {
			return err
		}
		return visit(r, &was)
	})
}

func eachLine(t trait, l, lefts lines, visit func(line, beside []byte) error) error {
	for {
		line, err := l.next()
		if err == io.EOF {
			return nil
		}
		var beside []byte
		if err == nil && lefts != nil {
			beside, err = lefts.next()
		}
		if err == nil && t(line) {
			err = visit(line, beside)
		}
		if err != nil {
			return err
		}
	}
}
