package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/config"
	"github.com/forkbox/forkbox/internal/hostload"
	"github.com/forkbox/forkbox/internal/network"
	"github.com/forkbox/forkbox/internal/network/ingress"
	"github.com/forkbox/forkbox/internal/network/rules"
	"github.com/forkbox/forkbox/internal/policy"
	"github.com/forkbox/forkbox/internal/storage/layers"
)

// probe sees whether a key takes effect: see asks who uses it, and has to get
// another answer with the value than without.
type probe struct {
	value string // the key's example if empty
	see   func(*testing.T, *configuration) any
	// with is what else the file has, in both cases.
	with string
}

var alice = forkbox.Owner{UID: 1000, Name: "alice"}

// probes are by key. A key without one fails the test.
func probes() map[string]probe {
	all := map[string]probe{
		"serve.idle": {see: func(_ *testing.T, c *configuration) any { return (&Daemon{OnDemand: true}).idle(c) }},
		"log.level": {see: func(_ *testing.T, c *configuration) any {
			var written bytes.Buffer
			log := (&Daemon{Stderr: &written}).logger(&c.level, c.now.Log.Format)
			log.Debug("a word")
			return written.Len() > 0
		}},
		"log.format": {value: "text", see: func(_ *testing.T, c *configuration) any {
			var written bytes.Buffer
			(&Daemon{Stderr: &written}).logger(&c.level, c.now.Log.Format).Info("a word")
			return json.Valid(written.Bytes())
		}},
		"serve.heartbeat": {value: "3s", see: func(_ *testing.T, c *configuration) any { return c.started.Serve.Heartbeat }},
		"traces.endpoint": {see: collects},
		"traces.headers":  {with: tracesWith, see: collects},
		"traces.sample":   {value: "0%", with: tracesWith, see: collects},
		"undo.age":        {value: "1d", see: func(_ *testing.T, c *configuration) any { return engineConfig(c.now.Settings).UndoAge }},
		"undo.size":       {value: "1g", see: func(_ *testing.T, c *configuration) any { return engineConfig(c.now.Settings).UndoSize }},
		"store.layers":    {value: "copy", see: driverOf},
		"store.ledger":    {value: lastWord("store.ledger"), see: func(t *testing.T, c *configuration) any { return ledgerOf(t, c.now.Settings) }},
		"serve.provider":  {value: lastWord("serve.provider"), see: func(t *testing.T, c *configuration) any { return providerOf(t, c.now.Settings) }},
		"users.NAME":      {value: "{}", with: "  \"*\": {limits: {memory: 1g}}\n", see: floor(forkbox.Memory)},

		"users.NAME.quota.boxes":    {value: "3", see: admits(forkbox.Committed{ByUser: map[int]forkbox.UserCommitted{1000: {Boxes: 3}}}, forkbox.Want{New: true})},
		"users.NAME.quota.running":  {value: "3", see: admits(forkbox.Committed{ByUser: map[int]forkbox.UserCommitted{1000: {Running: 3}}}, forkbox.Want{Start: true})},
		"users.NAME.quota.memory":   {see: floor(forkbox.Memory)},
		"users.NAME.quota.cpus":     {see: floor(forkbox.CPUs)},
		"users.NAME.quota.disk":     {see: floor(forkbox.Disk)},
		"admission.running":         {see: admits(forkbox.Committed{Running: 64}, forkbox.Want{Start: true})},
		"admission.memory":          {value: "1g", see: admits(forkbox.Committed{}, forkbox.Want{Start: true, Policy: forkbox.Policy{forkbox.Memory: {Value: 2 << 30}}})},
		"admission.cpus":            {value: "1", see: admits(forkbox.Committed{}, forkbox.Want{Start: true, Policy: forkbox.Policy{forkbox.CPUs: {Value: 2000}}})},
		"admission.pressure.cpu":    {value: "20", see: admits(forkbox.Committed{Running: 1}, forkbox.Want{Start: true})},
		"admission.pressure.memory": {value: "20", see: admits(forkbox.Committed{Running: 1}, forkbox.Want{Start: true})},
		"admission.pressure.io":     {value: "20", see: admits(forkbox.Committed{Running: 1}, forkbox.Want{Start: true})},
		"admission.wait":            {value: "7m", see: func(_ *testing.T, c *configuration) any { return newPolicies(c.now.Policy, "/").Patience() }},
		"reserve.memory":            {value: "12g", see: admits(forkbox.Committed{}, forkbox.Want{Start: true})},
		"reserve.disk":              {value: "95%", see: admits(forkbox.Committed{Running: 1}, forkbox.Want{New: true})},

		"network.floor.rules":        {value: "[deny good.example.com, 'allow *']", see: explains},
		"network.default":            {see: resolves("", forkbox.NetWish{})},
		"network.preset":             {value: "open", see: resolves("policy", forkbox.NetWish{})},
		"network.project.host-ports": {see: resolves("policy", forkbox.NetWish{Project: &forkbox.NetWish{HostPorts: []int{5432}}})},
		"network.project.secrets":    {see: resolves("policy", forkbox.NetWish{Project: &forkbox.NetWish{Secrets: []string{"TOKEN"}}})},
		"network.project.private":    {see: resolves("policy", forkbox.NetWish{Project: &forkbox.NetWish{Rules: []string{"allow 10.0.0.0/8"}}})},
		"network.dns":                {see: asksServer},
		"network.urls":               {value: `"127.0.0.9:0"`, see: servesURLs},
	}
	for key, p := range reachProbes() {
		all[key] = p
	}
	for _, key := range []string{"applied", "discarded", "lost", "failed", "untouched", "unreviewed", "max-size"} {
		value := "3d"
		if key == "max-size" {
			value = "3G"
		}
		all["retention."+key] = probe{value: value, see: func(_ *testing.T, c *configuration) any { return engineConfig(c.now.Settings).Retention.Get(key) }}
	}
	for _, r := range forkbox.Resources {
		all["limits."+string(r)] = probe{see: floor(r)}
		all["users.NAME.limits."+string(r)] = probe{see: floor(r)}
		all["defaults."+string(r)] = probe{see: resolved(r)}
	}
	return all
}

