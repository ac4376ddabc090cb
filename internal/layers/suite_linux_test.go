package layers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
)

// newBox makes a box with an upper directory for / and what overlayfs leaves.
func newBox(t tester, s *Store, id string) (upper string) {
	t.Helper()
	must(t, s.Create(context.Background(), id))
	upper, _, err := s.NewUpper(id, "/")
	must(t, err)
	work, err := s.FreshWork(context.Background(), id, "/")
	must(t, err)
	must(t, os.Mkdir(filepath.Join(work, "work"), 0))
	return upper
}

func write(t tester, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// wantWhole fails when something is half-made or in the trash.
func wantWhole(t tester, s *Store) {
	t.Helper()
	for _, dir := range []string{s.layers(), s.roots()} {
		for _, name := range readNames(t, dir) {
			if strings.HasPrefix(name, ".") {
				t.Errorf("%s is left in %s", name, dir)
			}
		}
	}
	if names := readNames(t, s.trash()); len(names) > 0 {
		t.Errorf("the trash has %q", names)
	}
	for _, id := range readNames(t, s.boxes()) {
		if exists(filepath.Join(s.Dir(id), draftPrefix+"top")) {
			t.Errorf("half a top is left in box %s", id)
		}
	}
}

// faithful saves random boxes, idle and busy, and begins other boxes with the
// layers: all have the same tree.
func faithful(t *testing.T, p place) {
	s := p.open(t)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		box, layer, child := fmt.Sprintf("box-%d", n), fmt.Sprintf("layer-%d", n), fmt.Sprintf("child-%d", n)
		grow(r, newBox(r, s, box))
		before := fingerprint(r, s.Upper(box))
		// An unprivileged store cannot read everything of a busy box.
		still := os.Geteuid() != 0 || rapid.Bool().Draw(r, "still")
		moved, err := s.Save(context.Background(), box, layer, still)
		must(r, err)
		if want := still && s.Stacks(); moved != want || exists(s.Top(box)) == moved {
			r.Fatalf("still %v: moved %v, a top is left: %v", still, moved, exists(s.Top(box)))
		}
		if !moved {
			sameTree(r, "the box", before, fingerprint(r, s.Upper(box)))
		}
		sameTree(r, "the layer", before, fingerprint(r, s.Layer(layer)))
		must(r, s.Create(context.Background(), child))
		must(r, s.Clone(context.Background(), layer, child))
		sameTree(r, "the child", before, fingerprint(r, s.Upper(child)))
		sameTree(r, "the layer after that", before, fingerprint(r, s.Layer(layer)))
		for _, dir := range []string{s.layer(layer), s.Top(child)} {
			if names := readNames(r, dir); !slices.Equal(names, []string{"upper"}) {
				r.Fatalf("%s has %q", dir, names)
			}
		}
		must(r, s.Remove(context.Background(), box))
		must(r, s.Remove(context.Background(), child))
		must(r, s.RemoveLayer(context.Background(), layer))
		wantWhole(r, s)
	})
}

