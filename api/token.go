package api

import (
	"time"

	"github.com/forkbox/forkbox"
)

// TokenRequest asks for a token.
type TokenRequest struct {
	Name   string   `json:"name,omitempty"`
	Scopes []string `json:"scopes"`
	// User is whom it acts for, by name or uid; empty: the caller.
	User string `json:"user,omitempty"`
	// Life is how long it holds; 0 is a month, below zero for ever.
	Life time.Duration `json:"life_ns,omitempty"`
}

// NewToken is a token that was just made. No other answer has its secret.
type NewToken struct {
	Token string        `json:"token"` // what the caller shows: fbx_ID_SECRET
	Made  forkbox.Token `json:"made"`
}

// TokenList is tokens, without their secrets.
type TokenList struct {
	Tokens []forkbox.Token `json:"tokens"`
}

// ListenerList is where the daemon can be reached.
type ListenerList struct {
	Listeners []Listener `json:"listeners"`
}

// Listener is one of the addresses that a daemon listens at beside its socket.
type Listener struct {
	URL string `json:"url"`
	// Fingerprint is what clients pin, as curl --pinnedpubkey takes it; empty
	// without TLS. It stays the same when the certificate is renewed.
	Fingerprint string     `json:"fingerprint,omitempty"`
	Expires     *time.Time `json:"expires,omitempty"`
}
