package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// decodeExactly is decode for requests that delete, or change what holds. Go's
// decoder takes null for nothing said, the last of two equal names, and names in
// any case; here each of them is a mistake.
func decodeExactly(r *http.Request, into any) error {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return badRequest(err)
	}
	return decodeTextExactly(text, into)
}

func decodeTextExactly(text []byte, into any) error {
	if err := checkMembers(text, memberNames(into)); err != nil {
		return badRequest(err)
	}
	return decodeFrom(bytes.NewReader(text), into)
}

// checkMembers reads the members of an object. What is wrong beyond that is the
// decoder's to find.
func checkMembers(text []byte, known map[string]bool) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if begin, err := dec.Token(); err != nil || begin != json.Delim('{') {
		return cmp.Or(err, errors.New("it is not a JSON object"))
	}
	seen := map[string]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		key := name.(string) // the decoder sees to it
		switch {
		case !known[key]:
			return fmt.Errorf("unknown field %q", key)
		case seen[key]:
			return fmt.Errorf("%q is there twice", key)
		case string(value) == "null":
			return fmt.Errorf("%q is null", key)
		}
		if err := checkTwice(value); err != nil {
			return err
		}
		seen[key] = true
	}
	return nil
}

// checkTwice looks for equal names in a member that is an object of plain
// values itself.
func checkTwice(text json.RawMessage) error {
	if len(text) == 0 || text[0] != '{' {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.Token()
	seen := map[any]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		if err := dec.Decode(new(json.RawMessage)); err != nil {
			return err
		}
	}
	return nil
}

// memberNames are the JSON names of the fields of the struct that into points
// to.
func memberNames(into any) map[string]bool {
	names := map[string]bool{}
	t := reflect.TypeOf(into).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names[name] = true
	}
	return names
}
