package flags

import (
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/network/rules"
)

type netPreset string

func (p *netPreset) Set(text string) error { return OneOf((*string)(p), text, presets...) }
func (p *netPreset) String() string        { return string(*p) }
func (*netPreset) Type() string            { return "preset" }

// ruleValue is --allow or --deny. Both add to one list: the order between them
// decides.
type ruleValue struct {
	word string
	into *[]string
}

func (v ruleValue) Set(text string) error {
	rule, err := ParseRule(v.word, text)
	if err == nil {
		*v.into = append(*v.into, rule)
	}
	return err
}

func (v ruleValue) String() string {
	if v.into == nil {
		return ""
	}
	var mine []string
	for _, rule := range *v.into {
		if target, ok := strings.CutPrefix(rule, v.word+" "); ok {
			mine = append(mine, target)
		}
	}
	return strings.Join(mine, " ")
}

func (ruleValue) Type() string { return "rule" }

// ParseRule is what follows "allow" or "deny", understood before anything is
// made, in its one spelling.
func ParseRule(word, target string) (string, error) {
	rule, err := rules.Parse(word + " " + target)
	if err != nil {
		return "", err
	}
	return rule.String(), nil
}

// PortsValue is a list of ports of the host.
type PortsValue []int

func (p *PortsValue) Set(text string) error {
	port, err := ParsePort(text)
	if err == nil && !slices.Contains(*p, port) {
		*p = append(*p, port)
	}
	return err
}

func (p *PortsValue) String() string { return terminal.JoinPorts(*p) }
func (*PortsValue) Type() string     { return "port" }

// ParsePort reads the number of a port.
func ParsePort(text string) (int, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, forkbox.Errorf(forkbox.Invalid, "read a port", "%q is no number from 1 to 65535", text)
	}
	return int(port), nil
}

// secretsValue is a list of names of secrets.
type secretsValue []string

func (s *secretsValue) Set(text string) error {
	if err := rules.CheckSecret(text); err != nil {
		return err
	}
	if !slices.Contains(*s, text) {
		*s = append(*s, text)
	}
	return nil
}

func (s *secretsValue) String() string { return strings.Join(*s, " ") }
func (*secretsValue) Type() string     { return "name" }
