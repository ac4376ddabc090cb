package cgroup

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

const mountinfo = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 master:2 - cgroup cgroup rw,cpu,cpuacct
33 31 0:30 /docker/abc /a\040b\134c ro - cgroup2 none rw,nsdelegate
broken line
41 31 0:38 / /x rw
`

func TestParseMounts(t *testing.T) {
	got := parseMounts(mountinfo)
	want := []mount{
		{root: "/", point: "/sys/fs/cgroup", kind: "tmpfs", source: "tmpfs", super: []string{"rw", "mode=755"}},
		{root: "/", point: "/sys/fs/cgroup/cpu,cpuacct", kind: "cgroup", source: "cgroup", super: []string{"rw", "cpu", "cpuacct"}},
		{root: "/docker/abc", point: `/a b\c`, kind: "cgroup2", source: "none", super: []string{"rw", "nsdelegate"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestParseMembership(t *testing.T) {
	list := parseMembership("9:name=systemd:/\n4:cpu,cpuacct:/a:b\n0::/user.slice\nnonsense\n3:pids:relative\n")
	for controller, want := range map[string]string{"cpuacct": "/a:b", "": "/user.slice", "name=systemd": "/"} {
		if got, ok := groupOf(list, controller); !ok || got != want {
			t.Errorf("%q: %q, want %q", controller, got, want)
		}
	}
	if got, ok := groupOf(list, "pids"); ok {
		t.Errorf("pids: %q", got)
	}
}

func TestBelow(t *testing.T) {
	for _, c := range []struct{ root, group, want string }{
		{"/", "/", "/m"},
		{"/", "/a/b", "/m/a/b"},
		{"/docker/abc", "/docker/abc", "/m"},
		{"/docker/abc", "/docker/abc/d", "/m/d"},
		{"/docker/abc", "/docker/abcd", ""},
		{"/docker/abc", "/other", ""},
		{"/", "/../../other", ""},
	} {
		if got, ok := (mount{root: c.root, point: "/m"}).below(c.group); got != c.want || ok != (c.want != "") {
			t.Errorf("%s in %s: %q, want %q", c.group, c.root, got, c.want)
		}
	}
}

func TestOurs(t *testing.T) {
	for group, want := range map[string][2]string{
		"/a/name/b1/x/1": {"/a/name", "b1"}, "/name/b1": {"/name", "b1"},
		"/name": {}, "/a/b": {}, "/name/": {}, "/name/..": {}, "/a/name2/b": {},
	} {
		base, id, ok := ours(group, "name")
		if base != want[0] || id != want[1] || ok != (id != "") {
			t.Errorf("%s: %q %q %t", group, base, id, ok)
		}
	}
}

func TestNumber(t *testing.T) {
	for text, want := range map[string]int64{
		"max\n": forkbox.Unlimited, "-1\n": forkbox.Unlimited, "9223372036854771712\n": forkbox.Unlimited,
		"18446744073709551615": forkbox.Unlimited, "0\n": 0, "4096": 4096,
	} {
		if got, ok := number(text); !ok || got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
	for _, text := range []string{"", "x", "-2", "1 2"} {
		if got, ok := number(text); ok {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestStatFiles(t *testing.T) {
	for key, want := range map[string]int64{"low": 0, "max": 7, "oom_kill": 2, "oom": 0, "bad": 0, "name": 0, "": 0} {
		if got := keyed("low 0\nmax 7\nbad\nname x\noom_kill 2\n", key); got != want {
			t.Errorf("%q: %d", key, got)
		}
	}
	io := ioStat("8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n254:16 rbps=max wbps=5\nnone\n")
	if io["8:0"]["wios"] != 4 || io["254:16"]["wbps"] != 5 || len(io) != 2 {
		t.Errorf("%v", io)
	}
	if _, has := io["254:16"]["rbps"]; has {
		t.Error("max is a number")
	}
	one := "8:0 Read 10\n8:0 Write 20\n8:16 Read 1\nTotal 31\n"
	if got := perDevice(one, "Read"); !reflect.DeepEqual(got, map[string]int64{"8:0": 10, "8:16": 1}) {
		t.Errorf("%v", got)
	}
	if got := perDevice("8:0 1048576\n", ""); got["8:0"] != 1048576 {
		t.Errorf("%v", got)
	}
	p, ok := pressure("some avg10=1.50 avg60=0.20 avg300=0.03 total=7\nfull avg10=0.10 avg60=0.00 avg300=0.01 total=3\n")
	if want := (forkbox.Pressure{Some10: 1.5, Some60: 0.2, Some300: 0.03, Full10: 0.1, Full300: 0.01}); !ok || p != want {
		t.Errorf("%+v", p)
	}
	if _, ok := pressure(""); ok {
		t.Error("nothing is no pressure")
	}
}

// FuzzWhere: whatever the kernel says, no path leads out of what is mounted.
func FuzzWhere(f *testing.F) {
	f.Add(mountinfo, "0::/a/../b\n2:cpu:/x\n", "name")
	f.Add(`1 2 3:4 /r /p\0 rw - cgroup2 x y`, "0::/r/name/b", "name")
	f.Fuzz(func(t *testing.T, mounts, member, name string) {
		for _, m := range parseMounts(mounts) {
			for _, in := range parseMembership(member) {
				if dir, ok := m.below(in.path); ok && strings.HasPrefix(m.point, "/") && !inDir(dir, m.point) {
					t.Errorf("%q is not in %q", dir, m.point)
				}
				if base, id, ok := ours(in.path, name); ok && (!validID(id) || !strings.HasPrefix(in.path, base+"/"+id)) {
					t.Errorf("%q: %q %q", in.path, base, id)
				}
			}
		}
	})
}

func inDir(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// FuzzStats: what cannot be read is left out; nothing else happens.
func FuzzStats(f *testing.F) {
	f.Add("some avg10=0.00 avg60=0.00 avg300=0.00 total=0")
	f.Add("8:0 rbytes=1\n8:0 Read 1\n8:0 1")
	f.Add("max")
	f.Fuzz(func(t *testing.T, text string) {
		if v, ok := number(text); ok && v < forkbox.Unlimited {
			t.Errorf("%q is %d", text, v)
		}
		p, _ := pressure(text)
		for _, v := range []float64{p.Some10, p.Some60, p.Some300, p.Full10, p.Full60, p.Full300} {
			if !(v >= 0 && v <= 100) {
				t.Errorf("%q is %f", text, v)
			}
		}
		for dev := range ioStat(text) {
			if !isDevice(dev) {
				t.Errorf("%q is a device", dev)
			}
		}
		for _, pid := range numbers(text) {
			if pid <= 0 {
				t.Errorf("%d is a process", pid)
			}
		}
		keyed(text, "oom_kill")
		perDevice(text, "Read")
	})
}
