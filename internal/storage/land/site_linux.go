package land

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// crew is those who do the work at a landing. Whoever takes a part in it has the
// same ones.
type crew struct {
	who     *files.Actor // with whose rights
	tree    *files.Tree  // what is landed in
	yard    *yard        // the staging directories
	plan    *plan        // what is to be done
	hand    *hand        // does it
	witness *witness     // compares what was done with what was meant
}

// site is a landing that is open: its own directory, and its crew.
type site struct {
	crew
	cfg Config
	dir *os.File // cfg.Dir
}

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
	who, err := files.ActAs(cfg.Owner)
	if err != nil {
		return nil, err
	}
	return &site{cfg: cfg, crew: newCrew(cfg, who)}, nil
}

func newCrew(cfg Config, who *files.Actor) crew {
	t := &files.Tree{Root: int(cfg.Root.Fd())}
	p := &plan{ranges: map[int]span{}}
	y := &yard{who: who, tree: t, own: cfg.Dir, name: StagingName(cfg.Dir), remounted: cfg.Remounted}
	return crew{
		who: who, tree: t, yard: y, plan: p,
		hand:    &hand{tree: t, yard: y, plan: p, touched: map[files.Inode]bool{}, extra: map[uint64]int{}},
		witness: &witness{who: who, tree: t, yard: y, plan: p, rewritten: cfg.Rewritten, movedOut: map[int]Tally{}},
	}
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

// create makes the landing's directory with empty journals.
func (s *site) create() error {
	err := files.Act("mkdir", func() error { return unix.Mkdir(s.cfg.Dir, 0o700) })
	if errors.Is(err, unix.EEXIST) {
		return forkbox.Errorf(forkbox.Exists, opLand, "%s is there already", s.cfg.Dir)
	}
	if err == nil {
		s.dir, err = os.Open(s.cfg.Dir)
	}
	if err == nil {
		err = s.yard.create(s.dir)
	}
	if err == nil {
		err = s.plan.create(s.dir)
	}
	if err == nil {
		err = files.SyncFile(s.dir)
	}
	if err == nil {
		err = syncDir(filepath.Dir(s.cfg.Dir))
	}
	if err != nil && s.dir != nil {
		s.forget()
	}
	return wrap(opLand, err)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return files.SyncFile(f)
}

func (s *site) readJournals() error {
	if err := s.yard.read(s.dir); err != nil {
		return err
	}
	return s.plan.read(s.dir)
}

// caller is with whose rights the tree is touched.
func (s *site) caller() int {
	if s.cfg.Owner != nil {
		return s.cfg.Owner.UID
	}
	return os.Geteuid()
}

func (s *site) close() {
	s.hand.close()
	s.yard.close()
	s.plan.close()
	s.tree.Forget()
	if s.dir != nil {
		s.dir.Close()
	}
	s.who.Stop()
}
