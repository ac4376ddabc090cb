//go:build linux

package native

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

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
// of reality were moved, and so what lies over the other stacks of layers. id
// tells rebases apart: the same one can be repeated.
func (p *Provider) Rebase(ctx context.Context, box forkbox.Box, id string, moves []forkbox.Move, others [][]string) error {
	src, done, err := p.source(box)
	if err != nil {
		return err
	}
	defer done()
	file := filepath.Join(p.store.Dir(box.ID), "rebase.json")
	plan, err := readRebasing(file)
	if err != nil || plan.ID != id {
		if plan, err = p.planRebase(ctx, src, id, moves, others); err != nil {
			return err
		}
		if err := plan.write(file); err != nil {
			return err
		}
	}
	return change.Redirected(everyLayer(src, plan.Redirects), plan.Redirects)
}

// everyLayer is a source that has all the layers that a plan is about, those
// that went since excepted.
func everyLayer(src change.Source, redirects []change.Redirect) change.Source {
	src.Uppers = slices.Clone(src.Uppers)
	for i, u := range src.Uppers {
		src.Uppers[i].Layers = slices.Clone(u.Layers)
	}
	for _, r := range redirects {
		i := slices.IndexFunc(src.Uppers, func(u change.Upper) bool { return u.Mount == r.Mount })
		if i < 0 {
			i, src.Uppers = len(src.Uppers), append(src.Uppers, change.Upper{Mount: r.Mount})
		}
		if r.Layer != "" {
			src.Uppers[i].Layers = append(src.Uppers[i].Layers, r.Layer)
		}
	}
	return src
}

func readRebasing(file string) (plan rebasing, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &plan)
	}
	return plan, err
}

// planRebase finds what has to be rewritten, in all stacks before in any: a
// layer that two of them share says after it what it must not be asked again.
func (p *Provider) planRebase(ctx context.Context, src change.Source, id string, moves []forkbox.Move, others [][]string) (plan rebasing, err error) {
	plan.ID = id
	seen := map[string]bool{}
	add := func(redirects []change.Redirect) {
		for _, r := range redirects {
			key := r.Mount + "\x00" + r.Layer + "\x00" + string(r.Path)
			if r.Layer == "" || !seen[key] {
				plan.Redirects = append(plan.Redirects, r)
			}
			seen[key] = true
		}
	}
	own, err := change.Rebase(ctx, src, moves)
	if err != nil {
		return plan, err
	}
	add(own)
	for _, stack := range others {
		bare := src
		if bare.Uppers, err = p.uppers(forkbox.Box{Bare: true, Layers: stack}); err != nil {
			return plan, err
		}
		redirects, err := change.Rebase(ctx, bare, moves)
		if forkbox.CodeOf(err) == forkbox.Unsupported {
			p.log.Warn("a snapshot cannot be adapted to a directory that was moved", "layers", stack, "error", err)
			continue
		}
		if err != nil {
			return plan, err
		}
		add(redirects)
	}
	return plan, nil
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
