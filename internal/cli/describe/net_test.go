package describe

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func conn(host, addr string, port int) forkbox.Conn {
	t := forkbox.NetTarget{Proto: "tcp", Host: host, Port: port}
	if addr != "" {
		t.Addr = netip.MustParseAddr(addr)
	}
	return forkbox.Conn{State: forkbox.ConnRefused, Time: time.Unix(0, 0), NetVerdict: forkbox.NetVerdict{Target: t, Why: "no rule allows it", Remedy: "forkbox net allow x"}}
}

func TestTargetText(t *testing.T) {
	for want, c := range map[string]forkbox.Conn{
		"tcp a.example:443 (192.0.2.7)":         conn("a.example", "192.0.2.7", 443),
		"tcp 192.0.2.7:25":                      conn("", "192.0.2.7", 25),
		"tcp [2001:db8::1]:25":                  conn("", "2001:db8::1", 25),
		"tcp a.example":                         conn("a.example", "", 0),
		"tcp ?":                                 conn("", "", 0),
		`tcp "a.example:443 (192.0.2.1)  -":80`: conn("a.example:443 (192.0.2.1)  -", "", 80),
		`tcp "a\x1b[2Jb":80`:                    conn("a\x1b[2Jb", "", 80),
		`tcp "a\nb":80 (192.0.2.7)`:             conn("a\nb", "192.0.2.7", 80),
		"tcp \"a\\xffb\":80":                    conn("a\xffb", "", 80),
		`tcp "a\u202eb":80`:                     conn("a\u202eb", "", 80),
	} {
		// A colon in a name gets it brackets, as for an address.
		if got := strings.NewReplacer(`["`, `"`, `"]`, `"`).Replace(Target(c.Target)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestNetText(t *testing.T) {
	policy := forkbox.Box{Net: forkbox.NetPolicy, Network: forkbox.Network{Preset: "balanced"}}
	team := policy
	team.Network.Team = "crew"
	for want, box := range map[string]forkbox.Box{
		"none": {Net: forkbox.NetNone}, "host": {Net: forkbox.NetHost}, "policy (balanced)": policy,
		"policy (balanced, team crew)": team, "policy": {Net: forkbox.NetPolicy},
	} {
		if got := Net(box); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
