package change

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
)

// layersOf is what the layers of a box consist of: a discard may not write to them.
func layersOf(f fixture) map[string]string {
	f.upper = f.layers[0]
	return snapshotOf(f)
}

// As without layers: the base shows where changes were discarded, everything
// else is as it was, and the layers are not touched.
func TestDiscardingSomeOfAStackLeavesTheRest(t *testing.T) {
	for _, options := range overlays {
		t.Run(options, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				history(t, rt, options, func(f fixture, base, box map[string]node, last bool) {
					if last && len(f.layers) > 0 {
						discardSome(t, rt, f, options, base, box)
					}
				})
			})
		})
	}
}

func discardSome(t testing.TB, rt *rapid.T, f fixture, options string, base, box map[string]node) {
	layers := layersOf(f)
	f = f.cloneUpper(t)
	all := changes(t, f.source())
	some, rest := choose(rt, all)
	if err := Discard(t.Context(), f.source(), some, f.bin(t)); err != nil {
		checkRefusal(t, rt, f, options, err, all, box)
	} else {
		checkRest(t, rt, f, options, some, rest, base, box)
	}
	discardAll(t, rt, f, options, base)
	if !maps.Equal(layersOf(f), layers) {
		rt.Fatalf("the layers were written to")
	}
}

// cloneUpper has what follows work on a copy of what the box wrote.
func (f fixture) cloneUpper(t testing.TB) fixture {
	t.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(f.base), "clone")
	if err != nil {
		t.Fatal(err)
	}
	upper := f.upper
	f.upper, f.work = dir+"/upper", dir+"/work"
	shell(t, dir, "mkdir work; cp -a "+upper+" upper")
	return f
}

// Every change of every known kind, wherever it was saved, discarded alone and
// with all others.
func TestDiscardingOneChangeOfAStack(t *testing.T) {
	for _, c := range slices.Concat(stacked, moved) {
		for _, saved := range []bool{false, true} {
			name := c.name + map[bool]string{true: "/saved"}[saved]
			t.Run(name, func(t *testing.T) {
				f := newFixture(t)
				shell(t, f.base, smallTree)
				f.build(t, c.do)
				if saved {
					f.snapshot(t)
				}
				discardEachOf(t, f)
			})
		}
	}
}

func discardEachOf(t *testing.T, f fixture) {
	options, base, box := overlays[1], tree(f.base), f.seen(t, overlays[1])
	layers := layersOf(f)
	for _, c := range changes(t, f.source()) {
		f := f.cloneUpper(t)
		all := changes(t, f.source())
		some, rest := partAt(all, c.Path)
		if err := Discard(t.Context(), f.source(), some, f.bin(t)); err != nil {
			checkRefusal(t, t, f, options, err, all, box)
		} else {
			checkRest(t, t, f, options, some, rest, base, box)
		}
		discardAll(t, t, f, options, base)
	}
	if !maps.Equal(layersOf(f), layers) {
		t.Error("the layers were written to")
	}
}

// A copy of the base is faithful in all that a box can see.
func TestDiscardCopiesFaithfully(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("owners, devices and mounts need root")
	}
	f := newFixture(t)
	shell(t, f.base, "mkdir -p d/sub d/empty; truncate -s 1M d/hole; printf x | dd of=d/hole bs=1 seek=700000 conv=notrunc 2>/dev/null; mkfifo d/p; echo x >d/sub/x; ln -s x d/l; chown 5:6 d/sub/x; chmod 4750 d/sub/x; chmod 1777 d/empty; echo f >'f\n'; touch -d @1000 d/sub/x d/sub d 'f\n'; mknod d/null c 1 3")
	setXattr(t, f.base+"/d/sub", "user.a", "1")
	setXattr(t, f.base+"/d/sub/x", "trusted.b", "2")
	before := f.view(t)
	f.build(t, stages{"rm -r d 'f\n'", "true"})
	if err := discardAt(t, f, f.source(), "/d", "/f\n"); err != nil {
		t.Fatal(err)
	}
	if why := f.view(t).differs(before); why != "" {
		t.Error(why)
	}
	wantChanges(t, f.source())
	if st, err := lstatFile(f.upper + "/d/hole"); err != nil || !st.isSparse() {
		t.Errorf("the hole was filled: %d blocks, %v", st.Blocks, err)
	}
}

