package toolhosts

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// yarn looks where yarn does, in a project that uses it: its environment, the
// project's and the user's .yarnrc and .yarnrc.yml. The registry that it has built
// in is the one that the project's yarn.lock names.
func yarn(f *finder) {
	var projects []string
	for _, dir := range f.upwards() {
		if lock, own := readOwned(filepath.Join(dir, "yarn.lock"), mostProgram); lock != "" && own {
			projects = append(projects, dir)
			f.yarnLock(filepath.Join(dir, "yarn.lock"), lock)
		}
	}
	if len(projects) == 0 {
		return
	}
	for _, name := range []string{"yarn_registry", "yarn_npm_registry_server"} {
		if value, as := f.either(name); value != "" {
			f.add(source{"yarn", as, true}, value)
		}
	}
	for _, dir := range projects {
		f.yarnrc(dir, false)
	}
	if home := f.home(""); home != "" {
		f.yarnrc(home, true)
	}
}

// What names a registry in yarn's files: `registry "URL"` in the old ones,
// `npmRegistryServer: URL` in the new ones, `resolved "URL#…"` in a lock.
var (
	yarnOld = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^"?(?:@[^\s":]+:)?registry"?\s+"?(https?://[^"\s]+)`)
	})
	yarnNew = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\s*npmRegistryServer:\s*["']?(https?://[^"'\s]+)`)
	})
	yarnResolved = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^  resolved "(https?://[^"\s]+)"`) })
)

func (f *finder) yarnrc(dir string, near bool) {
	for _, from := range []struct {
		name    string
		pattern func() *regexp.Regexp
	}{{".yarnrc", yarnOld}, {".yarnrc.yml", yarnNew}} {
		file := filepath.Join(dir, from.name)
		for _, found := range from.pattern().FindAllStringSubmatch(text(file, near), mostRules) {
			f.add(source{"yarn", file, near}, f.expand(found[1]))
		}
	}
}

// yarnLock takes the hosts that packages were resolved to, each once: there are as
// many lines as packages.
func (f *finder) yarnLock(file, lock string) {
	seen := map[string]bool{}
	for _, found := range yarnResolved().FindAllStringSubmatch(lock, -1) {
		scheme, rest, _ := strings.Cut(found[1], "://")
		host, _, _ := strings.Cut(rest, "/")
		if url := scheme + "://" + host; !seen[url] {
			seen[url] = true
			f.add(source{"yarn", file, false}, url)
		}
	}
}
