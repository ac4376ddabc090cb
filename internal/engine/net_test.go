package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func ruleTexts(n forkbox.Network) string {
	var texts []string
	for _, r := range n.Rules {
		texts = append(texts, r.Rule)
	}
	return strings.Join(texts, "; ")
}

func TestAllowChangesALiveBox(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one", Net: "team:blue", NetWish: forkbox.NetWish{
		Rules: []string{"deny b.example.com"}, Secrets: []string{"KEY"}, Found: []forkbox.NetRule{{Rule: "allow f.example.com", From: "preset balanced"}}}})
	w.exec("one")
	_, err := w.Publish(t.Context(), ada, "one", forkbox.Port{Box: 3000})
	check(t, err)
	for _, c := range []struct {
		rules  []string
		remove bool
		want   string
	}{
		{[]string{"allow A.example.com", "deny  c.example.com"}, false, "allow a.example.com; deny c.example.com; deny b.example.com"},
		{[]string{"deny b.example.com"}, false, "deny b.example.com; allow a.example.com; deny c.example.com"},
		{[]string{"allow a.example.com"}, true, "deny b.example.com; deny c.example.com"}, // as it is shown
		{[]string{"c.example.com", "deny b.example.com"}, true, ""},
	} {
		got, err := w.Allow(t.Context(), ada, "one", c.rules, c.remove)
		check(t, err)
		want := strings.TrimPrefix(c.want+"; allow f.example.com", "; ")
		held := w.nets.gate(b.ID).holds().Network
		for _, n := range []forkbox.Network{got.Network, w.box("one").Network, held} {
			if ruleTexts(n) != want {
				t.Errorf("%v: got %q, want %q", c.rules, ruleTexts(n), want)
			}
			if n.Secrets["KEY"] != b.Network.Secrets["KEY"] || n.CA != b.Network.CA || n.Team != "blue" || len(n.Ports) != 1 {
				t.Errorf("%v: its own was lost: %+v", c.rules, n)
			}
		}
	}
	var texts []string
	check(t, w.Events(t.Context(), ada, EventSpec{Box: "one"}, func(e forkbox.Event) error {
		if e.Kind == forkbox.EventNetwork {
			texts = append(texts, e.Text)
		}
		return nil
	}))
	if len(texts) != 4 || !strings.Contains(texts[0], "allow A.example.com") || !strings.Contains(texts[3], "removed") || !strings.Contains(texts[0], "user ada") {
		t.Errorf("events %q", texts)
	}
	_, err = w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	_, err = w.Allow(t.Context(), ada, "one", []string{"allow z.example.com"}, false) // at rest, too
	check(t, err)
	w.exec("one")
	if got := ruleTexts(w.nets.gate(b.ID).holds().Network); !strings.HasPrefix(got, "allow z.example.com") {
		t.Errorf("got %q", got)
	}
}

func TestAllowRefuses(t *testing.T) {
	w := newNetWorld(t)
	w.make(CreateSpec{Name: "one", NetWish: forkbox.NetWish{Found: []forkbox.NetRule{{Rule: "allow f.example.com", From: "preset balanced"}}}})
	w.make(CreateSpec{Name: "two", Net: "none"})
	before := ruleTexts(w.box("one").Network)
	for _, c := range []struct {
		ref    string
		rules  []string
		remove bool
		code   forkbox.Code
	}{
		{"one", nil, false, forkbox.Invalid},
		{"one", nil, true, forkbox.Invalid},
		{"one", []string{"a.example.com"}, false, forkbox.Invalid},
		{"one", []string{"allow"}, false, forkbox.Invalid},
		{"one", []string{"allow a.example.com", "allow nonsense"}, false, forkbox.Invalid},
		{"one", []string{"allow a.example.com"}, true, forkbox.NotFound},
		{"one", []string{"f.example.com"}, true, forkbox.NotFound}, // the preset's
		{"two", []string{"allow a.example.com"}, false, forkbox.Invalid},
		{"three", []string{"allow a.example.com"}, false, forkbox.NotFound},
	} {
		_, err := w.Allow(t.Context(), ada, c.ref, c.rules, c.remove)
		wantCode(t, err, c.code)
	}
	_, err := w.Allow(t.Context(), bob, "one", []string{"allow a.example.com"}, false)
	wantCode(t, err, forkbox.NotFound)
	if after := ruleTexts(w.box("one").Network); after != before {
		t.Errorf("got %q, had %q", after, before)
	}
}

