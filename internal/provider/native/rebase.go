//go:build linux

package native

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/change"
)

// rebasing is the plan of a rebase, kept so that one that was interrupted is
// finished and not done again: a swap done twice is none. After a rollback the
// same landing has to be adapted to once more, with other layers.
type rebasing struct {
	ID        string            `json:"id"`
	Layers    []string          `json:"layers"`
	Redirects []change.Redirect `json:"redirects"`
}

// Rebase has a box that does not run see the same as before after directories
// of reality were moved. own are its layers that nothing else has: no other is
// touched. id tells rebases apart: the same one can be repeated.
func (p *Provider) Rebase(ctx context.Context, box forkbox.Box, id string, moves []forkbox.Move, own []string) error {
	src, done, err := p.stacks.source(box)
	if err != nil {
		return err
	}
	defer done()
	file := filepath.Join(p.store.Dir(box.ID), "rebase.json")
	plan, err := readRebasing(file)
	if err != nil || plan.ID != id || !slices.Equal(plan.Layers, box.Layers) {
		redirects, err := p.stacks.planRebase(ctx, src, moves, own)
		if err != nil {
			return err
		}
		plan = rebasing{ID: id, Layers: box.Layers, Redirects: redirects}
		if err := plan.write(file); err != nil {
			return err
		}
	}
	return change.Redirected(src, plan.Redirects)
}

// HasMoved says whether the layers of a box have made all of these moves.
func (p *Provider) HasMoved(ctx context.Context, box forkbox.Box, moves []forkbox.Move) (bool, error) {
	src, done, err := p.stacks.source(box)
	if err != nil {
		return false, err
	}
	defer done()
	return change.HasMoved(ctx, src, moves)
}

func readRebasing(file string) (plan rebasing, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &plan)
	}
	return plan, err
}

// planRebase finds what has to be rewritten.
func (st *stacks) planRebase(ctx context.Context, src change.Source, moves []forkbox.Move, own []string) ([]change.Redirect, error) {
	redirects, err := change.Rebase(ctx, src, moves)
	if err != nil {
		return nil, err
	}
	for _, r := range redirects {
		if r.Layer != "" && !st.isOf(r, own) {
			return nil, forkbox.Errorf(forkbox.Unsupported, "rebase the box", "%q is in a layer that others have as well", r.Path).
				Hint("flatten the layers of the box first")
		}
	}
	return redirects, nil
}

// isOf says whether a redirect is in one of the layers.
func (st *stacks) isOf(r change.Redirect, layers []string) bool {
	return slices.ContainsFunc(layers, func(l string) bool { return strings.HasPrefix(r.Layer, st.store.Layer(l)+"/") })
}

func (plan rebasing) write(file string) error {
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	return forkbox.Wrap("rebase the box", writeDurably(file, text))
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
