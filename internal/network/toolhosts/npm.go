package toolhosts

import (
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// npm looks where npm does: its environment, the project's .npmrc, the user's,
// the system's, and for the registry that it has built in, in its own source.
func npm(f *finder) {
	chosen := f.npmEnv()
	for _, dir := range f.upwards() {
		chosen = f.npmrc(filepath.Join(dir, ".npmrc"), false) || chosen
	}
	user, global := f.home(".npmrc"), f.system("/etc/npmrc")
	if file, _ := f.either("npm_config_userconfig"); filepath.IsAbs(file) {
		user = file
	}
	if file, _ := f.either("npm_config_globalconfig"); filepath.IsAbs(file) {
		global = file
	}
	for _, file := range []string{user, global, f.system("/usr/etc/npmrc"), f.system("/usr/local/etc/npmrc")} {
		chosen = f.npmrc(file, true) || chosen
	}
	if !chosen {
		f.npmBuiltIn()
	}
}

// npmEnv says whether the environment names the registry.
func (f *finder) npmEnv() bool {
	for _, name := range []string{"npm_config_proxy", "npm_config_https_proxy"} {
		if value, as := f.either(name); value != "" {
			f.addProxy(source{"npm", as, true}, value)
		}
	}
	value, as := f.either("npm_config_registry")
	f.add(source{"npm", as, true}, value)
	return value != ""
}

// npmrc says whether the file names the registry. Lines with credentials are
// not looked at: their keys are others.
func (f *finder) npmrc(file string, near bool) bool {
	chosen := false
	for _, e := range ini(text(file, near)) {
		switch {
		case e.key == "registry":
			chosen = true
		case strings.HasPrefix(e.key, "@") && strings.HasSuffix(e.key, ":registry"):
		case e.key == "proxy" || e.key == "https-proxy":
			f.addProxy(source{"npm", file, near}, f.expand(e.value))
			continue
		default:
			continue
		}
		f.add(source{"npm", file, near}, f.expand(e.value))
	}
	return chosen
}

var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`) })

// expand puts in variables as npm does.
func (f *finder) expand(text string) string {
	return variable().ReplaceAllStringFunc(text, func(v string) string { return f.env[v[2:len(v)-1]] })
}

// What npm's source has in it, in its versions. That they begin with a plain word
// makes them a hundred times faster on so long a file.
var (
	npmDefinition = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`registry['"],\s*\{\s*default:\s*['"]([^'"\s]+)['"]`) })
	npmDefault    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`registry\s*:\s*['"](https?://[^'"\s]+)['"]`) })
)

var npmSources = []struct {
	file    string
	pattern func() *regexp.Regexp
}{
	{"node_modules/@npmcli/config/lib/definitions/definitions.js", npmDefinition},
	{"../@npmcli/config/lib/definitions/definitions.js", npmDefinition}, // Debian's
	{"lib/utils/config/definitions.js", npmDefinition},
	{"lib/config/defaults.js", npmDefault},
}

// npmBuiltIn reads the first npm that is found: they do not differ.
func (f *finder) npmBuiltIn() {
	for _, dir := range f.npmDirs() {
		if f.npmrc(filepath.Join(dir, "npmrc"), true) {
			return // a distribution's choice
		}
		for _, at := range npmSources {
			file := filepath.Join(dir, at.file)
			if found := at.pattern().FindStringSubmatch(read(file, mostProgram)); found != nil {
				f.add(source{"npm", file, true}, found[1])
				return
			}
		}
	}
}

// npmDirs are where npm may be installed.
func (f *finder) npmDirs() []string {
	var all []string
	if bin := f.program("npm"); strings.HasSuffix(bin, "/bin/npm-cli.js") {
		all = append(all, filepath.Dir(filepath.Dir(bin)))
	}
	for _, dir := range []string{"/usr/lib/node_modules/npm", "/usr/local/lib/node_modules/npm", "/usr/share/nodejs/npm"} {
		all = append(all, f.system(dir))
	}
	nvm := f.home(".nvm")
	if dir := f.env["NVM_DIR"]; filepath.IsAbs(dir) {
		nvm = dir
	}
	return append(all, f.below(filepath.Join(nvm, "versions/node"), "v", "lib/node_modules/npm")...)
}

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