// tracesWith names a collector that does not listen.
const tracesWith = "  endpoint: http://127.0.0.1:1\n"

// collects is what a collector would be sent: a request's span, and the headers.
func collects(t *testing.T, c *configuration) any {
	tracer, err := openTracer(c.now.Traces, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closeTracer(tracer)
	_, span := tracer.Begin(t.Context(), "x", "")
	if tracer == nil {
		return nil
	}
	return fmt.Sprint(span != nil, tracer.Headers)
}

// floor is what a user gets who asks for all there is.
func floor(r forkbox.Resource) func(*testing.T, *configuration) any {
	return func(t *testing.T, c *configuration) any {
		p, err := newPolicies(c.now.Policy, "/").Resolve(alice, forkbox.Wish{Project: forkbox.Limits{r: forkbox.Unlimited}, BestEffort: true}, nil, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		return p[r].Value
	}
}

// resolved is what a user gets who says nothing.
func resolved(r forkbox.Resource) func(*testing.T, *configuration) any {
	return func(t *testing.T, c *configuration) any {
		p, err := newPolicies(c.now.Policy, "/").Resolve(alice, forkbox.Wish{}, nil, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		return p[r]
	}
}

// admits asks for a place on a host that is a little busy.
func admits(now forkbox.Committed, want forkbox.Want) func(*testing.T, *configuration) any {
	want.Owner = alice
	waits := forkbox.Pressure{Some10: 30}
	load := hostload.Load{
		MemTotal: 16 << 30, MemAvailable: 8 << 30, DiskTotal: 1 << 40, DiskFree: 1 << 39,
		Pressure: map[string]forkbox.Pressure{"cpu": waits, "memory": waits, "io": waits},
	}
	return func(_ *testing.T, c *configuration) any { return c.now.Policy.Admit(load, now, want).OK }
}

func driverOf(t *testing.T, c *configuration) any {
	home := t.TempDir()
	k := newKeeper(home, c.now.Settings, nil)
	store, err := layers.OpenIn(home, home, k.settings.Store.Layers)
	if err != nil {
		t.Fatal(err)
	}
	name, _ := store.Driver()
	return name
}

func houseOf(t *testing.T, c *configuration) *network.House {
	k := newKeeper(t.TempDir(), c.now.Settings, nil)
	k.found = func() []forkbox.NetRule { return nil }
	return network.New(network.Config{Terms: k.terms(c.now.Policy.Network), Log: slog.New(slog.DiscardHandler)})
}

// resolves is the network that a box gets.
func resolves(asked string, wish forkbox.NetWish) func(*testing.T, *configuration) any {
	return func(t *testing.T, c *configuration) any {
		mode, n, err := houseOf(t, c).Resolve(alice, asked, wish)
		return fmt.Sprint(mode, n.Rules, n.HostPorts, n.Secrets, err)
	}
}

func explains(t *testing.T, c *configuration) any {
	box := forkbox.Box{Name: "b", Net: forkbox.NetPolicy, Network: forkbox.Network{Rules: []forkbox.NetRule{{Rule: "allow good.example.com"}}}}
	v, err := houseOf(t, c).Explain(t.Context(), box, "good.example.com:443")
	if err != nil {
		t.Fatal(err)
	}
	return v.Allowed
}

// asksServer has a server of its own among those of the file answer.
func asksServer(t *testing.T, c *configuration) any {
	if len(c.now.Policy.Network.DNS) == 0 {
		return "the host's"
	}
	at, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: at, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, m *dns.Msg) {
		answer, _ := dns.NewRR(m.Question[0].Name + " 60 IN A 203.0.113.7")
		reply := new(dns.Msg).SetReply(m)
		reply.Answer = []dns.RR{answer}
		_ = w.WriteMsg(reply)
	})}
	go func() { _ = server.ActivateAndServe() }()
	defer at.Close()
	n := c.now.Policy.Network
	n.DNS[0] = at.LocalAddr().(*net.UDPAddr).AddrPort()
	reply, err := resolver(n).Lookup(t.Context(), "name.example.com", dns.TypeA)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(reply.Addrs)
}

