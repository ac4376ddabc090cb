//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// grower changes a tree at random, in every way that a program can. What it
// does depends on its seed and on the tree, and on nothing else.
type grower struct {
	root string
	rng  *rand.Rand
	did  []string // to find out what went wrong
	tick int64
}

func newGrower(root string, seed uint64) *grower {
	return &grower{root: root, rng: rand.New(rand.NewPCG(seed, 0))}
}

// sprout makes a tree.
func (g *grower) sprout(steps int) { g.steps(steps, creations) }

// mutate changes one.
func (g *grower) mutate(steps int) { g.steps(steps, append(mutations, creations...)) }

// act is one thing that can be done. It is logged with what it says.
type act func(g *grower) (string, error)

func (g *grower) steps(n int, from []act) {
	for range n {
		said, err := from[g.rng.IntN(len(from))](g)
		if said != "" {
			g.did = append(g.did, fmt.Sprintf("%s: %v", said, err))
		}
	}
}

// creations only add; several of a kind make it more likely.
var creations = []act{
	(*grower).write, (*grower).write, (*grower).write, (*grower).mkdir, (*grower).mkdir, (*grower).mkdir,
	(*grower).sparse, (*grower).link, (*grower).symlink, (*grower).node, (*grower).chmod, (*grower).chown, (*grower).setxattr, (*grower).setACL,
}

var mutations = []act{
	(*grower).appendTo, (*grower).truncate, (*grower).overwrite, (*grower).replace, (*grower).putBack,
	(*grower).removexattr, (*grower).rmdir, (*grower).remove, (*grower).remove, (*grower).renew, (*grower).rename, (*grower).rename,
	(*grower).renameDir, (*grower).renameDir, (*grower).swap, (*grower).nestedRenames, (*grower).thereAndBack, (*grower).retype, (*grower).renameOver,
}

var oddNames = []string{
	"a", "b", "c", "file.txt", "with space", "new\nline", "co:lon", "com,ma", "\xff\xfe", "-dash", ".dot", "tab\tx", `quo"te'`, `back\slash`,
	"ünï", "*", "$(x)", "a\rb", "%41", "...", strings.Repeat("long", 60), ".wh.x", "#", "lost+found", "a=b", "\x01",
}

func (g *grower) name() string {
	name := oddNames[g.rng.IntN(len(oddNames))]
	if g.rng.IntN(3) > 0 {
		name += strconv.Itoa(g.rng.IntN(8))
	}
	return name
}

// paths lists the tree, without its root; of one type when it is given.
func (g *grower) paths(types ...fs.FileMode) (all []string) {
	filepath.WalkDir(g.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == g.root {
			return nil
		}
		for _, t := range types {
			if d.Type() == t {
				all = append(all, path)
			}
		}
		if len(types) == 0 {
			all = append(all, path)
		}
		return nil
	})
	return all
}

// any picks a path of the tree, "" if there is none.
func (g *grower) any(types ...fs.FileMode) string {
	all := g.paths(types...)
	if len(all) == 0 {
		return ""
	}
	return all[g.rng.IntN(len(all))]
}

// dir picks a directory that is not too deep for the names in it.
func (g *grower) dir() string {
	if dir := g.any(fs.ModeDir); dir != "" && g.rng.IntN(4) > 0 && len(dir) < 1500 {
		return dir
	}
	return g.root
}

func (g *grower) fresh() string { return filepath.Join(g.dir(), g.name()) }

func (g *grower) rel(path string) string {
	rel, _ := filepath.Rel(g.root, path)
	return strconv.Quote(rel)
}

func (g *grower) bytes() []byte {
	sizes := []int{0, 1, 100, 4095, 4096, 4097, 20000, 150000}
	b := make([]byte, sizes[g.rng.IntN(len(sizes))])
	for i := range b {
		b[i] = "abcdefgh\n\x00"[g.rng.IntN(10)]
	}
	return b
}

// later sets times that differ from all others, whatever clock there is.
func (g *grower) later(path string) {
	g.tick++
	t := time.Unix(1_500_000_000+g.tick, int64(g.rng.IntN(1e9)))
	os.Chtimes(path, t, t)
}
