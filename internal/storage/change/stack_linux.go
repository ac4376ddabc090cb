package change

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// part is one layer's share of a directory: overlayfs shows the directories
// that several layers have at a path as one.
type part struct {
	dir    int  // open for listing
	layer  int  // its place in the stack, from the top
	marked bool // whiteouts may be marked by an attribute
}

// stack is the layers of one filesystem: what the box writes to itself, if
// there is such a thing, and what lies below it.
type stack struct {
	opaque, redirect, origin string // the names of overlayfs's attributes

	tops []part // the roots of the layers, the topmost first
}

func (u Upper) dirs() []string {
	if u.Dir == "" {
		return u.Layers
	}
	return append([]string{u.Dir}, u.Layers...)
}

// openStack opens the layers. That a layer's root is opaque means nothing to
// overlayfs, and nothing here.
func openStack(dirs []string, prefix string) (*stack, error) {
	s := &stack{opaque: prefix + "opaque", redirect: prefix + "redirect", origin: prefix + "origin"}
	for i, dir := range dirs {
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			s.close()
			return nil, forkbox.Errorf(forkbox.Internal, "", "open %s: %w", dir, err)
		}
		s.tops = append(s.tops, part{dir: fd, layer: i, marked: s.opacity(fd) == 'x'})
	}
	return s, nil
}

func (s *stack) close() { closeParts(s.tops) }

func closeParts(parts []part) {
	for _, p := range parts {
		closeDir(p.dir)
	}
}

// trail is the search for one directory through the layers, as overlayfs goes
// about it: from the top down, until something hides the rest.
type trail struct {
	name  string // what to look for: a name beside where the last was, or "/a/b" from the root
	ended bool   // nothing further down belongs to it
	parts []part
}

func (t *trail) far() bool { return strings.HasPrefix(t.name, "/") }

// origin is where the base has the directory, from the root of its filesystem.
// ok is false when nothing of the base shows in it. in says the same of the
// directory that it was looked for in.
func (t *trail) origin(in string, opaque bool) (origin string, ok bool) {
	switch {
	case t.ended, opaque && !t.far():
		return "", false
	case t.far():
		return t.name[1:], true
	}
	return originOf(in, t.name), true
}

// find opens a directory in all layers that have a part of it. in is the
// directory to look in; owners, where it is known, says which parts of that
// have the name. The caller closes what was found.
func (s *stack) find(in []part, owners []int, name string) (trail, error) {
	t := trail{name: name}
	for i := 0; i < len(in) && !t.ended; i++ {
		if owners != nil && !slices.Contains(owners, i) {
			continue
		}
		here := in[i]
		near, before := !t.far(), t.name
		if err := s.search(&t, here); err != nil {
			closeParts(t.parts)
			return trail{}, err
		}
		if t.name == before {
			continue
		}
		owners = nil
		if near && t.far() {
			in, i = s.tops, here.layer // goes on in the layer below
		}
	}
	return t, nil
}

func (s *stack) search(t *trail, in part) error {
	if t.far() {
		return s.searchFar(t, in)
	}
	fd, err := openDir(in.dir, t.name, beneath)
	if err != nil {
		return t.miss(err)
	}
	s.take(t, fd, in.layer)
	s.follow(t, fd, "", "")
	return nil
}

// miss is what it means that a layer has no such directory: a file, or a
// whiteout, hides what is below it.
func (t *trail) miss(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENAMETOOLONG):
		return nil
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		t.ended = true
		return nil
	}
	return err
}

func (s *stack) take(t *trail, fd, layer int) {
	t.parts = append(t.parts, part{dir: fd, layer: layer, marked: s.opacity(fd) == 'x'})
}

// searchFar walks a path in one layer. What the directories on the way say
// about where they come from holds for what is in them.
func (s *stack) searchFar(t *trail, in part) error {
	dir, done, rest := in.dir, "/", t.name[1:]
	defer func() { closeUnless(dir, in.dir) }()
	for {
		name, post, more := strings.Cut(rest, "/")
		fd, err := openStep(dir, name, more)
		if err != nil {
			return t.miss(err)
		}
		if !more {
			s.take(t, fd, in.layer)
			s.follow(t, fd, done, "")
			return nil
		}
		closeUnless(dir, in.dir)
		dir = fd
		if to := s.follow(t, fd, done, "/"+post); to != "" {
			done = to + "/"
		} else {
			done += name + "/"
		}
		rest = post
	}
}

func closeUnless(fd, kept int) {
	if fd != kept {
		unix.Close(fd)
	}
}

// openStep opens a directory on the way, which need not be readable, or the
// last one.
func openStep(dir int, name string, more bool) (int, error) {
	if more {
		return openPath(dir, name)
	}
	return openDir(dir, name, beneath)
}

// follow reads what overlayfs wrote on a directory, and goes on accordingly:
// prefix is the path to it, post that from it to what is looked for. It returns
// where the directory comes from, if that is said.
func (s *stack) follow(t *trail, fd int, prefix, post string) (from string) {
	if s.opacity(fd) == 'y' {
		t.ended = true
		return ""
	}
	to, ok := s.redirection(fd)
	if !ok {
		return ""
	}
	if to[0] == '/' {
		t.ended = false // an opaque directory on the way does not matter then
	} else {
		to = prefix + to
	}
	t.name = to + post
	return to
}

// opacity is 'y' for a directory that hides all below it, 'x' for one in which
// attributes mark whiteouts.
func (s *stack) opacity(fd int) byte {
	if value, ok := mark(fd, s.opaque); ok && len(value) == 1 {
		return value[0]
	}
	return 0
}

func (s *stack) redirection(fd int) (string, bool) {
	value, ok := mark(fd, s.redirect)
	if !ok {
		return "", false
	}
	return string(value), isRedirect(string(value))
}

// isRedirect says whether overlayfs can have written this: "/a/b", or a name.
func isRedirect(to string) bool {
	rel, abs := strings.CutPrefix(to, "/")
	if !abs && strings.Contains(rel, "/") {
		return false
	}
	odd := func(part string) bool { return part == "" || part == "." || part == ".." }
	return !slices.ContainsFunc(strings.Split(rel, "/"), odd)
}

// mark reads an attribute of an open directory, quickly where it was opened
// for reading.
func mark(fd int, attr string) ([]byte, bool) {
	var buf [64]byte
	n, err := unix.Fgetxattr(fd, attr, buf[:])
	if err == nil {
		return buf[:n], true
	}
	if err != unix.ERANGE && err != unix.EBADF {
		return nil, false
	}
	return xattr(fd, ".", attr)
}
