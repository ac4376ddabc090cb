package change

// inode names a file whatever it is called.
type inode struct{ dev, ino uint64 }

func (f file) inode() inode { return inode{f.Dev, f.Ino} }

// names is a file of the box that has several of them.
type names struct {
	first   string // the one that the others are told as links to
	base    inode  // what the base has at first, if anything
	changed bool   // first was reported
	hidden  bool   // the box was not shown the base of first
	left    uint64 // how many were not seen yet
}

// links knows the files of the box with several names, from the first to the
// last of them. Those with one name, which is nearly all, cost nothing.
type links map[inode]*names

// link is the name that e was seen under before, where apply has to make the
// two one file. It is empty where e has one name, is the first, or is linked
// in the base just so.
//
// Overlayfs copies up one name at a time: a file that has two names in the
// base has a copy of its own under the one that the box wrote to, which the box
// did not ask for. So a link that is only missing in the box is no change. Landing
// replaces names, never the file behind them: the other name keeps its bytes.
func (l links) link(e *entry, changed bool) string {
	if e.up.Nlink < 2 || e.cover && !changed {
		return "" // a cover is how a secret was hidden; linking to it would tell it
	}
	key := e.up.inode()
	n := l[key]
	if n == nil {
		l[key] = e.firstName(changed, uint64(e.up.Nlink)-1)
		return ""
	}
	if n.left--; n.left == 0 {
		delete(l, key)
	}
	if n.hidden && !e.hidden {
		*n = *e.firstName(changed, n.left) // nothing outside may be linked to a secret
		return ""
	}
	if !changed && !n.changed && e.baseInode() == n.base {
		return ""
	}
	return n.first
}

func (e *entry) firstName(changed bool, left uint64) *names {
	return &names{first: e.path, base: e.baseInode(), changed: changed, hidden: e.hidden, left: left}
}

func (e *entry) baseInode() inode {
	if e.state != present || e.hidden {
		return inode{}
	}
	return e.base.inode()
}
