package review

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
)

func marksOf(marks map[string]Mark) *Marks {
	m := &Marks{}
	for _, p := range slices.Sorted(maps.Keys(marks)) {
		m.Set(p, marks[p])
	}
	return m
}

// randomPath is one of few enough that many are set again.
func randomPath(r *rand.Rand) string {
	path := ""
	for range 1 + r.IntN(4) {
		path += fmt.Sprintf("/%c%d", 'a'+rune(r.IntN(3)), r.IntN(8))
	}
	if r.IntN(100) == 0 {
		return "/"
	}
	return path
}

func randomMark(r *rand.Rand) Mark {
	yes := func() bool { return r.IntN(2) == 0 }
	id := func() forkbox.Identity { return forkbox.Identity{Ino: uint64(r.IntN(500)), Ctime: r.Int64N(3)} }
	m := Mark{Reality: id(), Box: id(), Whole: yes(), Deleted: yes(), Added: yes(), Landed: yes(), Nothing: yes()}
	m.Box.Dev, m.Receipt = uint64(r.IntN(3)), fmt.Sprint("r", r.IntN(5))
	return m
}

func TestMarksAreAMap_Property(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		got, want := &Marks{}, map[string]Mark{}
		for range r.IntN(20000) {
			p, m := randomPath(r), randomMark(r)
			got.Set(p, m)
			want[p] = m
		}
		sameMarks(t, r, got, want)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func sameMarks(t *testing.T, r *rand.Rand, got *Marks, want map[string]Mark) {
	t.Helper()
	if got.Len() != len(want) {
		t.Errorf("%d paths, not %d", got.Len(), len(want))
	}
	byInode := map[uint64]map[string]Mark{}
	for p, m := range want {
		if g, ok := got.Get(p); !ok || g != m {
			t.Errorf("%s: %v %+v, not %+v", p, ok, g, m)
		}
		if byInode[m.Box.Ino] == nil {
			byInode[m.Box.Ino] = map[string]Mark{}
		}
		byInode[m.Box.Ino][p] = m
	}
	for range 1000 {
		p := randomPath(r) + "x"
		if m, ok := got.Get(p); ok || m != (Mark{}) {
			t.Errorf("%s has a mark: %+v", p, m)
		}
	}
	delete(byInode, 0) // that of what the box deleted: no file
	for number := range uint64(600) {
		if paths := maps.Collect(got.ofInode(number)); !maps.Equal(paths, byInode[number]) {
			t.Errorf("inode %d landed at %v, not %v", number, paths, byInode[number])
		}
	}
}

// There is one for each path that a box has landed, and all of them at once.
func TestAMarkIsSmall(t *testing.T) {
	const paths, most = 200000, 220
	use := func() uint64 {
		runtime.GC()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		return now.HeapAlloc
	}
	before := use()
	marks, left := &Marks{}, &Inodes{}
	for i := range paths {
		id := forkbox.Identity{Dev: 1, Ino: uint64(1000 + i), Ctime: int64(i)}
		marks.Set(fmt.Sprintf("/home/somebody/project/directory-%d/some-file-%d.txt", i/1000, i), Mark{Reality: id, Box: id, Receipt: "0123456789ab"})
		left.Add(id)
	}
	each := (use() - before) / paths
	t.Logf("%d bytes for each of %d paths", each, paths)
	if each > most {
		t.Errorf("%d bytes for each path, at most %d", each, most)
	}
	runtime.KeepAlive(marks)
	runtime.KeepAlive(left)
}

func TestNoMarks(t *testing.T) {
	for _, m := range []*Marks{nil, {}} {
		if _, ok := m.Get("/a"); ok || m.Len() != 0 {
			t.Error("there is a mark where none was set")
		}
		for p := range m.ofInode(1) {
			t.Errorf("%s landed", p)
		}
	}
}

func TestInodesAreASet_Property(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		id := func() forkbox.Identity {
			return forkbox.Identity{Dev: r.Uint64(), Ino: uint64(r.IntN(1000)), Ctime: r.Int64N(5), Size: r.Int64()}
		}
		got, want, numbers := &Inodes{}, map[inode]bool{}, map[uint64]bool{}
		for range r.IntN(4000) {
			i := id()
			got.Add(i)
			want[inodeOf(i)], numbers[i.Ino] = true, true
		}
		for range 20000 {
			i := id()
			if got.Has(i) != want[inodeOf(i)] || got.hasInode(i.Ino) != numbers[i.Ino] {
				t.Fatalf("seed %d: %+v: %v, %v", seed, i, got.Has(i), got.hasInode(i.Ino))
			}
		}
	}
	var none *Inodes
	if none.Has(forkbox.Identity{}) || none.hasInode(0) || (&Inodes{}).Has(forkbox.Identity{Ino: 1}) {
		t.Error("there is one where none was added")
	}
}
