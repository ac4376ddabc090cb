// Package strictjson reads JSON that others write so that a mistake in it never
// passes for a request with less in it: a field that no type has, a value of another
// type and something after the end are errors, in the words of who wrote the JSON.
package strictjson

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Decode reads one object into what into points to. What cannot be read is the
// reader's error, and io.EOF where there is nothing at all.
func Decode(r io.Reader, into any) error {
	body := bufio.NewReader(r)
	if err := beginsObject(body); err != nil {
		return err
	}
	dec := json.NewDecoder(body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return explain(err, into)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the JSON")
	}
	return nil
}

// beginsObject refuses null above all, which a decoder takes for an object with
// nothing in it.
func beginsObject(body *bufio.Reader) error {
	for {
		b, err := body.ReadByte()
		switch {
		case err != nil:
			return err
		case b == '{':
			return body.UnreadByte()
		case b != ' ' && b != '\t' && b != '\r' && b != '\n':
			return errors.New("it is not a JSON object")
		}
	}
}

// DecodeExactly is [Decode] for what deletes, or changes what holds. Go's decoder
// takes null for nothing said, the last of two equal names, and names in any case;
// here each of them is a mistake.
func DecodeExactly(text []byte, into any) error {
	if err := checkMembers(text, into); err != nil {
		return err
	}
	return Decode(bytes.NewReader(text), into)
}

// checkMembers reads the members of an object. What is wrong beyond that is the
// decoder's to find.
func checkMembers(text []byte, into any) error {
	known := memberNames(into)
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
			return unknownField(key, into)
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
