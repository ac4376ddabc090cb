package policy

import (
	"net/netip"
	"strconv"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/rules"
	"go.yaml.in/yaml/v3"
)

// Network is what config.yaml says of the networks of boxes.
type Network struct {
	// Floor has to allow what any box reaches; without rules there is none.
	Floor []forkbox.NetRule
	// DNS are the servers that names are resolved at, instead of the host's.
	DNS []netip.AddrPort
	// Default is for boxes for which nothing was asked: none or policy.
	Default forkbox.Net
	// Preset is for those for which none was named.
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

// projectNetwork is what a project's file says of the network.
type projectNetwork struct {
	said bool // there is such a section
	mode forkbox.Net
	wish forkbox.NetWish
}

// LoadProjectNet reads what a project's file says of the network: the mode, ""
// if it does not say, and the rest as the Project of a [forkbox.NetWish], nil if
// there is no such section. What is true of [LoadProject] is true of it.
func LoadProjectNet(file string) (forkbox.Net, *forkbox.NetWish, error) {
	read, err := loadProject(file)
	if err != nil || !read.network.said {
		return "", nil, err
	}
	return read.network.mode, &read.network.wish, nil
}

// projectNetwork reads the section. Whether the project may have what it asks
// for is for the daemon to say.
func (p page) projectNetwork(into *projectNetwork) field {
	wish := &into.wish
	known := map[string]field{
		"net":        p.mode(&into.mode),
		"preset":     p.preset(&wish.Preset),
		"rules":      func(n *yaml.Node) (err error) { wish.Rules, err = p.rules(n); return err },
		"host-ports": p.ports(&wish.HostPorts),
		"secrets":    p.checked(&wish.Secrets, "secrets", rules.CheckSecret),
		"terminate":  p.checked(&wish.Terminate, "terminate", checkHost),
		"pinned":     p.checked(&wish.Pinned, "pinned", checkHost),
	}
	return func(n *yaml.Node) error {
		into.said = true
		return p.fields(n, known)
	}
}

func checkHost(text string) error {
	_, err := rules.ParseHost(text)
	return err
}

// mode is none or policy. A file cannot give a box the host's own network: that
// is for an owner to type who knows what it means.
func (p page) mode(into *forkbox.Net) field {
	return func(n *yaml.Node) error {
		text, err := p.text(n)
		if err != nil {
			return err
		}
		switch mode := forkbox.Net(text); mode {
		case forkbox.NetNone, forkbox.NetPolicy:
			*into = mode
			return nil
		case forkbox.NetHost:
			return p.malformed(n, "a file cannot give boxes the host's network").Hint("--net host gives it to one")
		}
		return p.malformed(n, "%q is no network that a file can give", text).Hint("there are none and policy")
	}
}

func (p page) preset(into *string) field {
	return func(n *yaml.Node) error {
		text, err := p.text(n)
		if err != nil {
			return err
		}
		if err := rules.CheckPreset(text); err != nil {
			return p.at(n, "preset", err)
		}
		*into = text
		return nil
	}
}

func (p page) ports(into *[]int) field {
	return func(n *yaml.Node) error {
		return p.items(n, "host-ports", func(item *yaml.Node, text string) error {
			port, err := strconv.ParseUint(text, 10, 16)
			if err != nil || port == 0 || strconv.FormatUint(port, 10) != text {
				return p.malformed(item, "host-ports: %q is no port", text)
			}
			*into = append(*into, int(port))
			return nil
		})
	}
}

func (p page) checked(into *[]string, key string, check func(string) error) field {
	return func(n *yaml.Node) error {
		return p.items(n, key, func(item *yaml.Node, text string) error {
			if err := check(text); err != nil {
				return p.at(item, key, err)
			}
			*into = append(*into, text)
			return nil
		})
	}
}