// layersDoNotChange: neither by the box they were made of, nor by those that
// began with them.
func layersDoNotChange(t *testing.T, p place) {
	s := p.open(t)
	upper := newBox(t, s, "b")
	big := strings.Repeat("x", 300<<10)
	write(t, filepath.Join(upper, "f"), big)
	must(t, os.Link(filepath.Join(upper, "f"), filepath.Join(upper, "g")))
	_, err := s.Save(t.Context(), "b", "L", false)
	must(t, err)
	want := fingerprint(t, s.Layer("L"))
	must(t, s.Create(t.Context(), "child"))
	must(t, s.Clone(t.Context(), "L", "child"))
	for _, id := range []string{"b", "child"} {
		f, err := os.OpenFile(filepath.Join(s.Upper(id), "-", "f"), os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteAt([]byte("written"), 100<<10)
		must(t, err)
		must(t, f.Chmod(0o644))
		must(t, f.Close())
		must(t, os.Remove(filepath.Join(s.Upper(id), "-", "g")))
		write(t, filepath.Join(s.Upper(id), "-", "new"), "new")
		if text, err := os.ReadFile(filepath.Join(s.Upper(id), "-", "f")); err != nil || !strings.Contains(string(text), "written") {
			t.Errorf("what was written to %s is not there: %v", id, err)
		}
	}
	sameTree(t, "the layer", want, fingerprint(t, s.Layer("L")))
	must(t, s.DropTop(t.Context(), "child"))
	must(t, s.Remove(t.Context(), "b"))
	sameTree(t, "the layer without its boxes", want, fingerprint(t, s.Layer("L")))
}

func saveAgain(t *testing.T, p place) {
	s := p.open(t)
	for _, still := range []bool{true, false} {
		id, layer := fmt.Sprintf("b%v", still), fmt.Sprintf("L%v", still)
		write(t, filepath.Join(newBox(t, s, id), "f"), "as saved")
		first, err := s.Save(t.Context(), id, layer, still)
		must(t, err)
		want := fingerprint(t, s.Layer(layer))
		for _, again := range []bool{still, true, false} {
			moved, err := s.Save(t.Context(), id, layer, again)
			if err != nil || moved != first {
				t.Errorf("still %v, then %v: moved %v, %v; at first %v", still, again, moved, err, first)
			}
		}
		sameTree(t, "the layer", want, fingerprint(t, s.Layer(layer)))
	}
	if layers, err := s.Layers(); err != nil || !slices.Equal(layers, []string{"Lfalse", "Ltrue"}) {
		t.Errorf("Layers = %q, %v", layers, err)
	}
}

// A box that was never started has no top.
func saveNothing(t *testing.T, p place) {
	s := p.open(t)
	for _, still := range []bool{true, false} {
		id, layer := fmt.Sprintf("b%v", still), fmt.Sprintf("L%v", still)
		must(t, s.Create(t.Context(), id))
		if moved, err := s.Save(t.Context(), id, layer, still); err != nil || moved != s.Stacks() {
			t.Errorf("moved %v, %v", moved, err)
		}
		if uppers, err := s.LayerUppers(layer); err != nil || len(uppers) > 0 {
			t.Errorf("the layer has %v, %v", uppers, err)
		}
		child := "child-" + id
		must(t, s.Create(t.Context(), child))
		must(t, s.Clone(t.Context(), layer, child))
		if _, made, err := s.NewUpper(child, "/"); err != nil || !made {
			t.Errorf("the child's upper: made %v, %v", made, err)
		}
	}
	must(t, s.DropTop(t.Context(), "btrue"))
	wantWhole(t, s)
}

func refused(t *testing.T, p place) {
	s := p.open(t)
	newBox(t, s, "b")
	must(t, s.Create(t.Context(), "bare"))
	_, err := s.Save(t.Context(), "b", "L", false)
	must(t, err)
	save := func(box, layer string) error {
		_, err := s.Save(t.Context(), box, layer, true)
		return err
	}
	for what, c := range map[string]struct {
		err  error
		want forkbox.Code
	}{
		"save no box":            {save("nobody", "M"), forkbox.NotFound},
		"save ..":                {save("..", "M"), forkbox.Invalid},
		"save as ..":             {save("b", ".."), forkbox.Invalid},
		"clone no layer":         {s.Clone(t.Context(), "nothing", "bare"), forkbox.NotFound},
		"clone for no box":       {s.Clone(t.Context(), "L", "nobody"), forkbox.NotFound},
		"clone over a top":       {s.Clone(t.Context(), "L", "b"), forkbox.Exists},
		"clone a path":           {s.Clone(t.Context(), "../layers/L", "bare"), forkbox.Invalid},
		"drop a path":            {s.DropTop(t.Context(), "../b"), forkbox.Invalid},
		"remove a path as layer": {s.RemoveLayer(t.Context(), "../boxes"), forkbox.Invalid},
	} {
		if c.err == nil || forkbox.CodeOf(c.err) != c.want {
			t.Errorf("%s: %v, want %s", what, c.err, c.want)
		}
	}
	if _, err := s.LayerUppers("nothing"); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("LayerUppers of no layer: %v", err)
	}
	wantWhole(t, s)
}

