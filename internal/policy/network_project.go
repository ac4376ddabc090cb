package policy

import (
	"go.yaml.in/yaml/v3"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/rules"
)

// ProjectNetwork is what a project's file says of the network.
type ProjectNetwork struct {
	Said bool // there is such a section
	Mode forkbox.Net
	Wish forkbox.NetWish
}

// LoadProjectNet reads what a project's file says of the network: the mode, ""
// if it does not say, and the rest as the Project of a [forkbox.NetWish], nil if
// there is no such section. What is true of [LoadProject] is true of it.
func LoadProjectNet(file string) (forkbox.Net, *forkbox.NetWish, error) {
	read, err := loadProject(file)
	if err != nil || !read.Network.Said && len(read.LetIn) == 0 {
		return "", nil, err
	}
	read.Network.Wish.LetIn = read.LetIn
	return read.Network.Mode, &read.Network.Wish, nil
}

// networkWish reads the section. Whether the project may have what it asks
// for is for the daemon to say.
func (p page) networkWish(into *ProjectNetwork) field {
	wish := &into.Wish
	known := map[string]field{
		"net":        p.mode(&into.Mode),
		"preset":     p.preset(&wish.Preset),
		"rules":      func(n *yaml.Node) (err error) { wish.Rules, err = p.rules(n); return err },
		"host-ports": p.ports(&wish.HostPorts, "host-ports"),
		"secrets":    p.checked(&wish.Secrets, "secrets", rules.CheckSecret),
		"terminate":  p.checked(&wish.Terminate, "terminate", checkHost),
		"pinned":     p.checked(&wish.Pinned, "pinned", checkHost),
	}
	return func(n *yaml.Node) error {
		into.Said = true
		return p.fields(n, known)
	}
}

func checkHost(text string) error {
	_, err := rules.ParseHost(text)
	return err
}

// mode is none or policy. A file cannot give a box the host's own network: that
// is for a user to type who knows what it means.
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

func (p page) ports(into *[]int, key string) field {
	return func(n *yaml.Node) error {
		return p.items(n, key, func(item *yaml.Node, _ string) error {
			port, err := p.port(item, key)
			*into = append(*into, port)
			return err
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
