// Package access knows who calls the daemon and what they may: principals with
// their scopes, the tokens that make one, how often each may ask, and the trail
// of what they did.
package access

import (
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Kind is how a caller showed who it is.
type Kind string

const (
	Peer        Kind = "peer"        // the kernel's word, on the unix socket
	Token       Kind = "token"       // a secret
	Certificate Kind = "certificate" // a TLS client certificate
	Nobody      Kind = "nobody"
)

// Principal is who a request is done for, and what of theirs it may do.
type Principal struct {
	Owner  forkbox.Owner
	Kind   Kind
	ID     string // of the token; the name in the certificate
	Label  string // what the token is called
	Scopes Scopes
	Until  *time.Time     // when the right ends; nil: not by itself
	token  *forkbox.Token // where it is one
}

// May says whether the principal has a scope.
func (p *Principal) May(s api.Scope) bool { return p.Scopes.Has(s) }

// Key tells principals apart for limits: two tokens of a user are two.
func (p *Principal) Key() string {
	if p.ID != "" {
		return string(p.Kind) + ":" + p.ID
	}
	return string(p.Kind) + ":" + p.Owner.Name
}

// Scopes is a set of scopes, as bits in the order of [api.Scopes].
type Scopes uint16

// AllScopes has all of them.
const AllScopes Scopes = 1<<len(api.Scopes) - 1

// Has says whether a scope is in the set. What is open to anyone always is.
func (s Scopes) Has(scope api.Scope) bool {
	if scope == api.Open {
		return true
	}
	i := slices.Index(api.Scopes[:], scope)
	return i >= 0 && s&(1<<i) != 0
}

// Beyond are those of s that others does not have.
func (s Scopes) Beyond(others Scopes) Scopes { return s &^ others }

// Names are the scopes of the set, in the order in which help names them.
func (s Scopes) Names() []string {
	names := []string{}
	for i, scope := range api.Scopes {
		if s&(1<<i) != 0 {
			names = append(names, string(scope))
		}
	}
	return names
}

// sighted are the scopes that no caller could use without looking at what it
// works on: read comes with them.
const sighted = 1<<1 | 1<<2 | 1<<3 | 1<<4 // boxes, exec, files, apply

// ParseScopes reads a list of scopes; "all" is all of them. [api.Read] comes with
// those that work on boxes.
func ParseScopes(names []string) (set Scopes, err error) {
	const op = "read the scopes"
	for _, name := range names {
		i := slices.Index(api.Scopes[:], api.Scope(name))
		switch {
		case name == "all":
			set |= AllScopes
		case i < 0:
			return 0, forkbox.Errorf(forkbox.Invalid, op, "there is no scope %q", name).
				Hint("there are %s; and all", strings.Join(AllScopes.Names(), ", "))
		default:
			set |= 1 << i
		}
	}
	if set == 0 {
		return 0, forkbox.Errorf(forkbox.Invalid, op, "there is none").
			Hint("name some of %s", strings.Join(AllScopes.Names(), ", "))
	}
	if set&sighted != 0 {
		set |= 1
	}
	return set, nil
}
