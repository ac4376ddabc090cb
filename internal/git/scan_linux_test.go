package git

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// What is dirty when something happens before the fence, and after it.
func TestScan(t *testing.T) {
	const setup = "echo 11 >a; echo 11 >b; mkdir d; echo 11 >d/x; ln -s a link; echo 11 >run; chmod +x run"
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", "", "", ""},
		{"untracked", "echo 1 >n", "echo 1 >m", ""},
		{"edited before", "echo 22 >a", "", "a"},
		{"edited after", "", "echo 22 >a", "a"},
		{"edited after with its old time", "", "touch -r a t; echo 22 >a; touch -r t a", "a"},
		{"edited after and put back", "", "touch -r a t; echo 22 >a; echo 11 >a; touch -r t a", "a"},
		{"edited before, put back after", "echo 22 >a", "echo 11 >a", "a"},
		{"replaced after", "", "cp -p a c; mv c a", "a"},
		{"touched", "touch -d @1 a", "", "a"},
		{"staged before", "echo 22 >a; git add a; echo 1 >n; git add n", "", "a n"},
		{"staged and put back before", "echo 22 >a; git add a; echo 11 >a", "", "a"},
		{"deleted before", "rm a", "", "a"},
		{"deleted after", "", "rm -r a d", "a d/x"},
		{"mode before", "chmod +x a", "", "a"},
		{"mode that git ignores", "git config core.fileMode false; chmod +x a; chmod -x run", "", "a run"},
		{"symlink", "ln -sf b link", "", "link"},
		{"directory became a symlink", "mv d e; ln -s e d", "", "d/x"},
		{"assumed unchanged", "git update-index --assume-unchanged a; echo 22 >a", "", "a"},
		{"skipped", "git update-index --skip-worktree a b; echo 22 >a", "", "a b"},
		{"lax comparison", "git config core.trustctime false; git config core.checkStat minimal", "touch -r a t; echo 22 >a; touch -r t a", "a"},
		{"carriage returns taken out", "git config core.autocrlf input; printf '1\\r\\n' >a; git add a; git commit -qm crlf", "", "a"},
		{"carriage returns put in", "echo 'a eol=crlf' >.gitattributes; rm a; git checkout a; git add .; git commit -qm crlf", "", "a"},
		{"id", "echo 'a ident' >.gitattributes; echo '$Id$' >a; git add .; git commit -qm id; rm a; git checkout -q a", "", "a"},
		{"unmerged", "git checkout -q -b s; echo 33 >a; git commit -qam s; git checkout -q main; echo 44 >a; git commit -qam m; git merge s || true", "", "a"},
		{"detached", "git checkout -q --detach", "", ""},
		{"packed", "git pack-refs --all; git gc -q", "", ""},
		{"submodule", "git init -q s; git -C s commit -q --allow-empty -m s; git add s 2>/dev/null; git commit -qm s; echo 1 >s/x", "", "s"},
		{"stashed after", "", "git stash list; git branch other; git tag t; git fetch -q . main:refs/remotes/o/main", ""},

		{"status after", "", "touch a; git status", "no"},
		{"added after", "", "echo 22 >a; git add a", "no"},
		{"committed after", "", "git commit -q --allow-empty -m x", "no"},
		{"committed after, packed", "git pack-refs --all", "git commit -q --allow-empty -m x", "no"},
		{"reset after", "git commit -q --allow-empty -m x", "git reset -q --soft HEAD^", "no"},
		{"checked out after", "git branch other", "git checkout -q other", "no"},
		{"amended after, detached", "git checkout -q --detach", "git commit -q --amend -m x", "no"},
		{"split index", "git update-index --split-index", "", "no"},
		{"replaced object", "git replace $(git hash-object a) $(echo 22 | git hash-object -w --stdin)", "", "no"},
		{"no index", "rm .git/index", "", "no"},
		{"bare", "git config core.bare true", "", "no"},
		{"no repository", "rm -rf .git", "", "no"},
		{"broken", "echo x >.git/HEAD", "", "no"},
		{"unborn", "rm -rf .git; git init -q .; git add .", "", "no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, setup)
			w.sh("true; " + c.before)
			fence := w.fence()
			w.sh("true; " + c.after)
			index := "if [ -e .git/index ]; then sha256sum .git/index; stat -c %z .git/index; fi"
			before := w.sh(index)
			clean, ok, err := w.Scan(t.Context(), fence)
			w.want(index, before)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(clean.Dirty, " ")
			if !ok {
				got = "no"
			}
			if got != c.want {
				t.Errorf("dirty %q, want %q", got, c.want)
			}
			if ok && (clean.Root != w.Root || clean.Head != w.sh("git rev-parse HEAD") || !clean.Fence.Equal(fence) || clean.At.Before(fence)) {
				t.Errorf("%+v", clean)
			}
		})
	}
}

func TestScanOddNames(t *testing.T) {
	w := newWorld(t, "true")
	names := []string{"new\nline", "\xff", " a", "tab\tx", "-v", "*"}
	for _, n := range names {
		writeFile(t, w.Root+"/"+n, "1")
	}
	w.sh("git add -A; git commit -qm odd")
	for _, n := range names {
		writeFile(t, w.Root+"/"+n, "2")
	}
	clean, ok, err := w.Scan(t.Context(), w.fence())
	if slices.Sort(names); !ok || err != nil || !slices.Equal(clean.Dirty, names) {
		t.Errorf("%q, %v, %v", clean.Dirty, ok, err)
	}
	since, err := w.Since(t.Context(), clean.Head)
	if err != nil || !slices.Equal(since, names) {
		t.Errorf("since %q, %v", since, err)
	}
	for _, n := range names {
		if content, _, err := w.Blob(t.Context(), clean.Head, n); err != nil || string(content) != "1" {
			t.Errorf("%q: %q, %v", n, content, err)
		}
	}
}

