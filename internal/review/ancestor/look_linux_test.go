package ancestor

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
)

// newSpace is a workspace whose files named *.o, and directories named out, are
// none of its owner's work.
func newSpace(root string, owner forkbox.Owner) *Workspace {
	return &Workspace{
		Root: root, Owner: owner, Hidden: func(p string) bool { return filepath.Base(p) == "hidden" },
		Ignored: func() func(string, bool) bool {
			return func(p string, dir bool) bool {
				return strings.HasSuffix(p, ".o") || dir && filepath.Base(p) == "out"
			}
		},
	}
}

func me() forkbox.Owner { return forkbox.Owner{UID: os.Geteuid(), GID: os.Getegid()} }

// looked is a book with what a look at the workspace tells.
func looked(t testing.TB, w *Workspace, repo *git.Repo, at time.Time) *Book {
	t.Helper()
	b := Open(t.TempDir(), repo, at)
	if err := w.Look(t.Context(), []*Book{b}); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestLookKeepsWhatGitDoesNotHave(t *testing.T) {
	repo := newRepo(t, "echo 1 >clean; echo 1 >dirty; mkdir d out; echo 1 >d/clean; echo 1 >out/tracked; chmod +x d/clean; ln -s a l; echo '*.lfs filter=lfs' >.gitattributes; echo 1 >a.lfs; sleep 0.02; git add -A; sleep 0.02; git status >/dev/null")
	root := repo.Root
	sh(t, root, repo.Owner.Home, "echo 2 >dirty; echo 3 >d/untracked; chmod 600 d/untracked; echo 4 >a.o; echo 5 >out/x; echo 6 >secret; echo 6 >hidden; echo 6 >.env; echo 6 >d/tls.key; : >empty; echo 7 >\"$(printf 'd/\\377\\nx')\"; head -c 1048577 /dev/zero >large; git update-index --force-write-index")
	if err := os.Chmod(root, 0o751); err != nil {
		t.Fatal(err)
	}
	at := fence(t)
	w := newSpace(root, repo.Owner)
	b := looked(t, w, repo, at)
	sh(t, root, repo.Owner.Home, "chmod 700 .; rm -r d out *.o; for f in clean dirty empty; do echo later >$f; done; git add -A; git commit -qm later; git gc -q")
	for range 2 {
		want(t, b, root+"/clean", "-rw-r--r-- 1\n")
		want(t, b, root+"/d/clean", "-rwxr-xr-x 1\n")
		want(t, b, root+"/out/tracked", "-rw-r--r-- 1\n")
		want(t, b, root+"/dirty", "-rw-r--r-- 2\n")
		want(t, b, root+"/d/untracked", "-rw------- 3\n")
		want(t, b, root+"/a.o", "-rw-r--r-- 4\n")
		want(t, b, root+"/empty", "-rw-r--r-- ")
		want(t, b, root+"/d/\xff\nx", "-rw-r--r-- 7\n")
		want(t, b, root+"/d", "drwxr-xr-x ")
		want(t, b, root, "drwxr-x--x ")
		for _, name := range []string{"/out/x", "/secret", "/hidden", "/.env", "/d/tls.key", "/large", "/a.lfs", "/out", "/.git", "/.git/HEAD", "/never"} {
			want(t, b, root+name, "unknown")
		}
		for name, right := range map[string]bool{"/clean": true, "/dirty": true, "/d/untracked": true, "/out/x": false, "/never": false} {
			if had, err := b.Had(t.Context(), root+name); err != nil || had != right {
				t.Errorf("had %s: %v, %v", name, had, err)
			}
		}
		b = Open(strings.TrimSuffix(b.dir, "/book"), repo, at)
	}
	want(t, Open(strings.TrimSuffix(b.dir, "/book"), repo, at.Add(1)), root+"/dirty", "unknown")
}

// Where a look finds that something changed after the fence, what it was is
// unknown; the boxes that were forked later know it.
func TestALookServesSeveralFences(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/f", "1")
	write(t, root+"/g", "1")
	os.Mkdir(root+"/d", 0o755)
	write(t, root+"/d/f", "1")
	os.Mkdir(root+"/e", 0o755)
	os.Mkdir(root+"/g.d", 0o755)
	write(t, root+"/e/f", "2")
	first := fence(t)
	write(t, root+"/f", "2")
	os.Rename(root+"/d", root+"/old")
	os.Rename(root+"/e", root+"/d")
	os.Chmod(root+"/g.d", 0o711)
	write(t, root+"/d/new", "") // and both of its times are the same again
	second := fence(t)
	early, late := Open(t.TempDir(), nil, first), Open(t.TempDir(), nil, second)
	w := newSpace(root, me())
	if err := w.Look(t.Context(), []*Book{late, early}); err != nil {
		t.Fatal(err)
	}
	want(t, early, root+"/g", "-rw-r----- 1")
	want(t, late, root+"/g", "-rw-r----- 1")
	want(t, early, root+"/f", "unknown")
	want(t, late, root+"/f", "-rw-r----- 2")
	want(t, early, root+"/d/f", "unknown") // it keeps its times, but it was not there
	want(t, late, root+"/d/f", "-rw-r----- 2")
	want(t, early, root+"/d", "unknown")
	want(t, late, root+"/d", "drwxr-xr-x ")
	want(t, early, root+"/g.d", "unknown")
	want(t, late, root+"/g.d", "drwx--x--x ")
}

// What was copied once is not copied again, and lives as long as a box does
// that has it.
func TestALookCopiesWhatChanged(t *testing.T) {
	root := t.TempDir()
	for i := range 20 {
		write(t, fmt.Sprintf("%s/%d", root, i), "old")
	}
	w := newSpace(root, me())
	packs := func(b *Book) int {
		list, _ := filepath.Glob(b.dir + "/" + packPrefix + "*")
		return len(list)
	}
	a := looked(t, w, nil, fence(t))
	b := looked(t, w, nil, fence(t))
	if packs(a) != 1 || packs(b) != 1 || len(w.packs) != 1 {
		t.Fatalf("%d, %d, %d", packs(a), packs(b), len(w.packs))
	}
	write(t, root+"/1", "new")
	os.Remove(root + "/2")
	c := looked(t, w, nil, fence(t))
	write(t, root+"/1", "later")
	if packs(c) != 2 || len(w.packs[1].paths) != 1 {
		t.Fatalf("%d, %q", packs(c), w.packs[1].paths)
	}
	for _, x := range []struct {
		b        *Book
		one, two string
	}{{a, "old", "old"}, {b, "old", "old"}, {c, "new", ""}} {
		want(t, x.b, root+"/0", "-rw-r----- old")
		want(t, x.b, root+"/1", "-rw-r----- "+x.one)
		if x.two == "" {
			want(t, x.b, root+"/2", "unknown")
		} else {
			want(t, x.b, root+"/2", "-rw-r----- "+x.two)
		}
	}
	// The boxes go: all of it is copied anew.
	for _, gone := range []*Book{a, b, c} {
		os.RemoveAll(gone.dir)
	}
	d := looked(t, w, nil, fence(t))
	if packs(d) != 1 || len(w.packs[0].paths) != 19 {
		t.Fatalf("%d, %v", packs(d), w.packs)
	}
	want(t, d, root+"/0", "-rw-r----- old")
	want(t, d, root+"/1", "-rw-r----- later")
	// Forks have them too, and damage is noticed.
	child := t.TempDir()
	if err := HandDown(strings.TrimSuffix(d.dir, "/book"), child); err != nil {
		t.Fatal(err)
	}
	e := Open(child, nil, d.at())
	want(t, e, root+"/0", "-rw-r----- old")
	list, _ := filepath.Glob(e.dir + "/" + packPrefix + "*")
	text, _ := os.ReadFile(list[0])
	os.WriteFile(list[0], append([]byte("oops"), text[4:]...), 0o600)
	damaged := 0
	for i := range 20 {
		if _, _, known, _, _ := Open(child, nil, d.at()).Base(t.Context(), fmt.Sprintf("%s/%d", root, i)); !known {
			damaged++
		}
	}
	if damaged != 2 { // the one that the damage is in, and the one that is gone
		t.Errorf("%d are unknown", damaged)
	}
	if err := d.Reset(fence(t)); err != nil {
		t.Fatal(err)
	}
	want(t, d, root+"/0", "unknown")
}

// A box that is synced has a book of another fence, in the same place: what it
// shared with others before is not in there.
func TestALookAfterASync(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/f", "1")
	w := newSpace(root, me())
	synced := looked(t, w, nil, fence(t))
	looked(t, w, nil, fence(t))
	if err := synced.Reset(fence(t)); err != nil {
		t.Fatal(err)
	}
	if err := w.Look(t.Context(), []*Book{synced}); err != nil {
		t.Fatal(err)
	}
	want(t, synced, root+"/f", "-rw-r----- 1")
}

// Which directory it was is known also where its mode changed since, and not
// where it was put there.
func TestALookKnowsDirectories(t *testing.T) {
	root := t.TempDir()
	os.Mkdir(root+"/d", 0o755)
	os.MkdirAll(root+"/p/e", 0o755)
	os.Mkdir(root+"/p/old", 0o755)
	at := fence(t)
	os.Chmod(root+"/d", 0o711)
	os.Remove(root + "/p/e")
	os.Rename(root+"/p/old", root+"/p/e")
	b := looked(t, newSpace(root, me()), nil, at)
	info, err := os.Lstat(root + "/d")
	if err != nil {
		t.Fatal(err)
	}
	if got, known := b.Directory(root + "/d"); !known || got != info.Sys().(*syscall.Stat_t).Ino {
		t.Errorf("d: %d, %v", got, known)
	}
	for _, name := range []string{"/p/e", "/p/old", "/never"} {
		if got, known := b.Directory(root + name); known {
			t.Errorf("%s is known: %d", name, got)
		}
	}
}

// A box that is gone does not come back for being looked at.
func TestALookAtWhatIsGone(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/f", "1")
	at := fence(t)
	gone, there := Open(t.TempDir()+"/no/such", nil, at), Open(t.TempDir(), nil, at)
	w := newSpace(root, me())
	if err := w.Look(t.Context(), []*Book{gone, there}); err == nil {
		t.Error("no word of it")
	}
	want(t, there, root+"/f", "-rw-r----- 1")
	if _, err := os.Lstat(filepath.Dir(gone.dir)); err == nil {
		t.Error("it is back")
	}
}

// Whatever is edited, and whatever is done with git, before the fence, between
// it and the look, and after that: what a look tells is what was there.
func TestLooksAreNeverWrong_Property(t *testing.T) {
	rounds, known := 20, 0
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		r := round{T: t, seed: rand.Uint64()}
		r.Rand = rand.New(rand.NewPCG(r.seed, 0))
		known += r.playLooks()
	}
	if known == 0 {
		t.Error("nothing was ever known")
	}
}

