//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func (g *grower) write() (string, error) {
	path := g.fresh()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "write " + g.rel(path), err
	}
	defer f.Close()
	_, err = f.Write(g.bytes())
	if g.rng.IntN(2) == 0 {
		g.later(path)
	}
	return "write " + g.rel(path), err
}

func (g *grower) mkdir() (string, error) {
	path := g.fresh()
	return "mkdir " + g.rel(path), os.Mkdir(path, 0o755)
}

func (g *grower) sparse() (string, error) {
	path := g.fresh()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", nil
	}
	defer f.Close()
	err = f.Truncate(int64(g.rng.IntN(8 << 20)))
	if err == nil && g.rng.IntN(2) == 0 {
		_, err = f.WriteAt([]byte("data after a hole"), int64(g.rng.IntN(4<<20)))
	}
	return "sparse " + g.rel(path), err
}

func (g *grower) link() (string, error) {
	from := g.any(0, 0, fs.ModeSymlink, fs.ModeNamedPipe)
	to := g.fresh()
	if from == "" {
		return "", nil
	}
	return fmt.Sprintf("link %s %s", g.rel(from), g.rel(to)), os.Link(from, to)
}

func (g *grower) symlink() (string, error) {
	targets := []string{"a", "../b", "nowhere/to be found", "/etc/hostname", "/nonexistent/\xff", g.root, ".", strings.Repeat("x/", 1000)}
	path := g.fresh()
	return "symlink " + g.rel(path), os.Symlink(targets[g.rng.IntN(len(targets))], path)
}

func (g *grower) node() (string, error) {
	kinds := []uint32{unix.S_IFIFO, unix.S_IFSOCK}
	path := g.fresh()
	return "mknod " + g.rel(path), unix.Mknod(path, kinds[g.rng.IntN(len(kinds))]|0o640, 0)
}

// chmod leaves the owner enough to read: what a user of reality cannot read
// back cannot be compared.
func (g *grower) chmod() (string, error) {
	path := g.any(0, fs.ModeDir, fs.ModeNamedPipe, fs.ModeSocket)
	if path == "" {
		return "", nil
	}
	modes := []uint32{0o644, 0o600, 0o755, 0o444, 0o4755, 0o2755, 0o640, 0o6711}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		modes = []uint32{0o755, 0o700, 0o2775, 0o1777, 0o750, 0o3771}
	}
	if os.Getuid() == 0 {
		modes = append(modes, 0, 0o111)
	}
	mode := modes[g.rng.IntN(len(modes))]
	return fmt.Sprintf("chmod %o %s", mode, g.rel(path)), unix.Chmod(path, mode)
}

func (g *grower) chown() (string, error) {
	path := g.any()
	if path == "" || os.Getuid() != 0 {
		return "", nil
	}
	uid, gid := 1000+g.rng.IntN(3), 1000+g.rng.IntN(3)
	return fmt.Sprintf("chown %d:%d %s", uid, gid, g.rel(path)), os.Lchown(path, uid, gid)
}

func (g *grower) setxattr() (string, error) {
	path := g.any(0, fs.ModeDir)
	if path == "" {
		return "", nil
	}
	name := []string{"user.one", "user.two", "user.\xff"}[g.rng.IntN(3)]
	value := []byte{byte(g.rng.IntN(256)), 0, '\n'}[:g.rng.IntN(4)]
	return fmt.Sprintf("setxattr %q %s", name, g.rel(path)), unix.Lsetxattr(path, name, value, 0)
}

func (g *grower) setACL() (string, error) {
	path := g.any(0, fs.ModeDir)
	if path == "" {
		return "", nil
	}
	name := "system.posix_acl_access"
	if info, err := os.Lstat(path); err == nil && info.IsDir() && g.rng.IntN(2) == 0 {
		name = "system.posix_acl_default"
	}
	return fmt.Sprintf("%s %s", name, g.rel(path)), unix.Lsetxattr(path, name, g.acl(), 0)
}

// acl is one as the kernel takes it: owner, a user, group, mask, others.
func (g *grower) acl() []byte {
	const none = ^uint32(0)
	b := binary.LittleEndian.AppendUint32(nil, 2)
	add := func(tag, perm uint16, id uint32) {
		b = binary.LittleEndian.AppendUint16(b, tag)
		b = binary.LittleEndian.AppendUint16(b, perm)
		b = binary.LittleEndian.AppendUint32(b, id)
	}
	add(1, 7, none)
	add(2, uint16(g.rng.IntN(8)), uint32(os.Getuid()))
	add(4, uint16(g.rng.IntN(8)), none)
	add(16, uint16(g.rng.IntN(8)), none)
	add(32, uint16(g.rng.IntN(8)), none)
	return b
}
