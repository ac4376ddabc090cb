package toolhosts

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// cargo looks at its configuration, of the user and of the project, and at the
// indexes that it has used: their directories are named for their hosts, and
// have a file that says where the packages are.
func cargo(f *finder) {
	home := f.home(".cargo")
	if dir := f.env["CARGO_HOME"]; filepath.IsAbs(dir) {
		home = dir
	}
	for _, dir := range f.upwards() {
		if cargoDir := filepath.Join(dir, ".cargo"); cargoDir != home {
			f.cargoConfig(cargoDir, false)
		}
	}
	for _, pair := range f.Env {
		name, value, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "CARGO_REGISTR") && strings.HasSuffix(name, "_INDEX") || name == "CARGO_HTTP_PROXY" {
			f.addCargo(source{"cargo", name, true}, strings.ToLower(name[strings.LastIndexByte(name, '_')+1:]), value)
		}
	}
	if home == "" {
		return
	}
	f.cargoConfig(home, true)
	for _, dir := range sorted(filepath.Join(home, "registry/index")) {
		f.cargoIndex(dir)
	}
}

// cargoSetting is a key with a host in its value, at the start of a line, after
// the name of its table, or in a table on one line.
var cargoSetting = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[\s.{,])(index|registry|git|proxy)\s*=\s*["']([^"']+)["']`)
})

func (f *finder) cargoConfig(dir string, near bool) {
	for _, name := range []string{"config.toml", "config"} {
		file := filepath.Join(dir, name)
		said := text(file, near)
		for line := range strings.Lines(said) {
			line = withoutComment(line)
			for _, found := range cargoSetting().FindAllStringSubmatch(line, -1) {
				f.addCargo(source{"cargo", file, near}, found[1], found[2])
			}
		}
		if said != "" {
			return
		}
	}
}

// withoutComment cuts what follows a # that is not within quotes.
func withoutComment(line string) string {
	quote := byte(0)
	for i := range len(line) {
		switch c := line[i]; {
		case quote == 0 && c == '#':
			return line[:i]
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return line
}

// addCargo takes "sparse+https://…", "registry+https://…" and plain URLs.
func (f *finder) addCargo(from source, key, url string) {
	if key == "proxy" {
		f.addProxy(from, url)
		return
	}
	if _, after, has := strings.Cut(url, "+"); has && (strings.HasPrefix(url, "sparse+") || strings.HasPrefix(url, "registry+")) {
		url = after
	}
	f.add(from, url)
}

// cargoIndex is a directory such as index.example.com-0123456789abcdef.
func (f *finder) cargoIndex(dir string) {
	name := filepath.Base(dir)
	i := strings.LastIndexByte(name, '-')
	if i < 1 || len(name)-i != 17 || strings.Trim(name[i+1:], "0123456789abcdef") != "" {
		return
	}
	f.add(source{"cargo", dir, true}, "https://"+name[:i])
	file := filepath.Join(dir, "config.json")
	var config struct{ DL, API string }
	if json.Unmarshal([]byte(read(file, mostText)), &config) == nil {
		f.add(source{"cargo", file, true}, config.DL)
		f.add(source{"cargo", file, true}, config.API)
	}
}
