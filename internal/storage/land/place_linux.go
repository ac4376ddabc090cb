package land

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// place is a staging directory: on the filesystem of its targets, above them,
// so that a rename leads from one to the other.
type place struct {
	K       int    `json:"k"`
	In      string `json:"in"` // the directory of the tree that it is made in
	Overlay bool   `json:"overlay,omitempty"`
	Ino     uint64 `json:"ino,omitempty"` // 0: perhaps it was never made

	mount  mount
	fd     int // -1: not open
	stowed bool
	failed bool       // could not be made: what has its name is not ours
	tree   files.Tree // resolves slots

	noClone map[uint64]bool // devices whose files cannot be cloned here
}

// mount tells whether a rename can lead from one directory to another.
type mount struct{ id, dev uint64 }

func mountOf(fd int) (mount, error) {
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &st)
	return mount{st.Mnt_id, unix.Mkdev(st.Dev_major, st.Dev_minor)}, err
}

func onOverlay(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC
}

func (p *place) open(parent int, name string) error {
	fd, err := files.Open(parent, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	p.fd, p.tree.Root = fd, fd
	p.mount, err = mountOf(fd)
	return err
}

func (p *place) close() {
	p.tree.Forget()
	if p.fd >= 0 {
		unix.Close(p.fd)
		p.fd = -1
	}
}

// plain takes back what the directory inherited from the one that it is in,
// for everything staged in it would inherit that too: default ACLs, and the
// group of a setgid directory.
func (p *place) plain() error {
	err := files.Act("chmod", func() error { return unix.Fchmod(p.fd, 0o700) })
	if err != nil {
		return err
	}
	for _, acl := range []string{"system.posix_acl_default", "system.posix_acl_access"} {
		err := files.Act("removexattr", func() error { return unix.Fremovexattr(p.fd, acl) })
		if err != nil && err != unix.ENODATA && err != unix.ENOTSUP {
			return err
		}
	}
	return nil
}

// slot opens the directory that a slot is in, and tells its name there.
func (p *place) slot(slot string) (int, string, error) { return p.tree.Parent("/" + slot) }

// lookSlot describes what is in a slot; nil is nothing.
func (p *place) lookSlot(slot string) (*files.Object, error) { return p.tree.Look("/" + slot) }

// inode of the open directory, whether it was noted yet or not.
func (p *place) inode() uint64 {
	o, err := files.Fstat(p.fd)
	if err != nil {
		return 0
	}
	return o.Ino
}

// stowName is a place's name in the landing's own directory.
func (p *place) stowName() string { return "kept-" + strconv.Itoa(p.K) }

const (
	aboutFile  = "about"
	ignoreFile = ".gitignore"
)

// journalFiles are the names of the journal in either directory, in the order
// in which they are shared: records name places.
var journalFiles = []string{placesFile, partsFile, planFile}

// isSlot says whether a name in a staging directory is something of the tree,
// and not the landing's own.
func isSlot(name string) bool {
	return name != aboutFile && name != ignoreFile && !slices.Contains(journalFiles, name)
}

// about is what a staging directory says of itself from the start, for the
// landing's own directory may be lost while it lies in the tree. Before the tree
// is touched it has also the journal: so what it holds can be put back from it
// alone; see stray_linux.go.
type about struct {
	Landing string    `json:"landing"` // the landing's own directory
	Began   time.Time `json:"began"`
}

func readAbout(dir int) (a about, err error) {
	fd, err := files.Open(dir, aboutFile, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return a, err
	}
	f := os.NewFile(uintptr(fd), aboutFile)
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	a.Landing = files.Unpack(a.Landing)
	return a, err
}

// write makes a file of the landing's own in the staging directory.
func (p *place) write(name, text string) error {
	f, err := files.Create(p.fd, name)
	if err != nil {
		return err
	}
	defer f.Close()
	return files.Act("write", func() error {
		_, err := f.WriteString(text)
		return err
	})
}
