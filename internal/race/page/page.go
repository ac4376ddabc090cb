// Package page writes a race as one HTML page that can be mailed or put
// beside a build: the table, charts and what each approach changed. It needs
// nothing but itself, and everything in it that came from a box, such as names,
// paths and patches, is text and stays text.
package page

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// Page is what to show. Diffs are by approach, with their patches; an approach
// without an entry there is one whose changes are not known. Cut marks those of
// which Diffs has only a part.
type Page struct {
	Race    forkbox.Race
	Diffs   map[string][]forkbox.Change
	Cut     map[string]bool
	Made    time.Time
	Version string
}

// Write writes the page. Its size is bounded, whatever the race did; what was
// left out is said where it is missing.
func Write(w io.Writer, p Page) error {
	if err := layout().Execute(w, newView(p)); err != nil {
		return forkbox.Errorf(forkbox.Internal, "write the page", "%w", err)
	}
	return nil
}

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// layout is parsed when the first page is written: every start of the program
// would pay for it otherwise.
var layout = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageHTML))
})

// securityPolicy has the browser refuse all but the page's own style and script:
// should something from a box ever be taken for markup, it can neither run nor
// load or send anything.
func securityPolicy() string {
	return "default-src 'none'; style-src " + hashOf(pageCSS) + "; script-src " + hashOf(pageJS) +
		"; base-uri 'none'; form-action 'none'"
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
