package policy

import (
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/hostload"
)

func pressed(what string, some float64) map[string]forkbox.Pressure {
	return map[string]forkbox.Pressure{what: {Some10: some}}
}

func idle(mem int64) hostload.Load {
	return hostload.Load{MemTotal: mem, MemAvailable: mem / 2, DiskTotal: 100 * gib, DiskFree: 50 * gib, CPUs: 2, InodesTotal: 1000, InodesFree: 900}
}

// TestFirstBox: what is built in keeps no user from their first box, on hosts
// of all sizes, however busy they are with something else.
func TestFirstBox(t *testing.T) {
	for mem := int64(256 << 20); mem <= 4<<40; mem *= 2 {
		for disk := 2 * gib; disk <= 100<<40; disk *= 4 {
			load := hostload.Load{MemTotal: mem, MemAvailable: mem / 3, DiskTotal: disk, DiskFree: disk / 3, CPUs: 1, Pressure: map[string]forkbox.Pressure{
				"cpu": {Some10: 100}, "io": {Some10: 100}, "memory": {Some10: 100},
			}}
			for _, p := range []bounds{nil, {memory: rule(mem/2, "box")}} {
				if v := Builtin().Admit(load, Committed{}, Want{Owner: alice, New: true, Start: true, Policy: p}); !v.OK || v.Wait || v.Why != "" {
					t.Errorf("%d of memory, %d of disk: %+v", mem, disk, v)
				}
			}
		}
	}
}

const can = "yes" // not to be taken for a reason

