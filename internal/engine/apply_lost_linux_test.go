package engine

import (
	"os"
	"testing"

	"github.com/forkbox/forkbox"
)

// Reality loses directories that had landed. What the box makes in them later
// lands with them.
func TestWhatLandsInALostDirectoryBringsItBack(t *testing.T) {
	l := newLab(t)
	b := l.box("one", "d/x/z/f", "f\n")
	l.mustApply("one", forkbox.ApplySpec{})
	check(t, os.RemoveAll(l.reality+"/d"))
	l.edit(b, "d/new", "new\n", "d/x/z/y", "y\n")
	l.mustApply("one", forkbox.ApplySpec{})
	l.wantTree(map[string]string{
		"d": "drwxr-xr-x ", "d/new": "-rw-r--r-- new\n", "d/x": "drwxr-xr-x ", "d/x/z": "drwxr-xr-x ", "d/x/z/y": "-rw-r--r-- y\n",
	})
}