// deepTree is deeper than PATH_MAX and than the open files of a process.
func deepTree(t *testing.T, p place) {
	const depth = 3000
	s := p.open(t)
	upper := newBox(t, s, "b")
	write(t, filepath.Join(upper, "near"), "")
	dir, err := unix.Open(upper, unix.O_PATH, 0)
	must(t, err)
	near := dir
	for range depth {
		must(t, unix.Mkdirat(dir, "d", 0o700))
		sub, err := unix.Openat(dir, "d", unix.O_PATH, 0)
		must(t, err)
		if dir != near {
			unix.Close(dir)
		}
		dir = sub
	}
	must(t, unix.Linkat(near, "near", dir, "far", 0))
	unix.Close(near)
	unix.Close(dir)
	_, err = s.Save(t.Context(), "b", "L", false)
	must(t, err)
	if got := depthOf(t, filepath.Join(s.Layer("L"), "-")); got != depth {
		t.Errorf("the layer is %d deep, want %d", got, depth)
	}
	u, err := s.Usage(t.Context())
	must(t, err)
	if u.Layers["L"].Files < depth {
		t.Errorf("the layer is counted as %+v", u.Layers["L"])
	}
	must(t, s.RemoveLayer(t.Context(), "L"))
	must(t, s.Remove(t.Context(), "b"))
	wantWhole(t, s)
}

// depthOf goes down to a file far that is also near.
func depthOf(t *testing.T, top string) (depth int) {
	dir, err := unix.Open(top, unix.O_PATH, 0)
	must(t, err)
	defer func() { unix.Close(dir) }()
	for {
		sub, err := unix.Openat(dir, "d", unix.O_PATH, 0)
		if err != nil {
			break
		}
		unix.Close(dir)
		dir = sub
		depth++
	}
	var far unix.Stat_t
	must(t, unix.Fstatat(dir, "far", &far, 0))
	near := lstat(t, filepath.Join(top, "near"))
	if far.Ino != near.Ino || far.Nlink != 2 {
		t.Errorf("far is inode %d with %d links, near is %d", far.Ino, far.Nlink, near.Ino)
	}
	return depth
}

// manyLinks: overlayfs makes its whiteouts links of one, and one of the names
// is in its work directory, which is not copied.
func manyLinks(t *testing.T, p place) {
	s := p.open(t)
	upper := newBox(t, s, "b")
	first := filepath.Join(s.Work("b"), "-", "#1")
	must(t, unix.Mknod(first, unix.S_IFCHR, 0))
	for i := range 300 {
		must(t, os.Link(first, filepath.Join(upper, fmt.Sprint(i))))
	}
	_, err := s.Save(t.Context(), "b", "L", false)
	must(t, err)
	var want unix.Stat_t
	for i := range 300 {
		st := lstat(t, filepath.Join(s.Layer("L"), "-", fmt.Sprint(i)))
		if i == 0 {
			want = st
		}
		if st.Ino != want.Ino || st.Nlink != 300 || st.Mode != unix.S_IFCHR || st.Rdev != 0 {
			t.Fatalf("whiteout %d: inode %d (the first has %d), %d links, mode %o", i, st.Ino, want.Ino, st.Nlink, st.Mode)
		}
	}
	if names := readNames(t, s.layer("L")); !slices.Equal(names, []string{"upper"}) {
		t.Errorf("the layer has %q", names)
	}
}

// accessTime is copied, and reading for the copy does not change the box's.
func accessTime(t *testing.T, p place) {
	s := p.open(t)
	upper := newBox(t, s, "b")
	write(t, filepath.Join(upper, "f"), "text")
	must(t, os.Mkdir(filepath.Join(upper, "d"), 0o700))
	when := []unix.Timespec{{Sec: 12345, Nsec: 678}, {Sec: 23456, Nsec: 789}}
	for _, name := range []string{"f", "d"} {
		must(t, unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(upper, name), when, 0))
	}
	_, err := s.Save(t.Context(), "b", "L", false)
	must(t, err)
	for _, dir := range []string{upper, filepath.Join(s.Layer("L"), "-")} {
		for _, name := range []string{"f", "d"} {
			if st := lstat(t, filepath.Join(dir, name)); st.Atim != when[0] || st.Mtim != when[1] {
				t.Errorf("%s/%s: accessed %v, modified %v", dir, name, st.Atim, st.Mtim)
			}
		}
	}
}

