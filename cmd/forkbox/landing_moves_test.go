//go:build linux

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// sh does something in reality's workspace.
func (w *landWorld) sh(script string) {
	w.Helper()
	w.shOut(script)
}

func (w *landWorld) shOut(script string) string {
	w.Helper()
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = w.ws
	return w.output(cmd)
}

// inSh does something in a box's workspace.
func (w *landWorld) inSh(box, script string) string {
	w.Helper()
	return w.in(box, "sh", "-ec", script)
}

// files are those of reality with what they hold, on one line.
func (w *landWorld) files() string {
	w.Helper()
	return strings.Join(strings.Fields(w.shOut(listFiles)), " ")
}

// boxFiles are those of a box.
func (w *landWorld) boxFiles(box string) string {
	w.Helper()
	return strings.Join(strings.Fields(w.inSh(box, listFiles)), " ")
}

const listFiles = `find . -type f | LC_ALL=C sort | while read -r f; do echo "${f#./}=$(tr '\n' , <"$f")"; done`

func wantText(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s\nwant %s", what, got, want)
	}
}

// Overlayfs notes on a copy which file of reality it is one of. Reality moves
// that file: under its new name it is reality's own, in every box that has the
// copy, and what the box writes there goes there.
func TestPromise4ABoxDoesNotFollowWhatRealityMoved(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.sh("mkdir -p d e/sub; seq 5 >d/f; seq 3 >e/sub/g; seq 4 >e/h")
	box := w.fork("follower")
	w.inSh(box, "echo BOX >>d/f; echo BOX >>e/sub/g; echo own >e/own")
	w.fb("stop", box)
	w.sh("mv d/f m; echo REAL >>m; mv e/sub sub; mv e away")
	got := w.inSh(box, "find . | sort; tail -n1 d/f m e/sub/g sub/g; ls -lR >/dev/null")
	for _, want := range []string{"==> d/f <==\nBOX\n", "==> m <==\nREAL\n", "==> e/sub/g <==\nBOX\n", "==> sub/g <==\n3\n", "./away/h\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in the box: %s", want, got)
		}
	}
	_ = w.command("sync", box).Run()
	w.inSh(box, "echo MORE >>m; rm -r away")
	w.try("apply", "--yes", box)
	if m := w.read("m"); m != "1\n2\n3\n4\n5\nREAL\n" && m != "1\n2\n3\n4\n5\nREAL\nMORE\n" {
		t.Errorf("reality's line is gone: %q", m)
	}
	w.apply(box, "m")
	if m := w.read("m"); m != "1\n2\n3\n4\n5\nREAL\nMORE\n" {
		t.Errorf("m is %q", m)
	}
}

// applyArgs is an apply that settles conflicts in a way.
func applyArgs(box, how string) []string {
	if how == "" {
		return []string{"apply", "--yes", box}
	}
	return []string{"apply", "--yes", "--conflict", how, box}
}

// rooted says whether boxes move directories as such. Without root they copy them.
func rooted() bool { return os.Geteuid() == 0 }

// A directory that was moved out of one that was deleted lands with the
// deletion, or neither does.
func TestPromise4HalfAMoveIsNotLanded(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.sh("mkdir -p a/s/c z; echo 1 >a/s/y; echo 2 >a/s/c/d; echo 3 >a/k; echo 4 >z/old")
	box := w.fork("halves")
	w.inSh(box, "rm -r z; mkdir z; mv a/s z/y; rm -r a")
	if rooted() { // without root a directory is moved by copying it
		refused := w.refused(forkbox.Conflict, "apply", "--yes", box, "a")
		for _, want := range []string{"a/s", "z/y"} {
			if !strings.Contains(refused.Error(), want) {
				t.Errorf("%q is not named: %v", want, refused)
			}
		}
		wantText(t, "refused", w.files(), "a/k=3, a/s/c/d=2, a/s/y=1, z/old=4,")
	}
	w.apply(box, "z/y")
	w.apply(box)
	wantText(t, "landed", w.files(), "z/y/c/d=2, z/y/y=1,")
	wantText(t, "the box", w.boxFiles(box), "z/y/c/d=2, z/y/y=1,")
}

