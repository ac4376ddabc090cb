package network

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/intercept"
	"github.com/forkbox/forkbox/internal/network/rules"
	"github.com/forkbox/forkbox/internal/network/vault"
)

// Prepare gives a box placeholders for its secrets and, where TLS ends at its
// gate for some host, a certificate authority. What it has stays.
func (h *House) Prepare(box *forkbox.Box) error {
	if box.Net != forkbox.NetPolicy {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(box.Network.Secrets)) {
		if box.Network.Secrets[name] != "" {
			continue // it may be gone: who revokes one wants to change rules next
		}
		_, value, err := h.Vault.Get(box.Owner.UID, name)
		clear(value)
		if err != nil {
			return err
		}
		box.Network.Secrets[name] = vault.Placeholder()
	}
	if err := h.checkPinned(*box); err != nil {
		return err
	}
	rules := box.Network.Rules
	if box.State != forkbox.Running { // which a floor that came later does not keep from being changed
		rules = slices.Concat(rules, h.terms.Load().Floor)
	}
	if box.Network.CA != "" || !ends(box.Network, rules) {
		return nil
	}
	if box.State == forkbox.Running {
		return forkbox.Errorf(forkbox.Busy, "have TLS end at the box's gate", "the programs that run in the box would not trust it").
			Hint("stop it first: forkbox stop %s", box.Name)
	}
	return h.makeAuthority(box)
}

// ends says whether TLS may end at the gate of a box that has these rules.
func ends(n forkbox.Network, list []forkbox.NetRule) bool {
	if len(n.Secrets) > 0 || len(n.Terminate) > 0 {
		return true
	}
	return slices.ContainsFunc(list, func(r forkbox.NetRule) bool {
		rule, err := rules.Parse(r.Rule)
		return err == nil && (len(rule.Methods) > 0 || rule.Path != "")
	})
}

// checkPinned refuses a secret for a host whose TLS must not end at the gate:
// it could never be put in.
func (h *House) checkPinned(box forkbox.Box) error {
	bound, err := h.boundHosts(box)
	if err != nil {
		return err
	}
	for _, host := range bound {
		if slices.ContainsFunc(box.Network.Pinned, func(pattern string) bool { return pins(pattern, host) }) {
			return forkbox.Errorf(forkbox.Invalid, "use a secret for "+host, "it is pinned: TLS to it does not end at the gate").
				Hint("leave out --pinned %s, or the secret", host)
		}
	}
	return nil
}

// pins says whether a host of a secret's, or each that it stands for, is pinned.
func pins(pattern, host string) bool {
	pattern, err := rules.ParseHost(pattern)
	below, glob := strings.CutPrefix(pattern, "*")
	return err == nil && (pattern == host || glob && strings.HasSuffix(host, below))
}

// boundHosts are those that a box's secrets are for. A secret that is gone is
// for none: the box has a placeholder that is worth nothing.
func (h *House) boundHosts(box forkbox.Box) (hosts []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(box.Network.Secrets)) {
		s, value, err := h.Vault.Get(box.Owner.UID, name)
		clear(value)
		switch {
		case err == nil:
			hosts = append(hosts, s.Hosts...)
		case forkbox.CodeOf(err) != forkbox.NotFound:
			return nil, err
		}
	}
	return hosts, nil
}

// secrets are the box's, as they are now: one that was set anew counts from the
// next request on.
func (g *boxGate) secrets() (list []intercept.Secret) {
	box := g.box.Load()
	for name, placeholder := range box.Network.Secrets {
		s, value, err := g.house.Vault.Get(box.Owner.UID, name)
		if err == nil {
			list = append(list, intercept.Secret{Name: name, Hosts: s.Hosts, Placeholder: placeholder, Value: value})
		}
	}
	return list
}

func (h *House) keyFile(id string) string { return filepath.Join(h.Dir, id+".key") }

func (h *House) makeAuthority(box *forkbox.Box) error {
	cert, key, err := intercept.NewCA(box.Name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(h.Dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(h.keyFile(box.ID), key, 0o600); err != nil {
		return forkbox.Wrap("keep the key of the box's certificate authority", err)
	}
	box.Network.CA = cert
	return nil
}

// authority is the box's; one for the moment where it has none, and so no TLS
// that ends here: what is read then is plain HTTP.
func (h *House) authority(box forkbox.Box) (*intercept.CA, error) {
	if box.Network.CA == "" {
		cert, key, err := intercept.NewCA(box.Name)
		if err != nil {
			return nil, err
		}
		return intercept.LoadCA(cert, key)
	}
	key, err := os.ReadFile(h.keyFile(box.ID))
	if err != nil {
		return nil, err
	}
	return intercept.LoadCA(box.Network.CA, key)
}

// Remove deletes what Prepare made.
func (h *House) Remove(box forkbox.Box) error {
	if err := os.Remove(h.keyFile(box.ID)); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Environment is what execs of a box need.
func (h *House) Environment(box forkbox.Box) []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(box.Network.Secrets)) {
		env = append(env, name+"="+box.Network.Secrets[name])
	}
	if box.Network.CA != "" {
		had := func(name string) string { return lookup(box.Env, name) }
		for name, value := range intercept.Environment(trustFiles(), had) {
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env)
	return env
}

func lookup(env []string, name string) string {
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}