// lockedFiles: what its owner may not read is copied from a box that is still;
// in one that runs its mode is not touched. btrfs does not read anything.
func lockedFiles(t *testing.T, p place) {
	s := p.open(t)
	upper := newBox(t, s, "b")
	mkdir(t, 0, upper, "d")
	mkdir(t, 0o400, upper, "noexec")
	write(t, filepath.Join(upper, "f"), "secret")
	must(t, unix.Setxattr(filepath.Join(upper, "f"), "user.x", []byte("y"), 0))
	must(t, os.Chmod(filepath.Join(upper, "f"), 0))
	want := fingerprint(t, s.Upper("b"))
	_, err := s.Save(t.Context(), "b", "L", false)
	if name, _ := s.Driver(); os.Geteuid() == 0 || name == "btrfs" {
		must(t, err)
		sameTree(t, "the layer", want, fingerprint(t, s.Layer("L")))
	} else if forkbox.CodeOf(err) != forkbox.Busy || s.HasLayer("L") {
		t.Errorf("busy: %v", err)
	}
	sameTree(t, "the box", want, fingerprint(t, s.Upper("b")))
	wantWhole(t, s)
	_, err = s.Save(t.Context(), "b", "M", true)
	must(t, err)
	must(t, s.Create(t.Context(), "child"))
	must(t, s.Clone(t.Context(), "M", "child"))
	sameTree(t, "the layer", want, fingerprint(t, s.Layer("M")))
	sameTree(t, "the child", want, fingerprint(t, s.Upper("child")))
}

// plainTop: what another driver made works with this one.
func plainTop(t *testing.T, p place) {
	old := place{p.dir, "copy"}.open(t)
	write(t, filepath.Join(newBox(t, old, "b"), "f"), "old")
	write(t, filepath.Join(newBox(t, old, "c"), "f"), "old")
	_, err := old.Save(t.Context(), "c", "K", false)
	must(t, err)
	s := p.reopen(t, old.home)
	want := fingerprint(t, s.Upper("b"))
	_, err = s.Save(t.Context(), "b", "L", false)
	must(t, err)
	sameTree(t, "the layer", want, fingerprint(t, s.Layer("L")))
	must(t, s.Create(t.Context(), "child"))
	must(t, s.Clone(t.Context(), "K", "child"))
	sameTree(t, "the child", fingerprint(t, s.Layer("K")), fingerprint(t, s.Upper("child")))
}

// shelved: with every driver the top itself can become the layer.
func shelved(t *testing.T, p place) {
	s := p.open(t)
	write(t, filepath.Join(newBox(t, s, "b"), "f"), "text")
	want := fingerprint(t, s.Upper("b"))
	for range 2 {
		must(t, s.Shelve(t.Context(), "b", "L"))
		if exists(s.Top("b")) {
			t.Error("the box still has its top")
		}
		sameTree(t, "the layer", want, fingerprint(t, s.Layer("L")))
	}
	must(t, s.Clone(t.Context(), "L", "b"))
	sameTree(t, "the box", want, fingerprint(t, s.Upper("b")))
	if err := s.Shelve(t.Context(), "nobody", "M"); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("shelve no box: %v", err)
	}
}

func removal(t *testing.T, p place) {
	s := p.open(t)
	mkdir(t, 0, newBox(t, s, "b"), "d")
	_, err := s.Save(t.Context(), "b", "L", true)
	must(t, err)
	must(t, s.Create(t.Context(), "child"))
	must(t, s.Clone(t.Context(), "L", "child"))
	for range 2 {
		must(t, s.DropTop(t.Context(), "child"))
		must(t, s.RemoveLayer(t.Context(), "L"))
		must(t, s.Remove(t.Context(), "b"))
		must(t, s.DropTop(t.Context(), "b"))
	}
	if !exists(s.Dir("child")) || exists(s.Top("child")) || s.HasLayer("L") {
		t.Error("DropTop removes the top, and RemoveLayer the layer")
	}
	must(t, s.Remove(t.Context(), "child"))
	wantEmpty(t, s)
	if names := readNames(t, s.layers()); len(names) > 0 {
		t.Errorf("layers are left: %q", names)
	}
}

// binOfBox: what is in an upper directory can be renamed into the bin.
func binOfBox(t *testing.T, p place) {
	s := p.open(t)
	upper := newBox(t, s, "b")
	mkdir(t, 0o700, upper, "d")
	bin, err := s.BinOf("b")
	must(t, err)
	must(t, os.Rename(filepath.Join(upper, "d"), filepath.Join(bin, "d")))
	_, err = s.Save(t.Context(), "b", "L", false)
	must(t, err)
	if exists(filepath.Join(s.layer("L"), "bin")) {
		t.Error("the layer has the bin")
	}
	must(t, s.EmptyBin(t.Context(), "b"))
	if exists(filepath.Join(bin, "d")) {
		t.Error("the bin is not empty")
	}
	wantWhole(t, s)
}
