package ancestor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
)

// Workspace is looked at right after each fork of it, to keep what it was: for
// what git has, a copy of git's index tells; the rest is copied. It remembers
// what it has copied, so that a look at a workspace in which nothing changed
// costs the time to look and no more.
type Workspace struct {
	Root  string
	Owner forkbox.Owner
	// Ignored returns what says, for one pass in the order of paths, which ones
	// are none of the owner's work.
	Ignored func() func(path string, dir bool) bool
	// Hidden says which paths boxes do not see.
	Hidden func(path string) bool

	mu      sync.Mutex
	kept    map[string]copied
	packs   []*shared // oldest first
	index   *shared   // the copy of git's
	folders *shared   // the modes and numbers of the directories
}

// copied is a file whose content is in a pack.
type copied struct {
	stamp
	pack *shared
}

// shared is a file that several books have.
type shared struct {
	name  string
	homes []string // the directories of these books, the last ones
	paths []string // what a pack has
}

const (
	maxPacks = 32    // of one box: then all is copied anew into one
	maxHomes = 8     // that are remembered
	maxDoubt = 10000 // exceptions from what the index says
)

// Look keeps for each book what the workspace was at its fence, as far as it
// still is. What changed since, or is too much, is left out.
func (w *Workspace) Look(ctx context.Context, books []*Book) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	first, last := books[0].at(), books[0].at()
	for _, b := range books {
		if f := b.at(); f.Before(first) {
			first = f
		} else if f.After(last) {
			last = f
		}
	}
	s := &sight{root: w.Root}
	walk := &watcher{sight: s, ctx: ctx, fence: first.UnixNano(), ignored: w.Ignored(), hidden: w.Hidden}
	if err := w.owner().As(walk.look); err != nil {
		return err
	}
	w.forgetLost()
	have, err := w.copyFiles(ctx, s, last.UnixNano(), books)
	if err != nil {
		return err
	}
	w.copyIndex(s, books)
	w.shareFolders(s, books)
	for _, b := range books {
		err = errors.Join(err, w.tell(b, s, have))
	}
	return err
}

func (w *Workspace) owner() git.Repo { return git.Repo{Root: w.Root, Owner: w.Owner} }

// forgetLost forgets the packs that went with the boxes that had them, and all
// of them when they are too many.
func (w *Workspace) forgetLost() {
	w.packs = slices.DeleteFunc(w.packs, func(p *shared) bool { return p.lost() })
	if len(w.packs) >= maxPacks {
		w.packs = nil
	}
	for path, c := range w.kept {
		if !slices.Contains(w.packs, c.pack) {
			delete(w.kept, path)
		}
	}
}

