//go:build linux

package agent

import (
	"container/heap"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/boxfiles"
)

// A listing is sorted and can go on after any path, although a directory is
// in no order and may change meanwhile: for each page all names are read, and
// the first ones after the last page are kept. So memory is that of a page, and a name
// that is there all the time is listed once.

// batch is how many names are described in one message, and how many are held
// per directory where directories below are listed too.
const (
	batch = 512
	chunk = 1024
)

// errFull ends a listing that has more to come.
var errFull = errors.New("the page is full")

type lister struct {
	*session
	left  int
	page  []boxfiles.Info
	count int
	last  string
}

func (s *session) list(path string, req boxfiles.Request) (out boxfiles.Outcome, err error) {
	dir, err := openDir(unix.AT_FDCWD, path, 0)
	if err != nil {
		return out, err
	}
	defer unix.Close(dir)
	limit, depth := req.Limit, req.Depth
	if limit <= 0 {
		limit = boxfiles.DefaultPage
	}
	if depth <= 0 {
		depth = 1
	}
	var after []string
	if len(req.After) > 0 {
		after = strings.Split(string(req.After), "/")
	}
	l := &lister{session: s, left: min(limit, boxfiles.MaxPage)}
	err = l.walk(dir, "", after, min(depth, boxfiles.MaxDepth))
	if errors.Is(err, errFull) {
		out.Next, err = []byte(l.last), nil
	}
	if err == nil {
		err = l.flush()
	}
	out.Count = l.count
	return out, err
}

// walk lists a directory, from the path after on, which consists of names.
func (l *lister) walk(dir int, prefix string, after []string, depth int) error {
	from := ""
	if len(after) > 0 {
		from = after[0]
		if depth > 1 {
			if err := l.descend(dir, prefix, from, after[1:], depth); err != nil {
				return err
			}
		}
	}
	for {
		most := l.left + 1
		if depth > 1 {
			most = min(most, chunk)
		}
		names, err := firstNames(dir, from, most)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := l.entry(dir, prefix, name, depth); err != nil {
				return err
			}
		}
		if len(names) < most {
			return nil
		}
		from = names[len(names)-1]
	}
}

// entry lists one name, and what is below it.
func (l *lister) entry(dir int, prefix, name string, depth int) error {
	st, err := statAt(dir, name)
	if err != nil {
		return nil // it is gone, or on a filesystem that hangs up
	}
	if l.left == 0 {
		return errFull
	}
	info := describe([]byte(prefix+name), &st)
	if info.Type == boxfiles.Symlink {
		info.Target = readLink(dir, name)
	}
	l.page = append(l.page, info)
	l.left, l.last = l.left-1, prefix+name
	l.count++
	if len(l.page) == batch {
		if err := l.flush(); err != nil {
			return err
		}
	}
	if info.Type == boxfiles.Directory && depth > 1 {
		return l.descend(dir, prefix, name, nil, depth)
	}
	return nil
}

// descend lists a directory below. One that cannot be opened, or is none any
// more, has nothing that can be listed.
func (l *lister) descend(dir int, prefix, name string, after []string, depth int) error {
	child, err := openDir(dir, name, unix.O_NOFOLLOW)
	if err != nil {
		return nil
	}
	defer unix.Close(child)
	return l.walk(child, prefix+name+"/", after, depth-1)
}

func (l *lister) flush() error {
	if len(l.page) == 0 {
		return nil
	}
	err := l.Say(boxfiles.Message, boxfiles.Page{Entries: l.page})
	l.page = l.page[:0]
	if err != nil {
		return errGone
	}
	return nil
}

// firstNames are the first names of a directory after one, sorted, and no more than most.
func firstNames(dir int, after string, most int) ([]string, error) {
	if _, err := unix.Seek(dir, 0, 0); err != nil {
		return nil, err
	}
	var kept names
	buf, found := make([]byte, 64<<10), make([]string, 0, chunk)
	for {
		n, err := retry(func() (int, error) { return unix.ReadDirent(dir, buf) })
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		_, _, found = unix.ParseDirent(buf[:n], -1, found[:0])
		for _, name := range found {
			kept.offer(name, after, most)
		}
	}
	sorted := make([]string, len(kept))
	for i := len(kept) - 1; i >= 0; i-- {
		sorted[i] = heap.Pop(&kept).(string)
	}
	return sorted, nil
}

// names is a heap whose first is the last in order.
type names []string

func (n names) Len() int           { return len(n) }
func (n names) Less(i, j int) bool { return n[i] > n[j] }
func (n names) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *names) Push(x any)        { *n = append(*n, x.(string)) }
func (n *names) Pop() any {
	last := (*n)[len(*n)-1]
	*n = (*n)[:len(*n)-1]
	return last
}

// offer keeps a name if it is among the first.
func (n *names) offer(name, after string, most int) {
	switch {
	case name <= after:
	case len(*n) < most:
		heap.Push(n, name)
	case name < (*n)[0]:
		(*n)[0] = name
		heap.Fix(n, 0)
	}
}
