package toolhosts

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// pip looks where pip does: its environment, its configuration, and for the
// index that it has built in, in its own source.
func pip(f *finder) {
	chosen := f.env["PIP_INDEX_URL"] != ""
	for _, name := range []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"} {
		for _, url := range strings.Fields(f.env[name]) {
			f.add(source{"pip", name, true}, url)
		}
	}
	f.addProxy(source{"pip", "PIP_PROXY", true}, f.env["PIP_PROXY"])
	for _, file := range f.pipFiles() {
		chosen = f.pipConf(file, true) || chosen
	}
	if dir := f.env["VIRTUAL_ENV"]; filepath.IsAbs(dir) { // it can have come with a project
		chosen = f.pipConf(filepath.Join(dir, "pip.conf"), false) || chosen
	}
	if !chosen {
		f.pipBuiltIn()
	}
}

func (f *finder) pipFiles() []string {
	all := []string{f.home(".pip/pip.conf"), f.config("pip/pip.conf"), f.system("/etc/pip.conf"), f.system("/etc/xdg/pip/pip.conf")}
	if file := f.env["PIP_CONFIG_FILE"]; filepath.IsAbs(file) {
		all = append(all, file)
	}
	return all
}

// pipConf says whether the file names the index.
func (f *finder) pipConf(file string, near bool) bool {
	chosen := false
	for _, e := range ini(text(file, near)) {
		key := strings.ReplaceAll(e.key, "_", "-")
		if key == "proxy" {
			f.addProxy(source{"pip", file, near}, e.value)
		}
		if !slices.Contains([]string{"index-url", "extra-index-url", "find-links"}, key) {
			continue
		}
		chosen = chosen || key == "index-url"
		for _, url := range strings.Fields(e.value) {
			f.add(source{"pip", file, near}, url)
		}
	}
	return chosen
}

// pipIndex is the first index in pip's source, the usual one, and which host has
// its files.
var pipIndex = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`PackageIndex\(\s*["'](https?://[^"'\s]+)["'],\s*file_storage_domain=["']([^"'\s]+)["']`)
})

// mostPips bounds how many are looked at: they hardly differ.
const mostPips = 4

func (f *finder) pipBuiltIn() {
	seen := 0
	for dir := range f.sitePackages {
		file := filepath.Join(dir, "pip/_internal/models/index.py")
		found := pipIndex().FindStringSubmatch(read(file, mostText))
		if found == nil {
			continue
		}
		f.add(source{"pip", file, true}, found[1])
		f.add(source{"pip", file, true}, "https://"+found[2])
		if seen++; seen == mostPips {
			return
		}
	}
}

// sitePackages yields the directories that Python's packages are in. It looks for
// the next ones only when they are asked for.
func (f *finder) sitePackages(yield func(dir string) bool) {
	if !yield(f.system("/usr/lib/python3/dist-packages")) {
		return
	}
	each := func(lib, packages string) bool {
		for _, dir := range f.below(lib, "python", packages) {
			if !yield(dir) {
				return false
			}
		}
		return true
	}
	for _, lib := range []string{f.system("/usr/local/lib"), f.home(".local/lib"), f.system("/usr/lib")} {
		if !each(lib, "dist-packages") || !each(lib, "site-packages") {
			return
		}
	}
	pyenv := f.home(".pyenv")
	if dir := f.env["PYENV_ROOT"]; filepath.IsAbs(dir) {
		pyenv = dir
	}
	versions := list(filepath.Join(pyenv, "versions"))
	slices.Sort(versions)
	for _, version := range slices.Backward(versions) {
		if !each(filepath.Join(pyenv, "versions", version, "lib"), "site-packages") {
			return
		}
	}
}
