package scope

import (
	"strings"

	"github.com/forkbox/forkbox"
)

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
