package toolhosts

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// apt looks for the mirrors of the system's packages, and the proxies to them.
func apt(f *finder) {
	dir := f.system("/etc/apt")
	f.aptList(filepath.Join(dir, "sources.list"))
	for _, file := range sorted(filepath.Join(dir, "sources.list.d")) {
		switch filepath.Ext(file) {
		case ".list":
			f.aptList(file)
		case ".sources":
			f.aptSources(file)
		}
	}
	for _, file := range append([]string{filepath.Join(dir, "apt.conf")}, sorted(filepath.Join(dir, "apt.conf.d"))...) {
		f.aptConf(file)
	}
}

func sorted(dir string) []string {
	names := list(dir)
	slices.Sort(names)
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names
}

// aptList reads lines such as "deb [arch=amd64] http://host/path suite main".
func (f *finder) aptList(file string) {
	for line := range strings.Lines(read(file, mostText)) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(strings.ReplaceAll(line, "\t", " "))
		kind, rest, _ := strings.Cut(line, " ")
		if kind != "deb" && kind != "deb-src" {
			continue
		}
		if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "[") {
			_, rest, _ = strings.Cut(rest, "]")
		}
		if fields := strings.Fields(rest); len(fields) > 0 {
			f.aptURI(file, fields[0])
		}
	}
}

// aptSources reads paragraphs with "URIs:" lines, which can go on.
func (f *finder) aptSources(file string) {
	inURIs := false
	for line := range strings.Lines(read(file, mostText)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if goesOn := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t"); !goesOn {
			var key string
			key, line, _ = strings.Cut(line, ":")
			inURIs = strings.EqualFold(key, "URIs")
		}
		if !inURIs {
			continue
		}
		for _, uri := range strings.Fields(line) {
			f.aptURI(file, uri)
		}
	}
}

// aptURI takes one mirror, or those of a file of mirrors.
func (f *finder) aptURI(file, uri string) {
	if path, is := strings.CutPrefix(uri, "mirror+file:"); is {
		mirrors := f.system("/" + strings.TrimLeft(path, "/"))
		for line := range strings.Lines(read(mirrors, mostText)) {
			if fields := strings.Fields(line); len(fields) > 0 {
				f.add(source{"apt", mirrors, true}, fields[0])
			}
		}
		return
	}
	uri = strings.TrimPrefix(uri, "mirror+")
	if rest, is := strings.CutPrefix(uri, "mirror://"); is {
		uri = "http://" + rest
	}
	f.add(source{"apt", file, true}, uri)
}

// aptConf looks for proxies in a file of apt's own language:
//
//	Acquire::http::Proxy "http://host:3142";
//	Acquire { https { Proxy "http://host:3142"; }; };
func (f *finder) aptConf(file string) {
	text := read(file, mostText)
	if !strings.Contains(strings.ToLower(text), "proxy") {
		return
	}
	for _, e := range aptSettings(text) {
		// also Acquire::http::Proxy::mirror.example.com
		if aptProxy().MatchString(e.key) {
			f.add(source{"apt", file, true}, e.value)
		}
	}
}

var (
	aptProxy = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^acquire::(https?|ftp)::proxy(::|$)`) })
	aptToken = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/|#[^\n]*|"[^"\n]*"|[{};]|[^\s{};"]+`)
	})
)

// aptSettings flattens the file: each setting with its whole name.
func aptSettings(text string) []entry {
	var all []entry
	var outer, words []string
	for _, token := range aptToken().FindAllString(text, -1) {
		switch {
		case strings.HasPrefix(token, "//") || strings.HasPrefix(token, "/*") || strings.HasPrefix(token, "#"):
		case token == "{":
			outer, words = append(outer, strings.Join(words, "::")), nil
		case token == "}":
			outer, words = outer[:max(0, len(outer)-1)], nil
		case token == ";":
			if len(words) > 1 {
				all = append(all, entry{key: strings.Join(append(outer[:len(outer):len(outer)], words[0]), "::"), value: unquoted(words[1])})
			}
			words = nil
		default:
			words = append(words, token)
		}
	}
	return all
}
