//go:build linux

package agent

import (
	"bytes"
	"errors"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/boxfiles"
)

const (
	// mostWatched is how many directories one request watches.
	mostWatched = 8192
	// moment is how long changes are gathered before they are told: a file that
	// is written changes many times.
	moment = 50 * time.Millisecond
	// mostTold is how many changes are gathered; more are an overflow.
	mostTold = 1000
)

const watched = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_CLOSE_WRITE | unix.IN_MODIFY | unix.IN_ATTRIB

// watcher tells what changes below a directory.
type watcher struct {
	*session
	root      string
	recursive bool
	file      *os.File // inotify
	fd        int
	dirs      map[int32]string // by watch: their paths, relative, with a slash at the end
	pending   []boxfiles.Change
	seen      map[string]int // where in pending a path is
	overflow  bool
}

// watch tells what changes until the daemon has heard enough.
func (s *session) watch(root string, recursive bool) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return err
	}
	w := &watcher{session: s, root: root, recursive: recursive, fd: fd, file: os.NewFile(uintptr(fd), "inotify"),
		dirs: map[int32]string{}, seen: map[string]int{}}
	defer w.file.Close()
	if err := w.begin(); err != nil {
		return err
	}
	if s.Say(boxfiles.Message, boxfiles.Info{}) != nil {
		return errGone
	}
	go func() { // its end wakes the reader
		for {
			if _, _, err := s.Next(); err != nil {
				w.file.Close()
				return
			}
		}
	}()
	return w.follow()
}

// begin watches the directory itself, or a file.
func (w *watcher) begin() error {
	var st unix.Stat_t
	if err := unix.Stat(w.root, &st); err != nil {
		return err
	}
	if typeOf(&st) != boxfiles.Directory {
		_, err := unix.InotifyAddWatch(w.fd, w.root, watched|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF)
		return err
	}
	return w.add("", unix.IN_DELETE_SELF|unix.IN_MOVE_SELF, false)
}

// add watches a directory and, if that was asked for, those below it. A new one
// may have had names before it was watched, which are told then.
func (w *watcher) add(rel string, more uint32, isNew bool) error {
	if len(w.dirs) >= mostWatched {
		w.overflow = true
		return nil
	}
	full := path.Join(w.root, rel)
	flags := uint32(watched | unix.IN_ONLYDIR | more)
	if rel != "" {
		flags |= unix.IN_DONT_FOLLOW
	}
	wd, err := unix.InotifyAddWatch(w.fd, full, flags)
	if err != nil {
		if rel == "" {
			return limited(err)
		}
		w.overflow = w.overflow || errors.Is(err, unix.ENOSPC)
		return nil // it is gone, or may not be looked into
	}
	w.dirs[int32(wd)] = rel
	if !w.recursive {
		return nil
	}
	return w.addBelow(full, rel, isNew)
}

func (w *watcher) addBelow(full, rel string, isNew bool) error {
	flags := unix.O_NOFOLLOW
	if rel == "" {
		flags = 0
	}
	dir, err := openDir(unix.AT_FDCWD, full, flags)
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	for from := ""; !w.overflow; {
		list, err := firstNames(dir, from, chunk)
		if err != nil {
			return nil
		}
		for _, name := range list {
			if isNew {
				w.note(rel+name, boxfiles.Created)
			}
			if st, err := statAt(dir, name); err == nil && typeOf(&st) == boxfiles.Directory {
				if err := w.add(rel+name+"/", 0, isNew); err != nil {
					return err
				}
			}
		}
		if len(list) < chunk {
			return nil
		}
		from = list[len(list)-1]
	}
	return nil
}

func limited(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EMFILE) {
		return forkbox.Errorf(forkbox.Busy, "", "the box's user watches as much as the kernel allows").
			Hint("sysctl fs.inotify.max_user_watches says how much that is")
	}
	return err
}

// follow tells changes, gathered for a moment each.
func (w *watcher) follow() error {
	buf := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buf)
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if err != nil && !late {
			return errGone
		}
		idle := w.quiet()
		gone := w.events(buf[:n])
		switch {
		case late, gone, len(w.pending) >= mostTold, w.overflow:
			if err := w.tell(); err != nil || gone {
				return err
			}
			_ = w.file.SetReadDeadline(time.Time{})
		case idle && !w.quiet(): // the first of a moment
			_ = w.file.SetReadDeadline(time.Now().Add(moment))
		}
	}
}

func (w *watcher) quiet() bool { return len(w.pending) == 0 && !w.overflow }

// tell sends what was gathered.
func (w *watcher) tell() error {
	if w.overflow {
		w.pending = append(w.pending, boxfiles.Change{Kind: boxfiles.Overflow})
	}
	if len(w.pending) == 0 {
		return nil
	}
	err := w.Say(boxfiles.Message, boxfiles.Changes{Changes: w.pending})
	w.pending, w.overflow = w.pending[:0], false
	clear(w.seen)
	if err != nil {
		return errGone
	}
	return nil
}

// events reads what the kernel says. gone means that what is watched is.
func (w *watcher) events(buf []byte) (gone bool) {
	for len(buf) >= unix.SizeofInotifyEvent {
		wd, mask := int32(word(buf, 0)), word(buf, 1)
		size := int(word(buf, 3))
		if len(buf) < unix.SizeofInotifyEvent+size {
			return false
		}
		name := string(bytes.TrimRight(buf[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size], "\x00"))
		buf = buf[unix.SizeofInotifyEvent+size:]
		gone = w.event(wd, mask, name) || gone
	}
	return gone
}

func (w *watcher) event(wd int32, mask uint32, name string) (gone bool) {
	rel, isDir := w.dirs[wd]
	switch {
	case mask&unix.IN_Q_OVERFLOW != 0:
		w.overflow = true
		return false
	case mask&unix.IN_IGNORED != 0:
		delete(w.dirs, wd)
		return false
	case mask&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF) != 0:
		if rel == "" {
			w.note("", boxfiles.Removed)
			return true
		}
		return false
	}
	if name == "" && isDir && rel != "" {
		return false // its directory tells of it by name
	}
	at := rel + name
	switch {
	case mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		w.note(at, boxfiles.Created)
		if mask&unix.IN_ISDIR != 0 && w.recursive {
			_ = w.add(at+"/", 0, true) // fails for the root alone
		}
	case mask&(unix.IN_DELETE|unix.IN_MOVED_FROM) != 0:
		w.note(at, boxfiles.Removed)
		if mask&unix.IN_ISDIR != 0 {
			w.forget(at + "/")
		}
	default:
		w.note(at, boxfiles.Changed)
	}
	return false
}

// forget stops watching directories that were moved away.
func (w *watcher) forget(rel string) {
	for wd, dir := range w.dirs {
		if strings.HasPrefix(dir, rel) {
			_, _ = unix.InotifyRmWatch(w.fd, uint32(wd))
			delete(w.dirs, wd)
		}
	}
}

// note gathers a change. Of several of one path the last is told; one that was
// made and changed was made.
func (w *watcher) note(at string, kind boxfiles.ChangeKind) {
	if i, known := w.seen[at]; known {
		if kind != boxfiles.Changed || w.pending[i].Kind == boxfiles.Removed {
			w.pending[i].Kind = kind
		}
		return
	}
	if len(w.pending) >= mostTold {
		w.overflow = true
		return
	}
	w.seen[at] = len(w.pending)
	w.pending = append(w.pending, boxfiles.Change{Path: []byte(at), Kind: kind})
}