// playLooks forks several times, each with edits around it.
func (r *round) playLooks() (known int) {
	r.repo = newRepo(r, "for f in a b c; do echo 11 >$f; done; git add .; git commit -qm 0; echo 22 >c")
	w := newSpace(r.repo.Root, r.repo.Owner)
	for range 3 {
		r.do(3, 2)
		at := fence(r)
		truth := map[string]string{}
		for _, f := range []string{"a", "b", "c"} {
			truth[f] = describe(r.repo.Root + "/" + f)
		}
		r.done = append(r.done, "FENCE")
		r.do(2, 10)
		b := looked(r, w, r.repo, at)
		r.done = append(r.done, "LOOK")
		r.do(2, 2)
		for f, was := range truth {
			content, mode, sure, absent, err := b.Base(r.Context(), r.repo.Root+"/"+f)
			if told := tell(string(content), mode); err != nil || absent || sure && told != was {
				r.Fatalf("%s was %q, told %q, %v; seed %d: %q", f, was, told, err, r.seed, r.done)
			}
			if sure {
				known++
			}
		}
	}
	return known
}

// moves are of directories, whose files keep their times. $d and $e are two.
var moves = []string{
	"mv -T $d $e", "mv -T $d $e", "mv $d/f $e/f", "mv $d/s $e/", "mkdir -p $d/s; echo $n >$d/f", "echo $n >$d/s/f", "echo $n >$d/f",
	"touch $d/new; rm $d/new", "touch new; rm new", "chmod 700 $d", "rm -r $d", "cp -a $d/. $e", "mv -T $d x; mv -T $e $d; mv -T x $e",
}

