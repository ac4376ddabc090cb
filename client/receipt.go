package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Apply lands changes of a box in reality. A dry run returns a receipt without
// an id.
func (c *Client) Apply(ctx context.Context, ref string, spec forkbox.ApplySpec) (forkbox.Receipt, error) {
	return do(ctx, c.link, "apply box "+ref, api.ApplyBox, spec, nil, ref)
}

// Discard puts paths of a box back to the base.
func (c *Client) Discard(ctx context.Context, ref string, sel forkbox.Selection) (api.DiscardResult, error) {
	return do(ctx, c.link, "discard changes of box "+ref, api.DiscardChanges, api.DiscardRequest{Selection: sel}, nil, ref)
}

// Status says how far reality has moved on from a box's base.
func (c *Client) Status(ctx context.Context, ref string) (forkbox.BoxStatus, error) {
	return do(ctx, c.link, "look at box "+ref, api.GetStatus, api.None{}, nil, ref)
}

// Sync brings reality's changes into a box.
func (c *Client) Sync(ctx context.Context, ref string) (forkbox.SyncResult, error) {
	return do(ctx, c.link, "sync box "+ref, api.SyncBox, api.None{}, nil, ref)
}

// Receipts lists the caller's, newest first.
func (c *Client) Receipts(ctx context.Context) ([]forkbox.Receipt, error) {
	list, err := do(ctx, c.link, "list receipts", api.ListReceipts, api.None{}, nil)
	return list.Receipts, err
}

// Receipt finds one by id or unambiguous prefix, with its paths.
func (c *Client) Receipt(ctx context.Context, ref string) (forkbox.Receipt, error) {
	return do(ctx, c.link, "find receipt "+ref, api.GetReceipt, api.None{}, nil, ref)
}

// Undo takes an apply back. It must be named: what happens to be the latest may
// be another project's.
func (c *Client) Undo(ctx context.Context, ref string, req api.UndoRequest) (forkbox.Receipt, error) {
	return do(ctx, c.link, "undo "+ref, api.UndoReceipt, req, nil, ref)
}
