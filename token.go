package forkbox

import "time"

// Token lets whoever holds its secret act for a user, within its scopes. The
// secret itself is shown once and kept nowhere.
type Token struct {
	ID   string `json:"id"` // public: it is part of what is shown, and in the audit trail
	Name string `json:"name,omitempty"`
	UID  int    `json:"uid"` // of the user that it acts for
	User string `json:"user"`
	// Scopes are those of package api.
	Scopes  []string   `json:"scopes"`
	Created time.Time  `json:"created"`
	By      string     `json:"by,omitempty"` // who made it, where that was another token
	Expires *time.Time `json:"expires,omitempty"`
	// Used is when it was last used, to the minute or so.
	Used    *time.Time `json:"used,omitempty"`
	Revoked *time.Time `json:"revoked,omitempty"`
	// Hash is the SHA-256 of the secret. It never leaves the daemon.
	Hash []byte `json:"-"`
}

// Ended says since when a token lets no caller in any more; nil while it does.
func (t Token) Ended(now time.Time) *time.Time {
	switch {
	case t.Revoked != nil:
		return t.Revoked
	case t.Expires != nil && !now.Before(*t.Expires):
		return t.Expires
	}
	return nil
}
