package rank

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestNumber(t *testing.T) {
	pattern := func(p string) forkbox.Extract { return forkbox.Extract{Pattern: p} }
	path := func(p string) forkbox.Extract { return forkbox.Extract{JSON: p} }
	const doc = `{"a":{"b":[1,{"c":2.5e1}]},"odd key":3,"x.y":4,"l":[[5]],"s":"6","n":null}`
	for _, c := range []struct {
		x    forkbox.Extract
		text string
		want float64
		bad  string
	}{
		{forkbox.Extract{}, "42\n", 42, ""},
		{forkbox.Extract{}, " -1.5e3 ", -1500, ""},
		{forkbox.Extract{}, "", 0, "the text is empty"},
		{forkbox.Extract{}, " \n", 0, "the text is empty"},
		{forkbox.Extract{}, "42 ms", 0, `"42 ms" is no number`},
		{forkbox.Extract{}, "1\n2", 0, "is no number"},
		{forkbox.Extract{}, "0x10", 0, "is no number"},
		{forkbox.Extract{}, "1_000", 0, "is no number"},
		{forkbox.Extract{}, "1,5", 0, "is no number"},
		{forkbox.Extract{}, "NaN", 0, "is no number"},
		{forkbox.Extract{}, "-Inf", 0, "is no number"},
		{forkbox.Extract{}, "1e999", 0, "too large"},
		{forkbox.Extract{}, "e", 0, "is no number"},
		{pattern(`score: ([0-9.]+)`), "score: 5\nscore: 90\nend", 90, ""},
		{pattern(`\d+`), "a 12 b 345", 345, ""},
		{pattern(`(?m)^v=(.*)$`), "v=1\nv= 7 \nw=3", 7, ""},
		{pattern(`v=(\S+)`), "v=1 v=x", 0, `"x" is no number`},
		{pattern(`v=(\S+)`), "w", 0, "nothing matches"},
		{pattern(`a|(b)`), "b a", 0, "does not have its first group"},
		{pattern(`x*`), "xx", 0, "is no number"},
		{pattern(`(`), "x", 0, "missing closing"},
		{path("a.b[0]"), doc, 1, ""},
		{path("a.b[1].c"), doc, 25, ""},
		{path(`["odd key"]`), doc, 3, ""},
		{path(`$["x.y"]`), doc, 4, ""},
		{path(`.l[0][0]`), doc, 5, ""},
		{path(`[1].v`), "noise {\n" + `[0,{"v":2}]`, 2, ""},
		{path("a.z"), doc, 0, `there is no key "z"`},
		{path("a.b[7]"), doc, 0, "there is no [7]: the list has 2"},
		{path("a[0]"), doc, 0, "leads into an object"},
		{path("l.x"), doc, 0, "leads into a list"},
		{path("odd.x"), `{"odd":1}`, 0, "leads into a number"},
		{path("s"), doc, 0, "what is there is text"},
		{path("n"), doc, 0, "null"},
		{path("a"), doc, 0, "an object"},
		{path("a"), `{"a":1`, 0, "JSON document"},
		{path("a"), `{"a":1e999}`, 0, "too large"},
		{path("a"), "", 0, "the text is empty"},
		{path("a..b"), doc, 0, "is no key"},
	} {
		got, err := Number(c.x, []byte(c.text))
		if c.bad == "" && (err != nil || got != c.want) || c.bad != "" && (err == nil || !strings.Contains(err.Error(), c.bad)) {
			t.Errorf("%+v in %q: %v, %v; not %v, %q", c.x, c.text, got, err, c.want, c.bad)
		}
	}
}

// TestNumberInALot: only the end is looked at, and it is found there however
// much matches.
func TestNumberInALot(t *testing.T) {
	var b strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&b, "v=%d\n", i)
	}
	for _, p := range []string{`v=(\d+)`, `(?m)^v=(\d+)$`, `\d+`, `\b\d+`} {
		if v, err := Number(forkbox.Extract{Pattern: p}, []byte(b.String())); err != nil || v != 399_999 {
			t.Errorf("%s: %v, %v", p, v, err)
		}
	}
	digits := []byte(strings.Repeat("1234567 ", 1<<10) + "89")
	for p, want := range map[string]float64{`\d\d`: 89, `\b\d`: 8, `\d\b`: 9, `(?m)^\d`: 1, `\d$`: 9, `\d\d\d`: 456, `1?\d`: 9} {
		if v, err := Number(forkbox.Extract{Pattern: p}, digits); err != nil || v != want {
			t.Errorf("%s: %v, %v; not %v", p, v, err, want)
		}
	}
	if v, err := Number(forkbox.Extract{Pattern: `first (\d)`}, []byte("first 1\n"+b.String())); err == nil {
		t.Errorf("%v was found before the last MiB", v)
	}
	if _, err := Number(forkbox.Extract{JSON: "a"}, []byte(`{"a":1,"b":"`+strings.Repeat("x", 1<<20)+`"}`)); err == nil {
		t.Error("a document that was cut has a number")
	}
}

// TestNumberTakesTooLong: a pattern that reads all of the text for every match
// does not keep the daemon.
func TestNumberTakesTooLong(t *testing.T) {
	text := []byte(strings.Repeat("x", 1<<16))
	if at, err := last(regexp.MustCompile(`x[^y]*y|x`), text, 0); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Error(at, err)
	}
}

// FuzzNumber: whatever is printed, there is a finite number or a short error.
func FuzzNumber(f *testing.F) {
	f.Add(`v=(\d+)`, "", "v=1 v=2")
	f.Add("", `a[0]["k"].b`, `{"a":[{"k":{"b":1}}]}`)
	f.Add("", "", "1.5")
	f.Add(`x*`, "", strings.Repeat("x y", 5000))
	f.Fuzz(func(t *testing.T, pattern, json, text string) {
		v, err := Number(forkbox.Extract{Pattern: pattern, JSON: json}, []byte(text))
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			t.Fatal(v)
		case err != nil && (forkbox.CodeOf(err) != forkbox.Invalid || len(err.Error()) > 1000+2*len(pattern)+2*len(json)):
			t.Fatal(err)
		}
	})
}
