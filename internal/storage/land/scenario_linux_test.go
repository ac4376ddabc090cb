package land

import (
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

const strange = "/odd/new\nline: \xff\xfe,x"

// furnish makes a tree with something for every kind of item.
func (w *world) furnish() {
	w.Helper()
	for _, p := range []string{"/edit", "/gone", "/dir/keep", "/rmdir/a/b", "/rmdir/c", "/swap1/one", "/swap2/two", "/nest/x/deep", "/nest/y", "/tofile/in/it", "/tolink", "/mode", "/ro/file", "/rodir/in", "/turn1/a", "/turn2/b", "/over/a", "/onto/b", "/onto/a", strange} {
		w.write(p, "old "+p)
	}
	w.must(os.Mkdir(w.at("/empty"), 0o755))
	w.must(os.Link(w.at("/edit"), w.at("/edit-too")))
	w.must(os.Link(w.at("/mode"), w.at("/mode-too")))
	w.must(os.Symlink("nowhere", w.at("/link")))
	w.must(unix.Mkfifo(w.at("/fifo"), 0o600))
	w.must(unix.Setxattr(w.at("/edit"), "user.old", []byte("1"), 0))
	w.must(unix.Setxattr(w.at("/dir"), "user.dir", []byte("1"), 0))
	w.must(os.Chmod(w.at("/ro"), 0o555))
	w.must(os.Chmod(w.at("/rodir"), 0o555))
	w.must(os.Chmod(w.at("/gone"), 0o4755))
}

// everything is a landing of every kind of item, in path order.
func (w *world) everything() []Item {
	edit := w.put("/edit", "new")
	edit.Node.Xattrs = map[string][]byte{"user.new": []byte("2")}
	first := w.put("/add/first", "linked")
	first.Node.Nlink = 2
	second := w.put("/add/second", "")
	second.Link, second.Node.Nlink = "/add/first", 2
	toOld := w.put("/to-old", "old /dir/keep")
	toOld.Link = "/dir/keep"
	fifo := w.put("/add/sub/fifo", "")
	fifo.Node.Mode = fs.ModeNamedPipe | 0o640
	dirAttr := w.chmod("/dir", fs.ModeDir|0o700)
	dirAttr.Node.Xattrs = map[string][]byte{"user.dir": []byte("2"), "user.more": nil}
	suid := w.put("/suid", "#!")
	suid.Node.Mode = 0o755 | fs.ModeSetuid
	items := []Item{
		w.putDir("/add", 0o750), first, second, w.putDir("/add/sub", 0o555), fifo,
		w.move("/swap1", "/add/swapped"), w.put("/add/swapped/more", "in a moved directory"), w.put("/add/swapped/one", "edited in a moved directory"),
		dirAttr, w.put("/dir/new", "new in old"), edit, w.putDir("/empty", 0o711), w.put("/empty/not", "any more"),
		w.remove("/fifo"), w.remove("/gone"), w.putLink("/link", "some\xffwhere"), w.chmod("/mode", 0o600),
		w.move("/nest/x", "/moved"), w.putLink("/moved/deep", "deep"), w.put(strange, "strange"),
		w.move("/turn1", "/turn2"), w.move("/turn2", "/turn1"), w.remove("/onto"), w.move("/over", "/onto"),
		w.putDir("/newro", 0o555), w.put("/newro/in", "read-only directory"), w.remove("/rodir"),
		w.remove("/rmdir"), w.chmod("/ro", fs.ModeDir|0o511), suid, w.move("/nest", "/swap1"), w.put("/to-old", ""),
		w.put("/tofile", "was a directory"), w.putDir("/tolink", 0o755), w.put("/tolink/in", "was a file"),
	}
	for i, it := range items {
		switch it.Path {
		case "/to-old":
			items[i] = toOld
		case "/add/swapped/one":
			items[i].Expect = w.seen("/swap1/one")
		case "/moved/deep":
			items[i].Expect = w.seen("/nest/x/deep")
		}
	}
	slices.SortStableFunc(items, func(a, b Item) int { return forkbox.ComparePaths(a.Path, b.Path) })
	return items
}
