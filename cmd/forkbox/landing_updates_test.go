//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// meeting is reality and a box both at work in one directory. Reality writes
// the word REALITY wherever it writes something.
type meeting struct {
	name, reality, box string
	// refuse: no merge can be right, so it has to be refused.
	refuse bool
}

// writtenAnew is the one meeting that only git knows about: a box that puts a
// new file in the place of an old one has no trace of the old one.
const writtenAnew = "reality deletes, box writes anew"

// meetings begin with the files that startMeeting makes.
var meetings = []meeting{
	{"the same line", "sed -i 's/^5$/5 REALITY/' f", "sed -i 's/^5$/5 BOX/' f", true},
	{"other lines", "sed -i 's/^1$/1 REALITY/' f", "sed -i 's/^9$/9 BOX/' f", false},
	{"other lines, time kept", "sed -i 's/^1$/1 REALITY/' f; touch -d 2001-01-01 f", "sed -i 's/^9$/9 BOX/' f", false},
	{"in place", "echo REALITY >> f", "echo BOX >> f", true},
	{"reality deletes", "rm f", "echo BOX >> f", true},
	{writtenAnew, "rm f", "sed -i 's/^5$/5 BOX/' f", true},
	{"box deletes", "echo REALITY >> f", "rm f", true},
	{"box deletes the directory of a new file", "echo REALITY > sub/new", "rm -r sub", true},
	{"box deletes the directory of a changed file", "echo REALITY >> sub/deep/f", "rm -r sub", true},
	{"box renews the directory of a new file", "echo REALITY > sub/new", "rm -r sub; mkdir sub; echo BOX > sub/x", true},
	{"box renews the directory of a changed file", "echo REALITY >> sub/deep/f", "rm -r sub; mkdir -p sub/deep; echo BOX > sub/deep/f", true},
	{"both add", "echo REALITY > new", "echo BOX > new", true},
	{"both add directories", "mkdir d; echo REALITY > d/x", "mkdir d; echo BOX > d/y", false},
	{"both add, one a directory", "echo REALITY > new", "mkdir new; echo BOX > new/x", true},
	{"binary", `printf 'REALITY\000' > binary`, `printf 'BOX\000' > binary`, true},
	{"box changes the mode", "echo REALITY >> f", "chmod 755 f; echo BOX > box", false},
	{"reality moves the directory of", "mv sub sub2; echo REALITY >> sub2/deep/f", "echo BOX >> sub/deep/f", true},
	{"box moves the directory of a changed file", "echo REALITY >> sub/deep/f", "mv sub moved; echo BOX > moved/box", false},
	{"box moves the directory of a new file", "echo REALITY > sub/new", "mv sub moved; echo BOX > moved/box", false},
	{"box moves a directory and changes in it", "echo REALITY >> sub/deep/f", "mv sub moved; echo BOX >> moved/deep/f", true},
	{"box moves a directory, both add in it", "echo REALITY > sub/new", "mv sub moved; echo BOX > moved/new", true},
	{"box moves a directory to where reality made one", "mkdir moved; echo REALITY > moved/x", "mv sub moved; echo BOX > box", false},
	{"box replaces a directory by a file", "echo REALITY > sub/new", "rm -r sub; echo BOX > sub", true},
	{"box replaces a file by a directory", "echo REALITY >> f", "rm f; mkdir f; echo BOX > f/x", true},
	{"box replaces a file by a symlink", "echo REALITY >> f", "ln -sf elsewhere f", true},
	{"reality replaces a file by a directory", "rm f; mkdir f; echo REALITY > f/x", "echo BOX >> f", true},
	{"reality replaces a file by a symlink", "rm f; ln -s other/f f; echo REALITY >> other/f", "echo BOX >> f", true},
	{"reality replaces a directory by a symlink", "echo REALITY >> other/f; mv sub/deep away; ln -s ../other sub/deep", "echo BOX >> sub/deep/f", true},
	{"reality replaces by rename", "cp f t; echo REALITY >> t; mv t f", "echo BOX >> f", true},
	{"reality exchanges directories", "mv sub away; mv other sub; echo REALITY >> away/deep/f", "echo BOX >> sub/f; rm -r other", false},
	{"reality puts an old file in the place of another", "mv prepared/f f", "sed -i 's/^5$/5 BOX/' f", false},
	{"reality puts an old directory in the place of another", "mv sub away; mv prepared sub", "echo BOX >> sub/f", true},
	{"box moves a file that reality changed", "echo REALITY >> f", "mv f g", true},
	{"reality touches, box writes something large", "touch f", "head -c 40000000 /dev/zero > f; echo BOX >> f", false},
	{"reality touches, box makes a directory", "touch f", "rm f; mkdir f; echo BOX > f/x", false},
	{"reality touches, box makes a symlink", "touch f", "ln -sf BOX f", false},
	{"reality links a file over", "ln -f prepared/f f", "echo BOX >> f", true},
	{"reality changes it by another name", "echo REALITY >> name2", "echo BOX >> name1", true},
}

