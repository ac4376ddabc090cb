package policy

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

const (
	cpus, memory, disk, pids = forkbox.CPUs, forkbox.Memory, forkbox.Disk, forkbox.Pids
	timeout, files, ttl      = forkbox.Timeout, forkbox.Files, forkbox.TTL
	unlimited                = forkbox.Unlimited
	gib                      = int64(1) << 30
	minute                   = int64(time.Minute)
)

type (
	limits = forkbox.Limits
	bounds = forkbox.Policy
)

// goodHost enforces everything, poorHost can only watch disks and has no
// cgroups.
func goodHost() map[forkbox.Resource]forkbox.Holding {
	all := map[forkbox.Resource]forkbox.Holding{}
	for _, r := range forkbox.Resources {
		if r.OfHost() {
			all[r] = forkbox.Holding{How: forkbox.Enforced}
		}
	}
	return all
}

func poorHost() map[forkbox.Resource]forkbox.Holding {
	return map[forkbox.Resource]forkbox.Holding{disk: {How: forkbox.Watched, Why: "no quotas here", Hint: "forkbox store init"}}
}

var (
	alice = forkbox.Owner{UID: 1000, Name: "alice"}
	file  = "/p/forkbox.yaml"
)

func rule(v int64, from string) forkbox.Rule {
	return forkbox.Rule{Value: v, From: from, How: forkbox.Enforced}
}

func TestResolveBox(t *testing.T) {
	for name, c := range map[string]struct {
		config           Config
		flags, project   limits
		want             bounds
		denied, mentions string
	}{
		"nothing said":          {Config{}, nil, nil, bounds{}, "", ""},
		"default":               {Config{Defaults: limits{pids: 9, disk: unlimited}}, nil, nil, bounds{pids: rule(9, "default")}, "", ""},
		"project over default":  {Config{Defaults: limits{pids: 9}}, nil, limits{pids: 99}, bounds{pids: rule(99, "project /p/forkbox.yaml")}, "", ""},
		"flag over project":     {Config{Defaults: limits{pids: 9}}, limits{pids: 999}, limits{pids: 99}, bounds{pids: rule(999, "box")}, "", ""},
		"flag lifts default":    {Config{Defaults: limits{pids: 9}}, limits{pids: unlimited}, nil, bounds{pids: rule(unlimited, "box")}, "", ""},
		"project lifts default": {Config{Defaults: limits{pids: 9}}, nil, limits{pids: unlimited}, bounds{pids: rule(unlimited, "project /p/forkbox.yaml")}, "", ""},
		"floor alone":           {Config{Limits: limits{pids: 50}}, nil, nil, bounds{pids: rule(50, "host")}, "", ""},
		"floor narrows default": {Config{Limits: limits{pids: 50}, Defaults: limits{pids: 60}}, nil, nil, bounds{pids: rule(50, "host")}, "", ""},
		"floor narrows project": {Config{Limits: limits{pids: 50}}, nil, limits{pids: 60}, bounds{pids: rule(50, "host")}, "", ""},
		"project unlimited":     {Config{Limits: limits{pids: 50}}, nil, limits{pids: unlimited}, bounds{pids: rule(50, "host")}, "", ""},
		"as much as the floor":  {Config{Limits: limits{pids: 50}}, limits{pids: 50}, nil, bounds{pids: rule(50, "box")}, "", ""},
		"flag above floor":      {Config{Limits: limits{memory: 4 * gib}}, limits{memory: 8 * gib}, nil, nil, "8g is too much: the host allows 4g at most", "--memory 4g"},
		"flag unlimited":        {Config{Limits: limits{ttl: 60 * minute}}, limits{ttl: unlimited}, nil, nil, "unlimited is too much: the host allows 1h at most", "--ttl 1h"},
		"user":                  {user("alice", User{Limits: limits{memory: 4 * gib}}), limits{memory: 8 * gib}, nil, nil, "8g is too much: the host allows user alice 4g at most", "config.yaml"},
		"user narrows":          {user("1000", User{Limits: limits{memory: 4 * gib}}), nil, limits{memory: 8 * gib}, bounds{memory: rule(4*gib, "user")}, "", ""},
		"user wider than host":  {Config{Limits: limits{pids: 5}, Users: map[string]User{"*": {Limits: limits{pids: 50}}}}, nil, nil, bounds{pids: rule(5, "host")}, "", ""},
		"user as the host":      {Config{Limits: limits{pids: 5}, Users: map[string]User{"*": {Limits: limits{pids: 5}}}}, nil, nil, bounds{pids: rule(5, "host")}, "", ""},
		"quota is a floor": {user("*", User{Quota: Quota{Memory: gib, CPUs: 1500, Disk: 2 * gib}}), nil, nil,
			bounds{memory: rule(gib, "user"), cpus: rule(1500, "user"), disk: rule(2*gib, "user")}, "", ""},
		"more than the quota": {user("*", User{Quota: Quota{Memory: gib}}), limits{memory: 2 * gib}, nil, nil, "2g is too much: the host allows user alice 1g at most", ""},
		"somebody else":       {user("bob", User{Limits: limits{pids: 5}}), limits{pids: 50}, nil, bounds{pids: rule(50, "box")}, "", ""},
		"named, so not all":   {Config{Users: map[string]User{"alice": {}, "*": {Limits: limits{pids: 5}}}}, limits{pids: 50}, nil, bounds{pids: rule(50, "box")}, "", ""},
		"name and uid":        {Config{Users: map[string]User{"alice": {Limits: limits{pids: 7}}, "1000": {Limits: limits{pids: 6}}}}, nil, nil, bounds{pids: rule(6, "user")}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			wish := forkbox.Wish{Limits: c.flags, Project: c.project, ProjectFile: file}
			got, err := c.config.Resolve(Request{Owner: alice, Wish: wish, Holds: goodHost()})
			expect(t, got, err, c.want, forkbox.Denied, c.denied, c.mentions)
		})
	}
}

