package layers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

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
