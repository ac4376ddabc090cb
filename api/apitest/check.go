// Package apitest checks what a daemon answers against the OpenAPI document.
package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/forkbox/forkbox/api"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const place = "openapi.json"

// compiler has the document. Schemas are compiled when they are needed first.
var compiler = sync.OnceValue(func() *jsonschema.Compiler {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(api.OpenAPI))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(place, doc); err != nil {
		panic(err)
	}
	return c
})

var compiling sync.Mutex

// Check says where an answer differs from what the document says of it. Of an
// answer of many lines, body is all of them.
func Check(route *api.Route, status int, body []byte) error {
	pointer, lines := schemaOf(route, status)
	if route.Lines != nil && status == http.StatusOK {
		if !isOutput(body) {
			return nil // bare output, whatever that is
		}
		pointer, lines = answerAt(route, status, "application/x-ndjson"), true
	}
	if pointer == "" {
		if len(body) > 0 && route.Answer == api.JSONAnswer {
			return fmt.Errorf("%s answered %d with a body, which the document does not have", route.Name, status)
		}
		return nil
	}
	compiling.Lock()
	schema, err := compiler().Compile(place + "#" + pointer)
	compiling.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", route.Name, err)
	}
	for dec := json.NewDecoder(bytes.NewReader(body)); dec.More(); {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return fmt.Errorf("%s: %w", route.Name, err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err == nil {
			err = schema.Validate(doc)
		}
		if err != nil {
			return fmt.Errorf("%s answered %d with %.2000s: %w", route.Name, status, raw, err)
		}
		if !lines {
			break
		}
	}
	return nil
}

// schemaOf is where in the document the schema of an answer is; empty where it
// has none.
func schemaOf(route *api.Route, status int) (pointer string, lines bool) {
	media := "application/json"
	switch {
	case status/100 != 2:
		return "/components/responses/Error/content/application~1json/schema", false
	case route.Async && status == http.StatusAccepted:
	case route.Out == nil || status != route.Status:
		return "", false
	case route.Answer == api.LinesAnswer:
		media, lines = "application/x-ndjson", true
	case route.Answer != api.JSONAnswer:
		return "", false
	}
	return answerAt(route, status, media), lines
}

// isOutput says whether a body is the lines of a command's output.
func isOutput(body []byte) bool {
	return bytes.HasPrefix(body, []byte(`{"made":`)) || bytes.HasPrefix(body, []byte(`{"started":`))
}

func answerAt(route *api.Route, status int, media string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace
	return "/paths/" + escape(route.Path) + "/" + strings.ToLower(route.Method) + "/responses/" + strconv.Itoa(status) + "/content/" + escape(media) + "/schema"
}
