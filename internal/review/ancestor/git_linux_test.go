package ancestor

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
)

// noted is a book with what git says of the repository.
func noted(t testing.TB, repo *git.Repo, at time.Time) *Book {
	t.Helper()
	b := Open(t.TempDir(), repo, at)
	clean, ok, err := repo.Scan(t.Context(), at)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := b.Note(clean); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBaseFromGit(t *testing.T) {
	repo := newRepo(t, "echo 1 >clean; echo 1 >dirty; echo 1 >x; chmod +x x; ln -s a l; mkdir d; echo 1 >\"$(printf 'd/\\377\\nx')\"; echo '*.lfs filter=lfs' >.gitattributes; echo 1 >a.lfs")
	sh(t, repo.Root, repo.Owner.Home, "echo 2 >dirty; echo 1 >untracked")
	at := fence(t)
	b := noted(t, repo, at)
	sh(t, repo.Root, repo.Owner.Home, "echo 3 >clean; rm x l; echo 3 >d/*; git add -A; git commit -qm later; git gc -q")
	for range 2 {
		want(t, b, repo.Root+"/clean", "-rw-r--r-- 1\n")
		want(t, b, repo.Root+"/x", "-rwxr-xr-x 1\n")
		want(t, b, repo.Root+"/l", "Lrwxrwxrwx a")
		want(t, b, repo.Root+"/d/\xff\nx", "-rw-r--r-- 1\n")
		for _, name := range []string{"/dirty", "/untracked", "/d", "", "/a.lfs", "/never", "x/clean"} {
			want(t, b, repo.Root+name, "unknown")
		}
		want(t, b, "/etc/passwd", "unknown")
		b = Open(strings.TrimSuffix(b.dir, "/book"), repo, at)
	}
	want(t, Open(strings.TrimSuffix(b.dir, "/book"), nil, at), repo.Root+"/clean", "unknown")
	want(t, Open(strings.TrimSuffix(b.dir, "/book"), repo, at.Add(1)), repo.Root+"/clean", "unknown")
}

// What is pinned goes before git, also when it is damaged.
func TestPinsGoBeforeGit(t *testing.T) {
	repo := newRepo(t, "echo 1 >f; echo 1 >g; echo 1 >h")
	b := noted(t, repo, fence(t))
	if err := errors.Join(b.PinBytes(repo.Root+"/f", []byte("2"), 0o600), b.PinAbsent(repo.Root+"/g"), b.PinAbsent(repo.Root+"/h")); err != nil {
		t.Fatal(err)
	}
	want(t, b, repo.Root+"/f", "-rw------- 2")
	want(t, b, repo.Root+"/g", "absent")
	write(t, b.dir+"/"+b.slot(repo.Root+"/h").name, "damage")
	want(t, b, repo.Root+"/h", "unknown")
	had := map[string]bool{"/f": true, "/g": false, "/h": false, "/n": false, "/.git": false}
	for name, right := range had {
		if got, err := b.Had(t.Context(), repo.Root+name); err != nil || got != right {
			t.Errorf("had %s: %v, %v", name, got, err)
		}
	}
	if err := b.Unpin(repo.Root + "/g"); err != nil {
		t.Fatal(err)
	}
	want(t, b, repo.Root+"/g", "-rw-r--r-- 1\n")
}

func TestReset(t *testing.T) {
	repo := newRepo(t, "echo 1 >f; echo 1 >g")
	b := noted(t, repo, fence(t))
	pinPath(t, b, repo.Root+"/f")
	write(t, strings.TrimSuffix(b.dir, "book")+"mine", "x") // not the book's
	at := fence(t)
	if err := b.Reset(at); err != nil {
		t.Fatal(err)
	}
	want(t, b, repo.Root+"/f", "unknown")
	want(t, b, repo.Root+"/g", "unknown")
	if left, err := os.ReadDir(strings.TrimSuffix(b.dir, "book")); err != nil || len(left) != 1 || left[0].Name() != "mine" {
		t.Errorf("left: %v, %v", left, err)
	}
	pinPath(t, b, repo.Root+"/f")
	want(t, b, repo.Root+"/f", "-rw-r--r-- 1\n")
	clean, _, err := repo.Scan(t.Context(), at.Add(-1))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Note(clean); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Errorf("a scan for another fence: %v", err)
	}
}

