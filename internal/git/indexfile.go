package git

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// Index is what git's index file says: for each tracked path a blob, and what
// lstat told of the file when git last saw that it has the blob's content. It is
// read here, without running git, because a fork is not to wait for that.
type Index struct {
	Entries []IndexEntry // sorted by path
	// Written is when the file was last written to. A file that is not older may
	// have changed after git looked at it, within the same tick of the clock.
	Written time.Time
	Changed time.Time   // of the inode: it is where it is, as it is, since then
	Mode    fs.FileMode // of the file
	Raw     []byte      // the file
}

// IndexEntry is one tracked path. Numbers are cut to 32 bits, as git does.
type IndexEntry struct {
	Path         string
	id           []byte // of the blob, in Raw
	Mtime, Ctime int64  // in nanoseconds
	Ino, Size    uint32
	Mode         uint32
	// flags are what git was told of the entry, and which side of a merge it is.
	flags, more uint16
	// Told says that the entry is about the file: not unmerged, and git was not
	// told to assume something of it.
	Told bool
}

// ID is that of the blob.
func (e IndexEntry) ID() string { return hex.EncodeToString(e.id) }

// maxIndex is the index of some 150 000 files. A larger one would take more
// memory than a look at it is worth.
const maxIndex = 16 << 20

var errIndex = errors.New("this is no index that can be read here")

// ReadIndex reads the index of the work tree at root. fs.ErrNotExist says that
// there is none. The caller sees to whose rights that is done with.
func ReadIndex(root string) (*Index, error) {
	dir, err := gitDir(root)
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, "index")
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist // to open a fifo would wait
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() > maxIndex {
		return nil, errors.Join(errIndex, err)
	}
	// Git replaces the file and never writes to it.
	raw := make([]byte, info.Size())
	if _, err := io.ReadFull(f, raw); err != nil {
		return nil, err
	}
	entries, err := ParseIndex(raw)
	return &Index{Entries: entries, Written: info.ModTime(), Changed: changeTime(info), Mode: info.Mode(), Raw: raw}, err
}

// gitDir is where the index lies: .git, or where the file of that name says.
func gitDir(root string) (string, error) {
	name := filepath.Join(root, ".git")
	info, err := os.Lstat(name)
	if err != nil || info.IsDir() {
		return name, err
	}
	if !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return "", fs.ErrNotExist
	}
	text, err := os.ReadFile(name)
	dir, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if err != nil || !ok {
		return "", errors.Join(fs.ErrNotExist, err)
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	return dir, nil
}

// Find is the entry of a path.
func (x *Index) Find(path string) (IndexEntry, bool) {
	i, found := slices.BinarySearchFunc(x.Entries, path, func(e IndexEntry, p string) int { return strings.Compare(e.Path, p) })
	if !found {
		return IndexEntry{}, false
	}
	return x.Entries[i], true
}

// ParseIndex reads an index of version 2, 3 or 4, with ids of either length. One
// without its checksum, or that has the rest of its entries in another file, is
// an error.
func ParseIndex(raw []byte) ([]IndexEntry, error) {
	entries, _, err := parseIndex(raw)
	return entries, err
}

// parseIndex returns the names of the extensions as well.
func parseIndex(raw []byte) (entries []IndexEntry, extensions []string, err error) {
	size, ok := idSize(raw)
	if !ok || len(raw) < 12+size || string(raw[:4]) != "DIRC" {
		return nil, nil, errIndex
	}
	p := &indexParser{rest: raw[12 : len(raw)-size], id: size, version: binary.BigEndian.Uint32(raw[4:])}
	if p.version < 2 || p.version > 4 {
		return nil, nil, errIndex
	}
	count := int(binary.BigEndian.Uint32(raw[8:]))
	if count > len(raw)/minEntry {
		return nil, nil, errIndex
	}
	entries = make([]IndexEntry, 0, count)
	for range count {
		e, ok := p.entry()
		if !ok || len(entries) > 0 && strings.Compare(entries[len(entries)-1].Path, e.Path) > 0 {
			return nil, nil, errIndex
		}
		entries = append(entries, e)
	}
	extensions, err = p.extensions()
	return entries, extensions, err
}