// copyFiles returns what of the files that git does not have is in a pack, after
// it has copied what was in none. Those that were written last come first: they
// are the likeliest to be written to again.
func (w *Workspace) copyFiles(ctx context.Context, s *sight, fence int64, books []*Book) (have []file, err error) {
	slices.SortStableFunc(s.loose, func(a, b file) int {
		if a.last != b.last {
			return cmp.Compare(b2i(a.last), b2i(b.last))
		}
		return cmp.Compare(b.mtime, a.mtime)
	})
	var fresh []file
	room := int64(maxKeptBytes)
	for _, f := range s.loose {
		if f.since >= fence || f.Size > room || len(have)+len(fresh) == maxKept {
			continue
		}
		room -= f.Size
		if c, ok := w.kept[f.path]; ok && c.stamp == f.stamp {
			have = append(have, f)
		} else {
			fresh = append(fresh, f)
		}
	}
	if len(fresh) == 0 {
		return have, nil
	}
	fresh, err = w.pack(ctx, fresh, books)
	return append(have, fresh...), err
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pack copies files and returns those that are in the pack.
func (w *Workspace) pack(ctx context.Context, files []file, books []*Book) (in []file, err error) {
	p := &shared{}
	home, err := inOne(books, func(to *os.File) (name string, err error) {
		in = nil
		pack := packWriter{to: to}
		err = w.owner().As(func() error {
			for _, f := range files {
				ok, err := pack.add(f, w.Root)
				if err := cmp.Or(err, ctx.Err()); err != nil {
					return err
				}
				if ok {
					in = append(in, f)
				}
			}
			return nil
		})
		if err != nil {
			return "", err
		}
		p.name, err = pack.end()
		return p.name, err
	})
	if errors.Is(err, errNothing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p.homes = []string{home}
	if w.kept == nil {
		w.kept = map[string]copied{}
	}
	for _, f := range in {
		p.paths = append(p.paths, f.path)
		w.kept[f.path] = copied{f.stamp, p}
	}
	w.packs = append(w.packs, p)
	return in, nil
}

// inOne makes a file in the first book whose box is still there.
func inOne(books []*Book, write func(*os.File) (string, error)) (home string, err error) {
	for _, b := range books {
		if err = put(b.dir, write); !errors.Is(err, fs.ErrNotExist) {
			return b.dir, err
		}
	}
	return "", err
}

// copyIndex keeps git's index, unless the last copy is the same.
func (w *Workspace) copyIndex(s *sight, books []*Book) {
	if s.index == nil || len(s.doubt) > maxDoubt {
		w.index = nil
		return
	}
	w.index = share(w.index, indexPrefix+hash(s.index.Raw)[:32], s.index.Raw, books)
}

const indexPrefix = "index-"

// tell writes into a book what was seen. Without a pack that cannot be had any
// more all that it has is unknown: an older pack may have an older version.
func (w *Workspace) tell(b *Book, s *sight, have []file) error {
	fence := b.at().UnixNano()
	r := seen{Fence: fence, Root: raw(w.Root)}
	certain := map[string]bool{}
	for _, f := range have {
		if f.since < fence {
			certain[f.path] = true
		}
	}
	for _, p := range slices.Backward(w.packs) {
		linked := p.link(b.dir)
		if linked {
			r.Packs = append(r.Packs, p.name)
		}
		for _, path := range p.paths {
			if !linked && w.kept[path].pack == p {
				certain[path] = false
			}
			if !certain[path] {
				r.Void = append(r.Void, path)
			}
		}
	}
	slices.Sort(r.Void)
	r.Void = slices.Compact(r.Void)
	if w.index != nil && w.index.link(b.dir) {
		r.Index, r.Except = w.index.name, slices.Clone(s.doubt)
		for _, l := range s.proven {
			if l.since >= fence {
				r.Except = append(r.Except, l.path)
			}
		}
		slices.Sort(r.Except)
		if s.ownIndex && settled(s.index.Changed.UnixNano()) < fence {
			r.IndexMode = uint32(s.index.Mode)
		}
	}
	if w.folders != nil && w.folders.link(b.dir) {
		r.Folders, r.Young, r.Moved = w.folders.name, s.youngFolders(fence), s.movedFolders(fence)
	}
	return b.see(r)
}

// link has the book in dir have the file. It may have had it before, and
// forgotten it with an older fence.
func (p *shared) link(dir string) bool {
	if p.isIn(dir) {
		return true
	}
	if makeDir(dir) != nil {
		return false
	}
	for _, home := range slices.Backward(p.homes) {
		err := os.Link(filepath.Join(home, p.name), filepath.Join(dir, p.name))
		if err == nil || errors.Is(err, fs.ErrExist) {
			p.homes = append(slices.DeleteFunc(p.homes, func(home string) bool { return home == dir }), dir)
			p.homes = p.homes[max(0, len(p.homes)-maxHomes):]
			return true
		}
	}
	return false
}

// lost says whether no book that is remembered has it any more.
func (p *shared) lost() bool {
	return !slices.ContainsFunc(p.homes, p.isIn)
}

func (p *shared) isIn(home string) bool {
	_, err := os.Lstat(filepath.Join(home, p.name))
	return err == nil
}
