package forkbox_test

import (
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// randomChange has every field set now and then, and texts of all sorts.
func randomChange(r *rand.Rand) forkbox.Change {
	var c forkbox.Change
	texts := []string{"", "/plain/path", "file", "added", "/with \"quotes\"", "/back\\slash", "/<&>", "/é", "/bad\xff", "/new\nline", "/\u2028"}
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if r.IntN(3) == 0 {
			continue
		}
		switch f.Interface().(type) {
		case time.Time:
			f.Set(reflect.ValueOf(time.Unix(r.Int64N(4e9), r.Int64N(1e9)).UTC()))
		case []byte:
			f.SetBytes([]byte(texts[r.IntN(len(texts))]))
		case []string:
			f.Set(reflect.ValueOf([]string{texts[r.IntN(len(texts))], "mode"}))
		case bool:
			f.SetBool(true)
		case int, int64:
			f.SetInt(r.Int64N(1<<40) - 5)
		case fs.FileMode:
			f.SetUint(uint64(r.Uint32()))
		default:
			f.SetString(texts[r.IntN(len(texts))])
		}
	}
	return c
}

// TestChangeJSON: the fast way is the library's way.
func TestChangeJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		c := randomChange(r)
		want, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.AppendJSON(nil); string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		sameParse(t, want)
	}
}

func sameParse(t *testing.T, text []byte) {
	t.Helper()
	var got, want forkbox.Change
	errWant := json.Unmarshal(text, &want)
	errGot := got.ParseJSON(text)
	if (errGot == nil) != (errWant == nil) || errWant == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q\ngot  %+v, %v\nwant %+v, %v", text, got, errGot, want, errWant)
	}
}

// FuzzChangeJSON: whatever is sent, both ways of reading agree.
func FuzzChangeJSON(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"path":"/a","kind":"added","size":12}`, `{"path":"/a","path":"/b"}`, `{"size":01}`, `{"size":-1}`, `{"size":1e3}`,
		`{"mode":4294967296}`, `{"mtime":"2026-01-02T03:04:05.6Z"}`, `{"patch":"aGk="}`, `{"patch":""}`, ` {"path":"/a"}`, `{"path":"/a"} `,
		`{"PATH":"/a"}`, `{"path":null}`, `{"size":123456789012345678}`, `{"path":"/a",}`, `{"kind":"x","unknown":[1,{}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { sameParse(t, text) })
}
