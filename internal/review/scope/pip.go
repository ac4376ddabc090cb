package scope

import (
	"path"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

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
