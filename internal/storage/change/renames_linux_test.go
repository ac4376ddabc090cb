package change

import (
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// deleteByHand marks paths as deleted in the upper, as an unprivileged box
// would have it where it cannot make devices.
func deleteByHand(t *testing.T, f fixture, names ...string) {
	t.Helper()
	for _, name := range names {
		write(t, "", f.upper, name)
		setXattr(t, filepath.Dir(f.upper+"/"+name), "user.overlay.opaque", "x")
		setXattr(t, f.upper+"/"+name, "user.overlay.whiteout", "y")
	}
}

// withRenames reads changes through the stage.
func withRenames(t *testing.T, src Source, limit int) (all []forkbox.Change, skipped bool) {
	t.Helper()
	r := NewRenames(limit, func(c forkbox.Change, _ forkbox.Sides) error {
		all = append(all, c)
		return nil
	})
	defer r.Close()
	if err := Read(t.Context(), src, r.Add); err != nil {
		t.Fatal(err)
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(all, func(a, b forkbox.Change) int { return forkbox.ComparePaths(a.Path, b.Path) }) {
		t.Errorf("not in order: %q", lines(all))
	}
	return all, r.Skipped()
}

func wantRenames(t *testing.T, src Source, want ...string) {
	t.Helper()
	all, skipped := withRenames(t, src, 4096)
	got := lines(all)
	for i, c := range all {
		if c.Similarity > 0 {
			got[i] += fmt.Sprintf(" %d%%", c.Similarity)
		}
	}
	if !slices.Equal(got, want) || skipped {
		t.Errorf("got\n\t%s\nwant\n\t%s\nskipped: %v", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"), skipped)
	}
}

// text is n lines that no other word has.
func text(word string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s is line %d of it\n", word, i)
	}
	return b.String()
}

func TestRenamedFiles(t *testing.T) {
	f, src := handmade(t)
	write(t, text("exact", 10), f.base, "r/a")
	write(t, text("edited", 10), f.base, "r/b")
	write(t, text("other", 10), f.base, "r/c")
	deleteByHand(t, f, "r/a", "r/b", "r/c")
	write(t, text("exact", 10), f.upper, "n/a2")
	write(t, strings.Replace(text("edited", 10), "line 3", "LINE 3", 1), f.upper, "n/b2")
	write(t, text("unlike", 10), f.upper, "n/c")
	os.Chmod(f.upper+"/n/a2", 0o755)
	wantRenames(t, src, "added dir /n", "renamed file /n/a2 from /r/a (mode) 100%", "renamed file /n/b2 from /r/b 90%",
		"added file /n/c", "deleted file /r/c")
}

// Of several with the same content, the one that kept its name is it.
func TestRenamesPreferTheSameName(t *testing.T) {
	f, src := handmade(t)
	for _, name := range []string{"r/a", "r/b", "r/c"} {
		write(t, "the same\n", f.base, name)
	}
	deleteByHand(t, f, "r/a", "r/b", "r/c")
	for _, name := range []string{"n/c", "n/x", "n/a"} {
		write(t, "the same\n", f.upper, name)
	}
	wantRenames(t, src, "added dir /n", "renamed file /n/a from /r/a 100%", "renamed file /n/c from /r/c 100%", "renamed file /n/x from /r/b 100%")
}

// A rootless box moves a directory by copying it.
func TestRenamesOutOfADeletedDirectory(t *testing.T) {
	f, src := handmade(t)
	write(t, text("a", 9), f.base, "r/d/a")
	write(t, text("b", 9), f.base, "r/d/sub/b")
	write(t, "lost", f.base, "r/d/sub/c")
	write(t, text("secret", 9), f.base, "r/d/.ssh/key")
	deleteByHand(t, f, "r/d")
	write(t, text("a", 9), f.upper, "z/a")
	write(t, text("b", 9), f.upper, "z/sub/b")
	write(t, text("secret", 9), f.upper, "z/guess")
	src.Hidden = []string{"/r/d/.ssh"}
	wantRenames(t, src, "deleted dir /r/d +3", "added dir /z", "renamed file /z/a from /r/d/a 100%", "added file /z/guess",
		"added dir /z/sub", "renamed file /z/sub/b from /r/d/sub/b 100%")
}

// Large files are compared by content only, and read only when they have to.
func TestRenamesOfLargeFiles(t *testing.T) {
	f, src := handmade(t)
	large := strings.Repeat("0123456789abcdef", largeFile/16+1)
	write(t, large, f.base, "r/exact")
	write(t, large+"x", f.base, "r/similar")
	write(t, large+"yy", f.base, "r/same-size")
	deleteByHand(t, f, "r/exact", "r/similar", "r/same-size")
	write(t, large, f.upper, "x")
	write(t, large+"xyz", f.upper, "y")
	write(t, large+"zz", f.upper, "z")
	sparse, _ := os.Create(f.upper + "/sparse")
	sparse.Truncate(1 << 40) // reading it would take for ever
	sparse.Close()
	wantRenames(t, src, "deleted file /r/same-size", "deleted file /r/similar", "added file /sparse",
		"renamed file /x from /r/exact 100%", "added file /y", "added file /z")
}

func TestTooManyChangesForRenames(t *testing.T) {
	f, src := handmade(t)
	for i := range 10 {
		write(t, text("a", 9), f.base, fmt.Sprintf("r/%d", i))
		deleteByHand(t, f, fmt.Sprintf("r/%d", i))
		write(t, text("a", 9), f.upper, fmt.Sprintf("z/%d", i))
	}
	plain := lines(changes(t, src))
	all, skipped := withRenames(t, src, 5)
	if !skipped || !slices.Equal(lines(all), plain) {
		t.Errorf("skipped %v, %q", skipped, lines(all))
	}
	if all, skipped := withRenames(t, src, len(plain)); skipped || len(all) != 11 {
		t.Errorf("skipped %v, %q", skipped, lines(all))
	}
}

// Nothing that was opened stays open, also when the consumer stops.
func TestRenamesCloseTheirFiles(t *testing.T) {
	f, src := handmade(t)
	large := strings.Repeat("x", largeFile+1)
	for i := range maxOpen + 5 {
		write(t, large, f.upper, fmt.Sprint(i))
	}
	before := openFiles(t)
	r := NewRenames(4096, func(forkbox.Change, forkbox.Sides) error { return errors.New("stop") })
	if err := Read(t.Context(), src, r.Add); err != nil || !r.Skipped() {
		t.Errorf("%v, skipped %v", err, r.Skipped())
	}
	if n := openFiles(t); n < before+maxOpen || n > before+maxOpen+2 {
		t.Errorf("%d files are open, %d before", n, before)
	}
	if err := r.Flush(); err == nil {
		t.Error("the consumer's error is lost")
	}
	if n := openFiles(t); n > before+2 {
		t.Errorf("%d files are open, %d before", n, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// git answers the same question for the same trees.
func TestRenamesEqualGit(t *testing.T) {
	for seed := range int64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f, src := handmade(t)
			makeMoves(t, f, rand.New(rand.NewSource(seed)))
			all, skipped := withRenames(t, src, 4096)
			got := map[string]string{}
			for _, c := range all {
				if c.Kind == forkbox.Renamed {
					got[c.Path[1:]] = c.From[1:]
				}
			}
			if want := gitRenames(t, f); !maps.Equal(got, want) || skipped || len(got) == 0 {
				t.Errorf("found %v\ngit %v", got, want)
			}
		})
	}
}

// makeMoves deletes files, and adds some that are clearly similar to one of
// them and some that clearly are not: text, binary and with long lines.
func makeMoves(t *testing.T, f fixture, rnd *rand.Rand) {
	pieces := func(kind, n int) [][]byte {
		out := make([][]byte, n)
		for i := range out {
			switch kind {
			case 0:
				out[i] = fmt.Appendf(nil, "%x\n", rnd.Int63())
			case 1:
				out[i] = make([]byte, chunkSize)
				rnd.Read(out[i])
				out[i] = append([]byte{0}, slices.DeleteFunc(out[i][1:], func(b byte) bool { return b == '\n' })...)
			case 2:
				out[i] = fmt.Appendf(nil, "%0300x\r\n", rnd.Int63())
			}
		}
		return out
	}
	join := func(p [][]byte) (s string) {
		for _, b := range p {
			s += string(b)
		}
		return s
	}
	for i := range 12 {
		kind := i % 3
		old := pieces(kind, 20+rnd.Intn(30))
		name := fmt.Sprintf("r/%d/f%d", i%2, i)
		write(t, join(old), f.base, name)
		deleteByHand(t, f, name)
		switch changed := slices.Clone(old); rnd.Intn(3) {
		case 0:
			write(t, join(old), f.upper, fmt.Sprintf("n/moved%d", i))
		case 1:
			end := len(changed) / 6 // at the end, so that what is before is cut alike
			copy(changed[len(changed)-end:], pieces(kind, end))
			write(t, join(changed), f.upper, fmt.Sprintf("n/%d/f%d", i%3, i))
		case 2:
			write(t, join(pieces(kind, len(old))), f.upper, fmt.Sprintf("n/fresh%d", i))
		}
	}
}

func gitRenames(t *testing.T, f fixture) map[string]string {
	t.Helper()
	repo := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=x", "-c", "user.email=x@x", "-c", "core.autocrlf=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	git("init", "-q")
	shell(t, repo, "cp -r "+f.base+"/. .")
	git("add", "-A")
	git("commit", "-qm", "base")
	shell(t, repo, "rm -r r; cp -r "+f.upper+"/n .")
	git("add", "-A")
	fields := strings.Split(git("diff", "--cached", "-M50%", "--name-status", "-z", "--diff-filter=R"), "\x00")
	found := map[string]string{}
	for i := 0; i+2 < len(fields); i += 3 {
		found[fields[i+2]] = fields[i+1]
	}
	return found
}

func TestSimilarityOfCarriageReturns(t *testing.T) {
	unixText := text("a", 20)
	dosText := strings.ReplaceAll(unixText, "\n", "\r\n")
	a, b := fingerprintOf([]byte(unixText), true), fingerprintOf([]byte(dosText), true)
	if !slices.Equal(a, b) {
		t.Error("line ends count")
	}
	if slices.Equal(a, fingerprintOf([]byte(dosText), false)) {
		t.Error("in a binary file they should")
	}
}

// A fifo that takes the place of a candidate must not block.
func TestRenamesOfWhatWasReplaced(t *testing.T) {
	f, src := handmade(t)
	write(t, "x", f.upper, "f")
	r := NewRenames(10, func(forkbox.Change, forkbox.Sides) error { return nil })
	err := Read(t.Context(), src, func(c forkbox.Change, s forkbox.Sides) error {
		os.Remove(f.upper + "/f")
		unix.Mkfifo(f.upper+"/f", 0o600)
		return r.Add(c, s)
	})
	if err != nil || len(r.targets) != 0 {
		t.Errorf("%v, %v", err, r.targets)
	}
}
