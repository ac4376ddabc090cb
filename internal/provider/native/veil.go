//go:build linux

package native

import (
	"bufio"
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"

	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/provider/native/hostmounts"
)

// A veil is what lies between reality and a box: two small layers of an
// overlay that make secrets look empty, host sockets and the store look
// absent, and give the box its own /etc/hosts. Layers, not mounts: there is
// nothing to unmount in the box, writes to a hidden place work and are changes
// like any other, and files can be renamed over.
//
// It is on a tmpfs made for the box, because overlayfs refuses a lower layer
// that lies inside another lower layer, and the store lies inside /.
//
//	top     empty directories and files, the box's own files, absences
//	bottom  a deletion under each empty directory: what hides reality's
type veil struct {
	dir      string
	rootless bool
	steps    map[string]func(s *linux.Script, path string) // by layer and path
	order    []string
	kinds    map[string]kind
	dirs     map[string]string // where directories really are
}

const (
	top    = "top"
	bottom = "bottom"

	// nothing is an empty directory beside them, to cover others with.
	nothing = "nothing"

	// blank is an empty file, for the same.
	blank = "blank"
)

// kind is what an entry of the veil is.
type kind byte

const (
	emptyDir  kind = 'd'
	emptyFile kind = 'f'
	deletion  kind = '-'
	ownFile   kind = 'w'
)

func newVeil(dir string, rootless bool) *veil {
	return &veil{dir: dir, rootless: rootless, steps: map[string]func(*linux.Script, string){}, dirs: map[string]string{}, kinds: map[string]kind{}}
}

// clone is a veil that more can be added to.
func (v *veil) clone() *veil {
	c := *v
	c.steps, c.kinds, c.dirs = maps.Clone(v.steps), maps.Clone(v.kinds), maps.Clone(v.dirs)
	c.order = slices.Clone(v.order)
	return &c
}

// empty makes a directory or file look empty, with the owner and mode it has.
// What does not exist stays absent, also when reality makes it later.
func (v *veil) empty(path string) {
	path, st := v.resolve(path)
	switch {
	case path == "":
	case st == nil:
		v.put(top, path, deletion, func(s *linux.Script, p string) { s.Whiteout(p) })
	case st.Mode()&os.ModeSymlink != 0:
		// Hide the link and, wherever it is, what it leads to.
		v.put(top, path, deletion, func(s *linux.Script, p string) { s.Whiteout(p) })
		if target, err := filepath.EvalSymlinks(path); err == nil {
			v.empty(target)
		}
	case st.IsDir():
		v.put(top, path, emptyDir, v.mkdir(st))
		v.drop(top + path + "/")
		v.put(bottom, path, deletion, func(s *linux.Script, p string) { s.Whiteout(p) })
	default:
		v.put(top, path, emptyFile, func(s *linux.Script, p string) {
			s.WriteFile(p, int(st.Mode().Perm()), nil)
			v.chown(s, p, st)
		})
	}
}

// absent makes a path not exist.
func (v *veil) absent(path string) {
	if path, _ := v.resolve(path); path != "" {
		v.put(top, path, deletion, func(s *linux.Script, p string) { s.Whiteout(p) })
	}
}

// mountPoints makes the directories that a root of its own may lack and that
// something is mounted on.
func (v *veil) mountPoints() {
	for _, dir := range []string{"/dev", "/proc", "/sys"} {
		v.put(top, dir, emptyDir, func(s *linux.Script, p string) { s.Mkdir(p, 0o755) })
	}
}

// write gives the box a file of its own instead of reality's.
func (v *veil) write(path string, content []byte) {
	if path, _ := v.resolve(path); path != "" {
		v.put(top, path, ownFile, func(s *linux.Script, p string) { s.WriteFile(p, 0o644, content) })
	}
}

// resolve follows symlinks in all but the last component. Where the parent
// does not exist it is the parent that is veiled: it stays absent, also when
// reality makes it later with the secret in it.
func (v *veil) resolve(path string) (string, os.FileInfo) {
	parent := filepath.Dir(path)
	dir, known := v.dirs[parent]
	if !known {
		dir, _ = filepath.EvalSymlinks(parent)
		v.dirs[parent] = dir
	}
	if dir == "" {
		return v.resolve(parent)
	}
	path = filepath.Join(dir, filepath.Base(path))
	st, err := os.Lstat(path)
	if err != nil {
		return path, nil
	}
	return path, st
}

