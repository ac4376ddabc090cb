package scope

import (
	"path"
	"slices"
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

// addGo looks for the archives of modules in Go's download cache, which are
// MODULE/@v/VERSION.zip. Other files there only say what versions exist.
func addGo(t *tally, c forkbox.Change) {
	_, rest, ok := strings.Cut(c.Path, "/cache/download/")
	if !ok || c.Kind != forkbox.Added {
		return
	}
	module, file, ok := strings.Cut(rest, "/@v/")
	version, isZip := strings.CutSuffix(file, ".zip")
	if ok && isZip {
		t.note(unescapeGo(module)+" "+unescapeGo(version), fetched)
	}
}

// unescapeGo: the cache writes capitals as an exclamation mark and the small
// letter, for filesystems that do not tell them apart.
func unescapeGo(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '!' && i+1 < len(text) && isLower(text[i+1]) {
			i++
			b.WriteByte(text[i] - 'a' + 'A')
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// addNPM looks for directories below node_modules, and for a package.json that
// changed in one. A workspace has symlinks there to its own packages, which
// come and go in the same way.
func addNPM(t *tally, c forkbox.Change) {
	const dir = "/node_modules/"
	i := strings.LastIndex(c.Path, dir)
	if i < 0 {
		return
	}
	name, rest := npmName(c.Path[i+len(dir):])
	switch {
	case name == "":
	case rest == "package.json" && c.Kind == forkbox.Modified:
		t.note(name, updated)
	case rest != "" || c.Type != "dir" && c.Type != "symlink":
	case c.Kind == forkbox.Added || c.Kind == forkbox.Deleted:
		t.note(name, merge(t.did[name], deedOf(c.Kind)))
	}
}

// npmName splits what follows node_modules into a package's name, which is
// @scope/name for some, and the path in the package. Names that begin with a
// dot are npm's own.
func npmName(p string) (name, rest string) {
	name, rest, _ = strings.Cut(p, "/")
	if strings.HasPrefix(name, "@") {
		var inner string
		inner, rest, _ = strings.Cut(rest, "/")
		if inner == "" {
			return "", ""
		}
		name += "/" + inner
	}
	if strings.HasPrefix(name, ".") {
		return "", ""
	}
	return name, rest
}

// merge: what was removed in one place and installed in another was moved, or
// replaced by another version.
func merge(before, now deed) deed {
	if before != "" && before != now {
		return updated
	}
	return now
}

// pip leaves NAME-VERSION.dist-info beside the modules of a package. Those of
// the distribution's own Python belong to dpkg, which names them itself.
type pip struct {
	releases tally
}

const debianPython = "/usr/lib/python3/dist-packages"

func (p *pip) add(c forkbox.Change) {
	dir, file := path.Split(strings.TrimSuffix(c.Path, "/"))
	dir = path.Clean(dir)
	release, ok := strings.CutSuffix(file, ".dist-info")
	if !ok || c.Type != "dir" || dir == debianPython || strings.HasPrefix(file, "~") {
		return
	}
	if !slices.Contains([]string{"site-packages", "dist-packages"}, path.Base(dir)) {
		return
	}
	if c.Kind == forkbox.Added || c.Kind == forkbox.Deleted {
		// One release can come in one environment and go in another.
		p.releases.note(release, merge(p.releases.did[release], deedOf(c.Kind)))
	}
}

// tally names releases "requests 2.31.0". Where another release of the same
// package was removed, it is an update.
func (p *pip) tally() tally {
	went := map[string]bool{}
	came := map[string]bool{}
	for release, did := range p.releases.did {
		name, _, _ := strings.Cut(release, "-")
		went[name] = went[name] || did == removed
		came[name] = came[name] || did == installed
	}
	all := tally{over: p.releases.over}
	for release, did := range p.releases.did {
		name, version, _ := strings.Cut(release, "-")
		switch {
		case did == removed && came[name]:
			continue
		case did == installed && went[name]:
			did = updated
		}
		all.note(strings.TrimSpace(name+" "+version), did)
	}
	return all
}