// TestLooksAtMoves_Property is the same where directories are moved about.
func TestLooksAtMoves_Property(t *testing.T) {
	rounds, known := 20, 0
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 0))
		root, home := t.TempDir(), t.TempDir()
		var done []string
		move := func(n int) {
			for range r.IntN(n + 1) {
				name := func() string { return string("abc"[r.IntN(3)]) }
				script := strings.NewReplacer("$d", name(), "$e", name(), "$n", fmt.Sprint(r.IntN(1000))).Replace(moves[r.IntN(len(moves))])
				sh(t, root, home, "set +e; exec 2>/dev/null; "+script+"; true")
				done = append(done, script)
			}
		}
		sh(t, root, home, "mkdir -p a/s b/s c/s; for f in a b c a/s b/s; do echo $f >$f/f; done")
		w := newSpace(root, me())
		for range 3 {
			move(3)
			at := fence(t)
			truth := map[string]string{}
			for _, f := range []string{"a/f", "b/f", "c/f", "a/s/f", "b/s/f", "c/s/f"} {
				truth[f] = describe(root + "/" + f)
			}
			done = append(done, "FENCE")
			move(3)
			b := looked(t, w, nil, at)
			done = append(done, "LOOK")
			for f, was := range truth {
				content, mode, sure, _, err := b.Base(t.Context(), root+"/"+f)
				if told := tell(string(content), mode); err != nil || sure && told != was {
					t.Fatalf("%s was %q, told %q, %v; seed %d: %q", f, was, told, err, seed, done)
				}
				if sure {
					known++
				}
			}
		}
	}
	if known == 0 {
		t.Error("nothing was ever known")
	}
}