func lstatFile(path string) (file, error) { return lstat(-100, path) } // AT_FDCWD

// Only what the layers have is made again, however large the base is.
func TestDiscardDoesNotCopyWhatShowsByItself(t *testing.T) {
	f := newFixture(t)
	shell(t, f.base, "mkdir -p d/big; for i in 1 2 3 4 5 6 7 8 9; do echo $i >d/big/$i; done; echo a >d/a; mkdir d/other; echo o >d/other/o")
	f.build(t, stages{"echo new >d/big/3; echo n >d/big/n; echo A >d/a", "rm -r d"})
	before := tree(f.base)
	if err := discardAt(t, f, f.source(), "/d"); err != nil {
		t.Fatal(err)
	}
	if now := f.seen(t, overlays[1]); !maps.EqualFunc(now, before, node.is) {
		t.Errorf("%v", now)
	}
	made := slices.Sorted(maps.Keys(tree(f.upper)))
	if want := []string{"/d", "/d/a", "/d/big", "/d/big/3", "/d/big/n"}; !slices.Equal(made, want) {
		t.Errorf("made %q", made)
	}
}

// What a box was not shown is not copied into it.
func TestDiscardDoesNotCopySecrets(t *testing.T) {
	f, src := handmade(t)
	layer := filepath.Dir(f.base) + "/l0"
	for _, name := range []string{"u/.ssh/key", "u/.netrc", "u/plain", "u/.mine/x"} {
		write(t, "secret", f.base, name)
	}
	os.Chmod(f.base+"/u/.netrc", 0o600)
	write(t, "a file now", layer, "u")
	write(t, "mine", layer, "w/.netrc")
	write(t, "secret", f.base, "w/.netrc")
	src.Uppers[0].Layers = []string{layer}
	src.Hidden = []string{"/u/.ssh", "/u/.netrc", "/w/.netrc"}
	wantChanges(t, src, "type file /u +5 (mode)", "modified file /w/.netrc hidden")
	if err := discardAt(t, f, src, "/"); err != nil {
		t.Fatal(err)
	}
	wantChanges(t, src)
	wantFile(t, f.upper+"/u/.netrc", "")
	wantFile(t, f.upper+"/w/.netrc", "")
	wantFile(t, f.upper+"/u/plain", "secret")
	if _, err := os.Lstat(f.upper + "/u/.ssh/key"); err == nil {
		t.Error("a secret was copied")
	}
}

func TestDiscardNeedsAnUpper(t *testing.T) {
	f, src := handmade(t)
	write(t, "n", f.upper, "n")
	src.Uppers[0].Dir, src.Uppers[0].Layers = "", []string{f.upper}
	err := discardAt(t, f, src, "/n")
	if forkbox.CodeOf(err) != forkbox.Internal || !strings.Contains(err.Error(), "no upper directory") {
		t.Errorf("%v", err)
	}
	wantChanges(t, src, "added file /n")
}

// The same without privileges.
func TestRootlessDiscardOfAStack(t *testing.T) {
	for _, c := range stacked {
		if strings.Contains(strings.Join(c.do, ";"), "mknod") {
			continue // refused in a user namespace
		}
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			shell(t, f.base, smallTree)
			for i, script := range c.do {
				if i > 0 {
					f.snapshot(t)
				}
				rootless(t, f, script)
			}
			f.snapshot(t)
			src := f.rootlessSource()
			if err := Discard(t.Context(), src, changes(t, src), f.bin(t)); err != nil {
				t.Fatal(err)
			}
			wantChanges(t, src)
			want, got := filepath.Dir(f.base)+"/want", filepath.Dir(f.base)+"/got"
			shell(t, f.base, strings.ReplaceAll(listing, " %Y", "")+" >"+want)
			rootless(t, f, strings.ReplaceAll(listing, " %Y", "")+" >"+got)
			data, _ := os.ReadFile(want)
			wantFile(t, got, string(data))
		})
	}
}