// A landing writes to no box's layers but its own, so that an undo leaves every
// other as it was.
func TestPromise4ASiblingKeepsWhatItMoved(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.sh("mkdir -p dd/x o/p; echo 1 >dd/one; echo 2 >dd/x/two; echo 3 >o/p/q")
	par := w.fork("par")
	w.inSh(par, "mv dd ee")
	w.fb("snapshot", par, "s")
	w.fb("fork", par+"@s", "kid")
	w.boxes = append(w.boxes, "kid")
	w.inSh("kid", "mv o/p dd")
	id := w.apply("kid")
	wantText(t, "landed", w.files(), "dd/q=3, ee/one=1, ee/x/two=2,")
	wantText(t, "the kid", w.boxFiles("kid"), "dd/q=3, ee/one=1, ee/x/two=2,")
	// What par moved is not there any more; nothing of it may land, or go.
	ways := []string{"theirs", "ours", ""}
	if !rooted() {
		ways = ways[2:] // a copy and a deletion, which can be had by choice
	}
	for _, how := range ways {
		w.try(applyArgs(par, how)...)
		wantText(t, "par applied, conflict "+how, w.files(), "dd/q=3, ee/one=1, ee/x/two=2,")
	}
	w.fb("undo", id)
	wantText(t, "undone", w.files(), "dd/one=1, dd/x/two=2, o/p/q=3,")
	wantText(t, "par", w.boxFiles(par), "ee/one=1, ee/x/two=2, o/p/q=3,")
	wantText(t, "the kid", w.boxFiles("kid"), "dd/q=3, ee/one=1, ee/x/two=2,")
	w.apply(par)
	wantText(t, "par landed", w.files(), "ee/one=1, ee/x/two=2, o/p/q=3,")
}

// What a box moved is a directory, not whatever reality has at its path now.
func TestPromise4AMoveIsOfTheDirectoryThatItWas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, reality string }{
		{"replaced by a new one", "mv dd old; mkdir dd; echo 9 >dd/other"},
		{"replaced by an old one", "mv dd old; mv prepared dd"},
		{"replaced by an old one that was written to", "mv dd old; mv prepared dd; echo 9 >dd/new"},
		{"what it lies in replaced", "mv in old; mv in2 in"},
		{"moved away", "mv dd old; mv in old2"},
		{"deleted", "rm -r dd in"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newLandWorld(t)
			w.sh("mkdir -p dd prepared in/dd in2/dd; echo 1 >dd/one; echo 1 >in/dd/one; echo 2 >in2/dd/two; echo 3 >prepared/p; echo 4 >f")
			box := w.fork("mover")
			w.inSh(box, "mv dd ee; mv in/dd ff; echo B >ee/b; rm ff/one; echo B >f")
			w.fb("stop", box)
			w.sh(c.reality)
			before := w.files()
			if !rooted() {
				w.land(box)
				for _, line := range []string{"=1,", "=2,", "=3,"} {
					if strings.Contains(before, line) && !strings.Contains(w.files(), line) {
						t.Errorf("%q is gone: %s", line, w.files())
					}
				}
				return
			}
			for _, how := range []string{"theirs", ""} {
				refused := w.refused(forkbox.Conflict, applyArgs(box, how)...)
				wantText(t, "after "+refused.Error(), w.files(), before)
			}
			_ = w.command("sync", box).Run()
			_ = w.command("sync", box).Run()
			w.refused(forkbox.Conflict, "apply", "--yes", "--conflict=theirs", box)
			wantText(t, "refused after a sync", w.files(), before)
			w.apply(box, "f")
			wantText(t, "the rest", w.files(), strings.Replace(before, "f=4,", "f=B,", 1))
		})
	}
}

// A fork of a box whose move has landed knows of the landing. When that is
// undone the fork finds what was moved where it is again.
func TestPromise4AForkOfWhatLandedOutlivesTheUndo(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.sh("mkdir -p dd/x ee; echo 1 >dd/one; echo 2 >dd/x/two; echo 3 >ee/old; echo 4 >f")
	par := w.fork("elder")
	w.inSh(par, "echo B >ee/old")
	w.fb("snapshot", par, "before")
	w.inSh(par, "rm -r ee; mv dd ee")
	id := w.apply(par)
	w.fb("snapshot", par, "after")
	w.fb("fork", par+"@after", "late")
	w.boxes = append(w.boxes, "late")
	w.fb("rollback", par, "before")
	w.fb("undo", id)
	wantText(t, "undone", w.files(), "dd/one=1, dd/x/two=2, ee/old=3, f=4,")
	wantText(t, "rolled back", w.boxFiles(par), "dd/one=1, dd/x/two=2, ee/old=B, f=4,")
	w.try(applyArgs("late", "theirs")...)
	wantText(t, "the fork", w.boxFiles("late"), "ee/one=1, ee/x/two=2, f=4,")
	if got := w.files(); !strings.Contains(got, "=1,") || !strings.Contains(got, "=2,") {
		t.Errorf("what the fork moved is gone: %s", got)
	}
}

