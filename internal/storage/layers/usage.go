package layers

import (
	"context"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

// Usage is what the store takes on the disk. Blocks are counted as the
// filesystem tells them for each inode (st_blocks); files that share their
// blocks as reflinks or btrfs snapshots do are counted as if each had its own.
type Usage struct {
	Boxes  map[string]Bytes // by id: the top, the logs and what else is the box's
	Layers map[string]Bytes
	Roots  map[string]Bytes
	Trash  Bytes
	Other  Bytes // what is being made, and what others keep in the store's directory
	Total  Bytes // every inode once
	// Unread is how often something could not be looked at, because the mode
	// of a directory does not let even its owner. overlayfs makes such a
	// directory, which is empty, for each filesystem of a box.
	Unread int64
}

// Bytes is what something takes.
type Bytes struct {
	Own   int64 // by inodes that are nowhere else in the store: what its removal frees
	All   int64 // by all that it consists of, each inode once
	Files int64 // how many inodes, directories included
}

// owner is one line of a [Usage].
type owner struct {
	Bytes
	put  func(Bytes)
	path string
	skip func(name string) bool // entries that have a line of their own
}

// Usage counts what the store takes. It looks at everything: its time grows
// with the number of files. What vanishes meanwhile is not counted.
func (s *Store) Usage(ctx context.Context) (Usage, error) {
	const op = "count what the store takes"
	u := Usage{Boxes: map[string]Bytes{}, Layers: map[string]Bytes{}, Roots: map[string]Bytes{}}
	owners, err := s.owners(&u)
	if err == nil {
		err = count(ctx, owners, &u)
	}
	if err != nil {
		return Usage{}, forkbox.Wrap(op, err)
	}
	for _, o := range owners {
		o.put(o.Bytes)
	}
	u.Total.Own = u.Total.All
	return u, nil
}

func (s *Store) owners(u *Usage) ([]*owner, error) {
	var all []*owner
	for _, shelf := range []struct {
		dir   string
		lines map[string]Bytes
		valid func(string) bool
	}{{s.boxes(), u.Boxes, ValidID}, {s.layers(), u.Layers, ValidID}, {s.roots(), u.Roots, validRoot}} {
		entries, err := os.ReadDir(shelf.dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if name := e.Name(); shelf.valid(name) {
				all = append(all, &owner{path: filepath.Join(shelf.dir, name), put: func(b Bytes) { shelf.lines[name] = b }})
			}
		}
		all = append(all, &owner{path: shelf.dir, put: func(b Bytes) { u.Other.add(b) }, skip: shelf.valid})
	}
	own := map[string]bool{"boxes": true, "layers": true, "roots": true, "trash": true}
	return append(all,
		&owner{path: s.trash(), put: func(b Bytes) { u.Trash = b }},
		&owner{path: s.home, put: func(b Bytes) { u.Other.add(b) }, skip: func(name string) bool { return own[name] }}), nil
}

func (b *Bytes) add(more Bytes) {
	b.Own += more.Own
	b.All += more.All
	b.Files += more.Files
}
