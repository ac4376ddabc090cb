package engine

import (
	"errors"
	"strings"

	"github.com/forkbox/forkbox"
)

// netTerms are the network that a box is made with.
type netTerms struct {
	net     forkbox.Net
	network forkbox.Network
	note    string // what its owner should know of it
}

// What the note of a box says of its network as long as the box lives.
const (
	sharesNote = "it shares the host's network"
	noNetNote  = "it has no network: "
)

// origin is the network of what a box is forked from.
type origin struct {
	word  string // as it is asked for: a mode, or a team
	asked *forkbox.NetWish
}

// inherited is what of a network others can begin with: not what was made for
// one box only.
func inherited(n forkbox.Network) forkbox.Network {
	n = cloneNetwork(n)
	n.CA, n.Ports = "", nil
	for name := range n.Secrets {
		n.Secrets[name] = ""
	}
	return n
}

func originOf(mode forkbox.Net, n forkbox.Network) *origin {
	word := string(mode)
	if n.Team != "" {
		word = forkbox.TeamPrefix + n.Team
	}
	return &origin{word, n.Asked}
}

// heir is what a fork gets: what was asked for the origin, unless it is said
// otherwise.
func (o *origin) heir(word string, wish forkbox.NetWish) (string, forkbox.NetWish) {
	if o == nil {
		return word, wish
	}
	word = orElse(word, o.word)
	if o.asked == nil || ungated(word) {
		return word, wish
	}
	return word, netOver(*o.asked, wish)
}

// netTerms resolves the network of a new box.
func (e *Engine) netTerms(who forkbox.Owner, word string, wish forkbox.NetWish, from *origin) (*netTerms, error) {
	word, wish = from.heir(word, wish)
	if word == "" && asksNet(wish) {
		word = string(forkbox.NetPolicy) // whatever the host's default is
	}
	if err := checkNet(word, wish); err != nil {
		return nil, err
	}
	t, err := e.resolveNet(who, word, wish)
	if err == nil {
		err = e.supports(t.net)
	}
	// Nobody asked, so that nobody relies on it. To have less is said, and no
	// danger; one that was asked for is an error.
	if forkbox.CodeOf(err) == forkbox.Unsupported && word == "" {
		return &netTerms{net: forkbox.NetNone, note: noNetNote + whyOf(err)}, nil
	}
	if err != nil {
		return nil, forkbox.Wrap("choose the network", err)
	}
	if t.net == forkbox.NetHost {
		t.note = sharesNote
	}
	return t, nil
}

// resolveNet asks for what holds, and takes nothing wider than what was asked.
func (e *Engine) resolveNet(who forkbox.Owner, word string, wish forkbox.NetWish) (*netTerms, error) {
	const op = "choose the network"
	if e.networks == nil {
		return withoutGates(word, wish)
	}
	mode, network, err := e.networks.Resolve(who, word, wish)
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
	return &netTerms{net: mode, network: network}, nil
}

// withoutGates is what an engine without Networks can give.
func withoutGates(word string, wish forkbox.NetWish) (*netTerms, error) {
	if word == "" && !asksNet(wish) {
		return &netTerms{net: forkbox.NetNone}, nil
	}
	if ungated(word) {
		return &netTerms{net: forkbox.Net(word)}, nil
	}
	return nil, forkbox.Errorf(forkbox.Unsupported, "choose the network", "this daemon opens no gates for boxes").
		Hint("use --net none or --net host")
}

// fits says whether a mode is what a word asks for. The host's network is had
// by nobody who did not say so.
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

func checkNet(word string, wish forkbox.NetWish) error {
	const op = "choose the network"
	if err := wish.Check(); err != nil {
		return err
	}
	if team := teamOf(word); team != "" && !validName(team) {
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
		if distance(word, mode) <= 2 {
			err = err.Hint("did you mean --net %s?", mode)
		}
	}
	err = err.Hint("use --net none, policy or host")
	if validName(word) {
		err = err.Hint("for a team of boxes that reach each other: --net %s%s", forkbox.TeamPrefix, word)
	}
	return err
}

// distance is how many letters differ between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost++
			}
			last = row[j+1]
			row[j+1] = min(cost, row[j]+1, last+1)
		}
	}
	return row[len(b)]
}

// networking is a provider that knows which networks it can give boxes here.
type networking interface {
	// NetSupport is an Unsupported error, with a hint, for one that it cannot.
	NetSupport(mode forkbox.Net) error
}

func (e *Engine) supports(mode forkbox.Net) error {
	if p, ok := e.provider.(networking); ok {
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

// netNote is what the note of a box says as long as nothing else matters more.
func netNote(box forkbox.Box) string {
	switch {
	case box.Net == forkbox.NetHost:
		return sharesNote
	case strings.HasPrefix(box.Note, noNetNote):
		return box.Note
	}
	return ""
}
