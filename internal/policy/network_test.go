package policy

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/rules"
)

func TestNetworkConfig(t *testing.T) {
	got, err := parseConfig("config.yaml", []byte(`network:
  floor:
    rules:
      - deny   *.Evil.org
      - "allow any:*"
  dns: [192.0.2.53, "192.0.2.54:5353", "2001:db8::53", "[2001:db8::54]:53"]
  default: none
  preset: locked
  project: {host-ports: true, secrets: false, private: true}
  urls: 127.0.0.1:8000
`))
	want := Builtin()
	want.Network = Network{
		Floor: []forkbox.NetRule{{Rule: "deny *.evil.org", From: "host"}, {Rule: "allow any:*", From: "host"}},
		DNS: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.53:53"), netip.MustParseAddrPort("192.0.2.54:5353"),
			netip.MustParseAddrPort("[2001:db8::53]:53"), netip.MustParseAddrPort("[2001:db8::54]:53")},
		Default: forkbox.NetNone, Preset: "locked", Project: rules.Project{HostPorts: true, Private: true}, URLs: "127.0.0.1:8000",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got.Network, err)
	}
}

// TestNetworkUnsaid: without a word boxes have the network that their policy
// allows, and projects open nothing nearby.
func TestNetworkUnsaid(t *testing.T) {
	want := Network{Default: forkbox.NetPolicy, Preset: "balanced"}
	for _, text := range []string{"", "network:\n", "network: {}", "network: {floor: {}}", "network: {dns: []}", "network: {project: {}}"} {
		if c, err := parseConfig("config.yaml", []byte(text)); err != nil || !reflect.DeepEqual(c.Network, want) {
			t.Errorf("%q: %+v, %v", text, c.Network, err)
		}
	}
}

// TestBadNetwork: every mistake is an error with its line, in both files.
func TestBadNetwork(t *testing.T) {
	for text, want := range map[string]string{
		"network:\n  flor: {}\n":                                        `line 2: "flor" is not something it knows`,
		"network: []\n":                                                 `line 1: there should be "key: value" lines`,
		"network:\n  floor: [deny x]\n":                                 `line 2: there should be "key: value" lines`,
		"network: {floor: {rules: deny x.example}}\n":                   "line 1: rules: there should be a list",
		"network: {floor: {rules: []}}\n":                               "line 1: rules: there is none",
		"network: {floor: {rules: }}\n":                                 "line 1: rules: there is none",
		"network:\n  floor:\n    rules:\n    - allow *\n    - alow x\n": `line 5: rules: it begins with "alow", not with allow or deny`,
		"network: {floor: {rules: [{allow: x}]}}\n":                     "line 1: there should be a single value",
		"network: {floor: {rules: [allow *]}, floor: {}}\n":             `line 1: "floor" is there twice`,
		"network: {floor: {rules: [allow 0177.0.0.1]}}\n":               "line 1: rules: \"0177.0.0.1\" is no host name",
		"network: {dns: 192.0.2.53}\n":                                  "line 1: dns: there should be a list",
		"network: {dns: [dns.example.com]}\n":                           `line 1: dns: "dns.example.com" is no address of a server`,
		"network: {dns: ['192.0.2.53:0']}\n":                            "is no address of a server",
		"network: {dns: [0.0.0.0]}\n":                                   "is no address of a server",
		"network: {default: host}\n":                                    "line 1: a file cannot give boxes the host's network",
		"network: {default: team}\n":                                    `line 1: "team" is no network that a file can give`,
		"network: {preset: wide}\n":                                     "line 1: preset: there is none called \"wide\"",
		"network: {project: {host-ports: 1}}\n":                         "line 1: there should be true or false",
		"network: {project: {private: yes}}\n":                          "line 1: there should be true or false",
		"network: {project: {all: true}}\n":                             `line 1: "all" is not something it knows`,
		"network: {urls: '0.0.0.0:80'}\n":                               `line 1: urls: "0.0.0.0:80" is no loopback address with a port`,
		"network: {urls: 127.0.0.1}\n":                                  "is no loopback address with a port",
		"network: {urls: 'localhost:80'}\n":                             "is no loopback address with a port",
		"network: {rules: [allow x.example]}\n":                         `line 1: "rules" is not something it knows`,
	} {
		c, err := parseConfig("config.yaml", []byte(text))
		malformed(t, "config.yaml", text, want, c, err)
	}
	for text, want := range map[string]string{
		"network: {net: host}\n":                                        "line 1: a file cannot give boxes the host's network",
		"network: {net: other}\n":                                       `line 1: "other" is no network that a file can give`,
		"network: {net: true}\n":                                        `line 1: "true" is no value for it`,
		"network:\n  preset: wide\n":                                    "line 2: preset: there is none called \"wide\"",
		"network:\n  rules:\n  - deny x.example private\n":              `line 3: rules: "private" widens`,
		"network: {rules: &a [allow x.example], pinned: *a}\n":          "line 1: pinned: there should be a list",
		"network: {host-ports: [0]}\n":                                  `line 1: host-ports: "0" is no port`,
		"network: {host-ports: [0x10]}\n":                               `line 1: host-ports: "0x10" is no port`,
		"network: {host-ports: [70000]}\n":                              `line 1: host-ports: "70000" is no port`,
		"network: {host-ports: 5432}\n":                                 "line 1: host-ports: there should be a list",
		"network: {secrets: [A-B]}\n":                                   "line 1: secrets: \"A-B\" is no name of one",
		"network: {terminate: [10.0.0.1]}\n":                            "line 1: terminate: \"10.0.0.1\" is no host name",
		"network: {pinned: ['a b']}\n":                                  "line 1: pinned: \"a b\" is no host name",
		"network: {dns: [192.0.2.1]}\n":                                 `line 1: "dns" is not something it knows`,
		"network: {floor: {rules: [allow *]}}\n":                        `line 1: "floor" is not something it knows`,
		"network: {rules: [" + strings.Repeat("deny x,", 1001) + "]}\n": "line 1: rules: there are 1001, and 1000 is the most",
	} {
		c, err := parseProject("forkbox.yaml", []byte(text))
		malformed(t, "forkbox.yaml", text, want, c, err)
	}
}

