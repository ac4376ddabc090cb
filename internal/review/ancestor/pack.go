package ancestor

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

// A pack has the content of many files in one: a look keeps what git does not
// have, and a file of its own for each would take longer than the look. Boxes
// of the same workspace have the same packs, as links; the last one that goes
// takes the bytes with it. It is the contents, the table of them in JSON, the
// table's length in eight bytes, and its hash. It is never changed.
const packPrefix = "pack-"

// place is where a file's content is in a pack.
type place struct {
	Mode uint32 `json:"m"`
	From int64  `json:"o"`
	Size int64  `json:"n"`
	Sum  string `json:"s"` // sha256 of the content
}

// table is what a pack has. Paths are relative to the workspace.
type table struct {
	Paths  forkbox.Strings `json:"paths"`
	Places []place         `json:"places"`
}

const packTail = 8 + sha256.Size

// errNothing says that there was nothing to put into a pack.
var errNothing = errors.New("nothing to keep")

// packWriter makes a pack.
type packWriter struct {
	table
	to   *os.File
	size int64
}

// add copies a file, if it is certain that it is what was looked at. It is read
// whole: at most 1 MiB.
func (p *packWriter) add(f file, root string) (bool, error) {
	from, err := openFile(filepath.Join(root, f.path))
	if err != nil {
		return false, nil
	}
	defer from.Close()
	content := make([]byte, f.Size)
	if !same(from, f.Identity) {
		return false, nil
	}
	if _, err := io.ReadFull(from, content); err != nil || !same(from, f.Identity) {
		return false, nil
	}
	if _, err := p.to.Write(content); err != nil {
		return false, err
	}
	p.Paths = append(p.Paths, f.path)
	p.Places = append(p.Places, place{Mode: uint32(f.mode), From: p.size, Size: f.Size, Sum: hash(content)})
	p.size += f.Size
	return true, nil
}

// end writes the table and returns the name of the pack.
func (p *packWriter) end() (string, error) {
	if len(p.Paths) == 0 {
		return "", errNothing
	}
	text, err := json.Marshal(p.table)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	tail := binary.BigEndian.AppendUint64(text, uint64(len(text)))
	_, err = p.to.Write(append(tail, sum[:]...))
	return packPrefix + hex.EncodeToString(sum[:])[:32], err
}

// openPack opens a pack and reads its table.
func openPack(name string) (*os.File, table, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, table{}, err
	}
	t, err := readTable(f)
	if err != nil {
		f.Close()
	}
	return f, t, err
}

func readTable(f *os.File) (t table, err error) {
	info, err := f.Stat()
	if err != nil {
		return t, err
	}
	tail := make([]byte, packTail)
	if _, err := f.ReadAt(tail, info.Size()-packTail); err != nil {
		return t, err
	}
	size := int64(binary.BigEndian.Uint64(tail))
	if size < 0 || size > info.Size()-packTail {
		return t, fs.ErrInvalid
	}
	text := make([]byte, size)
	if _, err := f.ReadAt(text, info.Size()-packTail-size); err != nil {
		return t, err
	}
	if sum := sha256.Sum256(text); string(sum[:]) != string(tail[8:]) {
		return t, fs.ErrInvalid
	}
	if err := json.Unmarshal(text, &t); err != nil || len(t.Paths) != len(t.Places) {
		return t, errors.Join(fs.ErrInvalid, err)
	}
	return t, nil
}

// content reads one file; ok is false when it is not what it was.
func (p place) content(f *os.File) (content []byte, ok bool) {
	if p.Size < 0 || p.Size > maxCopy {
		return nil, false
	}
	content = make([]byte, p.Size)
	if _, err := f.ReadAt(content, p.From); err != nil && (err != io.EOF || p.Size > 0) {
		return nil, false
	}
	return content, hash(content) == p.Sum
}