// BenchmarkLook is a fork of a workspace in which nothing changed.
func BenchmarkLook(b *testing.B) {
	for _, n := range []int{50, 1000} {
		for _, first := range []bool{true, false} {
			b.Run(fmt.Sprintf("%d files, first %v", n, first), func(b *testing.B) {
				root := b.TempDir()
				for i := range n {
					write(b, fmt.Sprintf("%s/%d", root, i), strings.Repeat("some line of text\n", 100))
				}
				w := newSpace(root, me())
				books := []*Book{}
				for range b.N + 1 {
					books = append(books, Open(b.TempDir(), nil, fence(b)))
				}
				w.Look(b.Context(), books[b.N:])
				b.ResetTimer()
				for i := range b.N {
					if first {
						w = newSpace(root, me())
					}
					if err := w.Look(b.Context(), books[i:i+1]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// The index itself is known where it was written before the fence, and lies
// where it lay then.
func TestLookKnowsTheIndex(t *testing.T) {
	for script, known := range map[string]bool{
		"true":                                 true,
		"git update-index --force-write-index": false,
		"cp -a .git copy; rm -r .git; mv copy .git": false,
		"mv .git ../other; ln -s ../other .git":     false,
	} {
		repo := newRepo(t, "echo 1 >a; git add -A; sleep 0.02; git status >/dev/null")
		index, err := os.ReadFile(repo.Root + "/.git/index")
		if err != nil {
			t.Fatal(err)
		}
		at := fence(t)
		sh(t, repo.Root, repo.Owner.Home, script)
		b := looked(t, newSpace(repo.Root, repo.Owner), repo, at)
		sh(t, repo.Root, repo.Owner.Home, "echo 2 >a; git add a")
		if known {
			want(t, b, repo.Root+"/.git/index", "-rw-r--r-- "+string(index))
		} else {
			want(t, b, repo.Root+"/.git/index", "unknown")
		}
	}
}