// servesURLs says where a URL of a box leads: to an address that no other has.
func servesURLs(t *testing.T, c *configuration) any {
	in := ingress.New(ingressConfig(c.now.Policy.Network, slog.New(slog.DiscardHandler)))
	defer in.Shutdown()
	url, err := in.URL(forkbox.Box{ID: "1", Name: "b", Owner: alice}, 80, func(context.Context, int) (net.Conn, error) { return nil, net.ErrClosed })
	if err != nil {
		t.Fatal(err)
	}
	port := url[strings.LastIndex(strings.TrimSuffix(url, "/"), ":")+1:]
	conn, err := net.Dial("tcp", "127.0.0.9:"+strings.TrimSuffix(port, "/"))
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// TestEveryKeyTakesEffect: what the manual lists does something.
func TestEveryKeyTakesEffect(t *testing.T) {
	known := probes()
	for _, k := range config.Keys() {
		if k.Of != config.OfConfig {
			continue
		}
		p, has := known[k.Name]
		if !has {
			t.Errorf("%s has no probe: is it used?", k.Name)
			continue
		}
		delete(known, k.Name)
		if len(wordsOf(k)) == 1 {
			continue // so far; TestConfigurationChoosesBackends has the daemon asked for others
		}
		t.Run(k.Name, func(t *testing.T) {
			if p.value == "" {
				p.value = k.Kind.Example
			}
			without, with := p.see(t, configured(t, k, p, "", nil)), p.see(t, configured(t, k, p, p.value, nil))
			if reflect.DeepEqual(without, with) {
				t.Errorf("with %s: %v, and without: %v", p.value, with, without)
			}
			if k.Env == "" {
				return
			}
			text := p.value
			if word, isOne := strings.CutPrefix(k.Name, "retention."); isOne {
				text = word + "=" + text
			}
			if by := p.see(t, configured(t, k, p, "", map[string]string{k.Env: text})); !reflect.DeepEqual(by, with) {
				t.Errorf("%s=%s: %v, and the key: %v", k.Env, text, by, with)
			}
		})
	}
	for name := range known {
		t.Errorf("there is a probe for %s, which is no key", name)
	}
}

// configured is a daemon's configuration with a value, or without, in a file.
func configured(t *testing.T, k *config.Key, p probe, value string, env map[string]string) *configuration {
	t.Helper()
	words := strings.Split(strings.Replace(k.Name, "NAME", "alice", 1), ".")
	text := words[0] + ":\n" + p.with
	for i, word := range words[1:] {
		text += strings.Repeat("  ", i+1) + word + ":\n"
	}
	if value == "" {
		text = words[0] + ":\n" + p.with
	} else {
		text = strings.TrimSuffix(text, "\n") + " " + value + "\n"
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	look := func(name string) (string, bool) {
		if name == "FORKBOX_CONFIG" {
			return file, true
		}
		v, has := env[name]
		return v, has
	}
	c, err := loadConfig(config.Options{Env: look})
	if err != nil {
		t.Fatalf("%s%v", text, err)
	}
	return c
}

// TestEveryProjectKeyTakesEffect: the same for a project's file, which the
// command line reads and the daemon decides about.
func TestEveryProjectKeyTakesEffect(t *testing.T) {
	all := rules.Host{Project: rules.Project{HostPorts: true, Secrets: true, Private: true}}
	see := func(text string) string {
		file := filepath.Join(t.TempDir(), "forkbox.yaml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		limits, err := policy.LoadProject(file)
		if err != nil {
			t.Fatalf("%s%v", text, err)
		}
		mode, wish, err := policy.LoadProjectNet(file)
		if err != nil {
			t.Fatal(err)
		}
		held, err := newPolicies(policy.Builtin(), "/").Resolve(alice, forkbox.Wish{Project: limits, BestEffort: true}, nil, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		n, err := rules.Resolve(forkbox.NetWish{Project: wish}, all)
		services, wrong := policy.LoadProjectServices(file)
		if wrong != nil {
			t.Fatal(wrong)
		}
		// What these do to a box is for TestServices… in cmd/forkbox to see.
		asked, wrong := json.Marshal(services)
		if wrong != nil {
			t.Fatal(wrong)
		}
		return fmt.Sprint(held, mode, n, err, string(asked))
	}
	without := see("")
	for _, k := range config.Keys() {
		if k.Of != config.OfProject {
			continue
		}
		text, indent := "", ""
		for word := range strings.SplitSeq(strings.Replace(k.Name, "NAME", "web", 1), ".") {
			text, indent = text+"\n"+indent+word+":", indent+"  "
		}
		if with := see(text + " " + k.Kind.Example + "\n"); with == without {
			t.Errorf("%s: %s does nothing", k.Name, k.Kind.Example)
		}
	}
}

// TestEveryVariableTakesEffect: those without a key. What sets or reads one is
// here, or is named with the test that sees it.
func TestEveryVariableTakesEffect(t *testing.T) {
	tests := map[string]string{
		"FORKBOX_PAGER":     "../cli/terminal/pager_test.go",
		"FORKBOX_HOST":      "../cli/hosts/contexts_test.go",
		"FORKBOX_TOKEN":     "../cli/hosts/contexts_test.go",
		"FORKBOX_TRANSPORT": "../../cmd/forkbox/conform_test.go",
		"FORKBOX_RACE":      "../race/course_test.go",
		"FORKBOX_APPROACH":  "../race/course_test.go",
		"FORKBOX_SEED":      "../../cmd/forkbox/race_spec_test.go",
		"FORKBOX_PROMPT":    "../../cmd/forkbox/race_spec_test.go",
		"FORKBOX_EXEC":      "../provider/native/limits_test.go TestKillReachesWhatHid", // which finds it by that
		"FORKBOX_CONFIG":    "../config/load_test.go",
	}
	asks := map[string]func() string{"FORKBOX_HOME": client.DefaultHome, "FORKBOX_SOCKET": client.DefaultSocket}
	for _, v := range config.Variables() {
		if v.Key != "" {
			continue // it has the probe of its key
		}
		if ask := asks[v.Name]; ask != nil {
			t.Setenv(v.Name, "/some/where")
			if got := ask(); got != "/some/where" {
				t.Errorf("%s: %s", v.Name, got)
			}
			continue
		}
		if _, err := os.Stat("../config"); err != nil {
			continue // the sources are not beside a test that another user runs
		}
		file, word, other := strings.Cut(tests[v.Name], " ")
		if !other {
			word = v.Name
		}
		if text, err := os.ReadFile(file); err != nil || !bytes.Contains(text, []byte(word)) {
			t.Errorf("%s has no test: %v", v.Name, err)
		}
	}
}