func user(key string, u User) Config { return Config{Users: map[string]User{key: u}} }

func expect(t *testing.T, got bounds, err error, want bounds, code forkbox.Code, why, hint string) {
	t.Helper()
	if why == "" {
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		return
	}
	bad, ok := err.(*forkbox.Error)
	if !ok || bad.Code != code || !strings.HasSuffix(bad.Error(), ": "+why) || !strings.Contains(strings.Join(bad.Hints, "\n"), hint) || got != nil {
		t.Errorf("%+v, %+v; want %s", got, err, why)
	}
}

// TestDigitsAreUIDs: a user called by a number or a star does not slip into
// the place of another user.
func TestDigitsAreUIDs(t *testing.T) {
	c := Config{Users: map[string]User{"1000": {Limits: limits{pids: 500}}, "*": {Limits: limits{pids: 5}}}}
	for _, name := range []string{"1000", "*", ""} {
		got, err := c.Resolve(Request{Owner: forkbox.Owner{UID: 7, Name: name}, Holds: goodHost()})
		expect(t, got, err, bounds{pids: rule(5, "user")}, "", "", "")
	}
}

func TestResolveExec(t *testing.T) {
	box := bounds{memory: rule(2*gib, "host"), timeout: rule(10*minute, "box"), files: rule(1024, "default"), ttl: rule(minute, "box"), pids: rule(unlimited, "box")}
	host := Config{Limits: limits{memory: 4 * gib, pids: 100, files: 4096}, Defaults: limits{cpus: 500}}
	inherited := func(more bounds) bounds {
		all := bounds{timeout: rule(10*minute, "box"), files: rule(1024, "default")}
		for r, v := range more {
			all[r] = v
		}
		return all
	}
	for name, c := range map[string]struct {
		flags     limits
		want      bounds
		code      forkbox.Code
		why, hint string
	}{
		"inherits":          {nil, inherited(nil), "", "", ""},
		"narrower":          {limits{memory: gib, timeout: minute}, inherited(bounds{memory: rule(gib, "exec"), timeout: rule(minute, "exec")}), "", "", ""},
		"wider than box":    {limits{memory: 3 * gib}, nil, forkbox.Denied, "3g is too much: the box allows 2g at most", "forkbox set BOX --memory 3g"},
		"longer than box":   {limits{timeout: unlimited}, nil, forkbox.Denied, "unlimited is too much: the box allows 10m at most", ""},
		"wider than host":   {limits{pids: 200}, nil, forkbox.Denied, "200 is too much: the host allows 100 at most", ""},
		"more than default": {limits{files: 2048}, bounds{timeout: rule(10*minute, "box"), files: rule(2048, "exec")}, "", "", ""},
		"default and floor": {limits{files: 5000}, nil, forkbox.Denied, "5000 is too much: the host allows 4096 at most", ""},
		"the box's own":     {limits{disk: gib}, nil, forkbox.Invalid, "it is the box's, one exec cannot have its own", "forkbox set BOX --disk"},
	} {
		t.Run(name, func(t *testing.T) {
			wish := forkbox.Wish{Limits: c.flags, Project: limits{pids: 3, disk: 5}}
			got, err := host.Resolve(Request{Owner: alice, Wish: wish, Holds: goodHost(), Exec: true, Box: box})
			expect(t, got, err, c.want, c.code, c.why, c.hint)
		})
	}
	// A box from before there were policies still has the host's floor.
	got, err := host.Resolve(Request{Owner: alice, Exec: true})
	expect(t, got, err, bounds{files: rule(4096, "host")}, "", "", "")
}