func (v *veil) put(layer, path string, k kind, step func(*linux.Script, string)) {
	if k != ownFile && v.emptied(filepath.Dir(path)) {
		return // nothing of reality is there
	}
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		if _, made := v.steps[layer+dir]; made {
			if v.kinds[layer+dir] != emptyDir {
				return // it is gone with all that is in it, or a file
			}
			break
		}
		st, err := os.Lstat(dir)
		if err != nil || !st.IsDir() {
			return
		}
		v.add(layer+dir, emptyDir, v.mkdir(st))
	}
	v.add(layer+path, k, step)
}

// emptied says whether a directory, or one that it is in, is made to look empty.
func (v *veil) emptied(dir string) bool {
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if v.kinds[bottom+dir] == deletion {
			return true
		}
	}
	return false
}

// key tells apart veils that hide different things.
func (v *veil) key() string {
	var b strings.Builder
	for _, key := range slices.Sorted(slices.Values(v.order)) {
		b.WriteString("\x00" + key)
		b.WriteByte(byte(v.kinds[key]))
	}
	return b.String()
}

// add takes what was there first, but for two things: a deletion is of all that
// is in a directory, whatever of it was hidden before, and the box has its own
// files also where something hides reality's.
func (v *veil) add(key string, k kind, step func(*linux.Script, string)) {
	switch was, made := v.kinds[key]; {
	case !made:
		v.order = append(v.order, key)
	case k == deletion && was == emptyDir:
		v.drop(key + "/")
	case k != ownFile:
		return
	}
	v.steps[key], v.kinds[key] = step, k
}

// drop forgets what begins with prefix.
func (v *veil) drop(prefix string) {
	v.order = slices.DeleteFunc(v.order, func(key string) bool {
		if !strings.HasPrefix(key, prefix) {
			return false
		}
		delete(v.steps, key)
		delete(v.kinds, key)
		return true
	})
}

// mkdir makes a directory that looks like the one it stands for: overlayfs
// shows the attributes of the topmost layer.
func (v *veil) mkdir(st os.FileInfo) func(*linux.Script, string) {
	return func(s *linux.Script, p string) {
		s.Mkdir(p, int(st.Mode().Perm())|special(st.Mode()))
		v.chown(s, p, st)
	}
}

func (v *veil) chown(s *linux.Script, p string, st os.FileInfo) {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && !v.rootless && (sys.Uid != 0 || sys.Gid != 0) {
		s.Chown(p, int(sys.Uid), int(sys.Gid))
	}
}

// special gives the setuid, setgid and sticky bits as the kernel wants them.
func special(mode os.FileMode) int {
	bits := 0
	for _, b := range []struct {
		mode os.FileMode
		bit  int
	}{{os.ModeSetuid, 0o4000}, {os.ModeSetgid, 0o2000}, {os.ModeSticky, 0o1000}} {
		if mode&b.mode != 0 {
			bits |= b.bit
		}
	}
	return bits
}

// build makes the layers. Parents sort before what is in them.
func (v *veil) build(s *linux.Script) {
	s.Mount("forkbox", v.dir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755,size=8m")
	s.Mkdir(filepath.Join(v.dir, top), 0o755)
	s.Mkdir(filepath.Join(v.dir, bottom), 0o755)
	s.Mkdir(filepath.Join(v.dir, nothing), 0o555)
	s.WriteFile(filepath.Join(v.dir, blank), 0o444, nil)
	sort.Strings(v.order)
	for _, key := range v.order {
		v.steps[key](s, filepath.Join(v.dir, key))
	}
}

// lower lists the layers of the veil that go above reality's directory path.
func (v *veil) lower(path string) []string {
	var dirs []string
	for _, layer := range []string{top, bottom} {
		if v.covers(layer, path) {
			dirs = append(dirs, filepath.Join(v.dir, layer, path))
		}
	}
	return dirs
}

// below says whether the veil has anything inside the directory path.
func (v *veil) below(path string) bool { return len(v.lower(path)) > 0 }

// covers: is there a directory for path in the layer? The keys in it start
// with path, and path itself is one of them unless it is the root.
func (v *veil) covers(layer, path string) bool {
	for _, key := range v.order {
		if strings.HasPrefix(key, layer+strings.TrimSuffix(path, "/")+"/") {
			return true
		}
	}
	return false
}

// liveSockets lists the unix sockets that something on the host is bound to.
// A box could not connect to them through an overlay anyway; it does not see
// them either.
func liveSockets() []string {
	raw, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	var list []string
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		_, path, ok := strings.Cut(lines.Text(), " /")
		// Some are bound through /proc/self/fd, as ours are: not a place.
		if path = "/" + path; !ok || seen[path] || hostmounts.Below(path, "/proc") {
			continue
		}
		seen[path] = true
		if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSocket != 0 {
			list = append(list, path)
		}
	}
	return list
}
