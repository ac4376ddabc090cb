package change

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// now is where what the layers from the given one on, and the base, show at a
// path lies after the moves.
func (r *rebaser) now(layer int, origin string) (string, error) {
	if layer == len(r.stack.tops) {
		return r.inBase(origin), nil
	}
	return r.inLayer(layer, origin)
}

// inBase is where something of the base lies after the moves.
func (r *rebaser) inBase(origin string) string {
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

// inLayer: a directory that a layer has a part of stays where it is, since what
// that says about its origin is rewritten. Any other is where the layers below
// have it now, if it shows there.
func (r *rebaser) inLayer(layer int, origin string) (string, error) {
	h, err := r.stack.reach(layer, origin)
	if err != nil || h.rest == "" || h.from == nowhere.old {
		return origin, err
	}
	to, err := r.now(layer+1, originOf(h.from, h.rest))
	if err != nil {
		return "", err
	}
	if shows, err := r.shows(layer, h, to); shows || err != nil {
		return origin, err // it was moved with what it lies in
	}
	if h, err = r.stack.reach(layer, to); err != nil {
		return "", err
	}
	if shows, err := r.shows(layer, h, to); shows || err != nil {
		return to, err
	}
	return "", forkbox.Errorf(forkbox.Unsupported, "", "%q was moved to %q, which a layer of the box hides from those above it", origin, to).
		Hint("flatten the layers of the box first")
}

// shows says whether a path that a layer has only the beginning of leads to
// what the layers below have at to.
func (r *rebaser) shows(layer int, h stretch, to string) (bool, error) {
	if h.rest == "" || h.from == nowhere.old {
		return false, nil
	}
	from, err := r.now(layer+1, h.from)
	return err == nil && originOf(from, h.rest) == to, err
}

// stretch is how far a path leads in one layer.
type stretch struct {
	from string // where the last directory comes from that the layer has
	rest string // what is left of the path
}

// reach follows a path in one layer.
func (s *stack) reach(layer int, path string) (stretch, error) {
	h := stretch{rest: path}
	dir := s.tops[layer].dir
	defer func() { closeUnless(dir, s.tops[layer].dir) }()
	for h.rest != "" {
		name, rest, _ := strings.Cut(h.rest, "/")
		fd, err := openPath(dir, name)
		switch {
		case errors.Is(err, unix.ENOENT):
			return h, nil
		case isAbsent(err), errors.Is(err, unix.ELOOP):
			h.from = nowhere.old // a file or a whiteout is in the way
			return h, nil
		case err != nil:
			return h, err
		}
		closeUnless(dir, s.tops[layer].dir)
		dir = fd
		h.from, _ = s.handed(fd, name, h.from)
		h.rest = rest
	}
	return h, nil
}

// handed is where the layers below have an open directory, called name in one
// that they have at in, and the redirect that says so, if one does.
func (s *stack) handed(fd int, name, in string) (from, said string) {
	if s.opacity(fd) == 'y' {
		return nowhere.old, ""
	}
	if to, ok := s.redirection(fd); ok {
		return resolve(to, in), to
	}
	if in == nowhere.old {
		return in, ""
	}
	return originOf(in, name), ""
}
