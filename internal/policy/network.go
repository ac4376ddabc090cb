package policy

import (
	"net/netip"

	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/rules"
)

// Network is what config.yaml says of the networks of boxes.
type Network struct {
	// Floor has to allow what any box reaches; without rules there is none.
	Floor []forkbox.NetRule
	// DNS are the servers that names are resolved at, instead of the host's.
	DNS []netip.AddrPort
	// Default is for boxes for which no network was chosen: none or policy.
	Default forkbox.Net
	// Preset is for those for which no preset was chosen.
	Preset string
	// Project is what a project's file may ask for by itself.
	Project rules.Project
	// URLs is the loopback address at which `forkbox open` serves boxes' ports;
	// empty: the usual one.
	URLs string
}

func (p page) network(into *Network) field {
	known := map[string]field{
		"floor":   p.floor(&into.Floor),
		"dns":     p.servers(&into.DNS),
		"default": p.mode(&into.Default),
		"preset":  p.preset(&into.Preset),
		"project": p.projectMay(&into.Project),
		"urls":    p.loopback(&into.URLs),
	}
	return func(n *yaml.Node) error { return p.fields(n, known) }
}

// floor reads {rules: […]}. An empty list is a mistake: some would take it for
// no floor and some for one that allows nothing.
func (p page) floor(into *[]forkbox.NetRule) field {
	return func(n *yaml.Node) error {
		return p.fields(n, map[string]field{"rules": func(n *yaml.Node) error {
			*into = nil
			texts, err := p.rules(n)
			if err == nil && len(texts) == 0 {
				return p.malformed(n, "rules: there is none").Hint("leave \"floor\" out to have none; \"deny *\" allows nothing")
			}
			for _, text := range texts {
				*into = append(*into, forkbox.NetRule{Rule: text, From: fromHost})
			}
			return err
		}})
	}
}

// rules are in their one way of writing.
func (p page) rules(n *yaml.Node) ([]string, error) {
	var all []string
	err := p.items(n, "rules", func(item *yaml.Node, text string) error {
		r, err := rules.Parse(text)
		if err != nil {
			return p.at(item, "rules", err)
		}
		all = append(all, r.String())
		return nil
	})
	return all, err
}

// servers are addresses, with port 53 if they have none.
func (p page) servers(into *[]netip.AddrPort) field {
	return func(n *yaml.Node) error {
		*into = nil
		return p.items(n, "dns", func(item *yaml.Node, text string) error {
			at, err := netip.ParseAddrPort(text)
			if addr, bare := netip.ParseAddr(text); bare == nil {
				at, err = netip.AddrPortFrom(addr, 53), nil
			}
			if err != nil || at.Port() == 0 || at.Addr().IsUnspecified() || at.Addr().IsMulticast() {
				return p.malformed(item, "dns: %q is no address of a server", text).Hint("for example 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53")
			}
			*into = append(*into, at)
			return nil
		})
	}
}

func (p page) projectMay(may *rules.Project) field {
	known := map[string]field{"host-ports": p.yes(&may.HostPorts), "secrets": p.yes(&may.Secrets), "private": p.yes(&may.Private)}
	return func(n *yaml.Node) error { return p.fields(n, known) }
}

// loopback is an address and port. What boxes serve is for this machine alone:
// it has no password.
func (p page) loopback(into *string) field {
	return func(n *yaml.Node) error {
		text, err := p.text(n)
		if err != nil {
			return err
		}
		at, err := netip.ParseAddrPort(text)
		if err != nil || !at.Addr().IsLoopback() {
			return p.malformed(n, "urls: %q is no loopback address with a port", text).Hint("for example 127.0.0.1:7357")
		}
		*into = at.String()
		return nil
	}
}