func TestAdmit(t *testing.T) {
	start, fresh, exec := Want{Owner: alice, Start: true}, Want{Owner: alice, New: true}, Want{Owner: alice, Exec: true}
	with := func(w Want, p bounds) Want { w.Policy = p; return w }
	mem := func(v int64) bounds { return bounds{memory: rule(v, "box")} }
	of := func(u UserCommitted) Committed { return Committed{ByUser: map[int]UserCommitted{1000: u}} }
	quota := func(q Quota) Config { return Config{Users: map[string]User{"alice": {Quota: q}}} }
	host := Config{Admission: Admission{Running: 3, Memory: Share{Percent: 50}, CPUs: 4000, Pressure: map[string]float64{"memory": 60, "io": 90}},
		Reserve: Reserve{Memory: Share{Bytes: 2 * gib}, Disk: Share{Percent: 10}}}
	low := func(change func(*hostload.Load)) hostload.Load { l := idle(32 * gib); change(&l); return l }
	pressure := func(what string, some float64) hostload.Load {
		return low(func(l *hostload.Load) { l.Pressure = pressed(what, some) })
	}
	for name, c := range map[string]struct {
		config Config
		load   hostload.Load
		now    Committed
		want   Want
		wait   bool
		why    string
	}{
		"idle":                  {host, idle(32 * gib), Committed{}, with(start, mem(16*gib)), false, can},
		"last place":            {host, idle(32 * gib), Committed{Running: 2}, start, false, can},
		"no place":              {host, idle(32 * gib), Committed{Running: 3}, start, true, "3 boxes run already; the host runs 3 at once"},
		"made, not started":     {host, idle(32 * gib), Committed{Running: 3}, fresh, false, can},
		"exec needs no place":   {host, low(func(l *hostload.Load) { l.MemAvailable, l.DiskFree = 0, 0 }), Committed{Running: 3}, exec, false, can},
		"memory fits":           {host, idle(32 * gib), Committed{Memory: 12 * gib}, with(start, mem(4*gib)), false, can},
		"memory later":          {host, idle(32 * gib), Committed{Memory: 14 * gib}, with(start, mem(4*gib)), true, "boxes that run may use 14g of memory together, and this one 4g of memory more; the host gives 16g of memory"},
		"memory never":          {host, idle(32 * gib), Committed{Running: 3}, with(start, mem(17*gib)), false, "this box may use 17g of memory; the host gives all boxes together 16g of memory"},
		"memory not limited":    {host, idle(32 * gib), Committed{Memory: 16 * gib}, start, false, can},
		"memory unlimited":      {host, idle(32 * gib), Committed{Memory: 20 * gib}, with(start, mem(unlimited)), false, can},
		"cpus later":            {host, idle(32 * gib), Committed{CPUs: 3000}, with(start, bounds{cpus: rule(1500, "box")}), true, "boxes that run may use 3 cpus together, and this one 1.5 cpus more; the host gives 4 cpus"},
		"cpus never":            {host, idle(32 * gib), Committed{}, with(start, bounds{cpus: rule(4500, "box")}), false, "this box may use 4.5 cpus; the host gives all boxes together 4 cpus"},
		"memory left":           {host, low(func(l *hostload.Load) { l.MemAvailable = gib + gib/2 + 7 }), Committed{}, start, true, "the host has 1.5g of memory left, and keeps 2g for itself"},
		"reserve of all":        {host, idle(2 * gib), Committed{}, start, false, "the host has 1g of memory left, and keeps 2g for itself"},
		"disk, start":           {host, low(func(l *hostload.Load) { l.DiskFree = gib }), Committed{}, start, true, "the disk of the store has 1g left, and 10g are kept free"},
		"disk, new":             {host, low(func(l *hostload.Load) { l.DiskFree = gib }), Committed{}, fresh, true, "the disk of the store has 1g left, and 10g are kept free"},
		"inodes":                {host, low(func(l *hostload.Load) { l.InodesFree = 99 }), Committed{}, fresh, true, "the disk of the store has room for 99 files, and 100 are kept free"},
		"inodes are not known":  {host, low(func(l *hostload.Load) { l.InodesFree, l.InodesTotal = 0, 0 }), Committed{}, fresh, false, can},
		"pressure, start":       {host, pressure("memory", 72.4), Committed{Running: 1}, start, true, "the host waits for memory 72.4% of the time; nothing starts above 60%"},
		"pressure, exec":        {host, pressure("io", 99), Committed{Running: 2}, exec, true, "the host waits for its disks 99% of the time; nothing starts above 90%"},
		"pressure, as much":     {host, pressure("io", 90), Committed{Running: 2}, exec, false, can},
		"pressure, off":         {host, pressure("cpu", 100), Committed{Running: 2}, exec, false, can},
		"pressure, alone":       {host, pressure("io", 99), Committed{Running: 1}, exec, false, can},
		"pressure, made":        {host, pressure("io", 99), Committed{Running: 2}, fresh, false, can},
		"never before later":    {host, pressure("io", 99), Committed{Running: 3}, with(start, mem(20*gib)), false, "this box may use 20g of memory; the host gives all boxes together 16g of memory"},
		"user's boxes":          {quota(Quota{Boxes: 2}), idle(gib), of(UserCommitted{Boxes: 2}), fresh, true, "user alice has 2 boxes, and may have 2"},
		"user's boxes, start":   {quota(Quota{Boxes: 2}), idle(gib), of(UserCommitted{Boxes: 2}), start, false, can},
		"user's running":        {quota(Quota{Running: 1}), idle(gib), of(UserCommitted{Running: 1}), start, true, "1 box runs of user alice already, who may run 1"},
		"another's running":     {quota(Quota{Running: 1}), idle(gib), Committed{ByUser: map[int]UserCommitted{7: {Running: 5}}}, start, false, can},
		"user's memory":         {quota(Quota{Memory: 4 * gib}), idle(gib), of(UserCommitted{Memory: 3 * gib}), with(start, mem(2*gib)), true, "boxes that run of user alice may use 3g of memory together, and this one 2g of memory more; the user may use 4g of memory"},
		"user's memory, never":  {quota(Quota{Memory: 4 * gib}), idle(gib), Committed{}, with(start, mem(5*gib)), false, "this box may use 5g of memory; user alice may use 4g of memory"},
		"user's memory, any":    {quota(Quota{Memory: 4 * gib}), idle(gib), of(UserCommitted{Memory: gib}), start, true, "boxes that run of user alice may use 1g of memory together, and this one 4g of memory more; the user may use 4g of memory"},
		"user's cpus":           {quota(Quota{CPUs: 2000}), idle(gib), of(UserCommitted{CPUs: 1500}), with(start, bounds{cpus: rule(1000, "box")}), true, "boxes that run of user alice may use 1.5 cpus together, and this one 1 cpus more; the user may use 2 cpus"},
		"user's disk":           {quota(Quota{Disk: 9 * gib}), idle(gib), of(UserCommitted{Disk: 8 * gib}), with(fresh, bounds{disk: rule(2*gib, "box")}), true, "boxes of user alice may use 8g of disk together, and this one 2g of disk more; the user may use 9g of disk"},
		"nothing is configured": {Config{}, hostload.Load{Pressure: pressed("io", 100)}, Committed{Running: 500, Memory: 1 << 60}, with(Want{New: true, Start: true}, mem(1<<50)), false, can},
	} {
		t.Run(name, func(t *testing.T) {
			v := c.config.Admit(c.load, c.now, c.want)
			why := strings.TrimPrefix(c.why, can)
			if v.OK != (c.why == can) || v.Wait != c.wait || v.Why != why {
				t.Errorf("%+v; want %v %q", v, c.wait, why)
			}
		})
	}
}