func TestDamagedNote(t *testing.T) {
	repo := newRepo(t, "echo 1 >f; echo 1 >dirty")
	write(t, repo.Root+"/dirty", "2")
	at := fence(t)
	b := noted(t, repo, at)
	text, err := os.ReadFile(b.dir + "/" + noteName)
	if err != nil {
		t.Fatal(err)
	}
	write(t, b.dir+"/"+noteName, strings.Replace(string(text), "dirty\"]", "dIrty\"]", 1))
	want(t, Open(strings.TrimSuffix(b.dir, "/book"), repo, at), repo.Root+"/dirty", "unknown")
	want(t, Open(strings.TrimSuffix(b.dir, "/book"), repo, at), repo.Root+"/f", "unknown")
}

func TestBaseIsCancelled(t *testing.T) {
	repo := newRepo(t, "echo 1 >f")
	b := noted(t, repo, fence(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, _, _, err := b.Base(ctx, repo.Root+"/f"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	t.Setenv("PATH", t.TempDir())
	want(t, b, repo.Root+"/f", "unknown") // there is no git any more
}

// Whatever is done before and after the fence, and whenever git is asked: what
// the book says was there is what was there.
func TestWhatIsKnownIsRight(t *testing.T) {
	rounds, known := 20, 0
	if testing.Short() {
		rounds = 5
	}
	for n := range uint64(rounds) { // the same ones each time
		r := round{T: t, seed: n}
		r.Rand = rand.New(rand.NewPCG(r.seed, 0))
		known += r.play()
	}
	if known == 0 {
		t.Error("nothing was ever known")
	}
}

// edits leave git alone; $f and $g are files.
var edits = []string{
	"echo 22 >$f", "echo 11 >$f", "echo 22 >$f", "echo 11 >$f", "echo 22 >>$f", "touch $f", "rm -f $f", "chmod +x $f", "chmod -x $f", "mv $f $g",
	"touch -r $f ../t; echo 33 >$f; touch -r ../t $f", "ln -sf a $f", "cp -p $f ../c; mv ../c $f", "printf '11\\r\\n' >$f",
}

// commands do not: after the fence most of them end all knowledge.
var commands = []string{
	"git add $f", "git commit -qm x $f", "git checkout -q $f", "git stash -q", "git reset -q --hard", "git status", "git reset -q HEAD^", "git mv $f $g",
	"git update-index --assume-unchanged $f", "git config core.autocrlf input", "git config core.autocrlf true", "git config core.fileMode false",
	"git config core.trustctime false", "git config core.checkStat minimal", "echo '* eol=crlf' >.gitattributes",
}

type round struct {
	*testing.T
	*rand.Rand
	seed uint64
	repo *git.Repo
	done []string
}

// do does something up to n times; one time in often it is a git command.
func (r *round) do(n, often int) {
	for range r.IntN(n + 1) {
		from := edits
		if r.IntN(often) == 0 {
			from = commands
		}
		name := func() string { return string("abc"[r.IntN(3)]) }
		script := strings.NewReplacer("$f", name(), "$g", name()).Replace(from[r.IntN(len(from))])
		sh(r, r.repo.Root, r.repo.Owner.Home, "set +e; "+script+"; true")
		r.done = append(r.done, script)
	}
}

// play returns how many files were known.
func (r *round) play() (known int) {
	r.repo = newRepo(r, "for f in a b c; do echo 11 >$f; done; git add .; git commit -qm 0; echo 22 >c")
	r.do(4, 2)
	at := fence(r)
	truth := map[string]string{}
	for _, f := range []string{"a", "b", "c"} {
		truth[f] = describe(r.repo.Root + "/" + f)
	}
	r.done = append(r.done, "FENCE")
	r.do(3, 10)
	b := Open(r.TempDir(), r.repo, at)
	clean, ok, err := r.repo.Scan(r.Context(), at)
	if ok {
		err = b.Note(clean)
	}
	if err != nil {
		r.Fatal(err)
	}
	r.done = append(r.done, "SCAN")
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
	return known
}

func describe(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "nothing"
	}
	if target, err := os.Readlink(path); err == nil {
		return tell(target, info.Mode())
	}
	content, _ := os.ReadFile(path)
	return tell(string(content), info.Mode())
}

// tell is what git keeps of a file: content, type, whether it is executable.
func tell(content string, mode os.FileMode) string {
	kind := "file "
	if mode&os.ModeSymlink != 0 {
		kind = "link "
	} else if mode&0o100 != 0 {
		kind = "program "
	}
	return kind + content
}
