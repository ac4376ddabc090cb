//go:build linux

package native

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/change"
)

// rebasing is the plan of a rebase, kept so that one that was interrupted is
// finished and not done again: a swap done twice is none.
type rebasing struct {
	ID        string            `json:"id"`
	Redirects []change.Redirect `json:"redirects"`
}

// Rebase has a box that does not run see the same as before after directories
// of reality were moved. id tells rebases apart: the same one can be repeated.
func (p *Provider) Rebase(ctx context.Context, box forkbox.Box, id string, moves []forkbox.Move) error {
	src, err := p.source(box)
	if err != nil {
		return err
	}
	file := filepath.Join(p.store.Dir(box.ID), "rebase.json")
	plan, err := readRebasing(file)
	if err != nil || plan.ID != id {
		if plan, err = planRebase(ctx, src, id, moves, file); err != nil {
			return err
		}
	}
	return change.Redirected(src, plan.Redirects)
}

func readRebasing(file string) (plan rebasing, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &plan)
	}
	return plan, err
}

func planRebase(ctx context.Context, src change.Source, id string, moves []forkbox.Move, file string) (plan rebasing, err error) {
	plan.ID = id
	if plan.Redirects, err = change.Rebase(ctx, src, moves); err != nil {
		return plan, err
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return plan, err
	}
	return plan, forkbox.Wrap("rebase the box", writeDurably(file, text))
}

// writeDurably replaces a file, whole or not at all.
func writeDurably(file string, text []byte) error {
	f, err := os.OpenFile(file+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