// TestFullDiskIsAPersonsToFree: a caller who is alone on a full disk need not wait,
// and every caller is told what to do.
func TestFullDiskIsAPersonsToFree(t *testing.T) {
	full := hostload.Load{DiskTotal: 100 * gib, InodesTotal: 1000, InodesFree: 1000}
	noFiles := hostload.Load{DiskTotal: 100 * gib, DiskFree: 50 * gib, InodesTotal: 1000}
	for _, load := range []hostload.Load{full, noFiles} {
		for now, stuck := range map[[2]int]bool{{0, 0}: true, {1, 0}: false, {2, 0}: false, {2, 1}: false, {2, 2}: true} {
			committed := Committed{Running: now[0], Paused: now[1]}
			v := Config{Reserve: Reserve{Disk: Share{Percent: 10}}}.Admit(load, committed, Want{Owner: alice, New: true})
			if v.OK || !v.Wait || v.Stuck != stuck || !strings.Contains(v.Remedy, "forkbox gc") {
				t.Errorf("with %d running, %d of them paused: %+v", now[0], now[1], v)
			}
		}
	}
}

func TestUnmeasured(t *testing.T) {
	if got := Builtin().Unmeasured(hostload.Load{}); strings.Join(got, " ") != "io memory" {
		t.Error(got)
	}
	if got := Builtin().Unmeasured(hostload.Load{Pressure: pressed("io", 0)}); strings.Join(got, " ") != "memory" {
		t.Error(got)
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		share       Share
		whole, want int64
	}{
		{Share{}, 100 * gib, 0}, {Share{Bytes: gib}, 5, gib}, {Share{Percent: 10}, 100 * gib, 10 * gib}, {Share{Percent: 200}, gib, 2 * gib},
		{Share{Percent: 5, Least: 256 << 20, Most: 2 * gib}, 4 * gib, 256 << 20}, {Share{Percent: 5, Least: 256 << 20, Most: 2 * gib}, 512 << 20, 128 << 20},
		{Share{Percent: 5, Least: 256 << 20, Most: 2 * gib}, 1 << 40, 2 * gib}, {Share{Percent: 10000}, 1 << 62, 1<<62 - 1},
	} {
		if got := c.share.Of(c.whole); got != c.want {
			t.Errorf("%+v of %d: %d", c.share, c.whole, got)
		}
	}
	for bytes, want := range map[int64]string{0: "0", 512: "512", gib: "1g", 3865470566: "3.6g", 1536 << 20: "1536m", 22214174 << 10: "21.2g", 1 << 50: "1024t", 1023: "1023"} {
		if got := figure(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}
