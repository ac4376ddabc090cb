package client

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
)

// ReceiptList is a list of receipts.
type ReceiptList struct {
	Receipts []forkbox.Receipt `json:"receipts"`
}

// UndoRequest takes an apply back.
type UndoRequest = forkbox.UndoSpec

// DiscardRequest puts paths of a box back to the base.
type DiscardRequest struct {
	forkbox.Selection
}

// DiscardResult says what was put back.
type DiscardResult struct {
	Paths forkbox.Strings `json:"paths"`
}

// Apply lands changes of a box in reality. A dry run returns a receipt without
// an id.
func (c *Client) Apply(ctx context.Context, ref string, spec forkbox.ApplySpec) (r forkbox.Receipt, err error) {
	err = c.call(ctx, "apply box "+ref, http.MethodPost, boxPath(ref, "apply"), spec, &r)
	return r, err
}

// Discard puts paths of a box back to the base.
func (c *Client) Discard(ctx context.Context, ref string, sel forkbox.Selection) (r DiscardResult, err error) {
	err = c.call(ctx, "discard changes of box "+ref, http.MethodPost, boxPath(ref, "discard"), DiscardRequest{sel}, &r)
	return r, err
}

// Status says how far reality has moved on from a box's base.
func (c *Client) Status(ctx context.Context, ref string) (s forkbox.BoxStatus, err error) {
	err = c.call(ctx, "look at box "+ref, http.MethodGet, boxPath(ref, "status"), nil, &s)
	return s, err
}

// Sync brings reality's changes into a box.
func (c *Client) Sync(ctx context.Context, ref string) (r forkbox.SyncResult, err error) {
	err = c.call(ctx, "sync box "+ref, http.MethodPost, boxPath(ref, "sync"), struct{}{}, &r)
	return r, err
}

// Receipts lists the caller's, newest first.
func (c *Client) Receipts(ctx context.Context) ([]forkbox.Receipt, error) {
	var list ReceiptList
	err := c.call(ctx, "list receipts", http.MethodGet, "/receipts", nil, &list)
	return list.Receipts, err
}

// Receipt finds one by id or unambiguous prefix, with its paths.
func (c *Client) Receipt(ctx context.Context, ref string) (r forkbox.Receipt, err error) {
	err = c.call(ctx, "find receipt "+ref, http.MethodGet, receiptPath(ref), nil, &r)
	return r, err
}

// Undo takes an apply back. It must be named: what happens to be the latest may
// be another project's.
func (c *Client) Undo(ctx context.Context, ref string, req UndoRequest) (r forkbox.Receipt, err error) {
	err = c.call(ctx, "undo "+ref, http.MethodPost, receiptPath(ref)+"/undo", req, &r)
	return r, err
}

func receiptPath(ref string) string { return "/receipts/" + segment(ref) }
