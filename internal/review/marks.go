package review

import (
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/forkbox/forkbox"
)

// Mark is what earlier applies of the same box left at a path. Of identities
// it has the inode and its time, and of the box's the device.
type Mark struct {
	Reality forkbox.Identity // what reality had there right after; zero if that says nothing
	Box     forkbox.Identity // what the box had, where all of it landed
	Whole   bool             // all of the box's change landed
	Merged  bool             // with lines of reality, which the box has never seen
	Deleted bool             // and it was a deletion
	Added   bool             // reality had nothing there before
	// Landed says that something landed there after the fence: what the path
	// was at the fence is no base any more.
	Landed bool
	// Receipt is whose landing it was, and so where the new base may be.
	Receipt string
	// TakenBack says that something landed there before the fence and was undone
	// after it. What reality was at the fence is no base: it had what landed.
	TakenBack bool
	// Nothing says that reality had nothing there, neither before an apply nor
	// after its undo. The two set the time of the directory, from which a
	// deletion is told otherwise.
	Nothing bool
}

// Marks are the marks of a box by path. An apply may have landed a million
// paths, and all of their marks are needed at once: so they are kept small, a
// directory's name once for all that is in it. A nil one is empty and only read.
type Marks struct {
	rows     [][]row // all but the last are full
	byPath   index
	asked    sync.Mutex // for the two that follow, which are made when a view asks: several may have the marks
	byInode  index      // the first of each inode of the box
	next     []uint32   // by row: another one of the same inode, and one; 0 is none
	dirs     []string
	way      []uint32 // the directories that the last path is in, as far as they are in dirs
	receipts []string
	devices  []uint64
}

// row is a mark as it is kept.
type row struct {
	reality, box   inode
	name           string
	dir            uint32 // number in dirs
	device         uint32 // of box, number in devices
	receipt        uint32 // number in receipts
	whole, deleted bool
	added, landed  bool
	nothing        bool
	merged         bool
	takenBack      bool
}

// inode is a file at a moment.
type inode struct {
	number uint64
	ctime  int64
}

func inodeOf(id forkbox.Identity) inode { return inode{id.Ino, id.Ctime} }

// rowBlock is how many rows lie side by side. What grows by blocks is never
// copied, and so never there twice.
const rowBlock = 4096

func (m *Marks) row(i uint32) *row { return &m.rows[i/rowBlock][i%rowBlock] }

// Len is how many paths have a mark.
func (m *Marks) Len() int {
	if m == nil || len(m.rows) == 0 {
		return 0
	}
	return (len(m.rows)-1)*rowBlock + len(m.rows[len(m.rows)-1])
}

// Get is the mark of a path; the zero one where it has none.
func (m *Marks) Get(path string) (mark Mark, ok bool) {
	if m.Len() == 0 {
		return mark, false
	}
	i, ok := m.find(path)
	if !ok {
		return mark, false
	}
	return m.mark(i), true
}

// landed says whether the box has landed something at a path, undone since or not.
func (m *Marks) landed(path string) bool {
	mark, ok := m.Get(path)
	return ok && mark != Mark{TakenBack: true} // which may be another box's
}

// below says whether anything in a directory has a mark.
func (m *Marks) below(dir string) bool {
	return m.Len() > 0 && slices.ContainsFunc(m.dirs, func(d string) bool { return d != "" && forkbox.Within(d, dir) })
}

// All are the paths that have a mark, and theirs.
func (m *Marks) All() iter.Seq2[string, Mark] {
	return func(yield func(string, Mark) bool) {
		for i := range uint32(m.Len()) {
			if !yield(m.path(i), m.mark(i)) {
				return
			}
		}
	}
}

func (m *Marks) mark(i uint32) Mark {
	r := m.row(i)
	return Mark{
		Reality: forkbox.Identity{Ino: r.reality.number, Ctime: r.reality.ctime},
		Box:     forkbox.Identity{Dev: m.devices[r.device], Ino: r.box.number, Ctime: r.box.ctime},
		Whole:   r.whole, Merged: r.merged, Deleted: r.deleted, Added: r.added, Landed: r.landed, Nothing: r.nothing,
		TakenBack: r.takenBack, Receipt: m.receipts[r.receipt],
	}
}