// A change that the gate does not take is none. Where it is not known what the
// gate lets through, it lets through nothing.
func TestAllowThatFails(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one"})
	w.exec("one")
	gate := w.nets.gate(b.ID)
	w.nets.fail("prepare", errors.New("disk full"))
	_, err := w.Allow(t.Context(), ada, "one", []string{"allow a.example.com"}, false)
	wantCode(t, err, forkbox.Internal)
	w.nets.fail("prepare", nil)
	if w.nets.gate(b.ID) != gate || ruleTexts(gate.holds().Network) != "" {
		t.Error("the gate was touched")
	}
	w.nets.fail("update", errors.New("it hangs"))
	_, err = w.Allow(t.Context(), ada, "one", []string{"allow a.example.com"}, false)
	wantCode(t, err, forkbox.Internal)
	if got := w.box("one"); ruleTexts(got.Network) != "" || w.nets.gate(b.ID) != nil {
		t.Errorf("got %+v", got.Network)
	}
	w.exec("one") // opens it anew
	if w.nets.gate(b.ID) == nil {
		t.Error("it has no gate")
	}
	_, err = w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	if w.nets.gate(b.ID) != nil {
		t.Error("it is still open")
	}
}

func TestExplain(t *testing.T) {
	w := newNetWorld(t)
	for _, word := range []string{"policy", "none", "host"} {
		w.make(CreateSpec{Name: "with-" + word, Net: word})
	}
	v, err := w.Explain(t.Context(), ada, "with-policy", "x.example.com")
	if err != nil || v.Allowed || v.Remedy != "forkbox net allow with-policy 'x.example.com'" {
		t.Errorf("got %+v, %v", v, err)
	}
	v, err = w.Explain(t.Context(), ada, "with-none", "x.example.com")
	if err != nil || v.Allowed || !strings.Contains(v.Remedy, "with-none") || v.Target.Host != "x.example.com" {
		t.Errorf("got %+v, %v", v, err)
	}
	v, err = w.Explain(t.Context(), ada, "with-host", "x.example.com")
	if err != nil || !v.Allowed || v.Why == "" {
		t.Errorf("got %+v, %v", v, err)
	}
	_, err = w.Explain(t.Context(), ada, "with-policy", " ")
	wantCode(t, err, forkbox.Invalid)
	_, err = w.Explain(t.Context(), bob, "with-policy", "x.example.com")
	wantCode(t, err, forkbox.NotFound)
	_, _, err = w.Network(t.Context(), bob, "with-policy")
	wantCode(t, err, forkbox.NotFound)
}

func TestBoxWithAGateOnADaemonWithout(t *testing.T) {
	w := newNetWorld(t)
	w.make(CreateSpec{Name: "one"})
	w.restart(&fuse{})
	_, err := w.Start(t.Context(), ada, "one")
	wantCode(t, err, forkbox.Unsupported)
	_, err = w.Explain(t.Context(), ada, "one", "x.example.com")
	wantCode(t, err, forkbox.Unsupported)
	_, err = w.Allow(t.Context(), ada, "one", []string{"allow a.example.com"}, false)
	wantCode(t, err, forkbox.Unsupported)
	_, err = w.Publish(t.Context(), ada, "one", forkbox.Port{Box: 3000})
	wantCode(t, err, forkbox.Unsupported)
	check(t, w.Remove(t.Context(), ada, "one", true))
}
