package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// disks are the devices that boxes' limits of reading and writing are for.
type disks struct {
	devices []string // MAJOR:MINOR
	why     string   // why not all of them are known
	unowned string   // why the kernel cannot tell whose writes are
}

// SetIOPaths says where boxes read and write: the store, and the root of what
// they are forked from. Limits of io are per device behind these paths, and
// hold from the next time that limits are set.
func (h *Host) SetIOPaths(paths []string) {
	text, _ := read("/proc/self/mountinfo")
	mounts := parseMounts(text)
	var d disks
	for _, path := range paths {
		d.add(path, mounts)
	}
	slices.Sort(d.devices)
	d.devices = slices.Compact(d.devices)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.disks, h.held = d, nil
}

func (d *disks) add(path string, mounts []mount) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		d.why = fmt.Sprintf("%s cannot be looked at: %v", path, err)
		return
	}
	var found []string
	if unix.Major(st.Dev) != 0 {
		found = []string{device(st.Dev)}
	} else {
		found = behind(path, mounts)
	}
	for i, dev := range found {
		found[i] = wholeDisk(dev)
	}
	if len(found) == 0 {
		d.why = fmt.Sprintf("%s is on a filesystem that has no disk of its own", path)
	}
	d.devices = append(d.devices, found...)
	if kind := filesystem(path); !slices.Contains(ownedWrites, kind) {
		d.unowned = fmt.Sprintf("on the filesystem of %s (type %#x) the kernel does not know whose a write was", path, kind)
	}
}

func device(dev uint64) string { return fmt.Sprintf("%d:%d", unix.Major(dev), unix.Minor(dev)) }

// ownedWrites are the filesystems that tell whose a write is when it goes to
// the disk.
var ownedWrites = []uint64{unix.EXT4_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC}

func filesystem(path string) uint64 {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return 0
	}
	return uint64(st.Type)
}

// wholeDisk is the disk that a partition is of: the kernel limits only those.
func wholeDisk(dev string) string {
	at, err := filepath.EvalSymlinks("/sys/dev/block/" + dev)
	if err != nil || !exists(at, "partition") {
		return dev
	}
	if text, err := read(filepath.Join(filepath.Dir(at), "dev")); err == nil {
		return strings.TrimSpace(text)
	}
	return dev
}

// behind finds the devices of a filesystem whose files do not name one, as
// btrfs's, from what was mounted.
func behind(path string, mounts []mount) []string {
	source := ""
	longest := -1
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	for _, m := range mounts { // a later mount hides earlier ones
		if inside(real, m.point) && len(m.point) >= longest {
			source, longest = m.source, len(m.point)
		}
	}
	var st unix.Stat_t
	if !filepath.IsAbs(source) || unix.Stat(source, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return nil
	}
	return append(siblings(device(st.Rdev)), device(st.Rdev))
}

func inside(path, dir string) bool {
	return dir == "/" || path == dir || strings.HasPrefix(path, dir+"/")
}

// siblings are the other devices of the same btrfs.
func siblings(dev string) (list []string) {
	sets, _ := filepath.Glob("/sys/fs/btrfs/*/devices")
	for _, set := range sets {
		var in []string
		entries, _ := os.ReadDir(set)
		for _, e := range entries {
			text, _ := read(filepath.Join(set, e.Name(), "dev"))
			in = append(in, strings.TrimSpace(text))
		}
		if slices.Contains(in, dev) {
			list = append(list, in...)
		}
	}
	return list
}

// carried says whether what goes through a device is counted again at the
// device below it: a file as a disk, an encrypted disk, a RAID.
func (h *Host) carried(dev string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if is, known := h.inner[dev]; known {
		return is
	}
	at := "/sys/dev/block/" + dev
	below, _ := os.ReadDir(filepath.Join(at, "slaves"))
	h.inner[dev] = len(below) > 0 || exists(at, "loop")
	return h.inner[dev]
}