// startMeeting fills a directory. Its prepared files are old, and have
// REALITY's word already: put in place they are reality's update.
func (w *landWorld) startMeeting(dir string) {
	w.Helper()
	lines := "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	w.write(dir+"/f", lines)
	w.write(dir+"/sub/deep/f", lines)
	w.write(dir+"/sub/f", lines)
	w.write(dir+"/other/f", lines)
	w.write(dir+"/prepared/f", lines+"REALITY\n")
	w.write(dir+"/binary", "\x00\x01")
	w.write(dir+"/name1", lines)
	w.ok(os.Link(filepath.Join(w.ws, dir, "name1"), filepath.Join(w.ws, dir, "name2")))
}

// TestPromise4NoLostUpdates: reality goes on after the fork. Everything that
// it wrote is there after an apply, or the apply was refused, or the user said
// that the box wins, and then an undo brings it back.
func TestPromise4NoLostUpdates(t *testing.T) {
	t.Parallel()
	for _, git := range []bool{true, false} {
		for _, realityFirst := range []bool{true, false} {
			t.Run(fmt.Sprintf("git=%v,realityFirst=%v", git, realityFirst), func(t *testing.T) {
				t.Parallel()
				w := newLandWorld(t)
				w.holdMeetings(git, realityFirst)
			})
		}
	}
}

func (w *landWorld) holdMeetings(git, realityFirst bool) {
	for i := range meetings {
		w.startMeeting(fmt.Sprint(i))
	}
	if git {
		w.commitAll()
	}
	for i := range meetings {
		w.fork(fmt.Sprint("box", i))
	}
	if git {
		w.awaitScans()
	}
	for i, m := range meetings {
		// A box that saw what reality did has built on it.
		m.refuse = m.refuse && !realityFirst && (git || m.name != writtenAnew)
		w.Run(m.name, func(t *testing.T) {
			sub := *w
			sub.T = t
			sub.meet(m, filepath.Join(w.ws, fmt.Sprint(i)), fmt.Sprint("box", i), realityFirst)
		})
	}
}

// awaitScans waits until git was asked, after each fork, what was committed.
func (w *landWorld) awaitScans() {
	w.Helper()
	w.until("git was asked for every box", func() bool {
		notes, _ := filepath.Glob(filepath.Join(w.home, "boxes", "*", "base", "book", "clean"))
		return len(notes) == len(w.boxes)
	})
}

func (w *landWorld) commitAll() {
	w.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		w.Skip("needs git")
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "base"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = w.ws
		w.output(cmd)
	}
}

