package land

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// A staging directory says of itself what it is, for the landing's own
// directory may be lost while it lies in the tree: at once whose it is, and
// before the tree is touched also the journal. So what it holds can be put back
// from it alone; see stray_linux.go.

const (
	aboutFile  = "about"
	ignoreFile = ".gitignore"
)

// journalFiles are the names of the journal in either directory, in the order
// in which they are shared: records name places.
var journalFiles = []string{placesFile, partsFile, planFile}

// isSlot says whether a name in a staging directory is something of the tree,
// and not the landing's own.
func isSlot(name string) bool {
	return name != aboutFile && name != ignoreFile && !slices.Contains(journalFiles, name)
}

// about is what a staging directory says from the start.
type about struct {
	Landing string    `json:"landing"` // the landing's own directory
	Began   time.Time `json:"began"`
}

// introduce writes down what a staging directory is.
func (s *site) introduce(p *place) error {
	text, err := json.Marshal(about{Landing: pack(s.cfg.Dir), Began: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	return p.write(aboutFile, string(text)+"\n")
}

func readAbout(dir int) (a about, err error) {
	fd, err := open(dir, aboutFile, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return a, err
	}
	f := os.NewFile(uintptr(fd), aboutFile)
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	a.Landing = unpack(a.Landing)
	return a, err
}

// shareJournal has every staging directory know the whole journal. On the
// journal's own filesystem that is another name for it and costs nothing.
func (s *site) shareJournal() error {
	for _, p := range s.places {
		if p.fd < 0 {
			continue
		}
		for i, j := range []*journal{s.noted, s.parts, s.plan} {
			if err := s.share(p, journalFiles[i], j); err != nil {
				return failed(opLand, join(join(p.In, s.name), journalFiles[i]), err)
			}
		}
	}
	return nil
}

func (s *site) share(p *place, name string, j *journal) error {
	if err := j.flush(); err != nil {
		return err
	}
	err := linkat(int(s.dir.Fd()), name, p.fd, name)
	for _, e := range []error{unix.EXDEV, unix.EPERM, unix.EACCES, unix.EMLINK, unix.EOPNOTSUPP} {
		if errors.Is(err, e) {
			return s.who.do(func() error { return j.copyTo(p.fd, name) })
		}
	}
	return err
}

// copyTo writes what the journal has so far to a new file.
func (j *journal) copyTo(dir int, name string) error {
	f, err := create(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	return act("write journal", func() error {
		_, err := io.Copy(f, io.NewSectionReader(j.file, 0, j.size))
		return err
	})
}

// write makes a file of the landing's own in the staging directory.
func (p *place) write(name, text string) error {
	f, err := create(p.fd, name)
	if err != nil {
		return err
	}
	defer f.Close()
	return act("write", func() error {
		_, err := f.WriteString(text)
		return err
	})
}

// damaged is the error for a journal that makes no sense.
func damaged(dir string, err error) error {
	return forkbox.Errorf(forkbox.Internal, opRead, "the journal in %s is damaged: %w", dir, errors.Join(err, unix.EBADMSG))
}
