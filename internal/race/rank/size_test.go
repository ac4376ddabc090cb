package rank

import (
	"testing"

	"github.com/forkbox/forkbox"
)

func TestCount(t *testing.T) {
	for _, c := range []struct {
		change             forkbox.Change
		files, plus, minus int
	}{
		{forkbox.Change{Kind: forkbox.Modified, Type: "file", Plus: 2, Minus: 1, Size: 9000, OldSize: 8000}, 1, 2, 1},
		{forkbox.Change{Kind: forkbox.Added, Type: "file", Binary: true, Size: 35000}, 1, 438, 0},
		{forkbox.Change{Kind: forkbox.Added, Type: "file", Binary: true, Size: 1}, 1, 1, 0},
		{forkbox.Change{Kind: forkbox.Modified, Type: "file", Binary: true, Size: 160, OldSize: 81}, 1, 2, 2},
		{forkbox.Change{Kind: forkbox.Deleted, Type: "file", Binary: true, Size: 80}, 1, 0, 1},
		{forkbox.Change{Kind: forkbox.Mode, Type: "file", Binary: true, Size: 8000, OldSize: 8000}, 1, 0, 0},
		{forkbox.Change{Kind: forkbox.Renamed, Type: "file", Binary: true, Size: 8000, OldSize: 8000, Similarity: 100}, 1, 0, 0},
		{forkbox.Change{Kind: forkbox.Renamed, Type: "file", Binary: true, Size: 8000, OldSize: 800, Similarity: 60}, 1, 100, 10},
		{forkbox.Change{Kind: forkbox.Added, Type: "dir"}, 0, 0, 0},
		{forkbox.Change{Kind: forkbox.Deleted, Type: "dir", Entries: 7}, 7, 0, 0},
		{forkbox.Change{Kind: forkbox.Renamed, Type: "dir"}, 1, 0, 0},
		{forkbox.Change{Kind: forkbox.Added, Type: "symlink", Plus: 1}, 1, 1, 0},
	} {
		var size forkbox.DiffSize
		if Count(&size, c.change); size.Files != c.files || size.Plus != c.plus || size.Minus != c.minus {
			t.Errorf("%+v counts as %+v", c.change, size)
		}
	}
}
