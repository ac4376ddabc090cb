package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// AuditSpec selects entries of the audit trail. The zero value is the latest that
// one answer has.
type AuditSpec struct {
	Since time.Time
	Who   string // a user, or a token's or certificate's id or name
	Box   string
	Limit int // no more than the latest so many
}

// Audit lists what was changed and what was refused, the oldest first.
func (c Keeper) Audit(ctx context.Context, spec AuditSpec) ([]forkbox.Call, error) {
	q := url.Values{}
	if !spec.Since.IsZero() {
		q.Set("since", spec.Since.UTC().Format(time.RFC3339))
	}
	if spec.Who != "" {
		q.Set("who", spec.Who)
	}
	if spec.Box != "" {
		q.Set("box", spec.Box)
	}
	if spec.Limit > 0 {
		q.Set("limit", strconv.Itoa(spec.Limit))
	}
	list, err := do(ctx, c.link, "read the audit trail", api.ReadAudit, api.None{}, q)
	return list.Calls, err
}
