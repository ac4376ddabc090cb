package engine

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// newNetFamily is a world with a box "one" that has a network, and whose boxes
// have layers.
func newNetFamily(t *testing.T) (*layeredWorld, forkbox.Box) {
	w := newLayeredWorld(t, true)
	f, nets, ports := &fuse{}, newNets(), newFakePorts()
	w.world.restart(f, func(c *Config) {
		c.Provider = layeredProvider{fakeProvider{w.host, f}, w.shelf}
		c.Ledger = layeredLedger{fusedLedger{w.ledger, f}, &w.meanwhile}
		c.Networks, c.Ports = fakeNetworks{nets, w.host, f}, ports
	})
	_, err := w.Create(t.Context(), ada, CreateSpec{Name: "one", Net: "team:blue", NetWish: forkbox.NetWish{
		Preset: "locked", Rules: []string{"allow a.example.com"}, Secrets: []string{"KEY"}, HostPorts: []int{5432}}})
	check(t, err)
	w.write("one", "x")
	_, err = w.Publish(t.Context(), ada, "one", forkbox.Port{Box: 3000})
	check(t, err)
	one, err := w.Box(t.Context(), ada, "one")
	check(t, err)
	return w, one
}

// wantHeir checks that a box has its parent's network, and nothing that was
// made for the parent only.
func wantHeir(t *testing.T, parent, child forkbox.Box, rules string) {
	t.Helper()
	p, c := parent.Network, child.Network
	if child.Net != forkbox.NetPolicy || ruleTexts(c) != rules || c.Preset != p.Preset || c.Team != p.Team || len(c.HostPorts) != 1 || c.Asked == nil {
		t.Errorf("%s inherited %+v", child.Name, c)
	}
	if c.CA == p.CA || c.CA == "" || c.Secrets["KEY"] == p.Secrets["KEY"] || c.Secrets["KEY"] == "" || len(c.Ports) != 0 {
		t.Errorf("%s has what is its parent's: %+v", child.Name, c)
	}
}

func TestForkInheritsItsNetwork(t *testing.T) {
	w, one := newNetFamily(t)
	f, err := w.Fork(t.Context(), ada, "one", forkbox.ForkSpec{Name: "child", Count: 2})
	check(t, err)
	for _, c := range f.Children {
		wantHeir(t, one, *c.Box, "allow a.example.com")
	}
	if a, b := f.Children[0].Box.Network, f.Children[1].Box.Network; a.Secrets["KEY"] == b.Secrets["KEY"] || a.CA == b.CA {
		t.Error("siblings share what each should have of its own")
	}
	more := forkbox.NetWish{Rules: []string{"deny b.example.com"}}
	f, err = w.ForkWith(t.Context(), ada, "one", forkbox.ForkSpec{Name: "more"}, forkbox.Wish{}, more)
	check(t, err)
	wantHeir(t, one, *f.Children[0].Box, "deny b.example.com; allow a.example.com")
	f, err = w.Fork(t.Context(), ada, "more", forkbox.ForkSpec{Name: "grandchild"})
	check(t, err)
	wantHeir(t, one, *f.Children[0].Box, "deny b.example.com; allow a.example.com")
	f, err = w.Fork(t.Context(), ada, "one", forkbox.ForkSpec{Name: "less", Net: "none"})
	check(t, err)
	if b := f.Children[0].Box; b.Net != forkbox.NetNone || len(b.Network.Rules) != 0 || b.Network.Asked != nil {
		t.Errorf("got %+v", b)
	}
	b, err := w.Create(t.Context(), ada, CreateSpec{Name: "from", From: "one@" + f.Snapshot.Name})
	check(t, err)
	wantHeir(t, one, b, "allow a.example.com")
	w.settle()
}

