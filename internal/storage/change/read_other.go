//go:build !linux

package change

import (
	"context"
	"iter"

	"github.com/forkbox/forkbox"
)

func between(context.Context, Trees, Yield) error {
	return forkbox.Errorf(forkbox.Unsupported, "compare the boxes", "the trees of boxes can be compared on Linux only")
}

func read(context.Context, Source, Yield) (effort, error) {
	return effort{}, forkbox.Errorf(forkbox.Unsupported, "read the box's changes", "overlay layers can be read on Linux only")
}

// Touched is for systems with overlayfs.
func Touched(context.Context, Source) (*Paths, error) {
	return nil, forkbox.Errorf(forkbox.Unsupported, "read what the box touched", "overlay layers can be read on Linux only")
}

// HasMoved is for systems with overlayfs.
func HasMoved(context.Context, Source, []forkbox.Move) (bool, error) {
	return false, forkbox.Errorf(forkbox.Unsupported, "look where the box moved directories", "overlay layers can be read on Linux only")
}

// Rebase is for systems with overlayfs.
func Rebase(context.Context, Source, []forkbox.Move) ([]Redirect, error) {
	return nil, forkbox.Errorf(forkbox.Unsupported, "rebase the box", "overlay layers can be written on Linux only")
}

// Redirected is for systems with overlayfs.
func Redirected(Source, []Redirect) error {
	return forkbox.Errorf(forkbox.Unsupported, "rebase the box", "overlay layers can be written on Linux only")
}

// Discard is for systems with overlayfs.
func Discard(context.Context, Source, []forkbox.Change, string) error {
	return forkbox.Errorf(forkbox.Unsupported, "discard changes", "overlay layers can be written on Linux only")
}

// KeepLanded is for systems with overlayfs.
func KeepLanded(context.Context, Source, []forkbox.Change, iter.Seq2[string, forkbox.Identity], string) (map[string]forkbox.Identity, error) {
	return nil, forkbox.Errorf(forkbox.Unsupported, "discard changes", "overlay layers can be written on Linux only")
}

func flatten(context.Context, Flattening) error {
	return forkbox.Errorf(forkbox.Unsupported, "", "overlay layers can be written on Linux only")
}

// Empty is for systems with overlayfs.
func Empty(string) (bool, error) {
	return false, forkbox.Errorf(forkbox.Unsupported, "look into the layer", "overlay layers can be read on Linux only")
}
