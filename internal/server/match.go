package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/engine"
)

// withMatch has a request that says what its box is to be like change no other. The
// engine looks in the box's turn, where no other writer can come in between.
func withMatch(route *api.Route, r *http.Request) (*http.Request, error) {
	tags := tagsOf(r, "If-Match")
	switch {
	case tags == nil || route.Match == api.FileMatch || r.Method == http.MethodGet:
		return r, nil
	case route.Match == api.NoMatch:
		return nil, forkbox.Errorf(forkbox.Invalid, "understand the request", "%s takes no If-Match", route.Name).
			Hint("the OpenAPI document has the routes that do: /openapi.json")
	}
	return r.WithContext(engine.WithMatch(r.Context(), tags)), nil
}

// tagsOf are the tags of a header, without their quotes; nil where there is none. A
// weak one stays what it is, which no box's is.
func tagsOf(r *http.Request, header string) (tags []string) {
	for _, line := range r.Header.Values(header) {
		for _, tag := range strings.Split(line, ",") {
			tags = append(tags, strings.Trim(strings.TrimSpace(tag), `"`))
		}
	}
	return tags
}

// tagged sends the tag of a box along with it. It says whether that is all there is
// to say: the caller has the box as it is.
func tagged(w http.ResponseWriter, r *http.Request, out any) (known bool) {
	box, ok := out.(forkbox.Box)
	if !ok {
		return false
	}
	w.Header().Set("ETag", strconv.Quote(box.Tag()))
	tags := tagsOf(r, "If-None-Match")
	return r.Method == http.MethodGet && (slices.Contains(tags, box.Tag()) || slices.Contains(tags, "*"))
}