// meet has both work, and then every way of landing.
func (w *landWorld) meet(m meeting, dir, box string, realityFirst bool) {
	work := []func(){
		func() { w.output(inDir(dir, m.reality)) },
		func() { w.in(box, "sh", "-c", "cd "+filepath.Base(dir)+" && "+m.box+"; true") },
	}
	if !realityFirst {
		work[0], work[1] = work[1], work[0]
	}
	work[0]()
	work[1]()
	before := w.reality()
	words := w.words(dir)

	id, refused := w.land(box)
	switch {
	case refused != nil && refused.Code != forkbox.Conflict && refused.Code != forkbox.Invalid:
		w.Errorf("the code is %s: %v", refused.Code, refused)
	case refused != nil:
		w.mustBeAs(before, "refused")
	case w.words(dir) < words:
		w.Errorf("reality had its word %d times and has it %d times:\n%s", words, w.words(dir), w.written(dir))
	case m.refuse:
		w.Errorf("it landed:\n%s", w.written(dir))
	case id != "" && !strings.Contains(w.written(dir), "BOX"):
		w.Errorf("it landed, and nothing of the box is there:\n%s", w.written(dir))
	}
	w.takeBack(id, before)
	for _, choice := range []string{"ours", "theirs", "markers"} {
		id, refused := w.land(box, "--conflict", choice)
		if refused != nil {
			w.mustBeAs(before, "--conflict "+choice+" was refused")
		} else if choice != "theirs" && w.words(dir) < words {
			w.Errorf("with --conflict %s reality's words are lost", choice)
		}
		w.takeBack(id, before)
	}
}

func inDir(dir, script string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	return cmd
}

// words counts reality's words in the files of a directory, not in what a
// symlink leads to.
func (w *landWorld) words(dir string) int {
	w.Helper()
	return strings.Count(w.output(inDir(dir, "find . -type f -exec cat {} +")), "REALITY")
}

// written is what the two wrote, for people.
func (w *landWorld) written(dir string) string {
	w.Helper()
	return w.output(inDir(dir, "grep -rasE 'REALITY|BOX' | tr -d '\\\\000'; ls -lR; true"))
}

// land applies with more arguments, and takes no for an answer.
func (w *landWorld) land(box string, args ...string) (id string, refused *forkbox.Error) {
	w.Helper()
	return w.applied(append([]string{"apply", "--yes", box}, args...)...)
}

func (w *landWorld) mustBeAs(before tree, when string) {
	w.Helper()
	if diff := restored(w.reality(), before); diff != "" {
		w.Fatalf("%s: reality is not as before\n%s", when, diff)
	}
}

// takeBack undoes an apply, if there was one.
func (w *landWorld) takeBack(id string, before tree) {
	w.Helper()
	if id != "" {
		w.fb("undo", id)
		w.mustBeAs(before, "undone")
	}
}

// TestPromise4NoLostUpdates_AfterLanding: what reality does to a path that
// landed is an update like any other, also when the box goes on there.
func TestPromise4NoLostUpdates_AfterLanding(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.startMeeting("d")
	box := w.fork("box")
	w.in(box, "sh", "-c", "cd d; sed -i 's/^5$/5 BOX/' f; echo BOX > new; rm -r other")
	w.apply(box, "--all")
	dir := filepath.Join(w.ws, "d")
	w.output(inDir(dir, "echo REALITY >> f; echo REALITY >> new; mkdir other; echo REALITY > other/f"))
	if id, refused := w.land(box, "--all"); id != "" || refused != nil {
		t.Errorf("what landed before is not to land again: %q %v", id, refused)
	}
	w.in(box, "sh", "-c", "cd d; sed -i 's/^9$/9 BOX/' f; echo BOX again >> new")
	before := w.reality()
	if _, refused := w.land(box, "--all"); refused == nil && w.words(dir) < 4 {
		t.Errorf("reality's words are lost:\n%s", w.written(dir))
	} else if refused != nil {
		w.mustBeAs(before, "refused")
	}
}

// TestPromise4ABoxSeesWhatItLanded: after an apply, and after the box has
// rested, it is as it was. A box that lost sight of a file would write it anew,
// and the next apply would carry that into reality.
func TestPromise4ABoxSeesWhatItLanded(t *testing.T) {
	t.Parallel()
	w := newLandWorld(t)
	w.startMeeting("d")
	box := w.fork("box")
	w.in(box, "sh", "-c", "cd d; mv sub moved; echo BOX >> moved/f; rm binary; echo BOX > new")
	want := w.boxTree(box)
	for _, verb := range []string{"apply", "undo"} {
		if verb == "apply" {
			w.apply(box, "--all")
		} else {
			w.fb("undo", "--yes")
		}
		w.fb("stop", box)
		if diff := differences(w.boxTree(box), want, nil); diff != "" {
			t.Errorf("after %s and a rest the box is another\n%s", verb, diff)
		}
	}
}
