package land

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// site is what everything that is done to a landing needs: its journals, its
// staging directories, and the tree.
type site struct {
	cfg      Config
	dir      *os.File // cfg.Dir
	name     string   // of the staging directories
	who      *actor
	tree     tree
	places   []*place
	noted    *journal // the places
	plan     *journal // the records
	parts    *journal // what is in directories that are moved entrywise
	ranges   map[int]span
	moved    []*record         // the moves, once they were read
	touched  map[inode]bool    // files whose ctime this landing itself changes
	reached  *reach            // nil: not known, an earlier process did it
	extra    map[uint64]int    // open directories of filesystems that have no place
	weights  map[inPlace]Tally // what is in the directories that are kept
	movedOut map[int]Tally     // of what a record displaces, what was moved out of it before
}

// span is a part of a journal.
type span struct{ from, to int64 }

// The files of a landing's directory.
const (
	placesFile = "places"
	planFile   = "plan"
	partsFile  = "parts"
	leftFile   = "left"   // what the landing left
	undoneFile = "undone" // what its undo left
)

func newSite(cfg Config) (*site, error) {
	if cfg.Root == nil || !filepath.IsAbs(cfg.Dir) {
		return nil, forkbox.Errorf(forkbox.Invalid, opLand, "a root and an absolute directory for the journal are needed")
	}
	who, err := actAs(cfg.Owner)
	if err != nil {
		return nil, err
	}
	s := &site{cfg: cfg, name: StagingName(cfg.Dir), who: who, ranges: map[int]span{}, touched: map[inode]bool{}, extra: map[uint64]int{}, movedOut: map[int]Tally{}}
	s.tree.root = int(cfg.Root.Fd())
	return s, nil
}

// openSite opens a landing that an earlier process may have begun.
func openSite(cfg Config) (*site, error) {
	s, err := newSite(cfg)
	if err != nil {
		return nil, err
	}
	if s.dir, err = os.Open(cfg.Dir); err == nil {
		err = s.readJournals()
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *site) readJournals() error {
	if err := s.openJournals(); err != nil {
		return err
	}
	if err := s.readPlaces(); err != nil {
		return err
	}
	return s.readRanges()
}

func (s *site) openJournals() (err error) {
	if s.noted, err = openJournal(s.dir, placesFile); err != nil {
		return err
	}
	if s.plan, err = openJournal(s.dir, planFile); err != nil {
		return err
	}
	s.parts, err = openJournal(s.dir, partsFile)
	return err
}

// readPlaces reads each place's last line: the later ones know more.
func (s *site) readPlaces() error {
	l := s.noted.forward(0, s.noted.size)
	for {
		p := &place{fd: -1}
		err := nextLine(l, p)
		if err == io.EOF {
			return nil
		}
		if err != nil || p.K > len(s.places) || p.K < 0 {
			return damaged(s.cfg.Dir, err)
		}
		p.In = unpack(p.In)
		if p.K == len(s.places) {
			s.places = append(s.places, p)
		}
		s.places[p.K] = p
	}
}

func (s *site) close() {
	for _, p := range s.places {
		p.close()
	}
	for _, fd := range s.extra {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	clear(s.extra)
	s.tree.forget()
	for _, j := range []*journal{s.noted, s.plan, s.parts} {
		j.close()
	}
	if s.dir != nil {
		s.dir.Close()
	}
	s.who.stop()
}

// openPlaces opens the staging directories that are there, in the tree or
// in the landing's own directory.
func (s *site) openPlaces() error {
	for _, p := range s.places {
		p.close()
		if p.Ino == 0 {
			continue
		}
		if err := s.openPlace(p); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) openPlace(p *place) error {
	err := p.open(int(s.dir.Fd()), p.stowName())
	p.stowed = err == nil
	if errors.Is(err, unix.ENOENT) {
		err = s.who.do(func() error {
			fd, err := s.tree.dir(p.In)
			if err != nil {
				return err
			}
			return p.open(fd, s.name)
		})
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil // it was never durable, or was removed
	}
	if err != nil {
		return failed(opRead, join(p.In, s.name), err)
	}
	return s.check(p)
}

// check closes a directory that has the name of a staging directory and is
// not the one that was made. Where numbers cannot tell, it is asked what it says
// of itself.
func (s *site) check(p *place) error {
	o, err := fstat(p.fd)
	if err == nil && o.Ino == p.Ino {
		return nil
	}
	if a, failed := readAbout(p.fd); err == nil && s.cfg.Remounted && p.Overlay && failed == nil && a.Landing == s.cfg.Dir {
		p.Ino = o.Ino
		return nil
	}
	p.close()
	return err
}

// stowName is a place's name in the landing's own directory.
func (p *place) stowName() string { return "kept-" + strconv.Itoa(p.K) }
