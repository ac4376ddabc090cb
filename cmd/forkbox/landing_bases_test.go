//go:build linux

package main

import (
	"cmp"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// basesSpan is how long both sides go on editing, from the start of the command
// that forks. It is short: what is hard are edits right after the fork.
const basesSpan = 500 * time.Millisecond

// Both sides edit other lines of the same files, at random moments around the
// fork and while a command runs in the box. What lands is what git makes of
// the three versions, and what does not is refused for a base that was not
// known in time, and for no other reason. How often that is depends on how busy
// the machine is, so it is told and not judged here: TestBasesAreKnown does.
// FORKBOX_TEST_BASES is how many boxes, of forty files each.
func TestBasesWhileBothEdit(t *testing.T) {
	rounds := 1
	if n, err := strconv.Atoi(os.Getenv("FORKBOX_TEST_BASES")); err == nil {
		rounds = n
	}
	for _, kind := range []string{"git", "plain"} {
		t.Run(kind, func(t *testing.T) {
			w := &basesWorld{landWorld: newLandWorld(t), git: kind == "git"}
			for seed := range uint64(rounds) {
				w.round(seed + 1)
			}
			for _, kind := range w.kinds() {
				t.Logf("%-9s %4d merged by git, refused for an unknown base %d", kind, w.mergeable[kind], w.unknown[kind])
			}
		})
	}
}

type basesWorld struct {
	*landWorld
	git                bool
	mergeable, unknown map[string]int // by kind of file
}

func (w *basesWorld) kinds() []string {
	if w.git {
		return []string{"clean", "dirty", "untracked", "ignored"}
	}
	return []string{"file"}
}

// fill makes the workspace, new in each round, and returns its files.
func (w *basesWorld) fill(seed uint64) map[string]string {
	w.Helper()
	entries, err := os.ReadDir(w.ws)
	w.ok(err)
	for _, e := range entries {
		w.ok(os.RemoveAll(filepath.Join(w.ws, e.Name())))
	}
	files := map[string]string{}
	put := func(kind string, n int, mark string) {
		var text strings.Builder
		for line := range 60 {
			text.WriteString(basesLine(fmt.Sprintf("%s %d %d %d %s", kind, seed, n, line, mark)))
		}
		name := fmt.Sprintf("%s/%s-%d", "src", kind, n)
		w.ok(os.MkdirAll(filepath.Join(w.ws, "src"), 0o755))
		w.ok(os.WriteFile(filepath.Join(w.ws, name), []byte(text.String()), 0o644))
		files[name] = text.String()
	}
	each := func(kind, mark string) {
		for n := range 40 / len(w.kinds()) {
			put(kind, n, mark)
		}
	}
	if !w.git {
		each("file", "")
		return files
	}
	each("clean", "")
	each("dirty", "committed")
	w.ok(os.WriteFile(filepath.Join(w.ws, ".gitignore"), []byte("ignored-*\n"), 0o644))
	script := exec.Command("sh", "-c", "git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm x")
	script.Dir = w.ws
	if out, err := script.CombinedOutput(); err != nil {
		w.Fatalf("%v: %s", err, out)
	}
	each("dirty", "edited")
	each("untracked", "")
	each("ignored", "")
	return files
}

func (w *basesWorld) round(seed uint64) {
	w.Helper()
	was := w.fill(seed)
	name := fmt.Sprintf("b%d", seed)
	w.boxes = append(w.boxes, name)
	self, err := os.Executable()
	w.ok(err)
	done := make(chan error)
	go func() { done <- editAtRandom(w.ws, seed*2) }()
	inBox := w.output(w.command("run", "-q", "--keep", "--name", name, "-e", fmt.Sprintf("%s=edits %d", insideVar, seed*2+1), "--", self))
	w.ok(<-done)
	theirs := map[string]string{}
	w.ok(gob.NewDecoder(strings.NewReader(inBox)).Decode(&theirs))
	var shown struct{ Base forkbox.Base }
	w.ok(json.Unmarshal([]byte(w.fb("show", name)), &shown))

	paths := []string{}
	want := map[string]string{}
	for file, base := range was {
		path := filepath.Join(w.ws, file)
		ours, err := os.ReadFile(path)
		w.ok(err)
		merged, clean := w.gitMerge(base, string(ours), theirs[file])
		if !clean || theirs[file] == base {
			continue
		}
		paths, want[path] = append(paths, path), merged
		if w.after(path, shown.Base.Fence) >= 0 {
			w.count(&w.mergeable, file)
		}
	}
	_, refused := w.applied(append([]string{"apply", "--yes", "--dry-run", name}, paths...)...)
	for _, x := range refusals(refused) {
		if !strings.Contains(x.Why, "what it was then is not known") {
			w.Errorf("seed %d: %q is refused: %s", seed, x.Path, x.Why)
		}
		w.Logf("seed %d: %s was edited %v after the fork, and what it was is unknown", seed, filepath.Base(x.Path), w.after(x.Path, shown.Base.Fence))
		w.count(&w.unknown, strings.TrimPrefix(x.Path, w.ws+"/"))
		delete(want, x.Path)
	}
	paths = paths[:0]
	for path := range want {
		paths = append(paths, path)
	}
	if len(paths) > 0 {
		w.apply(name, paths...)
	}
	for path, merged := range want {
		if now, err := os.ReadFile(path); err != nil || string(now) != merged {
			w.Errorf("seed %d: %q is\n%s\nwant\n%s", seed, path, now, merged)
		}
	}
}

func refusals(err *forkbox.Error) []forkbox.Caution {
	if err == nil {
		return nil
	}
	return err.Items
}

func (w *basesWorld) count(in *map[string]int, file string) {
	if *in == nil {
		*in = map[string]int{}
	}
	kind, _, _ := strings.Cut(filepath.Base(file), "-")
	(*in)[kind]++
}

// after is how long after the fork reality changed a file.
func (w *basesWorld) after(path string, fence time.Time) time.Duration {
	w.Helper()
	var st syscall.Stat_t
	w.ok(syscall.Lstat(path, &st))
	return time.Unix(st.Ctim.Unix()).Sub(fence)
}

// gitMerge is what git makes of three versions, and whether it can.
func (w *basesWorld) gitMerge(base, ours, theirs string) (string, bool) {
	w.Helper()
	dir := w.TempDir()
	for name, text := range map[string]string{"base": base, "ours": ours, "theirs": theirs} {
		w.ok(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	cmd := exec.Command("git", "merge-file", "-p", "ours", "base", "theirs")
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.Fatal(err)
	}
	return string(out), err == nil
}

// editAtRandom changes a line of each file below src, each at a random moment
// of the span.
func editAtRandom(root string, seed uint64) error {
	all, err := editEach(root, seed)
	if err == nil && len(all) == 0 {
		err = errors.New("there was nothing to edit")
	}
	return err
}

// editEach returns what it made of the files.
func editEach(root string, seed uint64) (map[string]string, error) {
	r := rand.New(rand.NewPCG(seed, 0))
	entries, err := os.ReadDir(filepath.Join(root, "src"))
	if err != nil {
		return nil, err
	}
	type edit struct {
		file string
		at   time.Duration
		line int
		anew bool // as editors do: written beside and put in its place
	}
	var edits []edit
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // what the other side is about to put in its place
		}
		at := time.Duration(r.Int64N(int64(basesSpan)))
		edits = append(edits, edit{"src/" + e.Name(), at, r.IntN(60), r.IntN(2) == 0})
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	start := time.Now()
	for _, e := range edits {
		time.Sleep(time.Until(start.Add(e.at))) // the two sides edit at moments of their own
		if err := editLine(filepath.Join(root, e.file), e.line, seed, e.anew); err != nil {
			return nil, err
		}
	}
	made := map[string]string{}
	for _, e := range edits {
		text, err := os.ReadFile(filepath.Join(root, e.file))
		if err != nil {
			return nil, err
		}
		made[e.file] = string(text)
	}
	return made, nil
}

// editLine never makes a file shorter: the other side may be reading it.
func editLine(path string, line int, seed uint64, anew bool) error {
	text := basesLine(fmt.Sprintf("edited with seed %d", seed))
	if !anew {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt([]byte(text), int64(line*len(text)))
		return errors.Join(err, f.Close())
	}
	all, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	copy(all[line*len(text):], text)
	beside := filepath.Join(filepath.Dir(path), fmt.Sprintf(".new-%d", seed))
	if err := os.WriteFile(beside, all, 0o644); err != nil {
		return err
	}
	return os.Rename(beside, path)
}

// basesLine makes all lines equally long.
func basesLine(text string) string { return fmt.Sprintf("%-40s\n", text) }