func TestForkRefusesANetworkBeforeItDoesAnything(t *testing.T) {
	w, _ := newNetFamily(t)
	_, err := w.Fork(t.Context(), ada, "one", forkbox.ForkSpec{Name: "less", Net: "none"})
	check(t, err)
	before, err := w.ledger.SnapshotsOf(t.Context(), nil)
	check(t, err)
	for _, c := range []struct {
		ref, word, rule string
	}{{"one", "", "allow nonsense"}, {"one", "Blue", ""}, {"one", "none", "allow a.example.com"}, {"less", "", "allow a.example.com"}} {
		var wish forkbox.NetWish
		if c.rule != "" {
			wish.Rules = []string{c.rule}
		}
		_, err := w.ForkWith(t.Context(), ada, c.ref, forkbox.ForkSpec{Net: forkbox.Net(c.word)}, forkbox.Wish{}, wish)
		wantCode(t, err, forkbox.Invalid)
	}
	after, err := w.ledger.SnapshotsOf(t.Context(), nil)
	if err != nil || len(after) != len(before) {
		t.Errorf("%d snapshots, had %d: %v", len(after), len(before), err)
	}
	w.settle()
}

func TestTemplateKeepsTheNetwork(t *testing.T) {
	w, one := newNetFamily(t)
	tmpl, err := w.CreateTemplate(t.Context(), ada, forkbox.TemplateSpec{Name: "start", From: "one"})
	check(t, err)
	if n := tmpl.Network; n.CA != "" || n.Secrets["KEY"] != "" || len(n.Ports) != 0 {
		t.Errorf("it keeps what is one box's: %+v", n)
	}
	check(t, w.Remove(t.Context(), ada, "one", true))
	b, err := w.Create(t.Context(), ada, CreateSpec{Template: "start", Name: "two"})
	check(t, err)
	wantHeir(t, one, b, "allow a.example.com")
	b, err = w.Create(t.Context(), ada, CreateSpec{Template: "start", Net: "team:red", NetWish: forkbox.NetWish{Rules: []string{"deny b.example.com"}}})
	check(t, err)
	if b.Network.Team != "red" || ruleTexts(b.Network) != "deny b.example.com; allow a.example.com" {
		t.Errorf("got %+v", b.Network)
	}
	_, err = w.Create(t.Context(), ada, CreateSpec{Template: "other"})
	wantCode(t, err, forkbox.NotFound)
	w.settle()
}

// importer is a provider that unpacks nothing.
type importer struct {
	fakeProvider
	read *int
}

func (p importer) Export(context.Context, forkbox.Box, forkbox.Snapshot, []forkbox.BaseSum, func() string, io.Writer) error {
	return nil
}

func (p importer) ReadImage(_ context.Context, _ forkbox.Owner, r io.Reader, _ func() string) (forkbox.Arrival, error) {
	*p.read++
	return forkbox.Arrival{}, nil
}

func (p importer) ReadTar(context.Context, forkbox.Owner, io.Reader) (forkbox.Base, error) {
	return forkbox.Base{}, nil
}

func (p importer) EmptyRoot(context.Context, forkbox.Owner) (forkbox.Base, error) {
	return forkbox.Base{}, nil
}

func (p importer) CheckDir(string, forkbox.Owner) (forkbox.Base, error) { return forkbox.Base{}, nil }

func TestImportHasTheNetworkThatWasAskedFor(t *testing.T) {
	w, f, read := newNetWorld(t), &fuse{}, 0
	w.restart(f, func(c *Config) {
		c.Provider, c.Networks = importer{fakeProvider{w.host, f}, &read}, fakeNetworks{w.nets, w.host, f}
	})
	wish := forkbox.NetWish{Rules: []string{"allow a.example.com"}}
	in, err := w.ImportWith(t.Context(), ada, strings.NewReader("x"), forkbox.ImportSpec{Net: "team:blue"}, forkbox.Wish{}, wish)
	check(t, err)
	if in.Box.Network.Team != "blue" || ruleTexts(in.Box.Network) != "allow a.example.com" || in.Box.Network.CA == "" {
		t.Errorf("got %+v", in.Box.Network)
	}
	wish.Rules[0] = "allow nonsense"
	_, err = w.ImportWith(t.Context(), ada, strings.NewReader("x"), forkbox.ImportSpec{}, forkbox.Wish{}, wish)
	wantCode(t, err, forkbox.Invalid)
	if read != 1 {
		t.Errorf("it was unpacked %d times before it was refused", read)
	}
}
