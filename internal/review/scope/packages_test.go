package scope

import (
	"fmt"
	"slices"
	"testing"

	"github.com/forkbox/forkbox"
)

func added(path, typ string) forkbox.Change {
	return forkbox.Change{Path: path, Kind: forkbox.Added, Type: typ}
}
func deleted(path, typ string) forkbox.Change {
	return forkbox.Change{Path: path, Kind: forkbox.Deleted, Type: typ}
}
func modified(path string) forkbox.Change {
	return forkbox.Change{Path: path, Kind: forkbox.Modified, Type: "file"}
}

func TestPackages(t *testing.T) {
	const info, site = "/var/lib/dpkg/info/", "/w/venv/lib/python3.11/site-packages/"
	const mods, cache = "/w/node_modules/", "/root/go/pkg/mod/cache/download/"
	for name, c := range map[string]struct {
		changes []forkbox.Change
		want    []string
	}{
		"nothing": {[]forkbox.Change{added("/w/a", "file"), added("/w/jq.list", "file")}, nil},
		"dpkg": {[]forkbox.Change{
			added(info+"jq.list", "file"), added(info+"jq.md5sums", "file"), added(info+"libjq1:amd64.list", "file"), added(info+"jq.postinst", "file"),
			deleted(info+"foo.list", "file"), deleted(info+"foo.md5sums", "file"),
			modified(info + "kept.list"), deleted(info+"kept.md5sums", "file"), // its configuration stays
			modified(info + "back.list"), added(info+"back.md5sums", "file"),
			modified(info + "newer.list"), modified(info + "newer.md5sums"), modified(info + "same-files.md5sums"),
		}, []string{"dpkg: installed back, jq, libjq1; updated newer, same-files; removed foo, kept"}},
		"dpkg, taken for a rename": {[]forkbox.Change{
			{Path: info + "b.list", From: info + "a.list", Kind: forkbox.Renamed, Type: "file"},
		}, []string{"dpkg: installed b; removed a"}},
		"npm": {[]forkbox.Change{
			added("/w/node_modules", "dir"), added(mods+".bin", "dir"), added(mods+".package-lock.json", "file"), added(mods+"left-pad", "dir"),
			added(mods+"left-pad/package.json", "file"), added(mods+"@scope", "dir"), added(mods+"@scope/x", "dir"), added(mods+"@scope/x/lib", "dir"),
			added(mods+"left-pad/node_modules/inner", "dir"), added(mods+"linked", "symlink"), deleted(mods+"gone", "dir"),
			modified(mods + "chalk/package.json"), modified(mods + "chalk/index.js"), modified(mods + "chalk/lib/package.json"), modified(mods + "odd/index.js"),
		}, []string{"npm: installed @scope/x, inner, left-pad, linked; updated chalk; removed gone"}},
		"npm, in two places": {[]forkbox.Change{deleted("/w/a/node_modules/x", "dir"), added("/w/b/node_modules/x", "dir")}, []string{"npm: updated x"}},
		"pip": {[]forkbox.Change{
			added(site+"requests", "dir"), added(site+"requests-2.31.0.dist-info", "dir"), added(site+"requests-2.31.0.dist-info/METADATA", "file"),
			deleted(site+"idna-3.6.dist-info", "dir"), added(site+"idna-3.7.dist-info", "dir"), deleted(site+"six-1.16.0.dist-info", "dir"),
			added("/usr/lib/python3/dist-packages/apt-1.0.dist-info", "dir"), added("/w/x-1.dist-info", "dir"), deleted(site+"~ip-1.0.dist-info", "dir"),
		}, []string{"pip: installed requests 2.31.0; updated idna 3.7; removed six 1.16.0"}},
		"go": {[]forkbox.Change{
			added(cache+"golang.org/x/sys/@v/v0.1.0.zip", "file"), added(cache+"golang.org/x/sys/@v/v0.1.0.mod", "file"),
			added(cache+"golang.org/x/sys/@v/v0.1.0.ziphash", "file"), added(cache+"golang.org/x/mod/@v/v0.2.0.info", "file"),
			added(cache+"github.com/!burnt!sushi/toml/@v/v1.0.0.zip", "file"), deleted(cache+"gone.org/x/@v/v1.0.0.zip", "file"),
		}, []string{"go: fetched github.com/BurntSushi/toml v1.0.0, golang.org/x/sys v0.1.0"}},
		"all, in order": {[]forkbox.Change{
			added(cache+"m/@v/v1.0.0.zip", "file"), added(mods+"n", "dir"), added(site+"p-1.dist-info", "dir"), added(info+"d.list", "file"),
		}, []string{"dpkg: installed d", "npm: installed n", "pip: installed p 1", "go: fetched m v1.0.0"}},
		"names that play tricks": {[]forkbox.Change{
			added(mods+"\x1b[2J", "dir"), added(mods+"\xff", "dir"), added(mods+"a\nb", "dir"), added(mods+"é", "dir"), added(mods+"@", "dir"), added(mods+"@/x", "dir"),
		}, []string{`npm: installed "\x1b[2J", "\xff", "a\nb", @/x, é`}},
	} {
		var p Packages
		for _, change := range c.changes {
			p.Add(change)
		}
		if got := p.Lines(); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

// TestManyPackages: the first are named and all are counted, also where there
// is no room to remember them.
func TestManyPackages(t *testing.T) {
	for _, n := range []int{namesShown, namesShown + 1, namesKept + 5} {
		var p Packages
		for i := range n {
			p.Add(added(fmt.Sprintf("/w/node_modules/p%05d", i), "dir"))
		}
		want := "npm: installed p00000, p00001, p00002, p00003, p00004, p00005, p00006, p00007"
		if n > namesShown {
			want += fmt.Sprintf(" (…and %d more)", n-namesShown)
		}
		if got := p.Lines(); !slices.Equal(got, []string{want}) {
			t.Errorf("%d packages: %q", n, got)
		}
		if len(p.npm.did) > namesKept {
			t.Errorf("remembers %d", len(p.npm.did))
		}
	}
}
