package git

import (
	"encoding/binary"
	"os"
	"testing"
)

func (w *world) index() []byte {
	w.Helper()
	raw, err := os.ReadFile(w.Root + "/.git/index")
	if err != nil {
		w.Fatal(err)
	}
	return raw
}

// What git writes anew by itself is the same index; whatever was staged, or told
// to git, makes it another.
func TestRewrittenIndexes(t *testing.T) {
	same := Rewritten("/w/.git/index")
	for name, c := range map[string]struct {
		script string
		want   bool
	}{
		"touched":          {"touch -d 2001-01-01 a; git status", true},
		"replaced":         {"cp a x; mv x a; git status", true},
		"another version":  {"git update-index --index-version 4", true},
		"untracked cache":  {"git update-index --force-untracked-cache; git status", true},
		"without trees":    {"git -c index.threads=2 read-tree HEAD; git status", true},
		"resolved":         {"git checkout -qb o; echo o >a; git commit -qam o; git checkout -q main; echo m >a; git commit -qam m; git merge o || echo 1 >a; git add a", true},
		"staged":           {"echo 2 >a; git add a", false},
		"added":            {"echo 2 >n; git add n", false},
		"to be added":      {"echo 2 >n; git add -N n", false},
		"removed":          {"git rm -q --cached a", false},
		"mode":             {"git update-index --chmod=+x a", false},
		"assumed":          {"git update-index --assume-unchanged a", false},
		"not checked out":  {"git update-index --skip-worktree a", false},
		"in a merge":       {"git checkout -qb o; echo o >a; git commit -qam o; git checkout -q main; echo m >a; git commit -qam m; git merge o || true", false},
		"split":            {"git update-index --split-index", false},
		"damaged":          {"printf x | dd of=.git/index bs=1 seek=40 conv=notrunc", false},
		"empty":            {": >.git/index", false},
		"of another hash":  {"rm -rf .git; git init -q --object-format=sha256 .; git add .", false},
		"sparse":           {"git config core.sparseCheckout true; git config core.sparseCheckoutCone true; git config index.sparse true; git sparse-checkout set --cone --sparse-index e", false},
		"nothing was done": {"true", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "echo 1 >a; mkdir d e; echo 1 >d/b; echo 1 >e/f")
			was := w.index()
			w.sh("{ " + c.script + "; } >/dev/null 2>&1")
			if now := w.index(); same(was, now) != c.want || same(now, was) != c.want {
				t.Errorf("that they are the same is %v", !c.want)
			}
		})
	}
}

// An extension that is not known may say anything.
func TestRewrittenIndexWithUnknownExtension(t *testing.T) {
	w := newWorld(t, "echo 1 >a")
	was := w.index()
	for name, want := range map[string]bool{"TREE": true, "REUC": true, "ZZZZ": false, "link": false, "sdir": false} {
		body := binary.BigEndian.AppendUint32(append(was[:len(was)-20:len(was)-20], name...), 0)
		if got := sameIndex(was, sealed(body)); got != want {
			t.Errorf("with %s: %v", name, got)
		}
	}
	if large := append(was, make([]byte, MaxIndex)...); sameIndex(large, large) {
		t.Error("a huge one was read")
	}
}

func TestWhereIndexesAre(t *testing.T) {
	for path, want := range map[string]bool{
		"/w/.git/index":                          true,
		"/w/vendor/x/.git/index":                 true,
		"/w/.git/worktrees/x/index":              true,
		"/w/.git/modules/a/b/index":              true,
		"/w/.git/modules/a/worktrees/x/index":    true,
		"/w/.git/refs/heads/index":               false,
		"/w/.git/index.lock":                     false,
		"/w/index":                               false,
		"/w/x.git/index":                         false,
		"/w/.git":                                false,
		"index":                                  false,
		"/w/.git/modules/a/.git/refs/tags/index": false,
	} {
		if got := Rewritten(path) != nil; got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func FuzzSameIndex(f *testing.F) {
	w := newWorld(f, "echo 1 >a; mkdir d; echo 1 >d/b")
	was := w.index()
	f.Add(was[:len(was)-20])
	w.sh("echo 2 >n; git add -N n; git update-index --index-version 4")
	now := w.index()
	f.Add(now[:len(now)-20])
	f.Fuzz(func(t *testing.T, body []byte) {
		x := sealed(body)
		if _, err := ParseIndex(x); err != nil && (sameIndex(x, x) || sameIndex(was, x)) {
			t.Error("one that cannot be read is the same as another")
		}
		if sameIndex(was, x) != sameIndex(x, was) {
			t.Error("it depends on the order")
		}
	})
}
