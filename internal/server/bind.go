package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/spelling"
)

// handler is a route of the API with what serves it.
type handler struct {
	*api.Route
	serve func(*Server, http.ResponseWriter, *http.Request) error
}

// reply is for a call that takes one document and answers with one.
func reply[Routes ~struct{ *Server }, In, Out any](call api.Call[In, Out], serve func(Routes, *http.Request, In) (Out, error)) handler {
	return handler{call.Route, func(s *Server, w http.ResponseWriter, r *http.Request) error {
		var in In
		if err := readBody(call.Route, r, &in); err != nil {
			return err
		}
		if err := s.checkFields(r, &in); err != nil {
			return err
		}
		out, err := serve(Routes(struct{ *Server }{s}), r, in)
		if err != nil {
			return err
		}
		if call.Out == nil {
			w.WriteHeader(call.Status)
			return nil
		}
		noteMade(r, out)
		if tagged(w, r, out) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		return answer(w, call.Status, out)
	}}
}

// write is for a call whose answer is written as it comes, or whose connection
// is upgraded.
func write[Routes ~struct{ *Server }, In, Out any](call api.Call[In, Out], serve func(Routes, http.ResponseWriter, *http.Request, In) error) handler {
	return handler{call.Route, func(s *Server, w http.ResponseWriter, r *http.Request) error {
		var in In
		if err := readBody(call.Route, r, &in); err != nil {
			return err
		}
		if err := s.checkFields(r, &in); err != nil {
			return err
		}
		return serve(Routes(struct{ *Server }{s}), w, r, in)
	}}
}

// readBody reads the document of a request, as strictly as its route says.
func readBody(route *api.Route, r *http.Request, into any) error {
	switch route.Body {
	case api.JSONBody:
		return decode(r, into)
	case api.OptionalBody:
		return decodeOptional(r, into)
	case api.ExactBody:
		return decodeExactly(r, into)
	case api.RawBody:
		return nil
	}
	if r.Method == http.MethodGet {
		return nil
	}
	return decodeOptional(r, &struct{}{})
}

// checkQuery refuses a query that the route does not know: one that cannot be
// read must not pass for one with less in it.
func checkQuery(route *api.Route, r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return badRequest(err)
	}
	for name, values := range q {
		param, known := route.Param(name)
		if !known {
			return unknownName("parameter", name, paramNames(route))
		}
		if len(values) > 1 && !param.Many {
			return badRequest(fmt.Errorf("%s is there twice", name))
		}
		if err := checkParam(param, values[0]); err != nil {
			return err
		}
	}
	return nil
}

func checkParam(param api.Param, value string) error {
	switch param.Type {
	case api.Bool:
		if _, ok := yesOrNo[value]; !ok {
			return badRequest(fmt.Errorf("%s=%q is neither yes nor no", param.Name, value))
		}
	case api.Int:
		if n, err := strconv.ParseInt(value, 10, 64); err != nil || n < 0 {
			return badRequest(fmt.Errorf("%s=%q is not a number from 0", param.Name, value))
		}
	}
	return nil
}

// yesOrNo is what a boolean of the query can be.
var yesOrNo = map[string]bool{"1": true, "true": true, "yes": true, "": false, "0": false, "false": false, "no": false}

// isSet reads a boolean of a query that was checked.
func isSet(r *http.Request, name string) bool { return yesOrNo[r.URL.Query().Get(name)] }

// numberOf reads a number of a query that was checked; 0 where there is none.
func numberOf(r *http.Request, name string) int64 {
	n, _ := strconv.ParseInt(r.URL.Query().Get(name), 10, 64)
	return n
}

func paramNames(route *api.Route) []string {
	names := make([]string, 0, len(route.Query))
	for _, p := range route.Query {
		names = append(names, p.Name)
	}
	return names
}

// unknownName refuses a name, and says which was meant where that is likely.
func unknownName(what, name string, known []string) error {
	err := forkbox.Errorf(forkbox.Invalid, "understand the request", "unknown %s %q", what, name)
	if meant := spelling.Nearest(name, known); meant != "" {
		return err.Hint("did you mean %q?", meant)
	}
	return err
}
