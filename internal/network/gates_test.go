package network

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/gate"
	"github.com/forkbox/forkbox/internal/network/vault"
)

// house is one with a vault, whose world is a hosts file.
func house(t *testing.T, floor ...forkbox.NetRule) *House {
	t.Helper()
	dir := t.TempDir()
	v, err := vault.Open(filepath.Join(dir, "secrets"))
	must(t, err)
	hosts := filepath.Join(dir, "hosts")
	must(t, os.WriteFile(hosts, []byte("203.0.113.5 good.example.com api.example.com\n10.0.0.9 inner.example.com\n192.0.2.77 own.example.com\n"), 0o644))
	return New(Config{
		Dir: filepath.Join(dir, "ca"), Vault: v, Terms: Terms{Default: forkbox.NetPolicy, Floor: floor},
		Own:      func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("192.0.2.77")} },
		Resolver: gate.NewResolver(gate.ResolverConfig{Hosts: hosts, Servers: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")}}),
		Log:      slog.New(slog.DiscardHandler),
	})
}

func boxOf(t *testing.T, h *House, asked string, wish forkbox.NetWish) forkbox.Box {
	t.Helper()
	if wish.Preset == "" {
		wish.Preset = forkbox.PresetLocked
	}
	net, network, err := h.Resolve(forkbox.Owner{}, asked, wish)
	must(t, err)
	return forkbox.Box{ID: "b1", Name: "try", Net: net, Network: network, State: forkbox.Stopped}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWordsAfterNet(t *testing.T) {
	t.Parallel()
	h := house(t)
	for _, c := range []struct {
		asked, team string
		net         forkbox.Net
	}{{"", "", forkbox.NetPolicy}, {"policy", "", forkbox.NetPolicy}, {"none", "", forkbox.NetNone}, {"host", "", forkbox.NetHost}, {"team:blue", "blue", forkbox.NetPolicy}} {
		box := boxOf(t, h, c.asked, forkbox.NetWish{})
		if box.Net != c.net || box.Network.Team != c.team {
			t.Errorf("%q is %s of team %q", c.asked, box.Net, box.Network.Team)
		}
	}
}

// TestExplainFollowsTheGate: what explain says is what a connection would hear.
func TestExplainFollowsTheGate(t *testing.T) {
	t.Parallel()
	floor := []forkbox.NetRule{{Rule: "deny floor.example.com", From: "host"}, {Rule: "allow any:*", From: "host"}, {Rule: "allow 10.0.0.0/8", From: "host"}}
	h := house(t, floor...)
	box := boxOf(t, h, "", forkbox.NetWish{HostPorts: []int{5432}, Rules: []string{
		"allow GET api.example.com/v1/**", "allow *.example.com:443", "allow inner.example.com:80", "allow 10.1.0.0/16:22", "allow udp:good.example.com:99"}})
	for target, want := range map[string]bool{
		"https://good.example.com/x":           true,
		"good.example.com":                     true,
		"http://good.example.com/":             false, // port 80
		"https://evil.example.org":             false,
		"https://api.example.com/v1/a":         true,
		"https://floor.example.com":            false,
		"http://inner.example.com/":            false, // a private address
		"own.example.com:443":                  false, // the host's own
		"10.1.2.3:22":                          true,
		"10.2.2.3:22":                          false,
		"ssh://git@10.1.2.3/x":                 true,
		"udp:good.example.com:99":              true,
		"udp:good.example.com:443":             false,
		"host.forkbox.internal:5432":           true,
		"host.forkbox.internal:22":             false,
		"http://169.254.169.254/latest":        false,
		"[::ffff:10.1.2.3]:22":                 true,
		"127.0.0.1:22":                         false,
		"https://api.example.com:443/v1/../v2": true, // the second rule allows every path
	} {
		v, err := h.Explain(context.Background(), box, target)
		must(t, err)
		if v.Allowed != want || v.Why == "" || !v.Allowed && v.Remedy == "" {
			t.Errorf("%s: %+v", target, v)
		}
	}
	for _, bad := range []string{"", "://", "gopher://x/", "http://", "good.example.com:0", "good.example.com:99999", "http://a:b/"} {
		if v, err := h.Explain(context.Background(), box, bad); forkbox.CodeOf(err) != forkbox.Invalid {
			t.Errorf("%q: %+v, %v", bad, v, err)
		}
	}
}

// TestPrepare: placeholders and a certificate authority, made once, gone with
// the box, and only where something needs them.
func TestPrepare(t *testing.T) {
	t.Parallel()
	h := house(t)
	plain := boxOf(t, h, "", forkbox.NetWish{Rules: []string{"allow good.example.com:443"}})
	must(t, h.Prepare(&plain))
	if plain.Network.CA != "" || len(h.Environment(plain)) != 0 {
		t.Error("a box that needs no authority has one")
	}
	box := boxOf(t, h, "", forkbox.NetWish{Secrets: []string{"TOKEN"}})
	if err := h.Prepare(&box); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("a secret that is not there: %v", err)
	}
	must(t, h.Vault.Set(0, forkbox.Secret{Name: "TOKEN", Hosts: []string{"api.example.com"}}, []byte("hunter2")))
	must(t, h.Prepare(&box))
	first := box.Network
	first.Secrets = map[string]string{"TOKEN": box.Network.Secrets["TOKEN"]}
	must(t, h.Prepare(&box))
	if box.Network.CA == "" || box.Network.CA != first.CA || box.Network.Secrets["TOKEN"] != first.Secrets["TOKEN"] || first.Secrets["TOKEN"] == "" {
		t.Errorf("not the same: %+v, %+v", first, box.Network)
	}
	env := strings.Join(h.Environment(box), "\n")
	if strings.Contains(env, "hunter2") || !strings.Contains(env, "TOKEN=forkbox-secret-") || !strings.Contains(env, "SSL_CERT_FILE="+trustFile) {
		t.Error(env)
	}
	policy, err := h.policy(box)
	must(t, err)
	if !policy.Terminates("api.example.com", 443) || policy.Terminates("good.example.com", 443) {
		t.Error("TLS ends at the gate for the wrong hosts")
	}
	must(t, h.Vault.Remove(0, "TOKEN"))
	must(t, h.Prepare(&box)) // revoked; the box goes on without
	if policy, err = h.policy(box); err != nil || policy.Terminates("api.example.com", 443) {
		t.Errorf("after the secret was removed: %v", err)
	}
	must(t, h.Remove(box))
	must(t, h.Remove(box))
	if left, _ := os.ReadDir(h.Dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestNoAuthorityForWhatRuns: its programs were started without trust in it.
func TestNoAuthorityForWhatRuns(t *testing.T) {
	t.Parallel()
	h := house(t)
	box := boxOf(t, h, "", forkbox.NetWish{Rules: []string{"allow GET api.example.com/**"}})
	box.State = forkbox.Running
	if err := h.Prepare(&box); forkbox.CodeOf(err) != forkbox.Busy || box.Network.CA != "" {
		t.Errorf("%v", err)
	}
}

func TestSecretForAPinnedHost(t *testing.T) {
	t.Parallel()
	h := house(t)
	must(t, h.Vault.Set(0, forkbox.Secret{Name: "TOKEN", Hosts: []string{"api.example.com"}}, []byte("hunter2")))
	for pinned, code := range map[string]forkbox.Code{
		"api.example.com": forkbox.Invalid, "*.example.com": forkbox.Invalid, "API.example.com.": forkbox.Invalid,
		"*.api.example.com": "", "example.com": "",
	} {
		box := boxOf(t, h, "", forkbox.NetWish{Secrets: []string{"TOKEN"}, Pinned: []string{pinned}})
		if err := h.Prepare(&box); err == nil && code != "" || err != nil && forkbox.CodeOf(err) != code {
			t.Errorf("%s: %v", pinned, err)
		}
	}
}

// TestAuthorityForTheFloor: TLS ends at the gate for what the host's floor looks
// at, too. A box that runs already can be changed all the same.
func TestAuthorityForTheFloor(t *testing.T) {
	t.Parallel()
	h := house(t, forkbox.NetRule{Rule: "deny POST api.example.com", From: "host"}, forkbox.NetRule{Rule: "allow *", From: "host"})
	box := boxOf(t, h, "", forkbox.NetWish{Rules: []string{"allow api.example.com:443"}})
	runs := box
	runs.State = forkbox.Running
	must(t, h.Prepare(&runs))
	must(t, h.Prepare(&box))
	if box.Network.CA == "" {
		t.Error("the box's programs would trust no certificate for api.example.com")
	}
}

// TestTrustFiles: the box's authority is in each, beside the machine's own.
func TestTrustFiles(t *testing.T) {
	t.Parallel()
	h := house(t)
	box := boxOf(t, h, "", forkbox.NetWish{Terminate: []string{"api.example.com"}})
	must(t, h.Prepare(&box))
	files := Trust(box.Network.CA)
	if string(files[caFile]) != box.Network.CA {
		t.Error(caFile)
	}
	block, _ := pem.Decode([]byte(box.Network.CA))
	own, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(files[trustFile]) {
		t.Fatal("no certificates")
	}
	if _, err := own.Verify(x509.VerifyOptions{Roots: pool}); err != nil {
		t.Errorf("the authority is not in the bundle: %v", err)
	}
	if len(files[javaFile]) == 0 {
		t.Error("nothing for Java")
	}
}
