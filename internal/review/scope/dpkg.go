package scope

import (
	"path"
	"strings"

	"github.com/forkbox/forkbox"
)

// dpkg keeps a few files for each package, of which two tell what happened:
// NAME.list, of all its files, and NAME.md5sums. A package that was removed
// but for its configuration keeps a shorter list, and no sums.
type dpkg struct {
	lists, sums tally
}

func (d *dpkg) add(c forkbox.Change) {
	dir, file := path.Split(c.Path)
	if dir != "/var/lib/dpkg/info/" {
		return
	}
	kind := path.Ext(file)
	// libjq1:amd64.list is of libjq1.
	name, _, _ := strings.Cut(strings.TrimSuffix(file, kind), ":")
	switch kind {
	case ".list":
		d.lists.note(name, deedOf(c.Kind))
	case ".md5sums":
		d.sums.note(name, deedOf(c.Kind))
	}
}

// tally goes by the lists. Where a list only changed, the sums tell whether
// its package came or went. Where the list is as it was but the sums are not,
// the package was updated, and has the same files.
func (d *dpkg) tally() tally {
	all := tally{over: d.lists.over}
	for name := range d.sums.did {
		if _, ok := d.lists.did[name]; !ok {
			all.note(name, updated)
		}
	}
	for name, did := range d.lists.did {
		if sums, ok := d.sums.did[name]; ok && did == updated {
			did = sums
		}
		all.note(name, did)
	}
	return all
}

func deedOf(kind forkbox.Kind) deed {
	switch kind {
	case forkbox.Added:
		return installed
	case forkbox.Deleted:
		return removed
	}
	return updated
}
