package landing

import (
	"fmt"
	"os"
	"path"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// denied are the paths of an apply that its owner may not change in reality.
// They are found before anything is staged, so that a dry run finds them too,
// and all of them.
type denied struct {
	rights *land.Rights // nil: root may everything
	root   *os.File
	opened map[string]bool // directories whose attributes land before what is in them
	top    string          // the last of them, with all that is below it
	items  []forkbox.Caution
	count  int
}

// maxDenied is how many of them are named.
const maxDenied = 1000

func (d *denied) open(owner forkbox.Owner) (err error) {
	if owner.UID == 0 {
		return nil
	}
	if d.root, err = os.Open("/"); err != nil {
		return forkbox.Wrap("open the root directory", err)
	}
	d.opened = map[string]bool{}
	var who *forkbox.Owner
	if os.Geteuid() == 0 {
		who = &owner
	}
	d.rights, err = land.NewRights(d.root, who)
	return err
}

func (d *denied) close() {
	if d.rights != nil {
		d.rights.Close()
	}
	if d.root != nil {
		d.root.Close()
	}
}

// has says whether an item cannot land for want of rights. It is asked for each
// of them, in their order.
func (d *denied) has(item land.Item) bool {
	switch {
	case d.rights == nil:
		return false
	case d.top != "" && forkbox.Within(item.Path, d.top):
		return true
	case item.Op == land.Attr:
		if item.Node.Mode.IsDir() {
			d.opened[item.Path] = true
		}
		return false
	case d.mayChange(path.Dir(item.Path)) && (item.Op != land.Move || d.mayChange(path.Dir(item.From))):
		return false
	}
	d.top = item.Path
	if d.count++; len(d.items) < maxDenied {
		d.items = append(d.items, forkbox.Caution{Path: item.Path, Why: "you may not write to its directory"})
	}
	return true
}

func (d *denied) mayChange(dir string) bool { return d.opened[dir] || d.rights.MayChange(dir) }

// err names them.
func (d *denied) err(op, box string) error {
	if d.count == 0 {
		return nil
	}
	text := "a change lies where you may not write"
	if d.count > 1 {
		text = fmt.Sprintf("%d changes lie where you may not write", d.count)
	}
	if d.count > len(d.items) {
		text += fmt.Sprintf(", of which the first %d are named", len(d.items))
	}
	err := forkbox.Errorf(forkbox.Denied, op, "%s", text).
		Hint("leave it out by naming what is to land: forkbox apply %s PATH…", box).
		Hint("or have it applied by somebody who may write there")
	err.Items = d.items
	return err
}
