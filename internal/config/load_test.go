package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/hostload"
)

// host is a machine with its files and variables.
type host struct {
	*testing.T
	dir string
	env map[string]string
	Options
}

func newHost(t *testing.T) *host {
	h := &host{T: t, dir: t.TempDir(), env: map[string]string{}}
	h.env["HOME"] = filepath.Join(h.dir, "home")
	h.Options = Options{
		Env:    func(name string) (string, bool) { v, has := h.env[name]; return v, has },
		System: filepath.Join(h.dir, "etc", "config.yaml"), Flags: map[string]string{},
	}
	return h
}

func (h *host) write(file, text string) string {
	h.Helper()
	file = filepath.Join(h.dir, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		h.Fatal(err)
	}
	return file
}

const userConfig = "home/.config/forkbox/config.yaml"

func (h *host) load() *Loaded {
	h.Helper()
	l, err := Load(h.Options)
	if err != nil {
		h.Fatal(err)
	}
	return l
}

func (h *host) refused(code forkbox.Code, words ...string) {
	h.Helper()
	_, err := Load(h.Options)
	if forkbox.CodeOf(err) != code || err == nil {
		h.Errorf("%v", err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			h.Errorf("%v does not say %q", err, word)
		}
	}
}

func find(t *testing.T, list []api.Setting, key string) api.Setting {
	t.Helper()
	i := slices.IndexFunc(list, func(s api.Setting) bool { return s.Key == key })
	if i < 0 {
		t.Fatalf("%s is not shown", key)
	}
	return list[i]
}