// idSize tells which hash a repository uses by the one at the end of the file.
func idSize(raw []byte) (int, bool) {
	if body := len(raw) - sha1.Size; body > 0 {
		if sum := sha1.Sum(raw[:body]); bytes.Equal(sum[:], raw[body:]) {
			return sha1.Size, true
		}
	}
	if body := len(raw) - sha256.Size; body > 0 {
		if sum := sha256.Sum256(raw[:body]); bytes.Equal(sum[:], raw[body:]) {
			return sha256.Size, true
		}
	}
	return 0, false
}

const (
	statSize = 40 // ten numbers
	minEntry = statSize + sha1.Size + 2

	flagAssume   = 1 << 15
	flagExtended = 1 << 14
	flagStage    = 3 << 12
)

// indexParser goes over the entries.
type indexParser struct {
	rest    []byte
	id      int // bytes
	version uint32
	last    string
}

func (p *indexParser) entry() (e IndexEntry, ok bool) {
	fixed := statSize + p.id + 2
	if len(p.rest) < fixed {
		return e, false
	}
	n := func(i int) uint32 { return binary.BigEndian.Uint32(p.rest[4*i:]) }
	e.Ctime, e.Mtime = int64(n(0))*1e9+int64(n(1)), int64(n(2))*1e9+int64(n(3))
	e.Ino, e.Mode, e.Size = n(5), n(6), n(9)
	e.id = p.rest[statSize : statSize+p.id]
	flags := binary.BigEndian.Uint16(p.rest[fixed-2:])
	e.flags = flags & (flagAssume | flagStage)
	e.Told = e.flags == 0
	if flags&flagExtended != 0 {
		if len(p.rest) < fixed+2 {
			return e, false
		}
		// Not checked out, or to be added later, or what is not known yet.
		e.more = binary.BigEndian.Uint16(p.rest[fixed:])
		e.Told = e.Told && e.more == 0
		fixed += 2
	}
	if p.version == 4 {
		e.Path, ok = p.readShortened(fixed)
	} else {
		e.Path, ok = p.readPadded(fixed)
	}
	p.last = e.Path
	return e, ok
}

// readPadded reads a name that is followed by zeros up to a multiple of eight.
func (p *indexParser) readPadded(at int) (string, bool) {
	end := bytes.IndexByte(p.rest[at:], 0)
	if end < 0 {
		return "", false
	}
	next := (at + end + 8) &^ 7
	if next > len(p.rest) {
		return "", false
	}
	name := string(p.rest[at : at+end])
	p.rest = p.rest[next:]
	return name, name != ""
}

// readShortened reads how much of the last name to drop, and what to add instead.
func (p *indexParser) readShortened(at int) (string, bool) {
	drop := 0
	for {
		if at >= len(p.rest) || drop > len(p.last) {
			return "", false
		}
		b := p.rest[at]
		at++
		drop = drop<<7 | int(b&0x7f)
		if b&0x80 == 0 {
			break
		}
		drop++ // as git's varints have it
	}
	end := bytes.IndexByte(p.rest[at:], 0)
	if end < 0 || drop > len(p.last) {
		return "", false
	}
	name := p.last[:len(p.last)-drop] + string(p.rest[at:at+end])
	p.rest = p.rest[at+end+1:]
	return name, name != ""
}

// extensions refuses an index that is only a part ("link"), and whatever else
// has to be understood to read one: those have names in small letters. It names
// the others.
func (p *indexParser) extensions() (names []string, err error) {
	for len(p.rest) >= 8 {
		size := int(binary.BigEndian.Uint32(p.rest[4:]))
		if first := p.rest[0]; first < 'A' || first > 'Z' || size > len(p.rest)-8 {
			return nil, errIndex
		}
		names = append(names, string(p.rest[:4]))
		p.rest = p.rest[8+size:]
	}
	return names, nil
}

// Proves says whether a file that lstat describes so has the content of the
// entry's blob, as git would write it out: git saw that, and nothing was done to
// the file since. Whether its bytes are the blob's is for [Repo.Object] to say.
func (x *Index) Proves(e IndexEntry, mode fs.FileMode, id forkbox.Identity, mtime int64) bool {
	return e.Told && mode.IsRegular() && e.Mode&^0o111 == 0o100644 &&
		(e.Mode&0o100 != 0) == (mode&0o100 != 0) &&
		uint32(id.Ino) == e.Ino && id.Size <= 1<<31 && uint32(id.Size) == e.Size &&
		mtime == e.Mtime && id.Ctime == e.Ctime && mtime < x.Written.UnixNano()
}
