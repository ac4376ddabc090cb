package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/forkbox/forkbox"
)

// CheckList is what doctor found.
type CheckList struct {
	Checks []forkbox.Check `json:"checks"`
	// Strays are what applies left in reality that no receipt accounts for.
	Strays []forkbox.Stray `json:"strays"`
	// Differs is what is not in a box as it is on this host.
	Differs []forkbox.Deviation `json:"differs"`
}

// StrayRequest says what is to become of a stray.
type StrayRequest struct {
	Dir  string            `json:"dir"`
	Fate forkbox.StrayFate `json:"fate"`
}

// Doctor tries what this host can do, for real, and looks for strays above dir
// and wherever else they can be.
func (c *Client) Doctor(ctx context.Context, dir string) (list CheckList, err error) {
	query := url.Values{"dir": {dir}}
	err = c.call(ctx, "examine this host", http.MethodGet, "/doctor?"+query.Encode(), nil, &list)
	return list, err
}

// MendStray restores a stray or deletes it.
func (c *Client) MendStray(ctx context.Context, dir string, fate forkbox.StrayFate) (done forkbox.StrayMended, err error) {
	err = c.call(ctx, string(fate)+" "+dir, http.MethodPost, "/strays", StrayRequest{Dir: dir, Fate: fate}, &done)
	return done, err
}
