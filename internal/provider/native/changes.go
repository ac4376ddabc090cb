//go:build linux

package native

import (
	"context"

	"github.com/forkbox/forkbox"
)

func (p *Provider) Changes(ctx context.Context, box forkbox.Box, yield func(forkbox.Change) error) error {
	return nil
}
func (p *Provider) Checks(ctx context.Context) []forkbox.Check { return nil }
