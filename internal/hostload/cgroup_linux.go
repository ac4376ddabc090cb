package hostload

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// memoryLimit is one of a cgroup that this process is in.
type memoryLimit struct {
	most  int64
	used  int64
	cache int64 // of used, what the kernel gives up before it kills
}

func (m memoryLimit) available() int64 { return max(0, m.most-m.used+m.cache) }

// names are those of the files, which differ between the versions of cgroups.
type names struct{ most, used, cache string }

var (
	names1 = names{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	names2 = names{"memory.max", "memory.current", "inactive_file"}
)

// limits are those of the cgroups from that of this process up to the topmost
// that can be seen. In a container /proc/meminfo tells of the whole machine,
// and only they of the container. What cannot be read does not count.
func (s source) limits() []memoryLimit {
	var all []memoryLimit
	for _, own := range s.hierarchies() {
		for dir := own.dir; ; dir = filepath.Dir(dir) {
			if m, ok := s.limit(dir, own.names); ok {
				all = append(all, m)
			}
			if len(dir) <= len(own.top) {
				break
			}
		}
	}
	return all
}

func (s source) limit(dir string, n names) (memoryLimit, bool) {
	most, ok := s.number(dir, n.most)
	if !ok {
		return memoryLimit{}, false
	}
	m := memoryLimit{most: most}
	m.used, _ = s.number(dir, n.used)
	stat, _ := s.file(dir, "memory.stat")
	for line := range strings.Lines(stat) {
		if text, ok := strings.CutPrefix(line, n.cache+" "); ok {
			m.cache, _ = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		}
	}
	return m, true
}

// number is false for "max", and for the huge figure that version 1 has
// instead.
func (s source) number(dir, name string) (int64, bool) {
	raw, err := s.file(dir, name)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseInt(strings.TrimSpace(raw), 10, 64)
	return v, err == nil && v >= 0 && v < math.MaxInt64/2
}

// hierarchy is where this process is in one tree of cgroups: dir, which is at
// or below top.
type hierarchy struct {
	names
	dir, top string
}

// hierarchies are those that may limit memory: version 2's, and version 1's
// where it has the controller.
func (s source) hierarchies() []hierarchy {
	v1, v2 := s.memberships()
	raw, _ := s.file("proc/self/mountinfo")
	mounts, _ := mountinfo.GetMountsFromReader(strings.NewReader(raw), mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	var all []hierarchy
	for _, m := range mounts {
		n, cgroup := names2, v2
		if m.FSType == "cgroup" {
			if n, cgroup = names1, v1; !hasMemory(m.VFSOptions) {
				continue
			}
		}
		if below, ok := branch(m.Root, cgroup); ok {
			all = append(all, hierarchy{names: n, dir: filepath.Join(m.Mountpoint, below), top: filepath.Clean(m.Mountpoint)})
		}
	}
	return all
}

// memberships are this process' cgroups, from lines such as "4:memory:/a/b" and
// "0::/a/b".
func (s source) memberships() (v1, v2 string) {
	raw, _ := s.file("proc/self/cgroup")
	for line := range strings.Lines(raw) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(fields) != 3:
		case fields[0] == "0" && fields[1] == "":
			v2 = fields[2]
		case hasMemory(fields[1]):
			v1 = fields[2]
		}
	}
	return v1, v2
}

func hasMemory(controllers string) bool {
	return strings.Contains(","+controllers+",", ",memory,")
}

// branch is where a cgroup is below a mount of root. A container without a
// cgroup namespace has only its own branch of the tree mounted, and one that
// was moved out of its namespace's is at /../…: there the top must do. A mount
// of another branch says nothing about this process.
func branch(root, cgroup string) (below string, ok bool) {
	below, ok = strings.CutPrefix(cgroup, strings.TrimSuffix(root, "/"))
	if !ok || cgroup == "" || below != "" && below[0] != '/' {
		return "", false
	}
	if strings.HasPrefix(below, "/..") {
		below = "/"
	}
	return below, true
}
