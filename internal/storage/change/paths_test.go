package change

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestPathsAreSortedAndEachOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() Path {
		name := ""
		for range 1 + random.IntN(3) {
			name += "/" + []string{"a", "ab", "a-b", "b", "some-file", "\xff", "a\nb"}[random.IntN(7)]
		}
		return Path{name, random.IntN(3) == 0}
	}
	for range 2000 {
		var p Paths
		deep := map[string]bool{}
		for range random.IntN(4) {
			p.Next()
			var run []Path
			for range random.IntN(12) {
				run = append(run, draw())
			}
			slices.SortFunc(run, func(a, b Path) int { return forkbox.ComparePaths(a.Name, b.Name) })
			for _, x := range run {
				p.Add(x)
				deep[x.Name] = deep[x.Name] || x.Deep
			}
		}
		for i := range random.IntN(6) {
			x := draw()
			deep[x.Name] = deep[x.Name] || x.Deep
			if i%2 == 0 {
				p.AddAside(x)
			} else {
				p.Add(x) // whatever the order
			}
		}
		var want []Path
		for name, deep := range deep {
			want = append(want, Path{name, deep})
		}
		slices.SortFunc(want, func(a, b Path) int { return forkbox.ComparePaths(a.Name, b.Name) })
		for range 2 { // they can be gone through again
			if got := slices.Collect(p.All()); !slices.Equal(got, want) {
				t.Fatalf("%+v, not %+v", got, want)
			}
		}
	}
}

// TestAPathToCompareIsSmall: they are all held at once.
func TestAPathToCompareIsSmall(t *testing.T) {
	const n, most = 10000, 16
	var p Paths
	for i := range n {
		p.Add(Path{Name: fmt.Sprintf("/home/someone/project/directory/some-file-%06d", i), Deep: true})
	}
	if size := len(p.sequences[0].text); size > n*most || len(p.aside) > 0 {
		t.Errorf("%d paths take %d bytes, and %d lie aside", n, size, len(p.aside))
	}
}
