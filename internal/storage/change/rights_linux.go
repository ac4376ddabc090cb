package change

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// audience is the user that the changes are told to, where the daemon may read
// more than that user. Whatever is told of a file's content, how much it is like
// another or only whether it is the same, is an answer to a guess at it: so a
// file that the user may not read is compared with nothing that the user made.
type audience struct {
	who forkbox.Owner

	mu   sync.Mutex
	ways map[inode]bool // directories of the base, and whether the user gets there
	tops map[inode]bool // where the ways begin
}

// newAudience is nil for a user who may read whatever this process may.
func newAudience(who *forkbox.Owner) *audience {
	if who == nil || who.UID == 0 {
		return nil
	}
	return &audience{who: *who, ways: map[inode]bool{}, tops: map[inode]bool{}}
}

// begin has ways begin at a directory: what lies around the root of an image is
// the daemon's store, and no part of the way.
func (r *audience) begin(dir int) {
	if f, err := lstat(dir, "."); r != nil && err == nil {
		r.tops[f.inode()] = true
	}
}

func (r *audience) beginAt(root string) {
	if r == nil {
		return
	}
	if dir, err := openUp(unix.AT_FDCWD, root); err == nil {
		r.begin(dir)
		unix.Close(dir)
	}
}

// mayRead is asked of an open file, so that nothing else can be put in its place.
func (r *audience) mayRead(fd int) bool {
	return r == nil || r.has(fd, 4)
}

// mayWrite says whether what is in the file may be the user's.
func (r *audience) mayWrite(fd int) bool {
	return r == nil || r.has(fd, 2)
}

// has says whether the user has a right to what is open. An owner can take any.
func (r *audience) has(fd int, want uint32) bool {
	var f file
	if unix.Fstat(fd, &f.Stat_t) != nil {
		return false
	}
	if int(f.Uid) == r.who.UID {
		return true
	}
	var list [4 << 10]byte
	n, err := unix.Fgetxattr(fd, "system.posix_acl_access", list[:])
	switch {
	case err == nil:
		return r.listed(list[:n], int(f.Gid), want)
	case errors.Is(err, unix.ERANGE):
		return false // longer than any that a person wrote
	}
	bits := f.perm()
	if r.in(int(f.Gid)) {
		bits >>= 3
	}
	return bits&want == want
}

func (r *audience) in(gid int) bool { return gid == r.who.GID || slices.Contains(r.who.Groups, gid) }

// The entries of an access list: a tag, rights, and whose, after four bytes of
// version. See acl(5) for which of them counts.
const (
	aclUser, aclGroupObj, aclGroup, aclMask, aclOther = 0x02, 0x04, 0x08, 0x10, 0x20

	aclHeader, aclEntry = 4, 8
)

// listed says whether an access list gives the user, who is not the owner, a right.
func (r *audience) listed(list []byte, gid int, want uint32) bool {
	mask, other := uint32(7), uint32(0)
	var user, groups []uint32
	for at := aclHeader; at+aclEntry <= len(list); at += aclEntry {
		tag, perm := binary.LittleEndian.Uint16(list[at:]), uint32(binary.LittleEndian.Uint16(list[at+2:]))
		id := int(binary.LittleEndian.Uint32(list[at+4:]))
		switch {
		case tag == aclUser && id == r.who.UID:
			user = append(user, perm)
		case tag == aclGroupObj && r.in(gid), tag == aclGroup && r.in(id):
			groups = append(groups, perm)
		case tag == aclMask:
			mask = perm
		case tag == aclOther:
			other = perm
		}
	}
	gives := func(perm uint32) bool { return perm&mask&want == want }
	switch {
	case len(user) > 0:
		return gives(user[0])
	case len(groups) > 0:
		return slices.ContainsFunc(groups, gives)
	}
	return other&want == want
}

// reaches says whether the user may go to a directory of the base: through each
// one that it lies in.
func (r *audience) reaches(dir int) bool {
	if r == nil {
		return true
	}
	f, err := lstat(dir, ".")
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	open, known := r.ways[f.inode()]
	if !known {
		open = r.climb(dir)
		r.ways[f.inode()] = open
	}
	return open
}

// lists says whether the user may know what is in a directory.
func (r *audience) lists(dir int) bool {
	if r == nil {
		return true
	}
	fd, err := openUp(dir, ".")
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return r.has(fd, 5) && r.reaches(fd)
}

// climb goes up from a directory to where the ways begin.
func (r *audience) climb(dir int) bool {
	next, err := openUp(dir, ".")
	for last := (inode{}); err == nil; {
		f, missing := lstat(next, ".")
		switch {
		case missing != nil || !r.has(next, 1):
			unix.Close(next)
			return false
		case r.tops[f.inode()] || f.inode() == last: // what is above the root is the root
			unix.Close(next)
			return true
		}
		last, dir = f.inode(), next
		next, err = openUp(dir, "..")
		unix.Close(dir)
	}
	return false
}

func openUp(dir int, name string) (int, error) {
	return unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// comparable says whether telling that a file of the box has the content of one
// of the base tells the user nothing: the user may read the latter, or cannot
// have made the former.
func (e *entry) comparable(up, base int) bool {
	r := e.w.reader
	return r == nil || r.mayRead(base) && r.reaches(e.baseDir) || !r.mayRead(up) && !r.mayWrite(up)
}

// ShowOld is OpenOld for the user that the changes are told to.
func (e *entry) ShowOld() (*os.File, error) {
	f, err := e.OpenOld()
	if err != nil {
		return nil, err
	}
	return e.w.shown(f, e.w.reader.reaches(e.baseDir))
}

// ShowNew is OpenNew for the user that the changes are told to: to move a file
// does not take the right to read it. A box's layers have no way to them that is
// the user's; in a tree that is looked at through its mounts there is one.
func (e *entry) ShowNew() (*os.File, error) {
	f, err := e.OpenNew()
	if err != nil {
		return nil, err
	}
	return e.w.shown(f, !e.w.trees || e.w.reader.reaches(e.dir))
}

// shown closes a file that the user may not read.
func (w *walker) shown(f *os.File, reached bool) (*os.File, error) {
	if reached && w.reader.mayRead(int(f.Fd())) {
		return f, nil
	}
	f.Close()
	return nil, &fs.PathError{Op: "open", Path: f.Name(), Err: fs.ErrPermission}
}
