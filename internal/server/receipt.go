package server

import (
	"net/http"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

func (s changeRoutes) applyBox(r *http.Request, spec forkbox.ApplySpec) (forkbox.Receipt, error) {
	return s.Engine.Apply(r.Context(), who(r), r.PathValue("box"), spec)
}

func (s changeRoutes) discardChanges(r *http.Request, req api.DiscardRequest) (api.DiscardResult, error) {
	paths, err := s.Engine.Discard(r.Context(), who(r), r.PathValue("box"), req.Selection)
	return api.DiscardResult{Paths: notNil(paths)}, err
}

func (s changeRoutes) listReceipts(r *http.Request, _ api.None) (list api.ReceiptList, err error) {
	all, err := s.Engine.Receipts(r.Context(), who(r))
	if err != nil {
		return list, err
	}
	list.Receipts, list.Next, err = page(r, all, func(c forkbox.Receipt) (time.Time, string) { return c.Created, c.ID })
	return list, err
}

func (s changeRoutes) getReceipt(r *http.Request, _ api.None) (forkbox.Receipt, error) {
	return s.Engine.Receipt(r.Context(), who(r), r.PathValue("receipt"))
}

func (s changeRoutes) undoReceipt(r *http.Request, req api.UndoRequest) (forkbox.Receipt, error) {
	return s.Engine.Undo(r.Context(), who(r), r.PathValue("receipt"), req)
}
