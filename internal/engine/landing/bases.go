package landing

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
)

// keptBase is what a path's next merge starts from.
type keptBase struct {
	Path    []byte // need not be UTF-8
	Content []byte
	Mode    fs.FileMode
}

// keptBases are those of one sync or apply, until it is through: before that
// they are no box's base. There may be as many as there are changes, with all
// that is in the files, so they wait on disk.
type keptBases struct {
	file *os.File // nil as long as there are none
	out  *bufio.Writer
	enc  *json.Encoder
}

// add takes one in. dir is where the file is made; it has no name there.
func (k *keptBases) add(dir string, base keptBase) error {
	if k.file == nil {
		if err := k.open(dir); err != nil {
			return err
		}
	}
	return k.enc.Encode(base)
}

func (k *keptBases) open(dir string) error {
	err := os.MkdirAll(dir, 0o700) // nothing may have been applied yet
	if err != nil {
		return err
	}
	// A daemon that is killed before the name is gone finds it when it starts.
	f, err := os.CreateTemp(dir, syncPrefix+"bases-")
	if err != nil {
		return err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return err
	}
	k.file, k.out = f, bufio.NewWriter(f)
	k.enc = json.NewEncoder(k.out)
	return nil
}

// each goes through all that were added, in that order.
func (k *keptBases) each(do func(keptBase) error) error {
	if k.file == nil {
		return nil
	}
	if err := k.out.Flush(); err != nil {
		return err
	}
	if _, err := k.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	for dec := json.NewDecoder(bufio.NewReader(k.file)); ; {
		var base keptBase
		if err := dec.Decode(&base); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := do(base); err != nil {
			return err
		}
	}
}

func (k *keptBases) close() {
	if k.file != nil {
		k.file.Close()
	}
}
