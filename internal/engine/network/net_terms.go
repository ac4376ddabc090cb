package network

import (
	"errors"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/spelling"
)

// Terms are the network that a box is made with.
type Terms struct {
	Net     forkbox.Net
	Network forkbox.Network
	Note    string // what its owner should know of it
}

// What the note of a box says of its network as long as the box lives.
const (
	SharesNote = "it shares the host's network"
	noNetNote  = "it has no network: "
)

// Origin is the network of what a box is forked from.
type Origin struct {
	word  string // as it is asked for: a mode, or a team
	asked *forkbox.NetWish
}

// Inherited is what of a network others can begin with: not what was made for
// one box only.
func Inherited(n forkbox.Network) forkbox.Network {
	n = Clone(n)
	n.CA, n.Ports = "", nil
	for name := range n.Secrets {
		n.Secrets[name] = ""
	}
	return n
}

// OriginOf is the network that a fork of a box inherits.
func OriginOf(mode forkbox.Net, n forkbox.Network) *Origin {
	word := string(mode)
	if n.Team != "" {
		word = forkbox.TeamPrefix + n.Team
	}
	return &Origin{word, n.Asked}
}

// heir is what a fork gets: what was asked for the origin, unless it is said
// otherwise.
func (o *Origin) heir(word string, wish forkbox.NetWish) (string, forkbox.NetWish) {
	if o == nil {
		return word, wish
	}
	word = core.OrElse(word, o.word)
	if o.asked == nil || ungated(word) {
		return word, wish
	}
	return word, netOver(*o.asked, wish)
}

// NetTerms resolves the network of a new box.
func (m *Manager) NetTerms(who forkbox.Owner, word string, wish forkbox.NetWish, from *Origin) (*Terms, error) {
	word, wish = from.heir(word, wish)
	if word == "" && asksNet(wish) {
		word = string(forkbox.NetPolicy) // whatever the host's default is
	}
	if err := CheckWish(word, wish); err != nil {
		return nil, err
	}
	t, err := m.resolveNet(who, word, wish)
	if err == nil {
		err = m.supports(t.Net)
	}
	// No caller asked, so that none relies on it. To have less is said, and no
	// danger; one that was asked for is an error.
	if forkbox.CodeOf(err) == forkbox.Unsupported && word == "" {
		return &Terms{Net: forkbox.NetNone, Note: noNetNote + whyOf(err)}, nil
	}
	if err != nil {
		return nil, forkbox.Wrap("choose the network", err)
	}
	if t.Net == forkbox.NetHost {
		t.Note = SharesNote
	}
	return t, nil
}

// resolveNet asks for what holds, and takes nothing wider than what was asked.
func (m *Manager) resolveNet(who forkbox.Owner, word string, wish forkbox.NetWish) (*Terms, error) {
	const op = "choose the network"
	if m.networks == nil {
		return withoutGates(word, wish)
	}
	mode, network, err := m.networks.Resolve(who, word, wish)
	if err != nil {
		return nil, err
	}
	if !fits(word, mode) {
		return nil, forkbox.Errorf(forkbox.Internal, op, "%q was asked for, and it became %q", word, mode)
	}
	network.Team, network.Ports, network.Asked = teamOf(word), nil, nil
	if mode == forkbox.NetPolicy && !emptyNet(wish) {
		asked := cloneWish(wish)
		network.Asked = &asked
	}
	return &Terms{Net: mode, Network: network}, nil
}

// withoutGates is what an engine without Networks can give.
func withoutGates(word string, wish forkbox.NetWish) (*Terms, error) {
	if word == "" && !asksNet(wish) {
		return &Terms{Net: forkbox.NetNone}, nil
	}
	if ungated(word) {
		return &Terms{Net: forkbox.Net(word)}, nil
	}
	return nil, forkbox.Errorf(forkbox.Unsupported, "choose the network", "this daemon opens no gates for boxes").
		Hint("use --net none or --net host")
}

// fits says whether a mode is what a word asks for. The host's network is had
// by no box whose owner did not say so.
func fits(word string, mode forkbox.Net) bool {
	switch {
	case word == "":
		return mode == forkbox.NetNone || mode == forkbox.NetPolicy
	case teamOf(word) != "":
		return mode == forkbox.NetPolicy
	}
	return mode == forkbox.Net(word)
}

// teamOf is the team that a word names, none if it is a mode.
func teamOf(word string) string {
	team, _ := strings.CutPrefix(word, forkbox.TeamPrefix)
	if team == word {
		return ""
	}
	return team
}

// ungated says whether a word asks for a network without a gate.
func ungated(word string) bool {
	return word == string(forkbox.NetNone) || word == string(forkbox.NetHost)
}

// CheckWish refuses networks that there are not, and wishes that do not go together.
func CheckWish(word string, wish forkbox.NetWish) error {
	const op = "choose the network"
	if err := wish.Check(); err != nil {
		return err
	}
	if team := teamOf(word); team != "" && !core.ValidName(team) {
		return forkbox.Errorf(forkbox.Invalid, op, "a team cannot be called %q", team).
			Hint("a team's name has up to 63 lower-case letters, digits and dashes, not a dash first")
	} else if team == "" && word != "" && word != string(forkbox.NetPolicy) && !ungated(word) {
		return noSuchNet(op, word)
	}
	if ungated(word) && asksNet(wish) {
		return forkbox.Errorf(forkbox.Invalid, op, "rules, ports and secrets need a gate, and with --net %s there is none", word).
			Hint("use --net policy")
	}
	return nil
}

// noSuchNet is the answer to a word that is no network. One that was meant as
// "none" must not become a team with a way out.
func noSuchNet(op, word string) error {
	err := forkbox.Errorf(forkbox.Invalid, op, "there is no network %q", word)
	for _, mode := range []string{"none", "policy", "host"} {
		if spelling.Edits(word, mode) <= 2 {
			err = err.Hint("did you mean --net %s?", mode)
		}
	}
	err = err.Hint("use --net none, policy or host")
	if core.ValidName(word) {
		err = err.Hint("for a team of boxes that reach each other: --net %s%s", forkbox.TeamPrefix, word)
	}
	return err
}

// networking is a provider that knows which networks it can give boxes here.
type networking interface {
	// NetSupport is an Unsupported error, with a hint, for one that it cannot.
	NetSupport(mode forkbox.Net) error
}

func (m *Manager) supports(mode forkbox.Net) error {
	if p, ok := m.core.Provider.(networking); ok {
		return p.NetSupport(mode)
	}
	return nil
}

func whyOf(err error) string {
	var known *forkbox.Error
	if errors.As(err, &known) {
		return known.Why
	}
	return err.Error()
}

// Note is what the note of a box says as long as nothing else matters more.
func Note(box forkbox.Box) string {
	switch {
	case box.Net == forkbox.NetHost:
		return SharesNote
	case strings.HasPrefix(box.Note, noNetNote):
		return box.Note
	}
	return ""
}