func malformed(t *testing.T, file, text, want string, got any, err error) {
	t.Helper()
	if forkbox.CodeOf(err) != forkbox.Invalid || !strings.HasPrefix(err.Error(), "cannot read "+file+": line ") || !strings.Contains(err.Error(), want) {
		t.Errorf("%.80q: %+v, %v\nwant %s", text, got, err, want)
	}
}

// TestProjectNet: a project's file is read as what the project asks for, and
// nothing of it is lost on the way.
func TestProjectNet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "forkbox.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("limits: {memory: 1g}\nnetwork:\n  net: policy\n  preset: locked\n  rules: [\"allow  GET api.Example.com:443/x\", deny y.example]\n  host-ports: [5432]\n  secrets: [TOKEN]\n  terminate: ['*.t.example']\n  pinned: [p.example]\n")
	mode, wish, err := LoadProjectNet(file)
	want := &forkbox.NetWish{Preset: "locked", Rules: []string{"allow GET api.example.com:443/x", "deny y.example"}, HostPorts: []int{5432}, Secrets: []string{"TOKEN"},
		Terminate: []string{"*.t.example"}, Pinned: []string{"p.example"}}
	if err != nil || mode != forkbox.NetPolicy || !reflect.DeepEqual(wish, want) {
		t.Errorf("%s %+v, %v", mode, wish, err)
	}
	if limits, err := LoadProject(file); err != nil || limits[forkbox.Memory] != 1<<30 {
		t.Error(limits, err)
	}
	write("limits: {memory: 1g}\n")
	if mode, wish, err := LoadProjectNet(file); mode != "" || wish != nil || err != nil {
		t.Errorf("%s %+v, %v", mode, wish, err)
	}
	write("network: {net: none}\n")
	if mode, wish, err := LoadProjectNet(file); mode != forkbox.NetNone || wish == nil || err != nil {
		t.Errorf("%s %+v, %v", mode, wish, err)
	}
	write("network: {net: host}\n")
	if _, _, err := LoadProjectNet(file); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Error(err)
	}
	if _, err := LoadProject(file); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Error(err)
	}
	write("network: {net: none}\n")
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := LoadProjectNet(file); forkbox.CodeOf(err) != forkbox.Denied {
		t.Error(err)
	}
}

// TestGateLimits: forkbox itself counts what goes through a gate.
func TestGateLimits(t *testing.T) {
	for _, r := range []forkbox.Resource{forkbox.Bandwidth, forkbox.Connections} {
		p, err := Builtin().Resolve(Request{Owner: alice, Wish: forkbox.Wish{Limits: forkbox.Limits{r: 1 << 20}}})
		if err != nil || p[r].How != forkbox.Enforced {
			t.Errorf("%s: %+v, %v", r, p[r], err)
		}
	}
}
