package server

import (
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// applyBox needs a body, if only {}: a request that lost its body on the way
// must not mean "apply everything".
func (s changeRoutes) applyBox(w http.ResponseWriter, r *http.Request) error {
	var spec forkbox.ApplySpec
	if err := decode(r, &spec); err != nil {
		return err
	}
	receipt, err := s.Engine.Apply(r.Context(), who(r), r.PathValue("box"), spec)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, receipt)
}

func (s changeRoutes) discardChanges(w http.ResponseWriter, r *http.Request) error {
	var req client.DiscardRequest
	if err := decode(r, &req); err != nil {
		return err
	}
	paths, err := s.Engine.Discard(r.Context(), who(r), r.PathValue("box"), req.Selection)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, client.DiscardResult{Paths: notNil(paths)})
}

func (s changeRoutes) listReceipts(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Engine.Receipts(r.Context(), who(r))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, client.ReceiptList{Receipts: notNil(list)})
}

func (s changeRoutes) getReceipt(w http.ResponseWriter, r *http.Request) error {
	receipt, err := s.Engine.Receipt(r.Context(), who(r), r.PathValue("receipt"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, receipt)
}

func (s changeRoutes) undoReceipt(w http.ResponseWriter, r *http.Request) error {
	var req client.UndoRequest
	if err := decode(r, &req); err != nil {
		return err
	}
	receipt, err := s.Engine.Undo(r.Context(), who(r), r.PathValue("receipt"), req)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, receipt)
}
