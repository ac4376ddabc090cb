package land

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// stageAttr plans a change of attributes. It is done in place, except to a
// file that has other names: only this one is meant, so it gets a copy.
func (l *Landing) stageAttr(r *record, it *Item, src *source) (err error) {
	if l.around() != nil || it.Expect == nil {
		return forkbox.Errorf(forkbox.Invalid, opLand, "%q has no attributes to change: nothing is known to be there", it.Path)
	}
	at := l.located(it.Path)
	if r.Old, err = l.expect(at, it, false); err != nil {
		return err
	}
	if kernelMode(it.Node.Mode)&unix.S_IFMT != r.Old.format() {
		return forkbox.Errorf(forkbox.Invalid, opLand, "%q is of another type: put it", it.Path)
	}
	if !r.Old.isDir() && r.Old.Nlink > 1 {
		return l.stageCopy(r, it, src, at)
	}
	h, err := l.openAt(at)
	if err != nil {
		return failed(opLand, it.Path, err)
	}
	defer unix.Close(h.fd)
	r.At, r.Old.Xattrs = at, h.xattrs()
	r.New = &object{Mode: kernelMode(it.Node.Mode), UID: uint32(it.Node.UID), GID: uint32(it.Node.GID), Xattrs: packed(it.Node.Xattrs)}
	if it.KeepOwner {
		r.New.UID, r.New.GID = r.Old.UID, r.Old.GID
	}
	return nil
}

// stageCopy puts a copy of a file in its place, with other attributes.
func (l *Landing) stageCopy(r *record, it *Item, src *source, at string) error {
	r.Op, r.Asked = Put, Attr
	if it.Node.ModTime.IsZero() {
		it.Node.ModTime = time.Unix(0, r.Old.Mtime)
	}
	dir, name, err := l.tree.parent(at)
	if err == nil && r.Old.isRegular() {
		var fd int
		if fd, err = open(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY); err == nil {
			src.file = os.NewFile(uintptr(fd), name)
		}
	}
	if err == nil && r.Old.isSymlink() {
		it.Node.Target, err = readlink(dir, name)
	}
	if err == nil {
		it.Node.Rdev = r.Old.Rdev
		err = l.ownSlot(r, at)
	}
	if err == nil {
		err = l.make(r, it, src)
	}
	if err != nil {
		return failed(opLand, it.Path, err)
	}
	l.spots[it.Path] = spot{r.Place, r.Slot, r.Sum}
	return nil
}

// openAt opens an object of the tree, whatever it is, to look at it or to
// change its attributes.
func (s *site) openAt(p string) (handle, error) {
	dir, name, err := s.tree.parent(p)
	if err != nil {
		return handle{}, err
	}
	fd, err := open(dir, name, unix.O_PATH)
	return handle{fd, false}, err
}

// xattrs reads the attributes that belong to a file: not the bookkeeping of
// overlayfs, nor labels that follow from where a file lies. The names are
// packed.
func (h handle) xattrs() map[string][]byte {
	buf := make([]byte, 64<<10) // the kernel's own bound
	n, err := unix.Listxattr(linux.ProcPath(h.fd), buf)
	if err != nil || n == 0 {
		return nil
	}
	found := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		if bookkeeping(name) {
			continue
		}
		value := make([]byte, 64<<10)
		if n, err := unix.Getxattr(linux.ProcPath(h.fd), name, value); err == nil {
			found[pack(name)] = bytes.Clone(value[:n])
		}
	}
	return found
}

func bookkeeping(name string) bool {
	for _, prefix := range []string{"trusted.overlay.", "user.overlay.", "security.selinux", "security.ima", "security.evm"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func packed(xattrs map[string][]byte) map[string][]byte {
	if len(xattrs) == 0 {
		return nil
	}
	p := map[string][]byte{}
	for name, value := range xattrs {
		p[pack(name)] = value
	}
	return p
}

// become gives an object the attributes of another. Removing an ACL and chown
// change the mode, chmod changes an ACL: hence the order.
func (h handle) become(path string, want *object) error {
	now, err := fstat(h.fd)
	if err != nil {
		return err
	}
	if _, err = h.chown(now, want.UID, want.GID); err != nil {
		return err
	}
	for name := range h.xattrs() {
		if _, stays := want.Xattrs[name]; stays {
			continue
		}
		err := h.writable(func() error {
			return act("removexattr", func() error { return unix.Removexattr(linux.ProcPath(h.fd), unpack(name)) })
		})
		if err != nil && !errors.Is(err, unix.ENODATA) {
			return err
		}
	}
	if now, err = fstat(h.fd); err != nil {
		return err
	}
	mode := withoutLentRights(want.Mode, now, want.UID, want.GID)
	if !now.isSymlink() && now.perm() != mode&0o7777 {
		if err := h.chmod(mode); err != nil {
			return err
		}
	}
	missing := map[string][]byte{}
	has := h.xattrs()
	for name, value := range want.Xattrs {
		if v, ok := has[name]; !ok || !bytes.Equal(v, value) {
			missing[unpack(name)] = value
		}
	}
	return h.setXattrs(path, missing)
}

// sameAttrs says whether mode and owner are as they were.
func sameAttrs(a, b *object) bool {
	return a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID
}

func sameXattrs(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, bytes.Equal)
}

// between says whether an object's attributes are a mixture of two sets, which
// only an interrupted change leaves.
func between(now, a, b *object) bool {
	const unsure = unix.S_ISUID | unix.S_ISGID | 0o070 // chown and ACLs change them in passing
	if m := now.Mode &^ unsure; m != a.Mode&^unsure && m != b.Mode&^unsure {
		return false
	}
	if now.UID != a.UID && now.UID != b.UID || now.GID != a.GID && now.GID != b.GID {
		return false
	}
	for name, value := range now.Xattrs {
		inA, okA := a.Xattrs[name]
		inB, okB := b.Xattrs[name]
		acl := strings.HasPrefix(name, "system.posix_acl")
		if !(okA && (acl || bytes.Equal(value, inA))) && !(okB && (acl || bytes.Equal(value, inB))) {
			return false
		}
	}
	return true
}