// A work tree that was added to a repository has its index and HEAD elsewhere.
func TestScanLinkedWorkTree(t *testing.T) {
	w := newWorld(t, "echo 1 >a")
	dir := t.TempDir() + "/wt"
	w.sh("git worktree add -q " + dir)
	linked := &world{t, Repo{Root: dir, Owner: w.Owner}}
	fence := w.fence()
	if clean, ok, err := linked.Scan(t.Context(), fence); !ok || err != nil || len(clean.Dirty) > 0 {
		t.Errorf("%+v, %v, %v", clean, ok, err)
	}
	w.sh("git commit -q --allow-empty -m elsewhere")
	if _, ok, err := linked.Scan(t.Context(), fence); !ok || err != nil {
		t.Errorf("after a commit in the other work tree: %v, %v", ok, err)
	}
	linked.sh("git commit -q --allow-empty -m here")
	if _, ok, err := linked.Scan(t.Context(), fence); ok || err != nil {
		t.Errorf("after a commit: %v, %v", ok, err)
	}
	linked.sh("echo 2 >a; echo 1 >n")
	linked.mustCommit(CommitSpec{Paths: linked.path("a", "n")})
}

func TestFind(t *testing.T) {
	w := newWorld(t, "mkdir -p d/e; echo 1 >d/e/f")
	repo, ok, err := Find(t.Context(), w.Root+"/d/e", w.Owner)
	if !ok || err != nil || repo.Root != w.Root {
		t.Errorf("%+v, %v, %v", repo, ok, err)
	}
	for _, dir := range []string{t.TempDir(), w.Root + "/.git", w.Root + "/gone"} {
		if _, ok, err := Find(t.Context(), dir, w.Owner); ok || err != nil {
			t.Errorf("%s: %v, %v", dir, ok, err)
		}
	}
}

func TestBlob(t *testing.T) {
	w := newWorld(t, `printf 'a\r\nb\0' >bin; echo 1 >run; chmod +x run; ln -s nowhere link; mkdir d; echo 1 >d/x; : >empty
		printf '%s\n' 'crlf eol=crlf' 'id ident' 'lfs filter=lfs' 'utf16 working-tree-encoding=UTF-16' 'plain text=auto' 'off -filter' >.gitattributes
		echo 1 >crlf; echo '$Id$' >id; echo 1 >lfs; echo 1 | iconv -t UTF-16 >utf16; echo 1 >plain; echo 1 >off`)
	w.sh(`git init -q s; git -C s commit -q --allow-empty -m s; git add s 2>/dev/null; git commit -qm s
		git config filter.lfs.smudge 'touch ran; cat'; rm -rf bin run d; echo 2 >plain`)
	head := w.sh("git rev-parse HEAD")
	for _, c := range []struct {
		path, content string
		mode          fs.FileMode
		err           error
	}{
		{"bin", "a\r\nb\x00", 0o644, nil},
		{"run", "1\n", 0o755, nil},
		{"link", "nowhere", fs.ModeSymlink | 0o777, nil},
		{"d/x", "1\n", 0o644, nil},
		{"empty", "", 0o644, nil},
		{"plain", "1\n", 0o644, nil},
		{"off", "1\n", 0o644, nil},
		{"crlf", "", 0, ErrUnknown},
		{"id", "", 0, ErrUnknown},
		{"lfs", "", 0, ErrUnknown},
		{"utf16", "", 0, ErrUnknown},
		{"s", "", 0, ErrUnknown},
		{"d", "", 0, fs.ErrNotExist},
		{"d/y", "", 0, fs.ErrNotExist},
		{"*", "", 0, fs.ErrNotExist},
		{"d*/x", "", 0, fs.ErrNotExist},
	} {
		content, mode, err := w.Blob(t.Context(), head, c.path)
		if !errors.Is(err, c.err) || err == nil && (string(content) != c.content || mode != c.mode) {
			t.Errorf("%s: %q, %v, %v", c.path, content, mode, err)
		}
	}
	w.want("ls ran 2>/dev/null || echo no", "no") // no filter ran
	if _, _, err := w.Blob(t.Context(), strings.Repeat("0", 40), "bin"); !errors.Is(err, ErrUnknown) {
		t.Errorf("no such commit: %v", err)
	}
	for _, bad := range [][2]string{{"HEAD", "bin"}, {"--help", "bin"}, {head, "../x"}, {head, "/etc/passwd"}, {head, "."}, {head, ""}, {head, "a//b"}, {head, "a\x00"}} {
		if _, _, err := w.Blob(t.Context(), bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), "cannot read") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSince(t *testing.T) {
	w := newWorld(t, "echo 1 >a; echo 1 >b; echo 1 >c; echo 1 >m; echo 1 >t; printf '\\0' >bin")
	head := w.sh("git rev-parse HEAD")
	w.sh("echo 2 >a; git commit -qam second; echo 2 >b; git add b; rm c; chmod +x m; touch -d @1 t; printf '\\0\\0' >bin; echo 1 >untracked; echo 1 >n; git add n")
	index := "sha256sum .git/index; stat -c %z .git/index"
	before := w.sh(index)
	got, err := w.Since(t.Context(), head)
	if err != nil || strings.Join(got, " ") != "a b bin c m n" {
		t.Errorf("%q, %v", got, err)
	}
	w.want(index, before)
	for _, bad := range []string{"HEAD", "", strings.Repeat("0", 40)} {
		if _, err := w.Since(t.Context(), bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
