package change

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Rebase finds what has to be rewritten in a box's upper directories after
// directories of its base were moved, so that the box goes on seeing what it
// saw: overlayfs has noted where each directory that the box moved comes from.
// All moves happened at once: each From is where a directory was before any of
// them. The box must not run.
func Rebase(ctx context.Context, src Source, moves []forkbox.Move) ([]Redirect, error) {
	var all []Redirect
	for _, u := range src.Uppers {
		r := &rebaser{ctx: ctx, src: src, upper: u}
		for _, m := range moves {
			if forkbox.Within(m.From, u.Mount) && forkbox.Within(m.To, u.Mount) {
				r.moves = append(r.moves, forkbox.Move{From: inside(m.From, u.Mount), To: inside(m.To, u.Mount)})
			}
		}
		if len(r.moves) == 0 {
			continue
		}
		if err := r.filesystem(); err != nil {
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
	src   Source
	upper Upper
	moves []forkbox.Move // from the root of the filesystem
	found []Redirect
}

// origins is where a directory's base lies, before and after; nowhere, where
// it has none.
type origins struct{ old, new string }

var nowhere = origins{"/", "/"} // no origin begins with a slash

func (r *rebaser) filesystem() error {
	top, err := unix.Open(r.upper.Dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(top)
	return r.below(top, "", origins{"", r.now("")}, 0)
}

// now is where something of the base lies after the moves.
func (r *rebaser) now(origin string) string {
	best := -1
	for i, m := range r.moves {
		if forkbox.Within("/"+origin, "/"+m.From) && (best < 0 || len(m.From) > len(r.moves[best].From)) {
			best = i
		}
	}
	if best < 0 {
		return origin
	}
	m := r.moves[best]
	return m.To + strings.TrimPrefix(origin, m.From)
}

func (r *rebaser) below(dir int, at string, in origins, depth int) error {
	if err := r.ctx.Err(); err != nil || depth > maxDepth {
		return err
	}
	names, err := list(dir)
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
	own := r.origins(sub, name, at, in)
	return r.below(sub, at, own, depth+1)
}

// origins is where a directory of the upper comes from, and notes it where
// what it says about that has to change.
func (r *rebaser) origins(sub int, name, at string, in origins) origins {
	value, _ := xattr(sub, ".", r.src.XattrPrefix+"opaque")
	parent := in.old
	if in == nowhere {
		parent = ""
	}
	from, redirected := redirect(sub, ".", parent, r.src.XattrPrefix)
	switch {
	case string(value) == "y", in == nowhere && !redirected:
		return nowhere
	case !redirected:
		from = originOf(in.old, name)
	}
	own := origins{from, r.now(from)}
	plain := in != nowhere && own.new == originOf(in.new, name)
	if plain && !redirected || !plain && redirected && own.old == own.new {
		return own // as it is
	}
	to := ""
	if !plain {
		to = "/" + own.new
	}
	r.found = append(r.found, Redirect{Mount: r.upper.Mount, Path: []byte(at), To: []byte(to)})
	return own
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
	for _, u := range src.Uppers {
		if u.Mount != re.Mount {
			continue
		}
		top, err := unix.Open(filepath.Clean(u.Dir), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
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
	return errors.New("the box has no such filesystem")
}
