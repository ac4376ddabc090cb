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
	"github.com/forkbox/forkbox/internal/change"
)

// rebasing is the plan of a rebase, kept so that one that was interrupted is
// finished and not done again: a swap done twice is none.
type rebasing struct {
	ID        string            `json:"id"`
	Redirects []change.Redirect `json:"redirects"`
}

// Rebase has a box that does not run see the same as before after directories
// of reality were moved. own are its layers that nothing else has: no other is
// touched. id tells rebases apart: the same one can be repeated.
func (p *Provider) Rebase(ctx context.Context, box forkbox.Box, id string, moves []forkbox.Move, own []string) error {
	src, done, err := p.source(box)
	if err != nil {
		return err
	}
	defer done()
	file := filepath.Join(p.store.Dir(box.ID), "rebase.json")
	plan, err := readRebasing(file)
	if err != nil || plan.ID != id {
		if plan, err = p.planRebase(ctx, src, id, moves, own); err != nil {
			return err
		}
		if err := plan.write(file); err != nil {
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

// planRebase finds what has to be rewritten.
func (p *Provider) planRebase(ctx context.Context, src change.Source, id string, moves []forkbox.Move, own []string) (plan rebasing, err error) {
	redirects, err := change.Rebase(ctx, src, moves)
	if err != nil {
		return plan, err
	}
	for _, r := range redirects {
		if r.Layer != "" && !p.isOf(r, own) {
			return plan, forkbox.Errorf(forkbox.Unsupported, "rebase the box", "%q is in a layer that others have as well", r.Path).
				Hint("flatten the layers of the box first")
		}
	}
	return rebasing{ID: id, Redirects: redirects}, nil
}

// isOf says whether a redirect is in one of the layers.
func (p *Provider) isOf(r change.Redirect, layers []string) bool {
	return slices.ContainsFunc(layers, func(l string) bool { return strings.HasPrefix(r.Layer, p.store.Layer(l)+"/") })
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
