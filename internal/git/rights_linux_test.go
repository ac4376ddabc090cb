package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

const stranger = 61234 // no user has this uid

// strangersWorld is a repository of another user's, in a place that they can
// get at.
func strangersWorld(t *testing.T) *world {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can act for another user")
	}
	dir, err := os.MkdirTemp("/tmp", "forkbox-git-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	owner := forkbox.Owner{UID: stranger, GID: stranger, Groups: []int{stranger, stranger + 1}, Name: "eve", Home: dir}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(dir+"/repo", 0o755), os.Chown(dir, stranger, stranger), os.Chown(dir+"/repo", stranger, stranger)); err != nil {
		t.Fatal(err)
	}
	w := &world{t, Repo{Root: dir + "/repo", Owner: owner}}
	w.sh("git config --global user.name Eve; git config --global user.email e@f; git init -q .; echo 1 >f; git add f; git commit -qm 1")
	return w
}

// Root commits for another user: git and hooks run as them and no more.
func TestGitRunsAsTheOwner(t *testing.T) {
	w := strangersWorld(t)
	w.sh("echo 2 >f; echo 1 >n")
	w.hook("pre-commit", "id -u >who; id -g >>who; id -G >>who; grep CapEff /proc/self/status | tr -d '\\t' >>who; tty >>who; true")
	w.mustCommit(CommitSpec{Paths: w.path("f", "n"), Hooks: true})
	w.want("cat who", "61234\n61234\n61234 61235\nCapEff:0000000000000000\nnot a tty")
	w.want("find . ! -uid 61234", "")
	w.hook("pre-commit", "exit 1")
	w.sh("echo 3 >f; echo 1 >m")
	w.refused(t.Context(), CommitSpec{Paths: w.path("f", "m"), Hooks: true}, "")
	w.want("find . ! -uid 61234", "")
	if _, ok, err := w.Scan(t.Context(), w.fence()); !ok || err != nil {
		t.Error(ok, err)
	}
}

// Whatever the owner put in the place of the index, root does not read it.
func TestIndexIsReadAsTheOwner(t *testing.T) {
	w := strangersWorld(t)
	secret := filepath.Join(t.TempDir(), "secret")
	writeFile(t, secret, "DIRC")
	w.sh("echo 2 >f; rm .git/index; ln -s " + secret + " .git/index")
	if _, _, err := w.Commit(t.Context(), CommitSpec{Paths: w.path("f")}); err == nil {
		t.Error("no error")
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "DIRC" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestActingForTheOwnerIsOver(t *testing.T) {
	w := strangersWorld(t)
	secret := filepath.Join(t.TempDir(), "secret")
	writeFile(t, secret, "x")
	os.Chmod(secret, 0o600)
	for range 20 {
		err := w.As(func() error { _, err := os.ReadFile(secret); return err })
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("as the owner: %v", err)
		}
		if _, err := os.ReadFile(secret); err != nil {
			t.Errorf("as root, afterwards: %v", err)
		}
	}
}

// Git does not trust a repository of another user's: nothing is known of it.
func TestUntrustedRepository(t *testing.T) {
	w := strangersWorld(t)
	w.Owner = someone(t)
	if _, ok, err := w.Scan(t.Context(), w.fence()); ok || err != nil {
		t.Error(ok, err)
	}
	if _, ok, err := Find(t.Context(), w.Root, w.Owner); ok || err != nil {
		t.Error(ok, err)
	}
	_, _, err := w.Commit(t.Context(), CommitSpec{Paths: w.path("f")})
	var e *forkbox.Error
	if !errors.As(err, &e) || !strings.Contains(e.Why, "dubious ownership") || len(e.Hints) == 0 {
		t.Errorf("%+v", err)
	}
}

func TestNotForOthersWithoutRoot(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root can act for others")
	}
	w := newWorld(t, "echo 1 >f")
	w.Owner.UID++
	if _, _, err := w.Scan(t.Context(), w.fence()); forkbox.CodeOf(err) != forkbox.Denied {
		t.Errorf("scan: %v", err)
	}
	if _, _, err := w.Commit(t.Context(), CommitSpec{Paths: w.path("f")}); forkbox.CodeOf(err) != forkbox.Denied {
		t.Errorf("commit: %v", err)
	}
}

func TestNoGit(t *testing.T) {
	w := newWorld(t, "echo 1 >f")
	head := w.sh("git rev-parse HEAD")
	t.Setenv("PATH", t.TempDir())
	_, _, commitErr := w.Commit(t.Context(), CommitSpec{Paths: w.path("f")})
	_, _, scanErr := w.Scan(t.Context(), w.fence())
	_, _, blobErr := w.Blob(t.Context(), head, "f")
	for _, err := range []error{commitErr, scanErr, blobErr} {
		var e *forkbox.Error
		if !errors.As(err, &e) || e.Code != forkbox.Unsupported || len(e.Hints) == 0 {
			t.Errorf("%+v", err)
		}
	}
}