// A fork of a snapshot that is older than the landing of its move shows what the
// snapshot showed, and goes on doing so when the landing is undone.
func TestPromise4AForkOfASnapshotFindsWhatLandedSince(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.sh("mkdir -p dd/x; echo 1 >dd/one; echo 2 >dd/x/two; echo 4 >f")
	par := w.fork("elder")
	w.inSh(par, "mv dd ee; echo B >>ee/one")
	w.fb("snapshot", par, "moved")
	id := w.apply(par)
	w.fb("fork", par+"@moved", "late")
	w.boxes = append(w.boxes, "late")
	const shown = "ee/one=1,B, ee/x/two=2, f=4,"
	wantText(t, "the fork", w.boxFiles("late"), shown)
	w.inSh("late", "echo L >>ee/x/two; echo L >f")
	w.apply("late", "f")
	wantText(t, "the fork's part", w.files(), "ee/one=1,B, ee/x/two=2, f=L,")
	w.fb("undo", id)
	wantText(t, "undone", w.files(), "dd/one=1, dd/x/two=2, f=L,")
	wantText(t, "the fork after the undo", w.boxFiles("late"), "ee/one=1,B, ee/x/two=2,L, f=L,")
}

// What a box lands itself in a directory, and beside it, does not make it
// another one.
func TestAMoveAfterOwnLandingsIsNoConflict(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.sh("mkdir -p dd; echo 1 >dd/one; echo 2 >f")
	box := w.fork("again")
	w.inSh(box, "echo B >dd/b; echo B >top; echo B >>dd/one")
	w.apply(box)
	w.inSh(box, "mv dd ee; mv f g")
	id := w.apply(box)
	wantText(t, "landed", w.files(), "ee/b=B, ee/one=1,B, g=2, top=B,")
	w.fb("undo", id)
	if !rooted() {
		return // without root the directory was copied and deleted: what reality then makes in it conflicts
	}
	w.sh("echo R >dd/r")
	w.apply(box)
	wantText(t, "landed again", w.files(), "ee/b=B, ee/one=1,B, ee/r=R, g=2, top=B,")
	w.inSh(box, "mv g h")
	w.apply(box)
	w.inSh(box, "mv h i; echo B >>i; rm ee/b")
	w.apply(box)
	wantText(t, "landed at last", w.files(), "ee/one=1,B, ee/r=R, i=2,B, top=B,")
}

// Two boxes change a file whose base is not known. The first lands, and is taken
// back: that is no edit of reality's.
func TestAnUndoneApplyOfAnotherBoxIsNoDrift(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.sh("mkdir d; echo 1 >d/f; echo 2 >g; mkdir z; echo 3 >z/z")
	one, two := w.fork("one"), w.fork("two")
	w.inSh(one, "echo ONE >>d/f; rm g; mv z y; chmod 700 d")
	w.inSh(two, "echo TWO >>d/f; echo TWO >>g; mv z x; chmod 750 d")
	w.fb("undo", w.apply(one))
	w.fb("undo", w.apply(one))
	w.apply(two)
	wantText(t, "landed", w.files(), "d/f=1,TWO, g=2,TWO, x/z=3,")
}

// What a box deletes in a directory that it made goes from reality when that
// has landed. What reality makes there stays.
func TestADeletionInANewDirectoryLandsAfterTheDirectory(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.sh("echo 1 >f")
	box := w.fork("maker")
	w.inSh(box, "mkdir -p n/sub n/m; for f in n/e n/f n/h n/sub/s n/m/m; do echo $f >$f; done")
	w.apply(box)
	w.inSh(box, "rm n/e; mv n/h n/g; rm -r n/m; rm n/sub/s")
	w.sh("echo R >n/r; echo R >n/sub/r; mkdir n/d; echo R >n/d/r")
	if got := w.fb("diff", box); !strings.Contains(got, "n/e") || strings.Contains(got, "n/r") || strings.Contains(got, "n/d") {
		t.Errorf("the diff: %s", got)
	}
	w.apply(box)
	const want = "f=1, n/d/r=R, n/f=n/f, n/g=n/h, n/r=R, n/sub/r=R,"
	wantText(t, "landed", w.files(), want)
	w.fb("stop", box)
	w.inSh(box, "echo B >>n/g; rm n/f")
	w.apply(box)
	wantText(t, "landed again", w.files(), "f=1, n/d/r=R, n/g=n/h,B, n/r=R, n/sub/r=R,")
}

// That reality closed a directory is not seen from its times, once something
// was made in it.
func TestPromise4TheModeOfADirectoryIsNotReverted(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.sh("mkdir -m 755 d e")
	box := w.fork("modes")
	w.inSh(box, "chmod 700 d e")
	w.fb("diff", box) // what e was is known from now on
	w.sh("chmod 711 d; touch d/x e/x")
	refused := w.refused(forkbox.Conflict, "apply", "--yes", box)
	if len(refused.Items) != 1 || !strings.HasSuffix(refused.Items[0].Path, "/d") {
		t.Errorf("%v", refused.Items)
	}
	w.apply(box, "e")
	wantText(t, "modes", w.shOut("stat -c %a d e | tr '\\n' ' '"), "711 700 ")
}
