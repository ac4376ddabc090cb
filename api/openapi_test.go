package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// TestOpenAPI: the document that is kept is what the table of routes says.
func TestOpenAPI(t *testing.T) {
	text, err := json.MarshalIndent(document(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile("openapi.json", text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(text, api.OpenAPI) {
		t.Error("api/openapi.json is not what the routes say; make it anew: UPDATE_DOCS=1 go test ./api")
	}
}

// Each route has a name of its own, a sentence, and names in its path that are
// told apart.
func TestRoutesAreWhole(t *testing.T) {
	names, places := map[string]bool{}, map[string]bool{}
	for _, r := range api.Routes() {
		place := r.Method + " " + r.Path
		if names[r.Name] || places[place] {
			t.Errorf("%s (%s) is there twice", r.Name, place)
		}
		names[r.Name], places[place] = true, true
		if !strings.HasSuffix(r.Doc, ".") || !regexp.MustCompile(`^[a-z][A-Za-z]+$`).MatchString(r.Name) {
			t.Errorf("%s: %q", r.Name, r.Doc)
		}
		for _, p := range r.Query {
			if !strings.HasSuffix(p.Doc, ".") {
				t.Errorf("%s?%s: %q", r.Name, p.Name, p.Doc)
			}
		}
	}
}

func document(t *testing.T) object {
	types := newSchemas(t)
	paths := object{}
	for _, r := range api.Routes() {
		at, ok := paths[r.Path].(object)
		if !ok {
			at = object{}
			paths[r.Path] = at
		}
		at[strings.ToLower(r.Method)] = operation(types, r)
	}
	failure := types.of(reflect.TypeFor[api.ErrorBody]())
	return object{
		"openapi": "3.1.0",
		"info": object{"title": "forkbox", "version": "v1",
			"description": "Forks of a machine: make them, run commands in them, see what they changed, land it, take it back. Durations are in nanoseconds and end in _ns, sizes in bytes, times in RFC 3339. Lists that may be long have a next, which is the cursor of the rest.",
			"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"}},
		"paths": paths,
		"components": object{
			"schemas": types.named,
			"responses": object{"Error": object{"description": "It was not done. The code says of what kind the failure is, the message what could not be done and why, the hints what to do about it.",
				"content": object{"application/json": object{"schema": failure}}}},
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "of forkbox token create; peers of the unix socket need none"}},
		},
	}
}

func operation(types *schemas, r *api.Route) object {
	op := object{"operationId": r.Name, "summary": r.Doc, "tags": []string{r.Noun()}}
	if params := parameters(r); len(params) > 0 {
		op["parameters"] = params
	}
	if len(r.Scopes) > 0 {
		op["security"] = []object{{"token": r.Scopes}}
	} else {
		op["security"] = []object{}
	}
	switch r.Body {
	case api.NoBody:
	case api.RawBody:
		op["requestBody"] = object{"required": true, "content": object{"application/octet-stream": object{}}}
	default:
		op["requestBody"] = object{"required": r.Body != api.OptionalBody, "content": object{"application/json": object{"schema": types.of(r.In)}}}
	}
	op["responses"] = object{fmt.Sprint(r.Status): response(types, r), "default": object{"$ref": "#/components/responses/Error"}}
	if r.Async {
		op["responses"].(object)["202"] = object{"description": "It goes on as an operation, whose address is in Location; with Prefer: respond-async",
			"content": object{"application/json": object{"schema": types.of(reflect.TypeFor[forkbox.Operation]())}}}
	}
	if r.Lines != nil {
		op["responses"].(object)["200"] = object{"description": "The command's output, where stream asks for it", "content": object{
			"application/x-ndjson": object{"schema": types.of(r.Lines)}, "application/octet-stream": object{}}}
	}
	return op
}

var inPath = regexp.MustCompile(`\{(\w+)\}`)

func parameters(r *api.Route) (list []object) {
	for _, m := range inPath.FindAllStringSubmatch(r.Path, -1) {
		list = append(list, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range r.Query {
		schema := object{"type": string(p.Type)}
		if p.Type == api.Int {
			schema["minimum"] = 0
		}
		if p.Many {
			schema = object{"type": "array", "items": schema}
		}
		list = append(list, object{"name": p.Name, "in": "query", "description": p.Doc, "schema": schema})
	}
	if r.Keyed {
		list = append(list, object{"name": api.KeyHeader, "in": "header", "description": "The caller's name for this one request, such as a UUID. One that has it again is answered as the first was, for a day, and nothing is done twice.",
			"schema": object{"type": "string", "minLength": 1, "maxLength": 200}})
	}
	if r.Async {
		list = append(list, object{"name": "Prefer", "in": "header", "description": "respond-async: do not wait, but answer with 202 and an operation to follow.",
			"schema": object{"type": "string"}})
	}
	if r.Match != api.NoMatch {
		list = append(list, object{"name": "If-Match", "in": "header", "description": "The ETag of the " + string(r.Match) + " as it was read, or *. If it was changed since, nothing is done, and the status is 412.",
			"schema": object{"type": "string"}})
	}
	return list
}

func response(types *schemas, r *api.Route) object {
	out := object{"description": http.StatusText(r.Status)}
	media := map[api.Answer]string{api.JSONAnswer: "application/json", api.LinesAnswer: "application/x-ndjson", api.EventsAnswer: "text/event-stream", api.RawAnswer: "application/octet-stream"}[r.Answer]
	switch {
	case r.Out != nil && media != "":
		out["content"] = object{media: object{"schema": types.of(r.Out)}}
	case r.Answer == api.RawAnswer:
		out["content"] = object{media: object{}}
	}
	return out
}
