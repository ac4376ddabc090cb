package git

import (
	"crypto/sha1"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox"
)

// The index is read as git reads it, in every version that git writes.
func TestReadIndex(t *testing.T) {
	const script = "mkdir -p d/e; for f in a b d/a d/b d/e/long-name-of-a-file d/e/long-name-of-a-folder z; do echo $f >$f; done; chmod +x b; ln -s a l; echo x >\"$(printf 'd/\\377\\nx')\""
	for name, after := range map[string]string{
		"version 2":    "git update-index --index-version 2",
		"version 3":    "echo n >n; git add -N n; git update-index --index-version 3",
		"version 4":    "git update-index --index-version 4",
		"extensions":   "git config core.untrackedCache true; git status >/dev/null; git update-index --force-untracked-cache",
		"linked":       "git worktree add -q ../linked; mv .git ../main; printf 'gitdir: ../main/worktrees/linked\\n' >.git; cp ../main/index ../main/worktrees/linked/index; git update-index --refresh",
		"assumed":      "git update-index --assume-unchanged a; git update-index --skip-worktree d/a",
		"with a merge": "git checkout -qb o; echo o >a; git commit -qam o; git checkout -q -; echo m >a; git commit -qam m; git merge o >/dev/null || true",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, script)
			w.sh("sleep 0.02; git update-index --refresh -q --force-write-index;" + after)
			x, err := ReadIndex(w.Root)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range x.Entries {
				got = append(got, e.ID()+" "+e.Path)
				if _, ok := x.Find(e.Path); !ok {
					t.Errorf("%q is not found", e.Path)
				}
			}
			var want []string
			for line := range strings.SplitSeq(strings.TrimSuffix(w.sh("git ls-files -s -z | tr '\\n\\0' '\\1\\n'"), "\n"), "\n") {
				about, path, _ := strings.Cut(line, "\t")
				want = append(want, strings.Fields(about)[1]+" "+strings.ReplaceAll(path, "\x01", "\n"))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q\nwant %q", got, want)
			}
			told := map[string]bool{}
			for _, e := range x.Entries {
				told[e.Path] = e.Told
			}
			if told["a"] != (name != "assumed" && name != "with a merge") || told["d/a"] != (name != "assumed") || told["n"] {
				t.Errorf("%v", told)
			}
		})
	}
}

func TestOddIndexes(t *testing.T) {
	for name, script := range map[string]string{
		"split":     "git update-index --split-index",
		"none":      "rm .git/index",
		"damaged":   "printf x | dd of=.git/index bs=1 seek=40 conv=notrunc 2>/dev/null",
		"short":     "truncate -s 50 .git/index",
		"empty":     ": >.git/index",
		"fifo":      "rm .git/index; mkfifo .git/index",
		"no hash":   "git -c index.skipHash=true update-index --force-write-index; truncate -s -20 .git/index; head -c 20 /dev/zero >>.git/index",
		"elsewhere": "mv .git ../g; ln -s ../g .git",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "echo 1 >a; echo 1 >b")
			w.sh(script)
			if x, err := ReadIndex(w.Root); err == nil {
				t.Errorf("%+v", x.Entries)
			}
		})
	}
	w := newWorld(t, "echo 1 >a")
	w.sh("rm -rf .git; git init -q --object-format=sha256 .; git add a")
	x, err := ReadIndex(w.Root)
	if err != nil || len(x.Entries) != 1 || len(x.Entries[0].ID()) != 64 {
		t.Errorf("%+v, %v", x, err)
	}
}

func (w *world) proves(name string) bool {
	w.Helper()
	x, err := ReadIndex(w.Root)
	if err != nil {
		w.Fatal(err)
	}
	info, err := os.Lstat(w.Root + "/" + name)
	if err != nil {
		w.Fatal(err)
	}
	e, _ := x.Find(name)
	st := info.Sys().(*syscall.Stat_t)
	id := forkbox.Identity{Ino: st.Ino, Size: st.Size, Ctime: st.Ctim.Nano()}
	return x.Proves(e, info.Mode(), id, st.Mtim.Nano())
}

// The index proves what a file is only where nothing was done to it since.
func TestTheIndexProves(t *testing.T) {
	for script, want := range map[string]bool{
		"true":                                  true,
		"touch a":                               false,
		"chmod 755 a":                           false,
		"chmod 600 a":                           false, // its inode changed
		"echo 2 >a; touch -d @1000000000.5 a":   false,
		"cp -p a b; mv b a":                     false,
		"mv a b; mv b a":                        false,
		"touch a; git update-index --refresh":   true,
		"echo 2 >a; git add a":                  true,
		"git update-index --assume-unchanged a": false,
		"git update-index --cacheinfo 100644,$(echo 2 | git hash-object -w --stdin),a":                 false,
		"git config core.trustctime false; git config core.checkStat minimal; chmod 600 a; git status": false,
	} {
		w := newWorld(t, "echo 1 >a; touch -d @1000000000.5 a")
		w.sh("sleep 0.02; git update-index --refresh -q; " + script + "; sleep 0.02; git update-index --force-write-index")
		if got := w.proves("a"); got != want {
			t.Errorf("%s: %v", script, got)
		}
	}
	// A file that is as young as the index may have changed after git read it.
	w := newWorld(t, "echo 1 >a")
	w.sh("touch -r .git/index a; git update-index --refresh -q; touch -r a .git/index")
	if w.proves("a") {
		t.Error("a file as young as the index is proven")
	}
}

func TestObject(t *testing.T) {
	w := newWorld(t, "echo 1 >a; chmod +x a; echo '*.lfs filter=x' >.gitattributes; echo 1 >a.lfs; printf '1\\n' >crlf")
	get := func(name string) (string, string, error) {
		t.Helper()
		x, err := ReadIndex(w.Root)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := x.Find(name)
		content, mode, err := w.Object(t.Context(), e)
		return string(content), mode.String(), err
	}
	if text, mode, err := get("a"); text != "1\n" || mode != "-rwxr-xr-x" || err != nil {
		t.Errorf("%q, %s, %v", text, mode, err)
	}
	if _, _, err := get("a.lfs"); err == nil {
		t.Error("what goes through a filter is not known")
	}
	w.sh("printf '1\\r\\n' >crlf; git -c core.autocrlf=input add crlf 2>/dev/null")
	if _, _, err := get("crlf"); err == nil {
		t.Error("the blob has other bytes than the file")
	}
	if _, _, err := w.Object(t.Context(), IndexEntry{id: make([]byte, 20), Size: 1}); err == nil {
		t.Error("there is no such blob")
	}
}

func FuzzParseIndex(f *testing.F) {
	w := newWorld(f, "echo 1 >a; mkdir d; echo 1 >d/b")
	for _, version := range []string{"2", "4"} {
		w.sh("git update-index --index-version " + version)
		raw, err := os.ReadFile(w.Root + "/.git/index")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw[:len(raw)-20])
	}
	f.Add([]byte("DIRC")) // shorter than its head
	f.Fuzz(func(t *testing.T, body []byte) {
		raw := sealed(body)
		entries, err := ParseIndex(raw)
		if err == nil && len(entries)*minEntry > len(raw) {
			t.Errorf("%d entries in %d bytes", len(entries), len(raw))
		}
	})
}

// sealed puts the checksum at the end.
func sealed(body []byte) []byte {
	sum := sha1.Sum(body)
	return slices.Concat(body, sum[:])
}
