package hostload

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/forkbox/forkbox"
)

const meminfo = "MemTotal:        8388608 kB\nMemFree:          100000 kB\nMemAvailable:    4194304 kB\nHugePages_Total:       0\n"

// hosts are made of files as kernels write them.
var hosts = []struct {
	name             string
	files            map[string]string
	total, available int64
}{
	{"a machine without cgroups", map[string]string{}, 8 << 30, 4 << 30},
	{"version 2, limited two levels up", map[string]string{
		"proc/self/cgroup":                      "0::/a.slice/b/c\n",
		"proc/self/mountinfo":                   mount2("/", "/sys/fs/cgroup"),
		"sys/fs/cgroup/a.slice/memory.max":      "2147483648\n",
		"sys/fs/cgroup/a.slice/memory.current":  "1610612736\n",
		"sys/fs/cgroup/a.slice/memory.stat":     "anon 5\ninactive_file 268435456\n",
		"sys/fs/cgroup/a.slice/b/memory.max":    "max\n",
		"sys/fs/cgroup/a.slice/b/c/memory.max":  "17179869184\n",
		"sys/fs/cgroup/a.slice/bad/memory.max":  "1\n",
		"sys/fs/cgroup/elsewhere/memory.max":    "1\n",
		"sys/fs/cgroup/elsewhere/memory.stat":   "",
		"sys/fs/cgroup/a.slice/b/c/memory.stat": "",
	}, 2 << 30, 768 << 20},
	{"a container with its own cgroup namespace", map[string]string{
		"proc/self/cgroup":             "0::/\n",
		"proc/self/mountinfo":          mount2("/", "/sys/fs/cgroup"),
		"sys/fs/cgroup/memory.max":     "1073741824\n",
		"sys/fs/cgroup/memory.current": "1073741824\n",
	}, 1 << 30, 0},
	{"moved out of its cgroup namespace", map[string]string{
		"proc/self/cgroup":             "0::/../other\n",
		"proc/self/mountinfo":          mount2("/", "/sys/fs/cgroup"),
		"sys/fs/cgroup/memory.max":     "1073741824\n",
		"sys/fs/cgroup/memory.current": "0\n",
	}, 1 << 30, 1 << 30},
	{"version 1 in a container without a namespace", map[string]string{
		"proc/self/cgroup":                            "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x/deep\n0::/docker/x\n",
		"proc/self/mountinfo":                         mount1("/docker/x", "/sys/fs/cgroup/memory", "memory"),
		"sys/fs/cgroup/memory/memory.limit_in_bytes":  "3221225472\n",
		"sys/fs/cgroup/memory/memory.usage_in_bytes":  "1073741824\n",
		"sys/fs/cgroup/memory/memory.stat":            "inactive_file 7\ntotal_inactive_file 1048576\n",
		"sys/fs/cgroup/memory/deep/memory.stat":       "",
		"sys/fs/cgroup/memory/memory.memsw.limit":     "1\n",
		"sys/fs/cgroup/memory/other/memory.limit_in_": "1\n",
	}, 3 << 30, 2<<30 + 1<<20},
	{"version 1 without a limit", map[string]string{
		"proc/self/cgroup":         "4:memory:/\n",
		"proc/self/mountinfo":      mount1("/", "/cg", "memory"),
		"cg/memory.limit_in_bytes": "9223372036854771712\n",
	}, 8 << 30, 4 << 30},
	{"somebody else's branch is mounted, and a controller that is not memory", map[string]string{
		"proc/self/cgroup":               "4:memory:/mine\n3:cpu:/mine\n",
		"proc/self/mountinfo":            mount1("/min", "/their", "memory") + mount1("/", "/cpu", "cpu"),
		"their/memory.limit_in_bytes":    "1\n",
		"cpu/memory.limit_in_bytes":      "1\n",
		"cpu/mine/memory.limit_in_bytes": "1\n",
		"their/e/memory.limit_in_bytes":  "1\n",
	}, 8 << 30, 4 << 30},
	{"names with spaces", map[string]string{
		"proc/self/cgroup":       "0::/a b:c\n",
		"proc/self/mountinfo":    mount2("/", `/my\040cg`),
		"my cg/a b:c/memory.max": "1073741824\n",
	}, 1 << 30, 1 << 30},
}

func mount1(root, at, controllers string) string {
	return "35 31 0:32 " + root + " " + at + " rw,relatime shared:9 - cgroup cgroup rw," + controllers + "\n"
}

func mount2(root, at string) string {
	return "41 31 0:38 " + root + " " + at + " rw,relatime - cgroup2 cgroup2 rw\n"
}

func write(t *testing.T, files map[string]string) source {
	t.Helper()
	s := source{t.TempDir()}
	for name, text := range files {
		path := filepath.Join(s.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestMemoryOfHosts(t *testing.T) {
	for _, h := range hosts {
		files := maps.Clone(h.files)
		files["proc/meminfo"] = meminfo
		load, err := write(t, files).memory()
		if err != nil || load.MemTotal != h.total || load.MemAvailable != h.available {
			t.Errorf("%s: %d of %d, %v; want %d of %d", h.name, load.MemAvailable, load.MemTotal, err, h.available, h.total)
		}
	}
}

func TestMemoryUnknown(t *testing.T) {
	for _, text := range []string{"", "MemTotal: lots\n", "MemAvailable: 5 kB\n"} {
		if load, err := write(t, map[string]string{"proc/meminfo": text}).memory(); err == nil {
			t.Errorf("%q is %+v", text, load)
		}
	}
	if load, err := write(t, nil).memory(); err == nil {
		t.Errorf("nothing is %+v", load)
	}
}

func TestPressureOfHosts(t *testing.T) {
	s := write(t, map[string]string{
		"proc/pressure/cpu":    "some avg10=1.50 avg60=2.00 avg300=3.00 total=10782519405\n",
		"proc/pressure/memory": "some avg10=4.00 avg60=5.00 avg300=6.00 total=1\nfull avg10=0.25 avg60=0.50 avg300=0.75 total=0\n",
	})
	got, err := s.pressure()
	want := map[string]forkbox.Pressure{
		"cpu":    {Some10: 1.5, Some60: 2, Some300: 3},
		"memory": {Some10: 4, Some60: 5, Some300: 6, Full10: 0.25, Full60: 0.5, Full300: 0.75},
	}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := write(t, nil).pressure(); got != nil || err != nil {
		t.Errorf("a kernel without pressure: %v, %v", got, err)
	}
	for _, bad := range []string{"", "some avg10=x\n", "nonsense\n"} {
		if got, err := write(t, map[string]string{"proc/pressure/io": bad}).pressure(); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}
