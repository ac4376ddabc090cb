package layers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
)

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
	fewDescriptors(t)
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

// fewDescriptors lets the process have no more than an ordinary one until the
// test ends.
func fewDescriptors(t *testing.T) {
	t.Helper()
	var was unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: min(1024, was.Max), Max: was.Max}))
	t.Cleanup(func() { must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was)) })
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
	if names := withoutNotes(readNames(t, s.layer("L"))); !slices.Equal(names, []string{"upper"}) {
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

// sparseFiles: where a file has a hole its copy has one too. Where it has data
// the copy may have a hole: filesystems reserve more than is written.
func sparseFiles(t *testing.T, p place) {
	s := p.open(t)
	upper := newBox(t, s, "b")
	const size = 8 << 20
	for name, data := range map[string][]int64{
		"hole": nil, "start": {0}, "middle": {4 << 20}, "end": {size - 10}, "several": {0, 1 << 20, 5 << 20},
	} {
		f, err := os.Create(filepath.Join(upper, name))
		must(t, err)
		for _, at := range data {
			_, err := f.WriteAt([]byte("something"), at)
			must(t, err)
		}
		must(t, f.Truncate(size))
		must(t, f.Close())
	}
	write(t, filepath.Join(upper, "full"), strings.Repeat("x", size))
	syncAll(t, s.home)
	want := fingerprint(t, s.Upper("b"))
	_, err := s.Save(t.Context(), "b", "L", false)
	must(t, err)
	sameTree(t, "the layer", want, fingerprint(t, s.Layer("L")))
	for _, name := range readNames(t, upper) {
		within(t, name, dataOf(t, filepath.Join(upper, name)), dataOf(t, filepath.Join(s.Layer("L"), "-", name)))
	}
}

// extent is a part of a file that has data.
type extent struct{ from, to int64 }

func dataOf(t *testing.T, path string) (data []extent) {
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	for at := int64(0); ; {
		from, err := unix.Seek(int(f.Fd()), at, unix.SEEK_DATA)
		if err != nil { // none is left
			return data
		}
		at, err = unix.Seek(int(f.Fd()), from, unix.SEEK_HOLE)
		must(t, err)
		data = append(data, extent{from, at})
	}
}

// within checks that all data of a copy is in a place where the file has some.
func within(t *testing.T, name string, file, copied []extent) {
	t.Helper()
	for _, c := range copied {
		inside := false
		for _, f := range file {
			inside = inside || f.from <= c.from && c.to <= f.to
		}
		if !inside {
			t.Errorf("%s has data at %v, its copy at %v", name, file, copied)
		}
	}
}
