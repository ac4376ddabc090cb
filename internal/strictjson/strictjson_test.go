package strictjson

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

type size struct {
	Rows uint16 `json:"rows"`
}

type Spec struct {
	Argv []string `json:"argv"`
	Size *size    `json:"size"`
}

type request struct {
	Name  string  `json:"name"`
	Keep  bool    `json:"keep"`
	After float64 `json:"after"`
	Data  []byte  `json:"data"`
	Exec  struct {
		Spec
		Note string `json:"note"`
	} `json:"exec"`
}

// TestMistakes: each is told in the words of who made it.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"nam":"x"}`:                    `unknown field "nam"; did you mean "name"?`,
		`{"exec":{"agv":[]}}`:            `unknown field "agv"; did you mean "argv"?`,
		`{"zzzzzz":1}`:                   `unknown field "zzzzzz"; there are after, data, exec, keep, name`,
		`{"name":5}`:                     `"name" is a JSON number; it takes a string`,
		`{"name":{}}`:                    `"name" is a JSON object; it takes a string`,
		`{"keep":"yes"}`:                 `"keep" is a JSON string; it takes true or false`,
		`{"after":[]}`:                   `"after" is a JSON array; it takes a number`,
		`{"data":7}`:                     `"data" is a JSON number; it takes bytes in base64`,
		`{"exec":7}`:                     `"exec" is a JSON number; it takes an object`,
		`{"exec":{"argv":"true"}}`:       `"exec.argv" is a JSON string; it takes a list`,
		`{"exec":{"argv":["x",1]}}`:      `"exec.argv" is a JSON number; it takes a string`,
		`{"exec":{"size":{"rows":-4}}}`:  `"exec.size.rows" is -4; it takes a whole number from 0 to 65535`,
		`{"exec":{"size":{"rows":1.5}}}`: `"exec.size.rows" is 1.5; it takes a whole number from 0 to 65535`,
		`[]`:                             `it is not a JSON object`,
		`null`:                           `it is not a JSON object`,
		`{}{}`:                           `there is something after the JSON`,
		`{"name":`:                       `unexpected EOF`,
	} {
		err := Decode(strings.NewReader(text), &request{})
		var known *forkbox.Error
		got := ""
		if errors.As(err, &known) {
			got = strings.Join(append([]string{known.Why}, known.Hints...), "; ")
		} else if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
		if strings.Contains(got, "Go ") {
			t.Errorf("%s: %s", text, got)
		}
	}
	if err := Decode(strings.NewReader(" "), &request{}); !errors.Is(err, io.EOF) {
		t.Errorf("nothing: %v", err)
	}
}

// TestExactly: null, a name twice and a name in another case are mistakes as well.
func TestExactly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"name":null}`:                  `"name" is null`,
		`{"name":"a","name":"b"}`:        `"name" is there twice`,
		`{"exec":{"note":"","note":""}}`: `"note" is there twice`,
		`{"Name":"a"}`:                   `unknown field "Name"`,
		`[]`:                             `it is not a JSON object`,
		`{"name":5}`:                     `"name" is a JSON number`,
	} {
		if err := DecodeExactly([]byte(text), &request{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	var got request
	if err := DecodeExactly([]byte(`{"name":"a","exec":{"argv":["true"]}}`), &got); err != nil || got.Name != "a" || len(got.Exec.Argv) != 1 {
		t.Errorf("%+v %v", got, err)
	}
}
