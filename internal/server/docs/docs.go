// Package docs writes the API as a page for people.
package docs

import (
	_ "embed"
	"html/template"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/forkbox/forkbox/api"
)

//go:embed docs.html
var docsText string

// docsPage is made of the table of routes, like the OpenAPI document. It loads
// nothing from anywhere. It is parsed when it is first asked for, not at every start.
var docsPage = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("docs").Funcs(template.FuncMap{"typeName": typeName}).Parse(docsText))
})

// Write writes the page.
func Write(w io.Writer) error { return docsPage().Execute(w, nounsOf(api.Routes())) }

// noun is the routes that are about one thing.
type noun struct {
	Name   string
	Routes []*api.Route
}

func nounsOf(routes []*api.Route) (list []*noun) {
	known := map[string]*noun{}
	for _, r := range routes {
		name := r.Noun()
		if known[name] == nil {
			known[name] = &noun{Name: name}
			list = append(list, known[name])
		}
		known[name].Routes = append(known[name].Routes, r)
	}
	return list
}

// typeName is what the OpenAPI document calls a type.
func typeName(t reflect.Type) string {
	if t == nil {
		return ""
	}
	_, name, _ := strings.Cut(t.String(), ".")
	return name
}
