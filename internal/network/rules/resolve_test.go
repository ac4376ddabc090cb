package rules

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestPresets: the file can be read, has the presets there are and nothing
// else, and its rules are in their one way of writing.
func TestPresets(t *testing.T) {
	if len(presets()) != 3 {
		t.Error(presets())
	}
	for _, name := range []string{forkbox.PresetLocked, forkbox.PresetBalanced, forkbox.PresetOpen} {
		rules, err := Preset(name, nil)
		if err != nil || (len(rules) == 0) != (name == forkbox.PresetLocked) {
			t.Errorf("%s: %v, %v", name, rules, err)
		}
		for i, r := range rules {
			if r.Rule != presets()[name][i] || r.From != "preset "+name {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
	if _, err := Preset("wide\nopen", nil); forkbox.CodeOf(err) != forkbox.Invalid || strings.Contains(err.Error(), "\n") {
		t.Error(err)
	}
}

// TestOpen: every public name and address, and nothing nearby.
func TestOpen(t *testing.T) {
	rules, _ := Preset(forkbox.PresetOpen, nil)
	p, err := New(rules, nil, Options{Own: own198})
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]bool{"h.example": true, "udp:h.example@203.0.113.1": true, "@203.0.113.1": true, "@2001:db8::1": true,
		"@10.0.0.1": false, "h.example@10.0.0.1": false, "@169.254.169.254": false, "@127.0.0.1": false, "@fd12::1": false, "@198.51.100.9": false} {
		if v := p.Connect(to(target)); v.Allowed != want {
			t.Errorf("%s: %+v", target, v)
		}
	}
}

func TestFound(t *testing.T) {
	found := []forkbox.NetRule{
		{Rule: "allow NPM.example.com:443 private", From: "preset balanced: npm (/home/a/.npmrc)"},
		{Rule: "allow npm.example.com:443 private", From: "preset balanced: npm (/etc/npmrc)"},
		{Rule: "allow h.example.com:443", From: "host"},
		{Rule: "allow i.example.com:443", From: "preset balanced: npm (/a\nb)"},
	}
	rules, err := Preset(forkbox.PresetBalanced, found)
	want := []forkbox.NetRule{
		{Rule: "allow npm.example.com:443 private", From: "preset balanced: npm (/home/a/.npmrc)"},
		{Rule: "allow h.example.com:443", From: "preset balanced: host"},
		{Rule: "allow i.example.com:443", From: `preset balanced: "npm (/a\nb)"`},
	}
	if err != nil || !reflect.DeepEqual(rules[:3], want) || rules[3].From != "preset balanced" {
		t.Errorf("%+v, %v", rules, err)
	}
	for _, bad := range []string{"deny h.example", "allow", "allow 127.0.0.1"} {
		if _, err := Preset(forkbox.PresetBalanced, []forkbox.NetRule{{Rule: bad}}); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if rules, err := Preset(forkbox.PresetLocked, found); err != nil || rules != nil {
		t.Errorf("%+v, %v", rules, err)
	}
}

// TestResolve: what was said for the box comes first, then its project, then
// the preset.
func TestResolve(t *testing.T) {
	wish := forkbox.NetWish{
		Preset: "locked", Rules: []string{"allow  GET h.example", "deny x.example"}, HostPorts: []int{5432, 5432}, Secrets: []string{"TOKEN"},
		Terminate: []string{"a.example"}, ProjectFile: "/p/forkbox.yaml",
		Project: &forkbox.NetWish{Preset: "open", Rules: []string{"allow p.example:443"}, HostPorts: []int{5432}, Terminate: []string{"a.example", "b.example"}, Pinned: []string{"c.example"}},
	}
	got, err := Resolve(wish, Host{Find: func() []forkbox.NetRule { t.Error("looked for what is not needed"); return nil }})
	want := forkbox.Network{
		Preset: "locked", HostPorts: []int{5432}, Secrets: map[string]string{"TOKEN": ""}, Terminate: []string{"a.example", "b.example"}, Pinned: []string{"c.example"}, Asked: &wish,
		Rules: []forkbox.NetRule{{Rule: "allow GET h.example", From: "box"}, {Rule: "deny x.example", From: "box"}, {Rule: "allow p.example:443", From: "project /p/forkbox.yaml"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestResolvePreset(t *testing.T) {
	find := func() []forkbox.NetRule { return []forkbox.NetRule{{Rule: "allow found.example:443"}} }
	for _, c := range []struct {
		wish  forkbox.NetWish
		host  Host
		name  string
		first string
	}{
		{forkbox.NetWish{}, Host{Find: find}, "balanced", "allow found.example:443"},
		{forkbox.NetWish{}, Host{}, "balanced", presets()["balanced"][0]},
		{forkbox.NetWish{Found: []forkbox.NetRule{}}, Host{Find: find}, "balanced", presets()["balanced"][0]},
		{forkbox.NetWish{Found: []forkbox.NetRule{{Rule: "allow mine.example:443"}}}, Host{Find: find}, "balanced", "allow mine.example:443"},
		{forkbox.NetWish{}, Host{Preset: "open"}, "open", "allow any:*"},
		{forkbox.NetWish{Project: &forkbox.NetWish{Preset: "open"}}, Host{Preset: "locked"}, "open", "allow any:*"},
		{forkbox.NetWish{Preset: "balanced", Project: &forkbox.NetWish{Preset: "open"}}, Host{Preset: "locked"}, "balanced", presets()["balanced"][0]},
	} {
		if got, err := Resolve(c.wish, c.host); err != nil || got.Preset != c.name || got.Rules[0].Rule != c.first {
			t.Errorf("%+v: %+v, %v", c.wish, got, err)
		}
	}
}

// TestProjectMayNot: a cloned repository opens nothing nearby by itself; its
// user can, and so can the host's owner for all.
func TestProjectMayNot(t *testing.T) {
	for _, c := range []struct {
		project, user forkbox.NetWish
		may           Project
		hint          string
	}{
		{forkbox.NetWish{HostPorts: []int{1, 5432}}, forkbox.NetWish{HostPorts: []int{1}}, Project{Secrets: true, Private: true}, "--host-port 5432"},
		{forkbox.NetWish{Secrets: []string{"TOKEN"}}, forkbox.NetWish{}, Project{HostPorts: true, Private: true}, "--secret TOKEN"},
		{forkbox.NetWish{Rules: []string{"allow npm.corp.example private"}}, forkbox.NetWish{}, Project{HostPorts: true, Secrets: true}, "--allow 'npm.corp.example private'"},
		{forkbox.NetWish{Rules: []string{"allow 10.1.0.0/16:5432"}}, forkbox.NetWish{}, Project{}, "--allow '10.1.0.0/16:5432'"},
		{forkbox.NetWish{Rules: []string{"allow 169.254.169.254"}}, forkbox.NetWish{}, Project{}, "--allow '169.254.169.254'"},
		{forkbox.NetWish{Rules: []string{"allow any:[fd00::/8]:1"}}, forkbox.NetWish{}, Project{}, "--allow 'any:[fd00::/8]:1'"},
		{forkbox.NetWish{Rules: []string{"allow 168.63.129.16"}}, forkbox.NetWish{}, Project{}, "--allow '168.63.129.16'"},
	} {
		wish := c.user
		wish.Project, wish.ProjectFile = &c.project, "forkbox.yaml"
		_, err := Resolve(wish, Host{Project: c.may})
		var denied *forkbox.Error
		if !errors.As(err, &denied) || denied.Code != forkbox.Denied || !strings.HasPrefix(denied.Hints[0], c.hint+" ") {
			t.Errorf("%+v: %v", c.project, err)
		}
		if _, err := Resolve(wish, Host{Project: Project{true, true, true}}); err != nil {
			t.Errorf("%+v, the host's owner: %v", c.project, err)
		}
		wish.HostPorts, wish.Secrets, wish.Rules = c.project.HostPorts, c.project.Secrets, c.project.Rules
		if _, err := Resolve(wish, Host{Project: c.may}); err != nil {
			t.Errorf("%+v, the user: %v", c.project, err)
		}
	}
	public := []string{"allow *", "allow 0.0.0.0/0", "allow ::/0", "deny 10.0.0.0/8", "allow 203.0.113.0/24"}
	if _, err := Resolve(forkbox.NetWish{Project: &forkbox.NetWish{Rules: public}}, Host{}); err != nil {
		t.Error(err)
	}
}

// TestProjectNotOwn: nor the host's own addresses, which only the policy knows.
func TestProjectNotOwn(t *testing.T) {
	for from, want := range map[string]bool{"box": true, "project": false, "project /p/forkbox.yaml": false} {
		p, err := New([]forkbox.NetRule{{Rule: "allow 198.51.100.9", From: from}}, nil, Options{Own: own198})
		if err != nil || p.Connect(to("@198.51.100.9")).Allowed != want {
			t.Errorf("%s: %v", from, err)
		}
	}
}

func TestBadWishes(t *testing.T) {
	many := make([]string, MostRules+1)
	for i := range many {
		many[i] = "allow h.example"
	}
	for _, wish := range []forkbox.NetWish{
		{Preset: "wide"}, {Rules: []string{"allow"}}, {Rules: many}, {HostPorts: []int{0}}, {HostPorts: []int{65536}}, {Secrets: []string{"A B"}}, {Secrets: []string{""}},
		{Secrets: []string{"1A"}}, {Terminate: []string{"10.0.0.1"}}, {Pinned: []string{"a b"}}, {Found: []forkbox.NetRule{{Rule: "x"}}},
		{Project: &forkbox.NetWish{Rules: []string{"x"}}}, {Project: &forkbox.NetWish{Preset: "x"}},
	} {
		if got, err := Resolve(wish, Host{}); forkbox.CodeOf(err) != forkbox.Invalid || !reflect.DeepEqual(got, forkbox.Network{}) {
			t.Errorf("%+v: %+v, %v", wish, got, err)
		}
	}
}

func BenchmarkName(b *testing.B) {
	rules, _ := Preset(forkbox.PresetBalanced, nil)
	p, _ := New(rules, nil, Options{})
	for b.Loop() {
		p.Name("x.unknown.example")
	}
}

func BenchmarkConnect(b *testing.B) {
	var texts []string
	for range MostRules {
		texts = append(texts, "allow *.other.example:443")
	}
	rules, _ := box(texts...)
	p, _ := New(rules, nil, Options{})
	t := to("h.example@203.0.113.1")
	t.Addr = netip.MustParseAddr("203.0.113.1")
	for b.Loop() {
		p.Connect(t)
	}
}
