package engine

import (
	"context"
	"os"
	"testing"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
)

// Names of one file are one file in reality, in whatever order they land, and
// an undo leaves none of them behind: what is kept does not count as a name.
func TestHardLinkedNamesLandOneByOne(t *testing.T) {
	for _, order := range [][]string{{"a", "b", "c"}, {"b", "a", "c"}, {"c", "b", "a"}, {"b", "c", "a"}} {
		l := newLab(t)
		b := l.box("one", "a", "text\n")
		for _, name := range []string{"b", "c"} {
			check(t, os.Link(l.uppers+"/"+b.ID+"/a", l.uppers+"/"+b.ID+"/"+name))
		}
		for _, name := range order {
			l.mustApply("one", forkbox.ApplySpec{Selection: forkbox.Selection{Paths: []string{l.reality + "/" + name}}})
		}
		for n := 3; n > 0; n-- {
			l.wantNames(order[:n])
			_, err := l.Undo(context.Background(), me, l.latest(), UndoSpec{})
			check(t, err)
		}
		// What the undos did to the file is not taken for reality's doing.
		for n := range order {
			l.mustApply("one", forkbox.ApplySpec{Selection: forkbox.Selection{Paths: []string{l.reality + "/" + order[n]}}})
		}
		l.wantNames(order)
	}
}

// wantNames checks that these are all the names of one file.
func (l *lab) wantNames(names []string) {
	l.t.Helper()
	var first unix.Stat_t
	check(l.t, unix.Lstat(l.reality+"/"+names[0], &first))
	for _, name := range names {
		var st unix.Stat_t
		check(l.t, unix.Lstat(l.reality+"/"+name, &st))
		if st.Ino != first.Ino || int(st.Nlink) != len(names) {
			l.t.Errorf("%v: %s is inode %d and has %d names", names, name, st.Ino, st.Nlink)
		}
	}
}
