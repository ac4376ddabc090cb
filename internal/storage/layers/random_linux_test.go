package layers

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// grower makes a random tree of everything that an upper directory can hold.
type grower struct {
	*rapid.T
	dirs  []string
	files []string // everything that can have a second name
	modes []func() // that may lock us out: given last
}

var names = []string{
	"a", "b", "c", "two words", "new\nline", "not\xffutf8", "-", ".wh.x", ".wh..wh..opq", "work", "upper", "links",
	"...", `back\slash`, "quote'\"", "$(x)", "*", "ünï", strings.Repeat("l", 255), ".new-x", "#1",
}

// grow adds files below dir.
func grow(t *rapid.T, dir string) {
	g := &grower{T: t, dirs: []string{dir}}
	for range rapid.IntRange(0, 30).Draw(t, "files") {
		g.add()
	}
	slices.Reverse(g.dirs) // those inside others first: after that we may not get in any more
	for _, path := range append(g.files, g.dirs...) {
		g.attributes(path)
	}
	for _, lock := range g.modes {
		lock()
	}
}

func (g *grower) check(err error) {
	if err != nil {
		g.Fatalf("make the tree: %v", err)
	}
}

// add makes one file, if its name is free.
func (g *grower) add() {
	path := filepath.Join(rapid.SampledFrom(g.dirs).Draw(g.T, "dir"), rapid.SampledFrom(names).Draw(g.T, "name"))
	if exists(path) {
		return
	}
	kinds := []string{"file", "sparse", "dir", "dir", "symlink", "fifo", "socket", "whiteout", "link", "link"}
	if os.Geteuid() == 0 {
		kinds = append(kinds, "device")
	}
	switch kind := rapid.SampledFrom(kinds).Draw(g.T, "kind"); kind {
	case "dir":
		g.check(os.Mkdir(path, 0o700))
		g.dirs = append(g.dirs, path)
		return
	case "link":
		if len(g.files) == 0 {
			return
		}
		g.check(os.Link(rapid.SampledFrom(g.files).Draw(g.T, "link to"), path))
		return
	case "file":
		g.check(os.WriteFile(path, rapid.SliceOfN(rapid.Byte(), 0, 20000).Draw(g.T, "bytes"), 0o600))
	case "sparse":
		g.sparse(path)
	case "symlink":
		target := rapid.SampledFrom([]string{"/", "..", "nowhere", "a", "\xff", strings.Repeat("t/", 500)})
		g.check(os.Symlink(target.Draw(g.T, "target"), path))
	default:
		g.node(path, kind)
	}
	g.files = append(g.files, path)
}

func (g *grower) node(path, kind string) {
	mode := map[string]uint32{"fifo": unix.S_IFIFO, "socket": unix.S_IFSOCK, "whiteout": unix.S_IFCHR, "device": unix.S_IFBLK}[kind]
	dev := 0
	if kind == "device" {
		dev = int(unix.Mkdev(259, 77))
	}
	g.check(unix.Mknod(path, mode, dev))
}

// sparse makes a file with holes: at its beginning, in it, or at its end.
func (g *grower) sparse(path string) {
	f, err := os.Create(path)
	g.check(err)
	defer f.Close()
	for _, at := range rapid.SliceOfN(rapid.Int64Range(0, 2<<20), 0, 3).Draw(g.T, "offsets") {
		_, err := f.WriteAt([]byte("data"), at)
		g.check(err)
	}
	g.check(f.Truncate(rapid.Int64Range(0, 3<<20).Draw(g.T, "size")))
}

func (g *grower) attributes(path string) {
	var st unix.Stat_t
	g.check(unix.Lstat(path, &st))
	kind := st.Mode & unix.S_IFMT
	if os.Geteuid() == 0 && rapid.Bool().Draw(g.T, "chown") {
		g.check(os.Lchown(path, rapid.IntRange(0, 3).Draw(g.T, "uid"), rapid.IntRange(0, 3).Draw(g.T, "gid")))
	}
	for name, value := range g.xattrs(kind) {
		g.check(wrapped("setxattr "+name, unix.Lsetxattr(path, name, value, 0)))
	}
	mode := rapid.SampledFrom([]uint32{0, 0o600, 0o644, 0o755, 0o100, 0o400, 0o4755, 0o2755, 0o1777, 0o7777, 0o500}).Draw(g.T, "mode")
	when := []unix.Timespec{{Sec: 1}, {Sec: rapid.Int64Range(0, 1<<31).Draw(g.T, "time"), Nsec: rapid.Int64Range(0, 999999999).Draw(g.T, "ns")}}
	g.modes = append(g.modes, func() {
		g.check(unix.UtimesNanoAt(unix.AT_FDCWD, path, when, unix.AT_SYMLINK_NOFOLLOW))
		if kind != unix.S_IFLNK {
			g.check(unix.Chmod(path, mode))
		}
	})
}

// xattrs are some that a file of a kind can have.
func (g *grower) xattrs(kind uint32) map[string][]byte {
	can := map[string][]byte{}
	plain := kind == unix.S_IFREG || kind == unix.S_IFDIR
	if plain {
		can["user.test"] = []byte("value\x00with zero")
		can["user.overlay.opaque"] = []byte("y")
		can["user.empty"] = nil
		can["system.posix_acl_access"] = acl
	}
	if kind == unix.S_IFDIR {
		can["system.posix_acl_default"] = acl
	}
	if os.Geteuid() == 0 {
		can["trusted.overlay.opaque"] = []byte("y")
		can["trusted.overlay.redirect"] = []byte("/some/where")
		if kind == unix.S_IFREG {
			can["security.capability"] = capNetRaw
		}
	}
	picked := map[string][]byte{}
	if len(can) == 0 {
		return picked
	}
	for _, name := range rapid.SliceOfN(rapid.SampledFrom(sortedKeys(can)), 0, min(len(can), 4)).Draw(g.T, "xattrs") {
		picked[name] = can[name]
	}
	return picked
}

// capNetRaw is what setcap cap_net_raw+ep sets.
var capNetRaw = []byte{1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// acl lets one more user in.
var acl = func() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 7, ^uint32(0)}, {2, 4, 4321}, {4, 5, ^uint32(0)}, {16, 7, ^uint32(0)}, {32, 0, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}()

func wrapped(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