// Set gives a path its mark. It is cheapest for paths in order.
func (m *Marks) Set(path string, mark Mark) {
	i, ok := m.find(path)
	if !ok {
		i = m.add(path)
	}
	r := m.row(i)
	r.reality, r.box = inodeOf(mark.Reality), inodeOf(mark.Box)
	r.whole, r.deleted, r.added, r.landed, r.nothing = mark.Whole, mark.Deleted, mark.Added, mark.Landed, mark.Nothing
	r.merged, r.takenBack = mark.Merged, mark.TakenBack
	r.device, r.receipt = number(&m.devices, mark.Box.Dev), number(&m.receipts, mark.Receipt)
	m.byInode, m.next = index{}, nil
}

// number is the place of a value in a short list, where it is put if need be.
func number[T comparable](list *[]T, value T) uint32 {
	for i, v := range slices.Backward(*list) {
		if v == value {
			return uint32(i)
		}
	}
	*list = append(*list, value)
	return uint32(len(*list) - 1)
}

// splitPath takes a path apart so that "/" between the two makes it again.
func splitPath(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

func (m *Marks) path(i uint32) string {
	r := m.row(i)
	return m.dirs[r.dir] + "/" + r.name
}

func (m *Marks) find(path string) (uint32, bool) {
	dir, name := splitPath(path)
	for i := range m.byPath.at(m.hash(dir, name)) {
		if r := m.row(i); r.name == name && m.dirs[r.dir] == dir {
			return i, true
		}
	}
	return 0, false
}

func (m *Marks) add(path string) uint32 {
	dir, name := splitPath(path)
	if n := len(m.rows); n == 0 || len(m.rows[n-1]) == rowBlock {
		m.rows = append(m.rows, make([]row, 0, rowBlock))
	}
	last := &m.rows[len(m.rows)-1]
	*last = append(*last, row{name: strings.Clone(name), dir: m.dir(dir)})
	i := uint32(m.Len() - 1)
	m.byPath.add(i, func(i uint32) uint64 {
		r := m.row(i)
		return m.hash(m.dirs[r.dir], r.name)
	})
	return i
}

// dir is the number of a directory. One that the last path was in has one
// already; one that is come back to later may get another.
func (m *Marks) dir(dir string) uint32 {
	for n := len(m.way); n > 0; n-- {
		at := m.dirs[m.way[n-1]]
		if at == dir {
			return m.way[n-1]
		}
		if at == "" || forkbox.Within(dir, at) {
			break
		}
		m.way = m.way[:n-1]
	}
	i := uint32(len(m.dirs))
	m.dirs = append(m.dirs, strings.Clone(dir))
	m.way = append(m.way, i)
	return i
}

// pathSeed keeps a box from choosing where paths meet in an index.
var pathSeed = maphash.MakeSeed()

func (m *Marks) hash(dir, name string) uint64 {
	return maphash.String(pathSeed, dir)*31 + maphash.String(pathSeed, name)
}

// ofInode are the paths that landed from one of the box's files.
func (m *Marks) ofInode(number uint64) iter.Seq2[string, Mark] {
	return func(yield func(string, Mark) bool) {
		if m.Len() == 0 || number == 0 {
			return
		}
		m.sortByInode()
		i, ok := m.firstOf(number)
		for ok {
			if !yield(m.path(i), m.mark(i)) {
				return
			}
			i, ok = m.next[i]-1, m.next[i] != 0
		}
	}
}

// sortByInode makes the index, the first time.
func (m *Marks) sortByInode() {
	m.asked.Lock()
	defer m.asked.Unlock()
	if m.next != nil {
		return
	}
	next := make([]uint32, m.Len())
	for i := range uint32(m.Len()) {
		number := m.row(i).box.number
		if number == 0 {
			continue
		}
		if first, ok := m.firstOf(number); ok {
			next[i], next[first] = next[first], i+1
			continue
		}
		m.byInode.add(i, func(i uint32) uint64 { return spread(m.row(i).box.number) })
	}
	m.next = next
}

func (m *Marks) firstOf(number uint64) (uint32, bool) {
	for i := range m.byInode.at(spread(number)) {
		if m.row(i).box.number == number {
			return i, true
		}
	}
	return 0, false
}
