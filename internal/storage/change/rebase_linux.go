package change

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// Rebase finds what has to be rewritten in a box's upper directories, and in
// the layers below them, after directories of its base were moved, so that the
// box goes on seeing what it saw: overlayfs has noted where each directory that
// the box moved comes from. All moves happened at once: each From is where a
// directory was before any of them. Nothing that uses the layers may run.
//
// A layer may hide the place that a directory was moved to from one above it
// that needs it. That is an Unsupported error; a stack of one layer, as
// [Flatten] makes it, can always be rebased.
func Rebase(ctx context.Context, src Source, moves []forkbox.Move) ([]Redirect, error) {
	var all []Redirect
	for _, u := range src.Uppers {
		r := &rebaser{ctx: ctx, upper: u}
		for _, m := range moves {
			if forkbox.Within(m.From, u.Mount) && forkbox.Within(m.To, u.Mount) {
				r.moves = append(r.moves, forkbox.Move{From: inside(m.From, u.Mount), To: inside(m.To, u.Mount)})
			}
		}
		if len(r.moves) == 0 {
			continue
		}
		if err := r.filesystem(src.XattrPrefix); err != nil {
			return nil, forkbox.Wrap("rebase the box", err)
		}
		all = append(all, r.found...)
	}
	return all, nil
}

// inside is a path from the root of its filesystem, which is "".
func inside(p, mount string) string {
	return strings.Trim(strings.TrimPrefix(p, mount), "/")
}

type rebaser struct {
	ctx   context.Context
	upper Upper
	stack *stack
	moves []forkbox.Move // from the root of the filesystem
	found []Redirect
	layer int // the one that is looked through
}

// origins is where the layers below have a directory, before and after; nowhere,
// where they have none.
type origins struct{ old, new string }

var nowhere = origins{"/", "/"} // no origin begins with a slash

// filesystem goes through the layers. Each of them lies over what those below
// it show, of which directories may have moved.
func (r *rebaser) filesystem(prefix string) (err error) {
	if r.stack, err = openStack(r.upper.dirs(), prefix); err != nil {
		return err
	}
	defer r.stack.close()
	for r.layer = range r.stack.tops {
		if err := r.below(r.stack.tops[r.layer].dir, "", origins{}, 0); err != nil {
			return err
		}
	}
	return nil
}

func (r *rebaser) below(dir int, at string, in origins, depth int) error {
	if err := r.ctx.Err(); err != nil || depth > maxDepth {
		return err
	}
	names, err := linux.Names(dir)
	if err != nil {
		return keepFatal(err)
	}
	for _, name := range names {
		if err := r.entry(dir, name, at, in, depth); err != nil {
			return err
		}
	}
	return nil
}

func (r *rebaser) entry(dir int, name, at string, in origins, depth int) error {
	if up, err := lstat(dir, name); err != nil || !up.isDir() {
		return keepFatal(err)
	}
	sub, err := openDir(dir, name, beneath)
	if err != nil {
		return keepFatal(err)
	}
	defer unix.Close(sub)
	at = originOf(at, name)
	own, err := r.origins(sub, name, at, in)
	if err != nil {
		return err
	}
	return r.below(sub, at, own, depth+1)
}

// origins is where a directory of a layer comes from, and notes it where what
// it says about that has to change.
func (r *rebaser) origins(sub int, name, at string, in origins) (own origins, err error) {
	old, said := r.stack.handed(sub, name, in.old)
	if old == nowhere.old {
		return nowhere, nil
	}
	own.old = old
	if own.new, err = r.now(r.layer+1, old); err != nil {
		return own, err
	}
	plain := in != nowhere && own.new == originOf(in.new, name)
	if plain && said == "" || !plain && said != "" && own.new == resolve(said, in.new) {
		return own, nil // as it is
	}
	to := ""
	if !plain {
		to = "/" + own.new
	}
	r.found = append(r.found, Redirect{Mount: r.upper.Mount, Layer: r.name(), Path: []byte(at), To: []byte(to)})
	return own, nil
}

// name is that of the layer, as a redirect says it.
func (r *rebaser) name() string {
	dir := r.upper.dirs()[r.layer]
	if r.layer == 0 && r.upper.Dir != "" {
		return ""
	}
	return dir
}

// resolve is where a redirect leads.
func resolve(to, in string) string {
	if rel, abs := strings.CutPrefix(to, "/"); abs {
		return rel
	}
	if in == nowhere.old {
		return nowhere.old
	}
	return originOf(in, to)
}

// Redirected rewrites what [Rebase] found. It can be repeated.
func Redirected(src Source, redirects []Redirect) error {
	for _, re := range redirects {
		if err := redirected(src, re); err != nil {
			return forkbox.Errorf(forkbox.Internal, "rebase the box", "%q: %w", path.Join(re.Mount, string(re.Path)), err)
		}
	}
	return nil
}

func redirected(src Source, re Redirect) error {
	layer, err := layerOf(src, re)
	if err != nil {
		return err
	}
	top, err := unix.Open(filepath.Clean(layer), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil && re.Layer != "" {
		return ignore(err, unix.ENOENT) // nothing needed it any more
	}
	if err != nil {
		return err
	}
	defer unix.Close(top)
	dir, err := openDir(top, string(re.Path), beneath)
	if err != nil {
		return ignore(err, unix.ENOENT)
	}
	defer unix.Close(dir)
	if len(re.To) == 0 {
		return ignore(unix.Fremovexattr(dir, src.XattrPrefix+"redirect"), unix.ENODATA)
	}
	return unix.Fsetxattr(dir, src.XattrPrefix+"redirect", re.To, 0)
}

// layerOf is the directory of the layer that a redirect is about. A plan is
// read from a file: it must not name a directory that is not the box's.
func layerOf(src Source, re Redirect) (string, error) {
	for _, u := range src.Uppers {
		switch {
		case u.Mount != re.Mount:
		case re.Layer == "" && u.Dir != "":
			return u.Dir, nil
		case re.Layer != "" && slices.Contains(u.Layers, re.Layer):
			return re.Layer, nil
		default:
			return "", errors.New("the box has no such layer")
		}
	}
	return "", errors.New("the box has no such filesystem")
}