// TestUnenforced: what was asked for and does not hold is refused; what was not
// asked for is told as it is.
func TestUnenforced(t *testing.T) {
	watched := forkbox.Rule{Value: gib, From: "box", How: forkbox.Watched, Why: "no quotas here"}
	not := forkbox.Rule{Value: 5, From: "default", How: forkbox.NotEnforced, Why: "nothing on this host can enforce it"}
	for name, c := range map[string]struct {
		wish      forkbox.Wish
		want      bounds
		why, hint string
	}{
		"asked, watched":     {forkbox.Wish{Limits: limits{disk: gib}}, nil, "this host can only watch it: no quotas here", "forkbox store init\n--limits=best-effort takes it as it is (watched)"},
		"asked, not at all":  {forkbox.Wish{Limits: limits{memory: gib}}, nil, "this host cannot hold it: nothing on this host can enforce it", "--limits=best-effort takes it as it is (not-enforced)"},
		"asked by a project": {forkbox.Wish{Project: limits{disk: gib}}, nil, "this host can only watch it: no quotas here", ""},
		"best effort":        {forkbox.Wish{Limits: limits{disk: gib}, BestEffort: true}, bounds{disk: watched, pids: not}, "", ""},
		"default":            {forkbox.Wish{}, bounds{pids: not}, "", ""},
		"lifted":             {forkbox.Wish{Limits: limits{pids: unlimited}}, bounds{pids: rule(unlimited, "box")}, "", ""},
		"forkbox's own":      {forkbox.Wish{Limits: limits{ttl: 5, timeout: 6, files: 77}}, bounds{pids: not, ttl: rule(5, "box"), timeout: rule(6, "box"), files: rule(77, "box")}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Config{Defaults: limits{pids: 5}}.Resolve(Request{Owner: alice, Wish: c.wish, Holds: poorHost()})
			expect(t, got, err, c.want, forkbox.Unsupported, c.why, c.hint)
		})
	}
}

func TestResolveSenseless(t *testing.T) {
	for _, l := range []limits{{"mem": 5}, {memory: -2}, {memory: 1}, {pids: 0}} {
		for _, wish := range []forkbox.Wish{{Limits: l}, {Project: l}} {
			if got, err := Builtin().Resolve(Request{Wish: wish, Holds: goodHost()}); forkbox.CodeOf(err) != forkbox.Invalid {
				t.Errorf("%v: %v, %v", wish, got, err)
			}
		}
	}
}
