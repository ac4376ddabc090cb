package toolhosts

import (
	"regexp"
	"strings"
	"sync"
)

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