func TestSources(t *testing.T) {
	for _, c := range []struct {
		root             bool
		named, xdg, want string
	}{
		{true, "", "/xdg", "/etc/forkbox/config.yaml"},
		{false, "", "/xdg", "/etc/forkbox/config.yaml /xdg/forkbox/config.yaml"},
		{false, "", "", "/etc/forkbox/config.yaml /home/x/.config/forkbox/config.yaml"},
		{false, "", "relative", "/etc/forkbox/config.yaml /home/x/.config/forkbox/config.yaml"},
		{true, "/mine.yaml", "/xdg", "/mine.yaml"},
		{false, "/mine.yaml", "/xdg", "/mine.yaml"},
	} {
		env := map[string]string{"HOME": "/home/x", "FORKBOX_CONFIG": c.named, "XDG_CONFIG_HOME": c.xdg}
		var paths []string
		for _, s := range (Options{Root: c.root, Env: func(name string) (string, bool) { return env[name], true }}).Sources() {
			paths = append(paths, filepath.ToSlash(s.Path))
		}
		if got := strings.Join(paths, " "); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestMissing: no file is no mistake, unless it was named.
func TestMissing(t *testing.T) {
	h := newHost(t)
	if l := h.load(); len(l.Sources) != 0 || l.Policy.Above != nil {
		t.Errorf("%+v", l)
	}
	h.env["FORKBOX_CONFIG"] = filepath.Join(h.dir, "mine.yaml")
	h.refused(forkbox.NotFound, "there is no such file")
	h.write("mine.yaml", "limits: {memory: 1g}\n")
	h.write("etc/config.yaml", "limits: {memory: 1k}\n") // is not looked at
	if l := h.load(); l.Policy.Limits[forkbox.Memory] != 1<<30 {
		t.Errorf("%+v", l.Policy.Limits)
	}
	h.env["FORKBOX_CONFIG"] = "mine.yaml"
	h.refused(forkbox.Invalid, "has to be a whole path")
}

// TestOrder: what is built in, the host's file, the user's, variables, flags;
// each stands above the one before it, and each is told.
func TestOrder(t *testing.T) {
	h := newHost(t)
	value := func(want, origin string, below ...string) {
		t.Helper()
		s := find(t, h.load().Show(), "serve.idle")
		var weaker []string
		for _, b := range s.Below {
			weaker = append(weaker, b.Value)
		}
		if s.Value != want || s.Origin != origin || !slices.Equal(weaker, below) {
			t.Errorf("%+v", s)
		}
	}
	value("5m", "default")
	etc := h.write("etc/config.yaml", "log: {level: warn}\nserve:\n  idle: 1m\n")
	value("1m", "system")
	if s := find(t, h.load().Show(), "serve.idle"); s.From != etc || s.Line != 3 {
		t.Errorf("%+v", s)
	}
	h.write(userConfig, "serve: {idle: 2m}\n")
	value("2m", "user", "1m")
	h.env["FORKBOX_IDLE"] = "3m"
	value("3m", "environment", "2m", "1m")
	h.Flags["serve.idle"] = "4m0s"
	value("4m", "flag", "3m", "2m", "1m")
	if l := h.load(); l.Serve.Idle != 4*time.Minute || l.Log.Level != "warn" {
		t.Errorf("%+v", l.Settings)
	}
	h.Root = true // who has the host's file alone
	value("4m", "flag", "3m", "1m")
}

// TestVariableMistakes: a variable with a mistake is refused by its name, but for
// the retention, with which nothing is removed.
func TestVariableMistakes(t *testing.T) {
	for name, text := range map[string]string{"FORKBOX_IDLE": "soon", "FORKBOX_LOG": "loud", "FORKBOX_UNDO_AGE": "x", "FORKBOX_UNDO_SIZE": "-1", "FORKBOX_LAYERS": "zfs"} {
		h := newHost(t)
		h.env[name] = text
		h.refused(forkbox.Invalid, "cannot read "+name+": ", text)
	}
	h := newHost(t)
	h.write("etc/config.yaml", "retention: {failed: 1d}\n")
	h.env["FORKBOX_RETENTION"] = "applied=2h"
	l := h.load()
	if l.Retention.Applied != 2*time.Hour || l.Retention.Failed != 24*time.Hour || l.Retention.Err != nil {
		t.Errorf("%+v", l.Retention)
	}
	if s := find(t, l.Show(), "retention.applied"); s.Origin != "environment" {
		t.Errorf("%+v", s)
	}
	if s := find(t, l.Show(), "retention.failed"); s.Origin != "system" {
		t.Errorf("%+v", s)
	}
	h.env["FORKBOX_RETENTION"] = "applied=soon"
	if l := h.load(); l.Retention.Err == nil || l.Retention.Applied != 0 || l.Retention.Failed != 0 {
		t.Errorf("%+v", l.Retention)
	}
}

// TestTheHostBinds: what the host's file closed the user's does not open: the
// tighter of both holds, in whatever order and form they are said.
func TestTheHostBinds(t *testing.T) {
	h := newHost(t)
	h.write("etc/config.yaml", `limits: {memory: 8g, pids: 100}
users:
  "*": {limits: {cpus: 2}, quota: {boxes: 3, running: 2}}
admission: {running: 5, memory: 4g, pressure: {memory: 40}}
reserve: {memory: 2g, disk: 50%}
`)
	h.write(userConfig, `limits: {memory: 16g, pids: 50}
users:
  alice: {quota: {boxes: 100}}
admission: {running: 50, memory: unlimited, pressure: {memory: off}, wait: 3m}
reserve: {memory: 0, disk: {share: 60%, most: 1t}}
`)
	c, alice := h.load().Policy, forkbox.Owner{UID: 1000, Name: "alice"}
	for r, want := range map[forkbox.Resource]int64{forkbox.Memory: 8 << 30, forkbox.Pids: 50, forkbox.CPUs: 2000} {
		if most, _ := c.Floor(alice, r); most != want {
			t.Errorf("%s: %d, not %d", r, most, want)
		}
	}
	if m, d := c.KeptMemory(100<<30), c.KeptDisk(100<<30); m != 2<<30 || d != 60<<30 {
		t.Errorf("kept are %d and %d", m, d)
	}
	idle := hostload.Load{MemTotal: 16 << 30, MemAvailable: 16 << 30, DiskTotal: 1 << 40, DiskFree: 1 << 40}
	busy := idle
	busy.Pressure = map[string]forkbox.Pressure{"memory": {Some10: 50}}
	for why, ask := range map[string]struct {
		load hostload.Load
		now  forkbox.Committed
		want forkbox.Want
	}{
		"has 3 boxes":          {idle, forkbox.Committed{ByUser: map[int]forkbox.UserCommitted{1000: {Boxes: 3}}}, forkbox.Want{New: true}},
		"may run 2":            {idle, forkbox.Committed{ByUser: map[int]forkbox.UserCommitted{1000: {Running: 2}}}, forkbox.Want{Start: true}},
		"the host runs 5":      {idle, forkbox.Committed{Running: 5}, forkbox.Want{Start: true}},
		"4g of memory":         {idle, forkbox.Committed{}, forkbox.Want{Start: true, Policy: forkbox.Policy{forkbox.Memory: {Value: 5 << 30}}}},
		"nothing starts above": {busy, forkbox.Committed{Running: 1}, forkbox.Want{Start: true}},
	} {
		ask.want.Owner = alice
		if v := c.Admit(ask.load, ask.now, ask.want); v.OK || !strings.Contains(v.Why, why) {
			t.Errorf("%s: %+v", why, v)
		}
	}
	if c.Admission.Wait != 3*time.Minute {
		t.Errorf("the user's own patience is %s", c.Admission.Wait)
	}
	if got := c.Unmeasured(idle); !slices.Equal(got, []string{"memory", "io"}) {
		t.Errorf("not measured: %v", got)
	}
	s := find(t, h.load().Show(), "limits.memory")
	if s.Value != "16g" || s.Origin != "user" || len(s.Below) != 1 || s.Below[0].Value != "8g" || !s.Below[0].Binds {
		t.Errorf("%+v", s)
	}
}

// TestOneFloor: two floors cannot be joined, and neither may be left out.
func TestOneFloor(t *testing.T) {
	h := newHost(t)
	h.write("etc/config.yaml", "network: {floor: {rules: [deny *.evil.org, allow *]}, dns: [192.0.2.1]}\n")
	h.write(userConfig, "network: {dns: [192.0.2.2]}\n")
	if n := h.load().Policy.Network; len(n.Floor) != 2 || len(n.DNS) != 1 || n.DNS[0].Addr().String() != "192.0.2.2" {
		t.Errorf("%+v", n)
	}
	h.write(userConfig, "\nnetwork: {floor: {rules: [allow *]}}\n")
	h.refused(forkbox.Invalid, "line 2: network.floor.rules: the host has a floor already, in "+h.System)
}

// TestMistakesInFiles: the first is the error, and says how many there are.
func TestMistakesInFiles(t *testing.T) {
	h := newHost(t)
	file := h.write(userConfig, "limits: {memory: x}\nlog: {levle: debug}\n")
	h.refused(forkbox.Invalid, "cannot read "+file+": line 1: memory:")
	_, err := Load(h.Options)
	if e := err.(*forkbox.Error); !strings.Contains(strings.Join(e.Hints, "\n"), "1 more: forkbox config validate") {
		t.Errorf("%q", e.Hints)
	}
}

// TestChanged: what differs is told, users and what binds included.
func TestChanged(t *testing.T) {
	h := newHost(t)
	h.write("etc/config.yaml", "users: {a.b: {limits: {memory: 1g}}}\nlimits: {pids: 100}\n")
	h.write(userConfig, "limits: {pids: 50}\n")
	before := h.load()
	if got := before.Changed(h.load()); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	h.write("etc/config.yaml", "users: {a.b: {limits: {memory: 2g}}}\nlimits: {pids: 10}\nstore: {layers: copy}\n")
	after := h.load()
	var names []string
	for _, k := range after.Changed(before) {
		names = append(names, k.Name)
	}
	if got := strings.Join(names, " "); got != "store.layers limits.pids users.NAME.limits.memory" {
		t.Error(got)
	}
	shown := after.ShowFrom(before)
	if s := find(t, shown, "store.layers"); s.Value != "" || s.Next == nil || *s.Next != "copy" || s.Live {
		t.Errorf("%+v", s)
	}
	if s := find(t, shown, `users."a.b".limits.memory`); s.Value != "2g" || s.Next != nil || !s.Live {
		t.Errorf("%+v", s)
	}
	if !IsOf(`users."a.b".limits.memory`, forkbox.Owner{UID: 7, Name: "a.b"}) || IsOf("users.a.limits.memory", forkbox.Owner{UID: 7, Name: "a.b"}) || !IsOf("users.7.quota.boxes", forkbox.Owner{UID: 7}) {
		t.Error("whose keys they are")
	}
}
