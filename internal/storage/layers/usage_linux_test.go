package layers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func usageOfStore(t *testing.T, p place) {
	s := p.open(t)
	before, err := s.Usage(t.Context())
	must(t, err)
	upper := newBox(t, s, "b")
	write(t, filepath.Join(upper, "f"), strings.Repeat("x", 64<<10))
	must(t, os.Link(filepath.Join(upper, "f"), filepath.Join(upper, "g")))
	write(t, s.Log("b", "1"), strings.Repeat("l", 16<<10))
	// Two layers that share a file, as flattening makes them.
	var shared string
	for _, layer := range []string{"A", "B"} {
		d, err := s.NewLayer(t.Context(), layer)
		must(t, err)
		dir, err := d.Mount("/")
		must(t, err)
		if shared == "" {
			write(t, filepath.Join(dir, "shared"), strings.Repeat("s", 128<<10))
			write(t, filepath.Join(dir, "own"), strings.Repeat("o", 32<<10))
		} else if name, _ := s.Driver(); name != "btrfs" { // no links between subvolumes
			must(t, os.Link(shared, filepath.Join(dir, "shared")))
			must(t, os.Link(shared, filepath.Join(dir, "again")))
		}
		must(t, d.Keep())
		shared = filepath.Join(s.Layer(layer), "-", "shared")
		if layer == "A" {
			syncAll(t, s.home)
		}
	}
	r, err := s.NewRoot(t.Context(), "sha256:abc")
	must(t, err)
	write(t, filepath.Join(r.Dir, "etc"), strings.Repeat("r", 48<<10))
	must(t, r.Keep())
	write(t, filepath.Join(s.Bin(), "junk"), strings.Repeat("j", 24<<10))
	write(t, filepath.Join(s.home, "ledger.db"), strings.Repeat("d", 20<<10))
	syncAll(t, s.home)
	u, err := s.Usage(t.Context())
	must(t, err)
	checkUsage(t, s, u, before)
}

// slack is for directories, which take a block each on some filesystems and
// nothing on others.
const slack = 40 << 10

func checkUsage(t *testing.T, s *Store, u, before Usage) {
	t.Helper()
	near := func(what string, got, want int64) {
		t.Helper()
		if got < want || got >= want+slack {
			t.Errorf("%s takes %d, want %d (and less than %d more)", what, got, want, slack)
		}
	}
	near("the box", u.Boxes["b"].Own, 80<<10)
	near("all of the box", u.Boxes["b"].All, 80<<10)
	near("the root", u.Roots["sha256:abc"].Own, 48<<10)
	near("the trash", u.Trash.All, 24<<10)
	near("the rest", u.Other.All-before.Other.All, 20<<10)
	near("layer A", u.Layers["A"].All, 160<<10)
	total := int64(80+48+24+20+160) << 10
	if name, _ := s.Driver(); name == "btrfs" {
		near("layer A alone", u.Layers["A"].Own, 160<<10)
	} else {
		near("layer A alone", u.Layers["A"].Own, 32<<10)
		near("layer B alone", u.Layers["B"].Own, 0)
		near("layer B", u.Layers["B"].All, 128<<10)
	}
	if got := u.Total.All - before.Total.All; got < total || got > total+5*slack {
		t.Errorf("it takes %d in total, want %d", got, total)
	}
	if want := int64(1); len(u.Boxes) != 1 || len(u.Layers) != 2 || len(u.Roots) != 1 || u.Unread != unreadable(want) {
		t.Errorf("%d boxes, %d layers, %d roots, %d directories unread", len(u.Boxes), len(u.Layers), len(u.Roots), u.Unread)
	}
}

// unreadable is 0 for root, who reads overlayfs's own directory as well.
func unreadable(n int64) int64 {
	if os.Geteuid() == 0 {
		return 0
	}
	return n
}

// syncAll has the filesystem decide where files go: before that some have no
// blocks yet.
func syncAll(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Open(dir)
	must(t, err)
	defer f.Close()
	must(t, unix.Syncfs(int(f.Fd())))
}
