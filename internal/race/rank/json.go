package rank

import (
	"bytes"
	"encoding/json"

	"github.com/forkbox/forkbox"
)

// inJSON follows a path. Tools print other things before their JSON: where the
// text as a whole is none, its last line may be.
func inJSON(path string, text []byte) (float64, error) {
	steps, err := forkbox.ParseJSONPath(path)
	if err != nil {
		return 0, noNumber("%w", err)
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return 0, noNumber("the text is empty")
	}
	if !json.Valid(text) {
		text = text[bytes.LastIndexByte(text, '\n')+1:]
	}
	if !json.Valid(text) {
		return 0, noNumber("neither the text nor its last line is a JSON document")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for _, s := range steps {
		if err := enter(dec, s); err != nil {
			return 0, err
		}
	}
	return numberHere(dec)
}

// enter moves to the value at s. It reads on from where it stands, so that of a
// large document nothing else is kept.
func enter(dec *json.Decoder, s forkbox.JSONStep) error {
	t, err := dec.Token()
	if err != nil {
		return noNumber("%w", err)
	}
	switch {
	case s.List && t == json.Delim('['):
		return enterList(dec, s)
	case !s.List && t == json.Delim('{'):
		return enterObject(dec, s)
	}
	return noNumber("%s leads into %s", s, kindOf(t))
}

func enterList(dec *json.Decoder, s forkbox.JSONStep) error {
	n := 0
	for ; dec.More(); n++ {
		if n == s.Index {
			return nil
		}
		if err := skip(dec); err != nil {
			return err
		}
	}
	return noNumber("there is no %s: the list has %d", s, n)
}

func enterObject(dec *json.Decoder, s forkbox.JSONStep) error {
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return noNumber("%w", err)
		}
		if key == s.Key {
			return nil
		}
		if err := skip(dec); err != nil {
			return err
		}
	}
	return noNumber("there is no key %s", excerpt(s.Key))
}

func skip(dec *json.Decoder) error {
	var over json.RawMessage
	if err := dec.Decode(&over); err != nil {
		return noNumber("%w", err)
	}
	return nil
}

func numberHere(dec *json.Decoder) (float64, error) {
	t, err := dec.Token()
	if err != nil {
		return 0, noNumber("%w", err)
	}
	n, ok := t.(json.Number)
	if !ok {
		return 0, noNumber("what is there is %s", kindOf(t))
	}
	v, bad := parse(n.String())
	if bad != nil {
		return 0, bad
	}
	return v, nil
}

func kindOf(t json.Token) string {
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			return "a list"
		}
		return "an object"
	case string:
		return "text: " + excerpt(t)
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	}
	return "null"
}
